"""Both timelines as the page draws them: columns of small integers, and the texts they index."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from boundby.evidence.facts import Place
from boundby.evidence.gaps import OWNERS
from boundby.evidence.lane_rows import HostRows, RowKind
from boundby.evidence.lanes import Lanes
from boundby.intervals import Ints
from boundby.read.recording import NONE, Signature
from boundby.report import numbers, sanitize
from boundby.report.page.parts import Block
from boundby.roofline.families import Family
from boundby.timeline.hostline import LineKind
from boundby.units import ms

LONGEST_NAME = 240
LONGEST_SHAPES = 160

LINE_KINDS = {
    LineKind.OVERHEAD: "profiler",
    LineKind.SYNC: "sync",
    LineKind.CARRIER: "sync",
    LineKind.ALLOCATOR: "allocator",
    LineKind.LOADER: "data",
    LineKind.LAUNCH: "launch",
    LineKind.OP: "op",
    LineKind.PYTHON: "python",
}
ROW_KINDS = {
    RowKind.OP: "op",
    RowKind.LAUNCH: "launch",
    RowKind.WAIT: "sync",
    RowKind.ALLOCATOR: "allocator",
    RowKind.CALL: "call",
    RowKind.LOADER: "data",
    RowKind.RANGE: "range",
    RowKind.FRAME: "python",
}
"""Keys of the palette in ``data/page/common.js``."""

Track = dict[str, Any]


class Texts:
    """Texts as numbers, each kept once."""

    def __init__(self) -> None:
        self.values: list[str] = []
        self._known: dict[str, int] = {}

    def number(self, text: str) -> int:
        """The number of a text."""
        if text not in self._known:
            self._known[text] = len(self.values)
            self.values.append(text)
        return self._known[text]


def lane_data(lanes: Lanes) -> dict[str, Any]:
    """What ``lanes.js`` draws; times are ns after the start of the window."""
    names, shapes, places = Texts(), Texts(), Texts()
    threads = _threads(lanes)
    number, index = _tracks_of(lanes, threads)
    of_name = _numbers((sanitize.kernel(name) for name in lanes.names), lanes, names)
    of_place = [places.number(_place(each)) for each in lanes.places]
    of_shape = _Shapes(lanes.signatures, shapes)
    tracks = [_line(lanes)]
    for thread in threads:
        rows = lanes.host.take(lanes.host.thread == thread)
        label = np.where(rows.name == NONE, NONE, of_name[rows.name])
        frames = np.flatnonzero(rows.kind == RowKind.FRAME)
        label[frames] = [
            names.number(_cut(_place(lanes.places[at]))) for at in rows.place[frames].tolist()
        ]
        tracks.append(_thread(lanes, rows, label, of_place, of_shape))
    streams = np.unique(lanes.work.stream).tolist()
    tracks += [_stream(lanes, stream, of_name, (number, index)) for stream in streams]
    if len(lanes.work):
        tracks.append(_gaps(lanes))
    return {
        "unit": "ns",
        "length": lanes.end - lanes.start,
        "tracks": tracks,
        "names": names.values,
        "shapes": shapes.values,
        "places": places.values,
        "depth": _depth(lanes),
    }


def lanes_block(identity: str, label: str, caption: str, *, find: bool = True) -> Block:
    """The place of lanes on the page."""
    return {"kind": "lanes", "id": identity, "label": label, "caption": caption, "find": find}


def _threads(lanes: Lanes) -> list[int]:
    """Threads with rows, the main one first."""
    used = np.unique(lanes.host.thread).tolist()
    return sorted(used, key=lambda thread: (lanes.threads[thread] != "main thread", thread))


def _tracks_of(lanes: Lanes, threads: Sequence[int]) -> tuple[Ints, Ints]:
    """Track of each host row, and its place in it."""
    track = np.zeros(len(lanes.host), dtype=np.int64)
    place = np.zeros(len(lanes.host), dtype=np.int64)
    for at, thread in enumerate(threads, 1):
        mine = np.flatnonzero(lanes.host.thread == thread)
        track[mine], place[mine] = at, np.arange(len(mine))
    return track, place


def _numbers(short: Iterable[str], lanes: Lanes, texts: Texts) -> Ints:
    """int64[len(names)]: number of each name that is drawn; NONE elsewhere."""
    used = np.zeros(len(lanes.names) + 1, dtype=np.bool_)
    used[lanes.host.name] = used[lanes.work.name] = True
    found = np.full(len(lanes.names) + 1, NONE, dtype=np.int64)
    for at, name in enumerate(short):
        if used[at]:
            found[at] = texts.number(_cut(sanitize.shown(name)))
    return found


def _cut(text: str) -> str:
    return sanitize.cut(text, LONGEST_NAME)


def _place(place: Place) -> str:
    return sanitize.shown(f"{place.function}, {place.file}:{place.line}")


class _Shapes:
    """Numbers of signatures as text, each decoded once."""

    def __init__(self, signatures: Sequence[Signature], texts: Texts) -> None:
        self._signatures, self._texts = signatures, texts
        self._known: dict[int, int] = {NONE: NONE}

    def __call__(self, signature: int) -> int:
        if signature not in self._known:
            text = _shapes(self._signatures[signature])
            self._known[signature] = self._texts.number(text) if text else NONE
        return self._known[signature]


def _shapes(signature: Signature) -> str:
    """``[8, 512] [512]``: dimensions of the tensors among the arguments."""
    try:
        dims = json.loads(signature.dims or b"[]")
    except ValueError:
        return ""
    shown = [str(each) for each in dims if each] if isinstance(dims, list) else []
    return sanitize.cut(sanitize.shown(" ".join(shown)), LONGEST_SHAPES)


def _columns(lanes: Lanes, start: Ints, dur: Ints, kind: Ints | npt.NDArray[np.int8]) -> Track:
    """Starts as differences: short numbers make a small file."""
    first = np.maximum(start, lanes.start)
    last = np.minimum(start + dur, lanes.end)
    return {
        "s": np.diff(first - lanes.start, prepend=0).tolist(),
        "d": np.maximum(last - first, 0).tolist(),
        "k": kind.tolist(),
    }


def _line(lanes: Lanes) -> Track:
    line = lanes.line
    return {
        "name": "host line",
        "kinds": [LINE_KINDS[kind] for kind in LineKind],
        "height": 18,
        **_columns(lanes, line.start, line.end - line.start, line.kind),
    }


def _thread(
    lanes: Lanes, rows: HostRows, label: Ints, of_place: list[int], of_shape: _Shapes
) -> Track:
    return {
        "name": lanes.threads[int(rows.thread[0])],
        "note": "nested calls",
        "kinds": [ROW_KINDS[kind] for kind in RowKind],
        "levels": int(rows.depth.max()) + 1,
        **_columns(lanes, rows.start, rows.dur, rows.kind),
        "l": rows.depth.tolist(),
        "n": label.tolist(),
        **_known("g", [of_shape(at) for at in rows.signature.tolist()]),
        **_known("p", [NONE if at == NONE else of_place[at] for at in rows.place.tolist()]),
    }


def _known(name: str, column: list[int]) -> Track:
    """A column, unless nothing in it is known."""
    return {name: column} if any(each != NONE for each in column) else {}


def _stream(lanes: Lanes, stream: int, of_name: Ints, tracks: tuple[Ints, Ints]) -> Track:
    work = lanes.work
    mine = np.flatnonzero(work.stream == stream)
    by, (number, index) = work.host[mine], tracks
    return {
        "name": f"stream {stream}",
        "kinds": [family.name.lower() for family in Family],
        "height": 22,
        **_columns(lanes, work.start[mine], work.dur[mine], work.family[mine]),
        "n": of_name[work.name[mine]].tolist(),
        "o": work.own[mine].astype(np.int64).tolist(),
        "ht": [NONE if at == NONE else int(number[at]) for at in by.tolist()],
        "hi": [NONE if at == NONE else int(index[at]) for at in by.tolist()],
    }


def _gaps(lanes: Lanes) -> Track:
    gaps = lanes.gaps
    return {
        "name": "device idle",
        "says": "device idle",
        "kinds": list(OWNERS),
        **_columns(lanes, gaps.start, gaps.end - gaps.start, gaps.owner),
    }


def _depth(lanes: Lanes) -> dict[str, Any] | None:
    queue = lanes.queue
    if not len(lanes.work):
        return None
    return {
        "t": (queue.time - lanes.start).tolist(),
        "v": queue.depth.tolist(),
        "most": int(queue.depth.max()),
    }


GAP_NAMES = {
    "data": "data loading",
    "sync": "waits for the device",
    "python": "Python",
    "submission": "operators and launch calls",
    "profiler": "the profiler",
    "device": "the device itself (starts of kernels, other streams)",
}


def gap_sentence(lanes: Lanes) -> str:
    """``Idle 2.04 ms: ... 1.2 ms, ... 0.8 ms``."""
    total = lanes.gaps.total()
    if not total:
        return ""
    whole = sum(total.values())
    parts = sorted(total.items(), key=lambda item: -item[1])
    told = ", ".join(
        f"{GAP_NAMES[name]} {numbers.ms(ms(ns))}"
        for name, ns in parts
        if ns >= numbers.LEAST_SHARE * whole
    )
    return f"The device is idle for {numbers.ms(ms(whole))} of it, and waits for: {told}."
