"""Everything read off both lines of one program, gathered once for verdict and prescriptions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from boundby.evidence.facts import Evidence
from boundby.evidence.launched import Launched, build_launched
from boundby.evidence.measures import Measured, measure
from boundby.evidence.operators import operator_rows
from boundby.evidence.optree import OpTree, build_op_tree
from boundby.evidence.patterns import pattern_facts
from boundby.evidence.places import top_python
from boundby.evidence.ranges import range_rows
from boundby.evidence.roof_facts import roof_facts
from boundby.evidence.roofs import Roofline
from boundby.evidence.signs import Signs, find_signs
from boundby.evidence.syncs import sync_facts, sync_rows
from boundby.evidence.tables import OpRow, RangeRow, SyncRow
from boundby.frozen import frozen
from boundby.replay.calibrate import Calibrated
from boundby.replay.observed import observe_steps
from boundby.replay.observer import MODEL
from boundby.replay.program import Program
from boundby.replay.values import Calibration, StepTimes, WaterfallPart
from boundby.timeline.measure import measure_device, measure_host
from boundby.timeline.summary import DeviceSummary, HostSummary
from boundby.timeline.timeline import Timeline

ALL = 1.0
"""An operator's row shows its work where all of its device time is counted."""
NOT_CALIBRATED = Calibration("prior", MODEL, None)


@frozen
class Observed:
    """What was read off both lines.

    Attributes:
        parts: The waterfall of the clean step; empty without an estimate.
        tree: The operators of the submitting threads.
        roofline: The steps under the roofs of their device; None before they were held there.
    """

    steps: StepTimes
    calibration: Calibration
    device: DeviceSummary
    host: HostSummary
    ops: tuple[OpRow, ...]
    ranges: tuple[RangeRow, ...]
    syncs: tuple[SyncRow, ...]
    parts: tuple[WaterfallPart, ...]
    evidence: tuple[Evidence, ...]
    tree: OpTree
    roofline: Roofline | None = None


def observe(
    timeline: Timeline,
    program: Program | None,
    calibrated: Calibrated | None,
    parts: Sequence[WaterfallPart] = (),
) -> Observed:
    """Read both lines.

    Args:
        timeline: Both lines.
        program: None where no step launched work.
        calibrated: None where the recording carries no estimate of the clean step.
        parts: Its waterfall.
    """
    python, ranges = top_python(timeline), range_rows(timeline)  # before the tree: less at once
    tree = build_op_tree(timeline)
    syncs = sync_rows(timeline, tree, calibrated.saved_without_waits if calibrated else None)
    measured = Measured(
        steps=observe_steps(timeline, program, calibrated.step if calibrated else None),
        calibration=calibrated.calibration if calibrated else NOT_CALIBRATED,
        device=_summarise(measure_device(timeline), syncs, calibrated),
        host=measure_host(timeline),
        waterfall=parts,
    )
    return Observed(
        steps=measured.steps,
        calibration=measured.calibration,
        device=measured.device,
        host=measured.host,
        ops=operator_rows(timeline, tree),
        ranges=ranges,
        syncs=syncs,
        parts=tuple(parts),
        evidence=(
            *measure(measured),
            *sync_facts(timeline.recording, syncs),
            *pattern_facts(timeline, tree),
            *python,
        ),
        tree=tree,
    )


def with_roofs(observed: Observed, roofline: Roofline, *, host_sets_step: bool) -> Observed:
    """The same with what the roofs say: their facts, and the work of each operator."""
    facts = roof_facts(roofline, host_sets_step=host_sets_step)
    work = {row.name: row for row in roofline.operators if row.counted >= ALL}
    return replace(
        observed,
        ops=tuple(
            replace(row, flops=work[row.name].flops, bytes=work[row.name].bytes)
            if row.name in work
            else row
            for row in observed.ops
        ),
        evidence=(*observed.evidence, *facts),
        roofline=roofline,
    )


def read_signs(timeline: Timeline, observed: Observed) -> tuple[Signs, Launched]:
    """What the program does at its own cost, and its launches with their operators."""
    return find_signs(timeline, observed.tree), build_launched(timeline, observed.tree)


def _summarise(
    device: DeviceSummary, syncs: Sequence[SyncRow], calibrated: Calibrated | None
) -> DeviceSummary:
    """The device line with its waits counted and its share of the clean step."""
    if device.ms_per_step is None:
        return device
    waits = sum(row.count_per_step for row in syncs if row.kind != "allocator")
    share = None
    if calibrated is not None and calibrated.step.estimate:
        works = device.ms_per_step * calibrated.calibration.device_scale
        share = min(works / calibrated.step.estimate, 1.0)
    return replace(device, syncs_per_step=waits, busy_share_unprofiled=share)
