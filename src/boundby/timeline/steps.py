"""Step boundaries on the host line.

Order of preference: ProfilerStep ranges, repeated user ranges, optimizer ranges, loader ranges,
periodicity of the launched kernels, and at last the whole window as one step.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Literal

import numpy as np

from boundby.distribution import distinct
from boundby.frozen import frozen
from boundby.intervals import Ints
from boundby.read.recording import HostKind, Ints32, Recording
from boundby.timeline.launches import Launches

StepSource = Literal["ProfilerStep", "user ranges", "optimizer", "loader", "periodicity", "window"]
_PROFILER_STEP = re.compile(r"^ProfilerStep#(\d{1,18})$")
_OPTIMIZER = re.compile(r"^Optimizer\.step#")
LOADER = re.compile(r"^enumerate\(DataLoader\)#|DataLoader.*__next__")
_OWN = re.compile(r"^(Optimizer\.|ProfilerStep|enumerate\(DataLoader\)|## |nccl:|c10d::|gloo:|\[)")
_DIGITS = re.compile(r"\d+")

MIN_STEPS = 2
"""Fewer repeats of a range do not make it a step."""
MIN_LAUNCHES_COVERED = 0.6
"""A user range is a step only if its repeats hold this share of all launches."""
MIN_PERIODIC_MATCH = 0.95
"""Share of launches that must repeat after one period."""


@frozen
class Steps:
    """Host ranges of the steps.

    Attributes:
        start, end: int64[n] ns, rising and disjoint.
        source: What they were taken from.
    """

    start: Ints
    end: Ints
    source: StepSource

    def __len__(self) -> int:
        return len(self.start)

    def of(self, times: Ints) -> Ints:
        """int64: index of the step that holds each time, -1 where none does."""
        index = np.searchsorted(self.start, times, side="right") - 1
        inside = (index >= 0) & (times < self.end[np.maximum(index, 0)])
        return np.where(inside, index, -1)

    def holds(self, times: Ints) -> int:
        """How many of these rising times lie inside a step; linear in the steps."""
        inside = np.searchsorted(times, self.end) - np.searchsorted(times, self.start)
        return int(np.maximum(inside, 0).sum())


def find_steps(recording: Recording, launches: Launches) -> Steps:
    """The steps of a recording, by the best source it has."""
    return (
        _lasting(_profiler_steps(recording))
        or _lasting(_user_ranges(recording, launches))
        or _lasting(_optimizer_steps(recording))
        or _lasting(_loader_steps(recording))
        or _lasting(_periodic_steps(recording, launches))
        or _whole_window(recording)
    )


def _lasting(steps: Steps | None) -> Steps | None:
    """Steps without those that take no time at all; None where nothing is left."""
    if steps is None:
        return None
    lasts = steps.end > steps.start
    return Steps(steps.start[lasts], steps.end[lasts], steps.source) if lasts.any() else None


def _named_rows(recording: Recording, pattern: re.Pattern[str]) -> Ints:
    """Rows of ranges (or, in old traces, operators) whose name matches, ordered by start."""
    names = recording.names
    wanted = np.array([bool(pattern.search(n)) for n in names], dtype=bool)
    kind = recording.host.kind
    ranges = (kind == HostKind.RANGE) | (kind == HostKind.OP)
    return np.flatnonzero(wanted[recording.host.name] & ranges) if len(names) else np.zeros(0, int)


def _profiler_steps(recording: Recording) -> Steps | None:
    rows = _named_rows(recording, _PROFILER_STEP)
    host = recording.host
    seen: dict[str, int] = {}
    for row in rows:
        seen.setdefault(recording.names[host.name[row]], int(row))
    if not seen:
        return None
    numbers = {name: int(name.split("#")[1]) for name in seen}
    kept = np.array(sorted(seen.values(), key=lambda r: int(host.start[r])), dtype=np.int64)
    number = np.array([numbers[recording.names[host.name[r]]] for r in kept])
    start, end = host.start[kept].copy(), host.end[kept].copy()
    follows = number[1:] == number[:-1] + 1
    end[:-1] = np.where(follows, start[1:], np.minimum(end[:-1], start[1:]))
    return Steps(start, end, "ProfilerStep")


def _user_ranges(recording: Recording, launches: Launches) -> Steps | None:
    """The repeated range, not nested in itself, whose repeats hold most launches."""
    host = recording.host
    groups: dict[tuple[str, int], list[int]] = defaultdict(list)
    for row in np.flatnonzero(host.kind == HostKind.RANGE):
        name = recording.names[host.name[row]]
        if not _OWN.match(name):
            groups[_DIGITS.sub("#", name), int(host.thread[row])].append(int(row))
    best: tuple[float, Steps] | None = None
    for rows in groups.values():
        if len(rows) < MIN_STEPS:
            continue
        steps = _outermost(host.start[rows], host.start[rows] + host.dur[rows], "user ranges")
        if len(steps) < MIN_STEPS:
            continue
        covered = steps.holds(launches.start) / len(launches) if len(launches) else 0.0
        if covered >= MIN_LAUNCHES_COVERED and (best is None or covered > best[0]):
            best = covered, steps
    return _contiguous(best[1]) if best else None


def _outermost(start: Ints, end: Ints, source: StepSource) -> Steps:
    """Ranges that no earlier range of the list contains."""
    reach = np.concatenate(([np.iinfo(np.int64).min], np.maximum.accumulate(end)[:-1]))
    kept = start >= reach
    return Steps(start[kept], end[kept], source)


def _contiguous(steps: Steps) -> Steps:
    """The loop's own code between two ranges belongs to the earlier step."""
    end = steps.end.copy()
    end[:-1] = steps.start[1:]
    return Steps(steps.start, end, steps.source)


