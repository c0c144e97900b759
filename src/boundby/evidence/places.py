"""Where in the user's code something happened, and which functions cost most Python."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from boundby.evidence.facts import Evidence, Place
from boundby.evidence.frames import UserFrames, user_frames
from boundby.evidence.naming import Bools
from boundby.evidence.phases import stretch
from boundby.evidence.source_lines import candidate_lines
from boundby.evidence.words import figure, listed
from boundby.intervals import Intervals, Ints, merge, union
from boundby.read.recording import NONE, HostKind, Recording
from boundby.timeline.nesting import enclosing
from boundby.timeline.steps import LOADER
from boundby.timeline.timeline import Timeline
from boundby.units import ms

MOST_PLACES = 3
"""Places named for one finding."""
MOST_FUNCTIONS = 5
"""Functions named by ``top_python``."""
WORTH_SAYING = 0.01
"""Share of the recorded step below which a function is not named."""
TO_BLAME = 0.2
"""Share of the loading below which a function is not why it takes long."""
SPENT = {"python-function": "Python", "loader-function": "loading a batch"}
"""What a function of each fact spends its time in."""
DISTANT_PAST = np.iinfo(np.int64).min // 2
DISTANT_FUTURE = np.iinfo(np.int64).max // 2


def places_of(recording: Recording, rows: Ints, frames: UserFrames) -> tuple[Place, ...]:
    """The functions that most of the given host rows happened in, most frequent first.

    The innermost frame on the row's own thread counts; where it has none (the autograd thread),
    the innermost on the main thread, which waits there.
    """
    if not len(frames) or not len(rows):
        return ()
    host = recording.host
    columns = frames.start, frames.end, frames.thread
    times, threads = host.start[rows], host.thread[rows].astype(np.int64)
    found = enclosing(columns, frames.parent, times, threads)
    lost = found == NONE
    waiting = np.full(int(lost.sum()), recording.main_thread, dtype=np.int64)
    found[lost] = enclosing(columns, frames.parent, times[lost], waiting)
    counts = np.bincount(frames.place[found[found != NONE]], minlength=len(frames.places))
    order = np.argsort(-counts, kind="stable")[:MOST_PLACES]
    return tuple(frames.places[index] for index in order.tolist() if counts[index])


def top_python(timeline: Timeline) -> tuple[Evidence, ...]:
    """``python-function`` and, for loading, ``loader-function``: the costliest first, ms a step.

    A function's time is its own and that of the library code it calls, without other functions of
    the user; outside loading also without operators and calls on any submitting thread. Recorded
    time: stacks have a cost of their own.
    """
    frames = user_frames(timeline.recording)
    if not len(frames):
        return ()
    loading = stretch(timeline, LOADER, HostKind.RANGE, HostKind.OP).when
    steps = Intervals(timeline.steps.start, timeline.steps.end)
    span = int((steps.end - steps.start).sum())
    busy = merge(_operators(timeline), loading, _outside(steps))
    python = _own_time(timeline, frames, busy)
    loader = _own_time(timeline, frames, _outside(loading))
    return (
        *_facts(timeline, frames, python, "python-function", WORTH_SAYING * span),
        *_facts(timeline, frames, loader, "loader-function", TO_BLAME * loading.total),
    )


def describe(place: Place, kind: str, recording: str) -> str:
    """``step in train.py (defined at line 42; see lines 45 and 51)``; the latter where known.

    Args:
        place: A function.
        kind: What to look for in it, as ``candidate_lines`` takes it.
        recording: Path of the recording.
    """
    lines = candidate_lines(place, kind, recording)
    see = f"; see line{'s' if len(lines) > 1 else ''} {listed(lines)}" if lines else ""
    return f"{place.function} in {place.file} (defined at line {place.line}{see})"


def _facts(
    timeline: Timeline, frames: UserFrames, time: Ints, identity: str, least: float
) -> Iterator[Evidence]:
    """One fact for each of the costliest functions with at least so many ns."""
    for index in np.argsort(-time, kind="stable")[:MOST_FUNCTIONS].tolist():
        if time[index] < max(least, 1):
            return
        place, each = frames.places[index], ms(time[index]) / len(timeline.steps)
        name = describe(place, "loop", timeline.recording.source.path)
        text = (
            f"{name} spends {figure(each)} ms a step in {SPENT[identity]}, library code it calls "
            "included"
        )
        yield Evidence(identity, each, "ms", text, "measured", (place,))


def _own_time(timeline: Timeline, frames: UserFrames, busy: Intervals) -> Ints:
    """Ns of each place, innermost frame on the submitting threads, while nothing is busy.

    While a thread other than the main one runs a frame, the main thread waits for it.
    """
    main = timeline.recording.main_thread
    mine = np.isin(frames.thread, timeline.line.threads)
    others = mine & (frames.thread != main)
    elsewhere = union(frames.start[others], frames.end[others])
    time = _innermost_time(frames, others, busy)
    return time + _innermost_time(frames, mine & ~others, merge(busy, elsewhere))


def _innermost_time(frames: UserFrames, kept: Bools, busy: Intervals) -> Ints:
    """Ns of each place in the kept frames, without the user's frames inside them and busy time."""
    rows = np.flatnonzero(kept)
    free = np.zeros(len(frames), dtype=np.int64)
    start, end = frames.start[rows], frames.end[rows]
    free[rows] = end - start - busy.within(start, end)
    inner = rows[frames.parent[rows] != NONE]
    own = free - np.bincount(frames.parent[inner], free[inner], minlength=len(frames))
    total = np.bincount(frames.place[rows], own[rows], minlength=len(frames.places))
    return np.maximum(total, 0).astype(np.int64)


def _operators(timeline: Timeline) -> Intervals:
    """When an operator, a call or the profiler itself runs on a submitting thread."""
    host = timeline.recording.host
    mine = np.isin(host.thread, timeline.line.threads) & (host.kind != HostKind.RANGE)
    rows = np.flatnonzero(mine | (host.kind == HostKind.OVERHEAD))
    return union(host.start[rows], host.end[rows])


def _outside(when: Intervals) -> Intervals:
    """All time before, between and after the intervals."""
    past, future = np.array([DISTANT_PAST]), np.array([DISTANT_FUTURE])
    return union(np.concatenate((past, when.end)), np.concatenate((when.start, future)))
