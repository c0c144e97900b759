"""The whole flow: a recording in, a diagnosis out. Read this file first."""

from __future__ import annotations

from dataclasses import dataclass, replace

from boundby.evidence.causes import find_causes, measure_shares
from boundby.evidence.facts import Evidence
from boundby.evidence.measures import Measured, measure
from boundby.evidence.operators import operator_rows
from boundby.evidence.patterns import pattern_facts
from boundby.evidence.places import top_python
from boundby.evidence.ranges import range_rows
from boundby.evidence.syncs import sync_rows
from boundby.evidence.tables import OpRow, RangeRow, SyncRow
from boundby.prescribe.case import Case
from boundby.prescribe.order import prescribe
from boundby.prescribe.prescription import Prescription
from boundby.read.recording import Caliber, Device, Quality, Recording, Source
from boundby.replay.build import build_program
from boundby.replay.calibrate import Calibrated, calibrate
from boundby.replay.ladder import Step, climb_down
from boundby.replay.observer import MODEL
from boundby.replay.observed import observe_steps
from boundby.replay.parts import part_of_rows
from boundby.replay.program import Program
from boundby.replay.split import DeviceSplit, split_device
from boundby.replay.values import Calibration, StepTimes, WaterfallPart, WhatIf
from boundby.replay.waterfall import descend, waterfall
from boundby.replay.whatif import what_ifs
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


def diagnose(recording: Recording, options: Options = Options()) -> Diagnosis:  # noqa: B008
    """Diagnose one recording.

    A recording that cannot carry a verdict gives ``undecided`` with the reason, never an error.
    """
    timeline = build_timeline(recording)
    program = build_program(timeline)
    if not len(program.work):
        return _without_program(timeline)
    split = split_device(timeline, part_of_rows(timeline))
    calibrated = calibrate(timeline, program, options.step_ms, options.submit_ms)
    outlook = _outlook(calibrated, split)
    facts = _observe(timeline, program, calibrated, outlook)
    causes = find_causes(measure_shares(timeline), facts.syncs)
    reason = voiding(recording.quality)
    known = frozenset(e.id for e in facts.evidence)
    verdict = undecided(reason) if reason else decide(outlook, causes, known)
    asked = what_ifs(calibrated)
    rungs = _rungs(climb_down(calibrated.clean, split, _leading))
    advised = () if reason else prescribe(_case(recording, facts, verdict, asked, rungs))
    return Diagnosis(
        source=recording.source,
        caliber=recording.caliber,
        quality=_quality(recording, program),
        steps=facts.steps,
        calibration=calibrated.calibration,
        devices=tuple(recording.devices),
        device=facts.device,
        waterfall=tuple(outlook.clean),
        verdict=verdict,
        path=walk(verdict, facts.device, facts.host, shares_of(outlook.clean)),
        host=facts.host,
        what_if=asked,
        ladder=rungs,
        prescriptions=advised,
        ranges=facts.ranges,
        ops=facts.ops,
        syncs=facts.syncs,
        next=next_commands(verdict, recording.source.path),
        evidence=facts.evidence,
    )


def _without_program(timeline: Timeline) -> Diagnosis:
    """A recording without launches to replay: what can be said, and why there is no verdict."""
    recording = timeline.recording
    host_known = bool(len(recording.host) or len(recording.python))
    return Diagnosis(
        source=recording.source,
        caliber=recording.caliber,
        quality=recording.quality,
        steps=observe_steps(timeline, None, None),
        calibration=Calibration("prior", MODEL, None),
        devices=tuple(recording.devices),
        device=measure_device(timeline),
        waterfall=(),
        verdict=undecided(voiding(recording.quality) or NO_LAUNCHES),
        path=None,
        host=measure_host(timeline),
        what_if=(),
        ladder=(),
        prescriptions=(),
        ranges=range_rows(timeline) if host_known else (),
        ops=operator_rows(timeline) if host_known else (),
        syncs=(),
        next=next_commands(undecided(NO_LAUNCHES), recording.source.path),
        evidence=pattern_facts(timeline) if host_known else (),
    )


NO_LAUNCHES = (
    "no device work could be joined to a launch inside a step, so the two timelines cannot be "
    "rebuilt; record again with both CPU and CUDA activities over whole steps"
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


def _outlook(calibrated: Calibrated, split: DeviceSplit) -> Outlook:
    """The waterfall of the best estimate and of both ends of its range."""
    clean, low, high = (
        waterfall(program, descend(program, split), split)
        for program in (calibrated.clean, calibrated.low, calibrated.high)
    )
    return Outlook(clean, low, high)


def _observe(
    timeline: Timeline, program: Program, calibrated: Calibrated, outlook: Outlook
) -> _Facts:
    steps = observe_steps(timeline, program, calibrated.step)
    device = _with_busy_share(measure_device(timeline), calibrated)
    host = measure_host(timeline)
    parts = tuple(outlook.clean)
    measured = measure(Measured(steps, calibrated.calibration, device, host, parts))
    return _Facts(
        steps=steps,
        device=device,
        host=host,
        ops=operator_rows(timeline),
        ranges=range_rows(timeline),
        syncs=sync_rows(timeline),
        evidence=(*measured, *pattern_facts(timeline), *top_python(timeline)),
        parts=parts,
    )


def _with_busy_share(device: DeviceSummary, calibrated: Calibrated) -> DeviceSummary:
    step = calibrated.step.estimate
    if device.ms_per_step is None or not step:
        return device
    return replace(device, busy_share_unprofiled=min(device.ms_per_step / step, 1.0))


def _leading(parts: tuple[WaterfallPart, ...]) -> str:
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
        evidence={e.id: e for e in facts.evidence},
        syncs=facts.syncs,
        ops=facts.ops,
        ranges=facts.ranges,
    )


def _quality(recording: Recording, program: Program) -> tuple[Quality, ...]:
    if not program.edge_waits:
        return recording.quality
    edge = Quality(
        "edge-sync",
        "info",
        program.edge_waits,
        "waits before the first and after the last launch belong to the recording and were left out",
    )
    return (*recording.quality, edge)
