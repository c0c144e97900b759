"""The whole flow: a recording in, a diagnosis out. Read this file first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from boundby.evidence.causes import find_causes
from boundby.evidence.facts import Evidence
from boundby.evidence.launched import Launched, build_launched
from boundby.evidence.marks import mark_launches
from boundby.evidence.measures import Measured, measure
from boundby.evidence.operators import operator_rows
from boundby.evidence.optree import build_op_tree
from boundby.evidence.patterns import pattern_facts
from boundby.evidence.places import top_python
from boundby.evidence.ranges import range_rows
from boundby.evidence.signs import Signs, find_signs
from boundby.evidence.syncs import sync_facts, sync_rows
from boundby.evidence.tables import OpRow, RangeRow, SyncRow
from boundby.prescribe.case import Case
from boundby.prescribe.order import prescribe
from boundby.prescribe.prescription import Prescription
from boundby.read.recording import Caliber, Device, Quality, Recording, Source
from boundby.replay.build import build_program
from boundby.replay.calibrate import MOST_POINTS, Calibrated, calibrate
from boundby.replay.ladder import Step, climb_down
from boundby.replay.observed import observe_steps
from boundby.replay.observer import MODEL
from boundby.replay.parts import part_of_rows
from boundby.replay.program import Program
from boundby.replay.split import DeviceSplit, split_device
from boundby.replay.values import Calibration, Part, StepTimes, WaterfallPart, WhatIf
from boundby.replay.waterfall import descend, waterfall
from boundby.replay.whatif import what_ifs
from boundby.roofline.devices import match_device
from boundby.roofline.kernels import KernelRoofs, measure_kernels
from boundby.timeline.measure import measure_device, measure_host
from boundby.timeline.summary import DeviceSummary, HostSummary
from boundby.timeline.timeline import Timeline, build_timeline
from boundby.verdict.classes import class_of, leading_part, shares_of
from boundby.verdict.decide import Outlook, decide, undecided, voiding
from boundby.verdict.decision import DecisionPath, Rung, Verdict
from boundby.verdict.next import NextCommand, next_commands
from boundby.verdict.path import walk


@dataclass(frozen=True)
class Options:
    """What the user knows beyond the recording.

    Attributes:
        step_ms: Step time measured without a profiler.
        submit_ms: Host time to submit one step without waiting.
    """

    step_ms: float | None = None
    submit_ms: float | None = None


@dataclass(frozen=True)
class Diagnosis:
    """Everything boundby says about one recording; reports format this and compute nothing."""

    source: Source
    caliber: Caliber
    quality: tuple[Quality, ...]
    steps: StepTimes
    calibration: Calibration
    devices: tuple[Device, ...]
    device: DeviceSummary
    waterfall: tuple[WaterfallPart, ...]
    verdict: Verdict
    path: DecisionPath | None
    host: HostSummary
    what_if: tuple[WhatIf, ...]
    ladder: tuple[Rung, ...]
    prescriptions: tuple[Prescription, ...]
    ranges: tuple[RangeRow, ...]
    ops: tuple[OpRow, ...]
    syncs: tuple[SyncRow, ...]
    next: tuple[NextCommand, ...]
    evidence: tuple[Evidence, ...]


def diagnose(recording: Recording, options: Options = Options()) -> Diagnosis:
    """Diagnose one recording.

    A recording that cannot carry a verdict gives ``undecided`` with the reason, never an error.
    """
    timeline = build_timeline(recording)
    program = build_program(timeline)
    reason = voiding(recording.quality) or (None if len(program.work) else NO_LAUNCHES)
    if reason:
        return _undecided(timeline, program, reason)
    roofs = _hold_against_roofs(timeline, program)
    split = split_device(timeline, part_of_rows(timeline, roofs))
    calibrated = calibrate(timeline, program, options.step_ms, options.submit_ms)
    outlook = _outlook(calibrated, program, split)
    facts = _observe(timeline, program, calibrated, outlook)
    causes = find_causes(facts.signs, facts.syncs)
    verdict = decide(outlook, causes, frozenset(e.id for e in facts.evidence))
    asked = what_ifs(calibrated, mark_launches(facts.launched, roofs, _device(timeline)))
    rungs = _rungs(climb_down(calibrated.clean, split, _leading))
    return Diagnosis(
        source=recording.source,
        caliber=recording.caliber,
        quality=_quality(recording, program),
        steps=facts.steps,
        calibration=calibrated.calibration,
        devices=tuple(recording.devices),
        device=facts.device,
        waterfall=facts.parts,
        verdict=verdict,
        path=walk(verdict, facts.device, facts.host, shares_of(facts.parts)),
        host=facts.host,
        what_if=asked,
        ladder=rungs,
        prescriptions=prescribe(_case(recording, facts, verdict, asked, rungs)),
        ranges=facts.ranges,
        ops=facts.ops,
        syncs=facts.syncs,
        next=next_commands(verdict, recording.source.path),
        evidence=facts.evidence,
    )


NO_LAUNCHES = (
    "no device work could be joined to a launch inside a step, so the two timelines cannot be "
    "rebuilt; record again with both CPU and CUDA activities over whole steps"
)


def _undecided(timeline: Timeline, program: Program, reason: str) -> Diagnosis:
    """What was observed, without a verdict or any estimate, and why."""
    recording = timeline.recording
    replayable = program if len(program.work) else None
    device = measure_device(timeline)
    observed = Measured(
        steps=observe_steps(timeline, replayable, None),
        calibration=Calibration("prior", MODEL, None),
        device=device,
        host=measure_host(timeline),
        waterfall=(),
    )
    verdict = undecided(reason)
    return Diagnosis(
        source=recording.source,
        caliber=recording.caliber,
        quality=recording.quality,
        steps=observed.steps,
        calibration=observed.calibration,
        devices=tuple(recording.devices),
        device=device,
        waterfall=(),
        verdict=verdict,
        path=None,
        host=observed.host,
        what_if=(),
        ladder=(),
        prescriptions=(),
        ranges=range_rows(timeline),
        ops=operator_rows(timeline),
        syncs=sync_rows(timeline),
        next=next_commands(verdict, recording.source.path),
        evidence=(*measure(observed), *pattern_facts(timeline), *top_python(timeline)),
    )


@dataclass(frozen=True)
class _Facts:
    """What was read off both lines."""

    steps: StepTimes
    device: DeviceSummary
    host: HostSummary
    ops: tuple[OpRow, ...]
    ranges: tuple[RangeRow, ...]
    syncs: tuple[SyncRow, ...]
    evidence: tuple[Evidence, ...]
    parts: tuple[WaterfallPart, ...]
    signs: Signs
    launched: Launched


def _hold_against_roofs(timeline: Timeline, program: Program) -> KernelRoofs:
    """Device rows of the middle steps held against the roofs of their device."""
    first, last = program.middle_steps(MOST_POINTS)
    rows = timeline.rows[(timeline.row_step >= first) & (timeline.row_step < last)]
    device = _device(timeline)
    match = (
        match_device(device.name, device.memory_bytes, device.multiprocessors) if device else None
    )
    return measure_kernels(timeline.recording, rows, match.ceilings if match else None)


def _device(timeline: Timeline) -> Device | None:
    """The device the verdict is about, as the recording names it."""
    return next((d for d in timeline.recording.devices if d.id == timeline.device), None)


def _outlook(calibrated: Calibrated, observed: Program, split: DeviceSplit) -> Outlook:
    """The waterfalls of the best estimate, of both ends of its range, and as recorded."""
    programs = [calibrated.clean, calibrated.low, calibrated.high]
    if calibrated.calibration.source == "prior":
        programs.append(observed.middle(MOST_POINTS))
    return Outlook(*(waterfall(p, descend(p, split), split) for p in programs))


def _observe(
    timeline: Timeline, program: Program, calibrated: Calibrated, outlook: Outlook
) -> _Facts:
    steps = observe_steps(timeline, program, calibrated.step)
    device = _with_busy_share(measure_device(timeline), calibrated)
    host = measure_host(timeline)
    parts = tuple(outlook.clean)
    tree = build_op_tree(timeline)
    syncs = sync_rows(timeline, tree, calibrated.saved_without_waits)
    measured = measure(Measured(steps, calibrated.calibration, device, host, parts))
    return _Facts(
        steps=steps,
        device=device,
        host=host,
        ops=operator_rows(timeline, tree),
        ranges=range_rows(timeline),
        syncs=syncs,
        evidence=(
            *measured,
            *sync_facts(timeline.recording, syncs),
            *pattern_facts(timeline, tree),
            *top_python(timeline),
        ),
        parts=parts,
        signs=find_signs(timeline, tree),
        launched=build_launched(timeline, tree),
    )


def _with_busy_share(device: DeviceSummary, calibrated: Calibrated) -> DeviceSummary:
    step = calibrated.step.estimate
    if device.ms_per_step is None or not step:
        return device
    return replace(device, busy_share_unprofiled=min(device.ms_per_step / step, 1.0))


def _leading(parts: Sequence[WaterfallPart]) -> Part:
    return leading_part(shares_of(parts))


def _rungs(steps: tuple[Step, ...]) -> tuple[Rung, ...]:
    return tuple(Rung(class_of(s.part), s.fix, s.step_ms, s.pays) for s in steps)


def _case(
    recording: Recording,
    facts: _Facts,
    verdict: Verdict,
    asked: tuple[WhatIf, ...],
    rungs: tuple[Rung, ...],
) -> Case:
    step = facts.steps.unprofiled_ms
    assert step is not None  # noqa: S101 - a program was replayed
    return Case(
        verdict=verdict,
        step=step,
        shares=shares_of(facts.parts),
        what_if={w.id: w for w in asked},
        ladder=rungs,
        device=facts.device,
        host=facts.host,
        caliber=recording.caliber,
        evidence={e.id: e for e in reversed(facts.evidence)},
        syncs=facts.syncs,
        ops=facts.ops,
        ranges=facts.ranges,
        signs=facts.signs,
    )


def _quality(recording: Recording, program: Program) -> tuple[Quality, ...]:
    if not program.edge_waits:
        return recording.quality
    edge = Quality(
        "edge-sync",
        "info",
        program.edge_waits,
        "waits before the first and after the last launch are the recording's own: left out",
    )
    return (*recording.quality, edge)
