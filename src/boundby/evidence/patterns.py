"""Habits of a program that a reader of its timeline would point at, each with its number."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from boundby.evidence.composites import composite_facts
from boundby.evidence.facts import Evidence
from boundby.evidence.fusion import fusion_facts
from boundby.evidence.optree import OpTree, build_op_tree
from boundby.evidence.phases import stretch, updates
from boundby.evidence.words import counted, figure
from boundby.intervals import Intervals, subtract
from boundby.read.recording import NONE, HostKind
from boundby.timeline.blocking import blocking_copies
from boundby.timeline.steps import LOADER
from boundby.timeline.timeline import Timeline
from boundby.units import ms, us

WORTH_SAYING = 0.05
"""Share from which the optimizer, or idle time under loading, deserves a sentence."""
SPARSE = 0.02
"""Share of the window the device must idle before asking what it idles for."""


def pattern_facts(timeline: Timeline, tree: OpTree | None = None) -> tuple[Evidence, ...]:
    """The patterns that apply: launch calls, optimizer, loading, fusion, composite operators.

    Args:
        timeline: Both lines.
        tree: Its forest, where the caller has it already.
    """
    tree = tree or build_op_tree(timeline)
    return (
        *launch_calls(timeline),
        *phase_optimizer(timeline),
        *idle_period(timeline),
        *fusion_facts(timeline, tree),
        *composite_facts(timeline, tree),
    )


def launch_calls(timeline: Timeline) -> Iterator[Evidence]:
    """``launch-calls``: host ms a step inside launch calls, without copies that hold the host."""
    inside = timeline.launch_step != NONE
    inside[blocking_copies(timeline)] = False
    dur = (timeline.launches.end - timeline.launches.start)[inside]
    if not len(dur):
        return
    steps = len(timeline.steps)
    each, typical = us(dur.mean()), us(float(np.median(dur)))
    yield Evidence(
        "launch-calls",
        ms(dur.sum()) / steps,
        "ms",
        f"{counted(len(dur) / steps, 'launch call')} a step, {figure(each)} us on average (median "
        f"{figure(typical)}), {figure(ms(dur.sum()) / steps)} ms of recorded host time together",
        "measured",
    )


def phase_optimizer(timeline: Timeline) -> Iterator[Evidence]:
    """``phase-optimizer``: share of the recorded step the host spends in the optimizer."""
    phase = updates(timeline)
    started = timeline.launches.start[timeline.launch_step != NONE]
    span = int((timeline.steps.end - timeline.steps.start).sum())
    if not phase.count or not len(started) or span <= 0:
        return
    host = phase.when.total / span
    mine = int((phase.when.within(started, started + 1) > 0).sum())
    launches = mine / len(started)
    if max(host, launches) < WORTH_SAYING:
        return
    steps = len(timeline.steps)
    yield Evidence(
        "phase-optimizer",
        host,
        "share",
        f"the optimizer takes {host:.0%} of the recorded step on the host and makes {launches:.0%} "
        f"of the launches ({figure(mine / steps)} of {figure(len(started) / steps)})",
        "measured",
    )


def idle_period(timeline: Timeline) -> Iterator[Evidence]:
    """``idle-period``: share of the device's idle time while the host loads a batch."""
    loading = stretch(timeline, LOADER, HostKind.RANGE, HostKind.OP)
    window = Intervals(timeline.steps.start[:1], timeline.steps.end[-1:])
    if not loading.count or not timeline.has_device_work:
        return
    idle = subtract(window, timeline.busy.all)
    if idle.total < SPARSE * window.total:
        return
    share = float(idle.within(loading.when.start, loading.when.end).sum()) / idle.total
    if share < WORTH_SAYING:
        return
    steps, batch = len(timeline.steps), ms(loading.when.total) / loading.count
    yield Evidence(
        "idle-period",
        share,
        "share",
        f"{share:.0%} of the device's idle time ({figure(ms(idle.total) / steps)} ms a step) falls "
        f"inside loading: one batch takes {figure(batch)} ms",
        "measured",
    )
