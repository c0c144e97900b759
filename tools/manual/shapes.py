"""The shapes of the classes on the two lines, one small figure each."""

from __future__ import annotations

from collections.abc import Iterator

from tools.manual.figures import Block, Figure

LANES = ("host", "device")
LENGTH = 100


def _row(lane: int, *pieces: tuple[float, str, str]) -> Iterator[Block]:
    """Blocks one after the other; a piece without a kind is a hole."""
    at = 0.0
    for length, text, kind in pieces:
        if kind:
            yield Block(lane, at, at + length, text, kind)
        at += length


def _figure(
    says: str, host: tuple[tuple[float, str, str], ...], device: tuple[tuple[float, str, str], ...]
) -> Figure:
    return Figure(says, LANES, LENGTH, (*_row(0, *host), *_row(1, *device)))


HOLE = ""
OP, PYTHON, WAIT = (14, "op, launch", "other"), (18, "python", "copy"), (26, "waits", "wait")

SHAPES = {
    "launch-bound": _figure(
        "launch-bound: the device is done before the next launch arrives.",
        (OP,) * 7,
        ((12, "", HOLE), *((5, "", "work"), (9, "", HOLE)) * 6, (4, "", "work")),
    ),
    "python-bound": _figure(
        "python-bound: between the operators the host does something else.",
        (OP, PYTHON, OP, PYTHON, OP, PYTHON),
        ((12, "", HOLE), *((5, "", "work"), (27, "", HOLE)) * 2, (5, "", "work")),
    ),
    "sync-bound": _figure(
        "sync-bound: the host waits for the device, then the device for the host.",
        (OP, WAIT, OP, WAIT, OP),
        ((12, "", HOLE), *((28, "kernel", "work"), (12, "", HOLE)) * 2, (8, "", "work")),
    ),
    "memory-bound": _figure(
        "memory-bound: no holes; elementwise work, norms and softmax lead.",
        ((6, "", "other"),) * 9,
        (
            (4, "", HOLE),
            *((20, word, "copy") for word in ("add", "norm", "gelu", "softmax")),
            (14, "mm", "work"),
        ),
    ),
    "compute-bound": _figure(
        "compute-bound: no holes; products and convolutions lead.",
        ((6, "", "other"),) * 9,
        (
            (4, "", HOLE),
            (28, "mm", "work"),
            (28, "mm", "work"),
            (10, "add", "copy"),
            (28, "mm", "work"),
        ),
    ),
    "communication-bound": Figure(
        "communication-bound: collectives that no computation covers.",
        ("host", "compute", "transfer"),
        LENGTH,
        (
            *_row(0, *((8, "", "other"),) * 7),
            *_row(1, (6, "", HOLE), (34, "backward", "work"), (38, "", HOLE), (18, "step", "work")),
            *_row(2, (30, "", HOLE), (48, "all-reduce", "wait")),
        ),
        spans=((2, 40, 78, "exposed"),),
    ),
}
