"""The roofline of the examples as inline SVG: roofs from the device table, points counted."""

from __future__ import annotations

import math
from collections.abc import Iterator
from html import escape

from tools.manual.roofs import EXAMPLES, LARGE, cost, roofs

SAYS = (
    "Roofs of an H200 by its data sheet, and where three large operators stand: the bandwidth "
    "limits add and relu, the peak of its precision limits mm."
)
WIDTH, HEIGHT, LEFT, RIGHT, TOP, FOOT = 720, 320, 60, 110, 14, 42
LOW_X, HIGH_X = 0.03, 1e4
"""FLOP per byte."""
LOW_Y, HIGH_Y = 0.1, 2e3
"""TFLOP/s."""
PEAKS = {"float32": "fp32", "tf32": "TF32", "bfloat16": "bf16"}


def x_of(intensity: float) -> float:
    """Where an intensity stands."""
    return LEFT + _part(intensity, LOW_X, HIGH_X) * (WIDTH - LEFT - RIGHT)


def y_of(tflops: float) -> float:
    """Where a rate stands."""
    return HEIGHT - FOOT - _part(tflops, LOW_Y, HIGH_Y) * (HEIGHT - TOP - FOOT)


def _part(value: float, low: float, high: float) -> float:
    return math.log(value / low) / math.log(high / low)


def chart() -> str:
    """The drawing as SVG that can stand inside a page."""
    return (
        f'<svg class="lanes" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" font-size="12" '
        f'fill="currentColor" stroke="none" xmlns="http://www.w3.org/2000/svg">'
        f"<title>{escape(SAYS)}</title>{''.join((*_axes(), *_roofs(), *_points()))}</svg>"
    )


def _axes() -> Iterator[str]:
    foot = HEIGHT - FOOT
    for power in range(-1, 5):
        x = x_of(10**power)
        yield _line(x, TOP, x, foot, 0.12) + _text(x, foot + 16, f"{10.0**power:g}")
    for power in range(-1, 4):
        y = y_of(10**power)
        yield _line(LEFT, y, WIDTH - RIGHT, y, 0.12)
        yield _text(LEFT - 6, y + 4, f"{10.0**power:g}", "end")
    yield _text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, "FLOP per byte")
    yield _text(4, TOP + 2, "TFLOP/s", "start")


def _roofs() -> Iterator[str]:
    ceilings = roofs()
    top = max(ceilings.tflops(key) or 0 for key in PEAKS)
    slope = (ceilings.memory_gbs or 0) / 1e3
    yield _line(x_of(LOW_X), y_of(LOW_X * slope), x_of(top / slope), y_of(top), 0.9)
    yield _text(x_of(0.6), y_of(0.6 * slope) - 8, f"{slope:g} TB/s", "end")
    for key, name in PEAKS.items():
        peak = ceilings.tflops(key) or 0
        yield _line(x_of(peak / slope), y_of(peak), x_of(HIGH_X), y_of(peak), 0.9)
        yield _text(x_of(HIGH_X) + 6, y_of(peak) + 4, f"{name} {peak:g}", "start")


def _points() -> Iterator[str]:
    ceilings = roofs()
    for example in EXAMPLES:
        intensity = cost(example).intensity
        if example.side != LARGE or intensity is None:
            continue
        slope, peak = (ceilings.memory_gbs or 0) / 1e3, ceilings.tflops(example.peak) or 0
        x, y = x_of(intensity), y_of(min(intensity * slope, peak))
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="#f58518"/>'
        yield _text(x + 9, y + 14, example.name, "start")


def _text(x: float, y: float, words: str, anchor: str = "middle") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'


def _line(x1: float, y1: float, x2: float, y2: float, opacity: float) -> str:
    return (
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="currentColor" '
        f'stroke-opacity="{opacity}"/>'
    )
