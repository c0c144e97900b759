"""The figures of the documentation, by name: ``<!-- figure: NAME -->`` on a page shows one."""

from __future__ import annotations

from typing import NamedTuple

from tools.manual import roofchart
from tools.manual.figures import Block, Figure, svg
from tools.manual.shapes import SHAPES

TWO_LINES = Figure(
    "The host submits work and goes on; the device does it in order; a queue lies between.",
    ("host", "device"),
    100,
    (
        *(Block(0, 2 + 14 * n, 14 + 14 * n, f"op {n + 1}", "other") for n in range(5)),
        Block(1, 16, 38, "kernel 1"),
        Block(1, 38, 58, "kernel 2"),
        Block(1, 58, 64, "3"),
        Block(1, 64, 82, "kernel 4"),
        Block(1, 82, 94, "kernel 5"),
    ),
    arrows=((0, 14, 1, 16), (0, 28, 1, 38), (0, 42, 1, 58), (0, 56, 1, 64), (0, 70, 1, 82)),
)

TIMING = Figure(
    "A clock on the host that is stopped without waiting shows the submission, not the work.",
    ("host", "device", "clocks", ""),
    100,
    (
        Block(0, 4, 14, "launch A", "other"),
        Block(0, 14, 24, "launch B", "other"),
        Block(0, 24, 34, "launch C", "other"),
        Block(0, 40, 92, "synchronize: waits", "wait"),
        Block(1, 16, 44, "A"),
        Block(1, 44, 64, "B"),
        Block(1, 64, 90, "C"),
        Block(2, 4, 36, "t1 - t0: the submission", "free"),
        Block(3, 4, 92, "t2 - t0: all of it", "free"),
    ),
    arrows=((0, 14, 1, 16), (0, 24, 1, 44), (0, 34, 1, 64)),
    marks=((4, "t0"), (36, "t1"), (92, "t2")),
)

EVENTS = Figure(
    "Events are marks in the queue; the time between two of them holds the gaps as well.",
    ("host", "device"),
    100,
    (
        Block(0, 2, 10, "start", "copy"),
        Block(0, 10, 20, "launch A", "other"),
        Block(0, 20, 44, "python", "wait"),
        Block(0, 44, 54, "launch B", "other"),
        Block(0, 54, 62, "end", "copy"),
        Block(1, 12, 14, "", "copy"),
        Block(1, 22, 36, "A"),
        Block(1, 36, 56, "idle", "idle"),
        Block(1, 56, 78, "B"),
        Block(1, 78, 80, "", "copy"),
    ),
    arrows=((0, 10, 1, 13), (0, 20, 1, 22), (0, 54, 1, 56), (0, 62, 1, 79)),
    spans=((1, 13, 79, "start.elapsed_time(end): A, the gap and B"),),
)

STREAMS = Figure(
    "On one stream copies and kernels take turns; on two, the next batch is copied meanwhile.",
    ("one stream", "copies", "kernels"),
    100,
    (
        *(Block(0, 32 * n, 32 * n + 14, f"copy {n + 1}", "copy") for n in range(3)),
        *(Block(0, 32 * n + 14, 32 * n + 32, f"step {n + 1}") for n in range(3)),
        *(Block(1, 18 * n, 18 * n + 14, f"copy {n + 1}", "copy") for n in range(3)),
        *(Block(2, 18 * n + 14, 18 * n + 32, f"step {n + 1}") for n in range(3)),
    ),
    arrows=((1, 14, 2, 14), (1, 32, 2, 32), (1, 50, 2, 50)),
    spans=((0, 0, 96, "three steps"), (2, 0, 68, "the same three steps")),
)

SEGMENTS = Figure(
    "Separate segments keep their free pieces apart; an expandable segment grows by pages.",
    ("segments", "expandable"),
    100,
    (
        Block(0, 0, 12, "used"),
        Block(0, 12, 24, "free", "free"),
        Block(0, 28, 42, "used"),
        Block(0, 42, 52, "free", "free"),
        Block(0, 56, 66, "used"),
        Block(0, 66, 76, "free", "free"),
        Block(1, 0, 12, "used"),
        Block(1, 12, 26, "used"),
        Block(1, 26, 36, "used"),
        Block(1, 36, 64, "request fits", "other"),
        Block(1, 64, 76, "unmapped", "free"),
    ),
    spans=((0, 12, 40, "the request: larger than each free piece, smaller than their sum"),),
)

CHECKPOINTS = Figure(
    "Without checkpointing activations pile up until backward; with it they are made again.",
    ("all kept", "memory", "recomputed", "memory"),
    100,
    (
        *(Block(0, 8 * n, 8 * n + 8, f"F{n + 1}") for n in range(4)),
        *(Block(0, 32 + 12 * n, 44 + 12 * n, f"B{4 - n}", "other") for n in range(4)),
        *(Block(2, 8 * n, 8 * n + 8, f"F{n + 1}") for n in range(4)),
        *(Block(2, 32 + 17 * n, 37 + 17 * n, f"F{4 - n}", "wait") for n in range(4)),
        *(Block(2, 37 + 17 * n, 49 + 17 * n, f"B{4 - n}", "other") for n in range(4)),
    ),
    curves={
        1: ((0, 0.05), (32, 0.95), (80, 0.05), (100, 0.05)),
        3: (
            (0, 0.05),
            (32, 0.25),
            *(
                (32 + 17 * n + dx, h - 0.05 * n)
                for n in range(4)
                for dx, h in ((5, 0.45), (17, 0.2))
            ),
        ),
    },
)

LANES = {
    "two-lines": TWO_LINES,
    "timing": TIMING,
    "events": EVENTS,
    "streams": STREAMS,
    "segments": SEGMENTS,
    "checkpoints": CHECKPOINTS,
    **SHAPES,
}
"""Figures of lanes."""


class Drawing(NamedTuple):
    """A figure as it stands on a page: its caption and its SVG."""

    says: str
    svg: str


FIGURES = {name: Drawing(each.says, svg(each)) for name, each in LANES.items()} | {
    "roofline": Drawing(roofchart.SAYS, roofchart.chart())
}