def _optimizer_steps(recording: Recording) -> Steps | None:
    """From the end of one optimizer update to the end of the next.

    With several optimizers (GAN), the one that updates least often closes the step.
    """
    host = recording.host
    by_name: dict[int, list[int]] = defaultdict(list)
    for row in _named_rows(recording, _OPTIMIZER):
        by_name[int(host.name[row])].append(int(row))
    if not by_name:
        return None
    rows = min(by_name.values(), key=lambda r: (len(r), -int(host.end[r[-1]])))
    ends = np.sort(host.end[rows])
    return Steps(ends[:-1], ends[1:], "optimizer") if len(ends) > MIN_STEPS else None


def _loader_steps(recording: Recording) -> Steps | None:
    rows = _named_rows(recording, LOADER)
    if len(rows) <= MIN_STEPS:
        return None
    starts = recording.host.start[rows]
    return Steps(starts[:-1], starts[1:], "loader")


def _periodic_steps(recording: Recording, launches: Launches) -> Steps | None:
    """Steps found where the sequence of launched kernels repeats itself."""
    if not len(launches):
        return None
    sequence = recording.device.name[launches.first_row]
    period = find_period(sequence)
    if period is None:
        return None
    count = len(sequence) // period
    starts = launches.start[: count * period : period]
    last = count * period
    end = launches.start[last] if last < len(sequence) else launches.end[last - 1]
    return Steps(starts, np.append(starts[1:], end), "periodicity")


def find_period(sequence: Ints | Ints32) -> int | None:
    """Smallest shift under which at least 95% of a sequence repeats, at least three times over."""
    values, counts = np.unique(sequence, return_counts=True)
    repeated = values[counts >= MIN_STEPS + 1]
    if not len(repeated):
        return None
    rarest = repeated[np.argmin(counts[counts >= MIN_STEPS + 1])]
    positions = np.flatnonzero(sequence == rarest)
    for period in distinct(positions[1:] - positions[:-1]).tolist():
        if period * (MIN_STEPS + 1) > len(sequence):
            break
        if (sequence[period:] == sequence[:-period]).mean() >= MIN_PERIODIC_MATCH:
            return int(period)
    return None


def _whole_window(recording: Recording) -> Steps:
    """The span of host and device rows as one step; the recorded window where there are none."""
    spans = [e for e in (recording.host, recording.device) if len(e)]
    start, end = recording.window_ns
    if spans:
        start = min(int(e.start.min()) for e in spans)
        end = max(int(e.end.max()) for e in spans)
    return Steps(np.array([start]), np.array([max(end, start + 1)]), "window")
