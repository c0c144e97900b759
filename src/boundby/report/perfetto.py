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
STEPS, LINE, IDLE = 1, 2, 3
FOUND_LANES = {STEPS: "steps", LINE: "host line by kind", IDLE: "device idle, by owner"}
MOST_REPEATS = 200
"""Predicted steps drawn in a lane."""


def as_trace(events: Iterable[Event]) -> str:
    """A whole file; times are microseconds."""
    whole = {"traceEvents": list(events), "displayTimeUnit": "ms"}
    return msgspec.json.encode(whole).decode("utf-8") + "\n"


def render(diagnosis: Diagnosis) -> str:
    """The trace of a diagnosis that was asked for its lanes; without any it holds none."""
    lanes = diagnosis.lanes
    if lanes is None:
        return as_trace([])
    return as_trace(
        [
            *_names(diagnosis, lanes),
            *_host(lanes),
            *_device(lanes),
            *_flows(lanes),
            *_found(diagnosis, lanes),
            *_queue(lanes),
            *_what_if(diagnosis, lanes),
        ]
    )


def _names(diagnosis: Diagnosis, lanes: Lanes) -> Iterator[Event]:
    for process, name in PROCESSES.items():
        yield _meta("process_name", process, 0, name)
        yield {
            "ph": "M",
            "name": "process_sort_index",
            "pid": process,
            "args": {"sort_index": process},
        }
    for thread in sorted(set(lanes.host.thread.tolist())):
        yield _meta("thread_name", HOST, thread, lanes.threads[thread])
    for stream in sorted(set(lanes.work.stream.tolist())):
        yield _meta("thread_name", DEVICE, stream, f"stream {stream}")
    for lane, name in FOUND_LANES.items():
        yield _meta("thread_name", FOUND, lane, name)
    for lane, edit in enumerate(diagnosis.what_if, 1):
        after = f"{edit.id}: {numbers.ms(edit.step_ms)}, {numbers.times(edit.speedup)}"
        yield _meta("thread_name", WHAT_IF, lane, sanitize.shown(after))


def _meta(kind: str, process: int, thread: int, name: str) -> Event:
    return {"ph": "M", "name": kind, "pid": process, "tid": thread, "args": {"name": name}}


def _slice(where: tuple[int, int], name: str, start: int, dur: int, **more: Any) -> Event:  # noqa: ANN401 - arguments of a trace are any JSON
    process, thread = where
    event = {"ph": "X", "pid": process, "tid": thread, "name": name}
    event |= {"ts": start / NS_PER_US, "dur": dur / NS_PER_US}
    args = {key: value for key, value in more.items() if value is not None}
    return event | ({"args": args} if args else {})


def _host(lanes: Lanes) -> Iterator[Event]:
    rows, names = lanes.host, [sanitize.shown(name) for name in lanes.names]
    places = [sanitize.shown(f"{p.function}, {p.file}:{p.line}") for p in lanes.places]
    kinds = [kind.name.lower() for kind in RowKind]
    for start, dur, kind, name, thread, place in zip(
        rows.start.tolist(),
        rows.dur.tolist(),
        rows.kind.tolist(),
        rows.name.tolist(),
        rows.thread.tolist(),
        rows.place.tolist(),
        strict=True,
    ):
        where = None if place == NONE else places[place]
        shown = names[name] if name != NONE else where or ""
        yield _slice((HOST, thread), shown, start, dur, kind=kinds[kind], line=where)


def _device(lanes: Lanes) -> Iterator[Event]:
    rows, names = lanes.work, [sanitize.shown(name) for name in lanes.names]
    families = [family.name.lower() for family in Family]
    for start, dur, family, name, stream in zip(
        rows.start.tolist(),
        rows.dur.tolist(),
        rows.family.tolist(),
        rows.name.tolist(),
        rows.stream.tolist(),
        strict=True,
    ):
        yield _slice((DEVICE, stream), names[name], start, dur, family=families[family])


def _flows(lanes: Lanes) -> Iterator[Event]:
    """An arrow from each launch to the work it put on the device."""
    rows, host = lanes.work, lanes.host
    for at, by in enumerate(rows.host.tolist()):
        if by == NONE:
            continue
        common = {"name": "launch", "cat": "launch", "id": at}
        begin = {"pid": HOST, "tid": int(host.thread[by]), "ts": int(host.start[by]) / NS_PER_US}
        end = {"pid": DEVICE, "tid": int(rows.stream[at]), "ts": int(rows.start[at]) / NS_PER_US}
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
    for lane, edit in enumerate(diagnosis.what_if, 1):
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
