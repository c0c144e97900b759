"""Diagrams of the documentation: lanes over time (or over addresses) as inline SVG.

Text and lines take the colour of the page, fills are translucent: one drawing for light and dark.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape
from zlib import crc32

WIDTH, LEFT, RIGHT = 720, 96, 12
TOP, LANE, GAP = 22, 26, 18
SIZE = 12
FILLS = {
    "work": "#4c78a8",
    "other": "#54a24b",
    "copy": "#b279a2",
    "wait": "#f58518",
    "idle": "none",
    "free": "none",
}
SEE_THROUGH = 0.45


@dataclass(frozen=True)
class Block:
    """A piece of a lane; times are in units of the figure."""

    lane: int
    start: float
    end: float
    text: str = ""
    kind: str = "work"


@dataclass(frozen=True)
class Figure:
    """A diagram.

    Attributes:
        says: What it shows, for those who do not see it, and its caption.
        lanes: Labels at the left, from the top.
        length: The right end of all lanes.
        arrows: From lane and time to lane and time.
        spans: Measured distances: lane below which they stand, start, end, words.
        marks: Times marked through all lanes, with their names.
        curves: Heights between 0 and 1 over time, by lane.
    """

    says: str
    lanes: tuple[str, ...]
    length: float
    blocks: tuple[Block, ...] = ()
    arrows: tuple[tuple[int, float, int, float], ...] = ()
    spans: tuple[tuple[int, float, float, str], ...] = ()
    marks: tuple[tuple[float, str], ...] = ()
    curves: dict[int, tuple[tuple[float, float], ...]] = field(default_factory=dict)

    def x(self, time: float) -> float:
        """Where a time stands."""
        return LEFT + time / self.length * (WIDTH - LEFT - RIGHT)

    def y(self, lane: int) -> float:
        """The upper edge of a lane; spans make room below the lane they belong to."""
        below = len({each for each, *_ in self.spans if each < lane})
        return TOP + lane * (LANE + GAP) + below * GAP

    @property
    def height(self) -> float:
        """Of the whole drawing."""
        return self.y(len(self.lanes))


def svg(figure: Figure) -> str:
    """The drawing as SVG that can stand inside a page."""
    tip = f"tip-{crc32(figure.says.encode()):x}"
    parts = "".join((*_lanes(figure), *_blocks(figure), *_curves(figure), *_notes(figure, tip)))
    return (
        f'<svg class="lanes" viewBox="0 0 {WIDTH} {figure.height:g}" role="img" '
        f'font-size="{SIZE}" fill="currentColor" stroke="none" '
        f'xmlns="http://www.w3.org/2000/svg"><title>{escape(figure.says)}</title>'
        f'<defs><marker id="{tip}" viewBox="0 0 6 6" refX="6" refY="3" markerWidth="6" '
        f'markerHeight="6" orient="auto"><path d="M0 0L6 3L0 6z"/></marker></defs>{parts}</svg>'
    )


def _lanes(figure: Figure) -> Iterator[str]:
    for lane, name in enumerate(figure.lanes):
        y = figure.y(lane)
        yield _text(0, y + LANE / 2 + 4, name, "start")
        yield _line(LEFT, y + LANE, WIDTH - RIGHT, y + LANE, opacity=0.35)


def _blocks(figure: Figure) -> Iterator[str]:
    for block in figure.blocks:
        x, y = figure.x(block.start), figure.y(block.lane)
        width = figure.x(block.end) - x
        dashed = ' stroke-dasharray="3 3"' if FILLS[block.kind] == "none" else ""
        yield (
            f'<rect x="{x:.1f}" y="{y:g}" width="{width:.1f}" height="{LANE}" rx="2" '
            f'fill="{FILLS[block.kind]}" fill-opacity="{SEE_THROUGH}" stroke="currentColor" '
            f'stroke-opacity="0.6"{dashed}/>'
        )
        if block.text:
            yield _text(x + width / 2, y + LANE / 2 + 4, block.text)


def _curves(figure: Figure) -> Iterator[str]:
    for lane, points in figure.curves.items():
        foot = figure.y(lane) + LANE
        path = " ".join(f"{figure.x(t):.1f},{foot - h * (LANE + GAP - 6):.1f}" for t, h in points)
        yield f'<polyline points="{path}" fill="none" stroke="{FILLS["wait"]}" stroke-width="2"/>'


def _notes(figure: Figure, tip: str) -> Iterator[str]:
    """Arrows, spans and marks."""
    for above, start, below, end in figure.arrows:
        foot, head = figure.y(above) + LANE, figure.y(below)
        yield _line(figure.x(start), foot, figure.x(end), head - 1, f' marker-end="url(#{tip})"')
    for lane, start, end, words in figure.spans:
        left, right, y = figure.x(start), figure.x(end), figure.y(lane) + LANE + 8
        yield _line(left, y, right, y)
        yield from (_line(x, y - 4, x, y + 4) for x in (left, right))
        yield _text((left + right) / 2, y + 14, words)
    for time, name in figure.marks:
        x = figure.x(time)
        yield _line(x, TOP - 6, x, figure.height - 4, ' stroke-dasharray="2 3"', 0.7)
        yield _text(x, TOP - 10, name)


def _text(x: float, y: float, words: str, anchor: str = "middle") -> str:
    return f'<text x="{x:.1f}" y="{y:g}" text-anchor="{anchor}">{escape(words)}</text>'


def _line(x1: float, y1: float, x2: float, y2: float, more: str = "", opacity: float = 0.8) -> str:
    return (
        f'<line x1="{x1:.1f}" y1="{y1:g}" x2="{x2:.1f}" y2="{y2:g}" stroke="currentColor" '
        f'stroke-opacity="{opacity}"{more}/>'
    )
