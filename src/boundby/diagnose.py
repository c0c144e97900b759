"""The whole flow: a recording in, a diagnosis out. Read this file first.

read -> timeline -> replay -> evidence -> verdict -> prescriptions
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from boundby.diagnosis import Diagnosis
from boundby.evidence.causes import find_causes
from boundby.evidence.marks import mark_launches
from boundby.evidence.observed import Observed, observe, read_signs
from boundby.evidence.signs import Signs
from boundby.prescribe.case import Case
from boundby.prescribe.order import prescribe
from boundby.read.recording import Device, Quality, Recording
from boundby.replay.build import build_program
from boundby.replay.calibrate import MOST_POINTS, Calibrated, calibrate
from boundby.replay.ladder import Step, climb_down
from boundby.replay.parts import part_of_rows
from boundby.replay.program import Program
from boundby.replay.split import DeviceSplit, split_device
from boundby.replay.values import Estimate, Part, WaterfallPart, WhatIf
from boundby.replay.waterfall import descend, waterfall
from boundby.replay.whatif import what_ifs
from boundby.roofline.devices import match_device
from boundby.roofline.kernels import KernelRoofs, measure_kernels
from boundby.timeline.timeline import Timeline, build_timeline
from boundby.verdict.classes import class_of, leading_part, shares_of
from boundby.verdict.decide import Outlook, decide, undecided, voiding
from boundby.verdict.decision import DecisionPath, Rung, Verdict
from boundby.verdict.next import NextCommand, next_commands
from boundby.verdict.path import walk

__all__ = ["Diagnosis", "NextCommand", "Options", "diagnose"]

NO_LAUNCHES = (
    "no device work could be joined to a launch inside a step, so the two timelines cannot be "
    "rebuilt; record again with both CPU and CUDA activities over whole steps"
)


@dataclass(frozen=True)
class Options:
    """What the user knows beyond the recording.

    Attributes:
        step_ms: Step time measured without a profiler.
        submit_ms: Host time to submit one step without waiting.
    """

    step_ms: float | None = None
    submit_ms: float | None = None


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
    observed = observe(timeline, program, calibrated, outlook.clean)
    signs, launched = read_signs(timeline, observed)
    causes = find_causes(signs, observed.syncs)
    verdict = decide(outlook, causes, frozenset(e.id for e in observed.evidence))
    marks = mark_launches(launched, roofs, _device(timeline))
    findings = _Findings(
        verdict=verdict,
        path=walk(verdict, observed.device, observed.host, shares_of(outlook.clean)),
        what_if=what_ifs(calibrated, marks),
        ladder=_rungs(climb_down(calibrated.clean, split, _leading)),
    )
    case = _case(recording, observed, signs, findings, calibrated.step)
    return _diagnosis(timeline, program, observed, findings, case)


@dataclass(frozen=True)
class _Findings:
    """What was concluded."""

    verdict: Verdict
    path: DecisionPath | None = None
    what_if: tuple[WhatIf, ...] = ()
    ladder: tuple[Rung, ...] = ()


def _undecided(timeline: Timeline, program: Program, reason: str) -> Diagnosis:
    """What was observed, without a verdict or any estimate, and why."""
    observed = observe(timeline, program if len(program.work) else None, None)
    return _diagnosis(timeline, program, observed, _Findings(undecided(reason)), None)


def _diagnosis(
    timeline: Timeline, program: Program, observed: Observed, findings: _Findings, case: Case | None
) -> Diagnosis:
    recording = timeline.recording
    return Diagnosis(
        source=recording.source,
        caliber=recording.caliber,
        quality=_quality(recording, program),
        steps=observed.steps,
        calibration=observed.calibration,
        devices=tuple(recording.devices),
        device=observed.device,
        waterfall=observed.parts,
        verdict=findings.verdict,
        path=findings.path,
        host=observed.host,
        what_if=findings.what_if,
        ladder=findings.ladder,
        prescriptions=prescribe(case) if case else (),
        ranges=observed.ranges,
        ops=observed.ops,
        syncs=observed.syncs,
        next=next_commands(findings.verdict, recording.source.path),
        evidence=observed.evidence,
    )


def _hold_against_roofs(timeline: Timeline, program: Program) -> KernelRoofs:
    """Device rows of the middle steps held against the roofs of their device."""
    first, last = program.middle_steps(MOST_POINTS)
    rows = timeline.rows[(timeline.row_step >= first) & (timeline.row_step < last)]
    device = _device(timeline) or Device(timeline.device, "")
    match = match_device(device.name, device.memory_bytes, device.multiprocessors)
    return measure_kernels(timeline.recording, rows, match.ceilings)


def _device(timeline: Timeline) -> Device | None:
    """The device the verdict is about, as the recording names it."""
    return next((d for d in timeline.recording.devices if d.id == timeline.device), None)


def _outlook(calibrated: Calibrated, recorded: Program, split: DeviceSplit) -> Outlook:
    """The waterfalls of the best estimate, of both ends of its range, and as recorded."""
    programs = [calibrated.clean, calibrated.low, calibrated.high]
    if calibrated.calibration.source == "prior":
        programs.append(recorded.middle(MOST_POINTS))
    return Outlook(*(waterfall(p, descend(p, split), split) for p in programs))


def _leading(parts: Sequence[WaterfallPart]) -> Part:
    return leading_part(shares_of(parts))


def _rungs(steps: tuple[Step, ...]) -> tuple[Rung, ...]:
    return tuple(Rung(class_of(s.part), s.fix, s.step_ms, s.pays) for s in steps)


def _case(
    recording: Recording, observed: Observed, signs: Signs, findings: _Findings, step: Estimate
) -> Case:
    return Case(
        verdict=findings.verdict,
        step=step,
        shares=shares_of(observed.parts),
        what_if={w.id: w for w in findings.what_if},
        ladder=findings.ladder,
        device=observed.device,
        host=observed.host,
        caliber=recording.caliber,
        evidence={e.id: e for e in reversed(observed.evidence)},
        syncs=observed.syncs,
        ops=observed.ops,
        ranges=observed.ranges,
        signs=signs,
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
