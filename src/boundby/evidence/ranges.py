"""Named ranges and phases: how much host and device time each takes of a step."""

from __future__ import annotations

import re
from collections import defaultdict

import numpy as np

from boundby.evidence.phases import LIBRARY_RANGE, NAMED_PHASE, Stretch, derived_phases
from boundby.evidence.tables import RangeRow
from boundby.frozen import frozen
from boundby.intervals import Intervals, Ints, union
from boundby.read.recording import NONE, HostKind
from boundby.timeline.timeline import Timeline
from boundby.units import ms

STEP = re.compile(r"^ProfilerStep(#\d+|\*)?$")
DIGITS = re.compile(r"\d+")


@frozen
class DeviceMeter:
    """Device time by the host time at which it was launched.

    Attributes:
        launched: int64[n] ns, starts of the launches inside steps, rising.
        upto: int64[n + 1] ns of device time launched before each of them.
    """

    launched: Ints
    upto: Ints

    def during(self, when: Intervals) -> int:
        """Ns of device time launched while the intervals are on."""
        first = np.searchsorted(self.launched, when.start)
        last = np.searchsorted(self.launched, when.end)
        return int((self.upto[last] - self.upto[first]).sum())


def device_meter(timeline: Timeline) -> DeviceMeter:
    """Device time of the launches inside steps; overlapping work counts for what started first."""
    rows = timeline.rows[timeline.row_step != NONE]
    work, launches = timeline.recording.device, timeline.launches
    start, end = work.start[rows], work.end[rows]
    reach = np.maximum.accumulate(end)
    alone = np.maximum(end - np.maximum(start, np.concatenate((start[:1], reach[:-1]))), 0)
    of_launch = np.bincount(launches.of_row[rows], alone, minlength=len(launches))
    inside = timeline.launch_step != NONE
    upto = np.concatenate(([0], np.cumsum(of_launch[inside].astype(np.int64))))
    return DeviceMeter(launches.start[inside], upto)


def range_rows(timeline: Timeline) -> tuple[RangeRow, ...]:
    """A row for each named range on the submitting threads, then one for each derived phase.

    Host ms is the time a range is open, device ms the work launched meanwhile, so that disjoint
    ranges add up to the device time of a step. Names that occur once and differ only in digits
    share a row. A phase is derived only where no range of the user names it.
    """
    meter = device_meter(timeline)
    ranges = named_ranges(timeline)
    rows = [_row(timeline, meter, name, stretch) for name, stretch in ranges.items()]
    rows.sort(key=lambda row: -row.host_ms)
    own = [name for name in ranges if not LIBRARY_RANGE.search(name)]
    phases = [
        _row(timeline, meter, f"phase: {phase}", stretch)
        for phase, stretch in derived_phases(timeline).items()
        if stretch.count and not any(NAMED_PHASE[phase].search(name) for name in own)
    ]
    return (*rows, *phases)


def named_ranges(timeline: Timeline) -> dict[str, Stretch]:
    """When each named range is open, for ranges that start inside a step; steps are left out."""
    host, names = timeline.recording.host, timeline.recording.names
    rows = np.flatnonzero(host.kind == HostKind.RANGE)
    rows = rows[np.isin(host.thread[rows], timeline.line.threads)]
    rows = rows[timeline.steps.of(host.start[rows]) != NONE]
    rows = rows[np.argsort(host.name[rows], kind="stable")]
    used, first = np.unique(host.name[rows], return_index=True)
    groups = {
        names[name]: group
        for name, group in zip(used.tolist(), np.split(rows, first)[1:], strict=True)
        if not STEP.match(names[name])
    }
    folded = _fold_counters(groups) if len(timeline.steps) > 1 else groups
    return {
        name: Stretch(union(host.start[group], host.start[group] + host.dur[group]), len(group))
        for name, group in folded.items()
    }


def _fold_counters(groups: dict[str, Ints]) -> dict[str, Ints]:
    """Names that occur once in a window of several steps carry a counter: ``epoch 3, it 7``."""
    once: dict[str, list[str]] = defaultdict(list)
    for name, rows in groups.items():
        if len(rows) == 1:
            once[DIGITS.sub("#", name)].append(name)
    family = {name: key for key, members in once.items() if len(members) > 1 for name in members}
    folded: dict[str, list[Ints]] = defaultdict(list)
    for name, rows in groups.items():
        folded[family.get(name, name)].append(rows)
    return {name: np.concatenate(parts) for name, parts in folded.items()}


def _row(timeline: Timeline, meter: DeviceMeter, name: str, stretch: Stretch) -> RangeRow:
    steps = max(len(timeline.steps), 1)
    return RangeRow(
        name=name,
        count=stretch.count / steps,
        host_ms=ms(stretch.when.total) / steps,
        device_ms=ms(meter.during(stretch.when)) / steps,
    )
