"""The recording as a trace that ui.perfetto.dev and chrome://tracing open, annotated.

Beside what ran on host and device stand the host line by kind, the idle device with the owner of
each interval, the depth of the queue, the steps with their class, and a lane for each what-if.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from boundby.diagnose import Diagnosis
from boundby.evidence.gaps import OWNERS
from boundby.evidence.lane_rows import RowKind
from boundby.evidence.lanes import Lanes
from boundby.read.recording import NONE
from boundby.report import numbers, sanitize
from boundby.report.trace_tracks import FIRST_TRACK, Tracks, lay_out
from boundby.roofline.families import Family
from boundby.timeline.hostline import LineKind
from boundby.units import NS_PER_MS, NS_PER_US

Event = dict[str, Any]

HOST, DEVICE, FOUND, WHAT_IF = 1, 2, 3, 4
PROCESSES = {
    HOST: "host, as recorded",
    DEVICE: "device, as recorded",
    FOUND: "boundby: steps, owners of idle time, queue",
    WHAT_IF: "boundby: what-if, predicted steps",
}
STEPS, LINE, IDLE = range(FIRST_TRACK, FIRST_TRACK + 3)
FOUND_LANES = {STEPS: "steps", LINE: "host line by kind", IDLE: "device idle, by owner"}
MOST_REPEATS = 200
"""Predicted steps drawn in a lane."""


def as_trace(events: Iterable[Event]) -> str:
    """A whole file; times are microseconds.

    It names no ``displayTimeUnit``: older viewers took that for the unit of the times.
    """
    return msgspec.json.encode({"traceEvents": list(events)}).decode("utf-8") + "\n"


def render(diagnosis: Diagnosis) -> str:
    """The trace of a diagnosis that was asked for its lanes; without any it holds none."""
    lanes = diagnosis.lanes
    if lanes is None:
        return as_trace([])
    host, work = lanes.host, lanes.work
    threads = lay_out((host.start, host.dur), host.thread, lanes.threads.__getitem__)
    streams = lay_out((work.start, work.dur), work.stream, "stream {}".format)
    return as_trace(
        [
            *_names(diagnosis, {HOST: threads.names, DEVICE: streams.names}),
            *_host(lanes, threads),
            *_device(lanes, streams),
            *_flows(lanes, threads, streams),
            *_found(diagnosis, lanes),
            *_queue(lanes),
            *_what_if(diagnosis, lanes),
        ]
    )


def _names(diagnosis: Diagnosis, recorded: dict[int, dict[int, str]]) -> Iterator[Event]:
    """Names of processes and tracks, and the order in which they are shown."""
    what_if = {
        lane: sanitize.shown(
            f"{edit.id}: {numbers.ms(edit.step_ms)}, {numbers.times(edit.speedup)}"
        )
        for lane, edit in enumerate(diagnosis.what_if, FIRST_TRACK)
    }
    tracks = {**recorded, FOUND: FOUND_LANES, WHAT_IF: what_if}
    for process, name in PROCESSES.items():
        yield _meta("process_name", {"pid": process}, name=name)
        yield _meta("process_sort_index", {"pid": process}, sort_index=process)
        for track, text in tracks[process].items():
            where = {"pid": process, "tid": track}
            yield _meta("thread_name", where, name=text)
            yield _meta("thread_sort_index", where, sort_index=track)


def _meta(kind: str, where: dict[str, int], **args: str | int) -> Event:
    return {"ph": "M", "name": kind, **where, "args": args}


def _slice(where: tuple[int, int], name: str, start: int, dur: int, **more: Any) -> Event:  # noqa: ANN401 - arguments of a trace are any JSON
    process, thread = where
    event = {"ph": "X", "pid": process, "tid": thread, "name": name}
    event |= {"ts": start / NS_PER_US, "dur": dur / NS_PER_US}
    args = {key: value for key, value in more.items() if value is not None}
    return event | ({"args": args} if args else {})


def _host(lanes: Lanes, tracks: Tracks) -> Iterator[Event]:
    rows, names = lanes.host, [sanitize.shown(name) for name in lanes.names]
    places = [sanitize.shown(f"{p.function}, {p.file}:{p.line}") for p in lanes.places]
    kinds = [kind.name.lower() for kind in RowKind]
    for start, dur, kind, name, track, place in zip(
        rows.start.tolist(),
        rows.dur.tolist(),
        rows.kind.tolist(),
        rows.name.tolist(),
        tracks.of_row,
        rows.place.tolist(),
        strict=True,
    ):
        where = None if place == NONE else places[place]
        shown = names[name] if name != NONE else where or kinds[kind]
        yield _slice((HOST, track), shown, start, dur, kind=kinds[kind], line=where)


def _device(lanes: Lanes, tracks: Tracks) -> Iterator[Event]:
    rows, names = lanes.work, [sanitize.shown(name) for name in lanes.names]
    families = [family.name.lower() for family in Family]
    for start, dur, family, name, track in zip(
        rows.start.tolist(),
        rows.dur.tolist(),
        rows.family.tolist(),
        rows.name.tolist(),
        tracks.of_row,
        strict=True,
    ):
        yield _slice((DEVICE, track), names[name], start, dur, family=families[family])


def _flows(lanes: Lanes, threads: Tracks, streams: Tracks) -> Iterator[Event]:
    """An arrow from each launch to the work it put on the device."""
    calls, work = lanes.host.start.tolist(), lanes.work.start.tolist()
    for at, by in enumerate(lanes.work.host.tolist()):
        if by == NONE:
            continue
        common = {"name": "launch", "cat": "launch", "id": at + 1}
        begin = {"pid": HOST, "tid": threads.of_row[by], "ts": calls[by] / NS_PER_US}
        end = {"pid": DEVICE, "tid": streams.of_row[at], "ts": work[at] / NS_PER_US}
        yield {"ph": "s", **common, **begin}
        yield {"ph": "f", "bp": "e", **common, **end}


def _found(diagnosis: Diagnosis, lanes: Lanes) -> Iterator[Event]:
    """Steps with their class, the host line, and who owns the idle device."""
    verdict = diagnosis.verdict
    free = diagnosis.steps.unprofiled_ms
    for at, (start, end) in enumerate(zip(*_bounds(lanes), strict=True), 1):
        yield _slice(
            (FOUND, STEPS),
            f"step {at}: {verdict.name}",
            start,
            end - start,
            cause=verdict.cause,
            strength=verdict.strength,
            ms_without_the_profiler=None if free is None else free.estimate,
        )
    line, gaps = lanes.line, lanes.gaps
    kinds = [kind.name.lower() for kind in LineKind]
    yield from _segments((FOUND, LINE), kinds, line.start, line.end, line.kind)
    yield from _segments((FOUND, IDLE), OWNERS, gaps.start, gaps.end, gaps.owner)


def _bounds(lanes: Lanes) -> tuple[list[int], list[int]]:
    return lanes.steps.start.tolist(), lanes.steps.end.tolist()


def _segments(
    where: tuple[int, int],
    kinds: Sequence[str],
    start: Any,  # noqa: ANN401 - columns
    end: Any,  # noqa: ANN401 - columns
    kind: Any,  # noqa: ANN401 - columns
) -> Iterator[Event]:
    for begin, finish, which in zip(start.tolist(), end.tolist(), kind.tolist(), strict=True):
        yield _slice(where, kinds[which], begin, finish - begin)


def _queue(lanes: Lanes) -> Iterator[Event]:
    queue = lanes.queue
    for time, depth in zip(queue.time.tolist(), queue.depth.tolist(), strict=True):
        yield {
            "ph": "C",
            "pid": FOUND,
            "name": "queue depth",
            "ts": time / NS_PER_US,
            "args": {"launches": depth},
        }


def _what_if(diagnosis: Diagnosis, lanes: Lanes) -> Iterator[Event]:
    """Each edit's step, repeated from the first step on."""
    starts, _ = _bounds(lanes)
    if not starts:
        return
    for lane, edit in enumerate(diagnosis.what_if, FIRST_TRACK):
        dur = round(edit.step_ms * NS_PER_MS)
        for at in range(min(len(starts), MOST_REPEATS)):
            name = sanitize.shown(f"{edit.id}: {numbers.ms(edit.step_ms)}")
            yield _slice(
                (WHAT_IF, lane),
                name,
                starts[0] + at * dur,
                dur,
                low_ms=edit.low,
                high_ms=edit.high,
                speedup=edit.speedup,
            )
