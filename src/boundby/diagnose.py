"""The whole flow: a recording in, a diagnosis out. Read this file first.

read -> timeline -> replay -> evidence -> verdict -> prescriptions
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from boundby.diagnosis import Diagnosis
from boundby.errors import UsageError
from boundby.evidence.beside import with_beside
from boundby.evidence.causes import find_causes
from boundby.evidence.facts import Evidence, Place
from boundby.evidence.marks import mark_launches
from boundby.evidence.observed import Observed, observe, read_signs, with_roofs
from boundby.evidence.roofs import Held, hold, read_roofline
from boundby.evidence.signs import Signs
from boundby.evidence.words import duration
from boundby.frozen import frozen
from boundby.prescribe.case import NO_LIVE, Case, Live
from boundby.prescribe.order import prescribe
from boundby.read.quality import of_device
from boundby.read.recording import Quality, Recording
from boundby.replay.build import build_program
from boundby.replay.calibrate import (
    MOST_POINTS,
    Calibrated,
    MeasuredBy,
    calibrate,
    measured_step,
)
from boundby.replay.ladder import Floor, Step, climb_down
from boundby.replay.marked_edits import kernels_at_roofline
from boundby.replay.marks import Marks
from boundby.replay.observed import excess
from boundby.replay.parts import part_of_rows, split_at_roofline
from boundby.replay.program import Program
from boundby.replay.split import DeviceSplit, split_device
from boundby.replay.values import Estimate, Part, StepTimes, WaterfallPart, WhatIf
from boundby.replay.waterfall import descend, waterfall
from boundby.replay.whatif import what_ifs
from boundby.roofline.ceilings import Peaks
from boundby.roofline.measured import MeasuredCeilings
from boundby.timeline.operators import has_operators
from boundby.timeline.pace import find_long_steps
from boundby.timeline.timeline import Timeline, build_timeline
from boundby.units import ms
from boundby.verdict.classes import HOST_CLASS, class_of, leading_part, shares_of
from boundby.verdict.decide import Outlook, decide, undecided, voiding, weakens
from boundby.verdict.decision import DecisionPath, Rung, Verdict
from boundby.verdict.next import NextCommand, next_commands
from boundby.verdict.path import walk

if TYPE_CHECKING:
    from boundby.evidence.lanes import Extent

__all__ = ["Diagnosis", "NextCommand", "Options", "diagnose"]

MOSTLY_ASSUMED = 0.25
"""Host scale of a prior below which the clean host line is assumed more than seen."""
ANOTHER_PROGRAM = 2.0
"""A told step this many times above or below any replay is of another program, or unit."""
REPLAY_MAY_EXCEED = 0.1
"""Share by which an unedited replay may be longer than its recording; 2% on all labelled ones."""
ESTIMATE_MAY_EXCEED = 0.02
"""Share by which a step without the profiler may be estimated above the observed one."""
NO_LAUNCHES = (
    "no device work could be joined to a launch inside a step, so the two timelines cannot be "
    "rebuilt; record again with both CPU and CUDA activities over whole steps"
)


@frozen
class Options:
    """What the user knows beyond the recording.

    Attributes:
        step_ms: Step time measured without a profiler.
        submit_ms: Host time to submit one step without waiting.
        clean: Whether both were measured beside the recording, in the same run.
        live: What only a live run knows.
        facts: Facts measured beside the recording.
        places: Exact lines of each kind of wait.
        peaks: Peaks of the device, in place of those of the table.
        measured: Ceilings measured on devices of some kinds; those of another kind are left alone.
        void: Why the recording may carry no verdict, beyond its own quality.
        lanes: Whether both timelines are wanted for a picture: a typical step, or all.
        device: Id of the device to report; None for the busiest.
    """

    step_ms: float | None = None
    submit_ms: float | None = None
    clean: bool = False
    live: Live = NO_LIVE
    facts: tuple[Evidence, ...] = ()
    places: Mapping[str, tuple[Place, ...]] = field(default_factory=dict)
    peaks: Peaks | None = None
    measured: tuple[MeasuredCeilings, ...] = ()
    void: str | None = None
    lanes: Extent | None = None
    device: int | None = None

    @property
    def measured_by(self) -> MeasuredBy:
        """Who measured the step, where it was."""
        return "clean-pass" if self.clean else "step-ms"


NOTHING_MORE = Options()


def diagnose(recording: Recording, options: Options = NOTHING_MORE) -> Diagnosis:
    """Diagnose one recording.

    A recording that cannot carry a verdict gives ``undecided`` with the reason, never an error.

    Raises:
        UsageError: The device that was asked for did no work.
    """
    if options.device is not None:
        recording = of_device(recording, options.device)
    timeline = build_timeline(recording, options.device)
    program = build_program(timeline)
    reason = options.void or voiding(recording.quality)
    reason = reason or (None if len(program.work) else NO_LAUNCHES)
    if reason:
        return _undecided(timeline, program, reason, options)
    held = hold(timeline, program, MOST_POINTS, options.peaks, options.measured)
    split = split_device(timeline, part_of_rows(timeline, held.roofs))
    calibrated = calibrate(
        timeline, program, options.step_ms, options.submit_ms, options.measured_by
    )
    split = split.scaled(calibrated.calibration.device_scale)
    missed = _missed(calibrated, options)
    over = excess(timeline, program)
    doubtful = bool(missed) or over > REPLAY_MAY_EXCEED or weakens(recording.quality)
    doubtful |= find_long_steps(timeline) is not None
    outlook = _outlook(calibrated, program, split, doubtful=doubtful)
    outlook = replace(outlook, has_operators=has_operators(timeline))
    observed = observe(timeline, program, calibrated, outlook.clean)
    observed = with_beside(observed, options.facts, options.places)
    signs, launched = read_signs(timeline, observed)
    marks = mark_launches(launched, held.roofs, held.device)
    roofline = read_roofline(held, launched, marks, calibrated.step.estimate)
    host_leads = _leading(outlook.clean) in HOST_CLASS
    observed = with_roofs(observed, roofline, host_sets_step=host_leads)
    causes = find_causes(signs, observed.syncs)
    verdict = decide(outlook, causes, frozenset(e.id for e in observed.evidence))
    if verdict.undecided_reason:
        return _undecided(timeline, program, verdict.undecided_reason, options)
    findings = _Findings(
        verdict=verdict,
        path=walk(verdict, observed.device, observed.host, shares_of(outlook.clean)),
        what_if=what_ifs(calibrated, marks),
        ladder=_rungs(climb_down(calibrated.clean, split, _leading, _floor(split, held, marks))),
        missed=missed,
        over=over,
        above=_above(observed.steps, options),
    )
    case = _case(recording, observed, signs, findings, calibrated.step)
    case = replace(case, live=options.live)
    return _drawn(_diagnosis(timeline, program, observed, findings, case), timeline, options)


@frozen
class _Findings:
    """What was concluded."""

    verdict: Verdict
    path: DecisionPath | None = None
    what_if: tuple[WhatIf, ...] = ()
    ladder: tuple[Rung, ...] = ()
    missed: float = 0.0
    """How far the replay stays from a told step, relative."""
    over: float = 0.0
    """How much longer the unedited replay is than the recording, relative."""
    above: float = 0.0
    """How much longer the estimate without a profiler is than the observed step, relative."""


def _undecided(timeline: Timeline, program: Program, reason: str, options: Options) -> Diagnosis:
    """What was observed or measured, without a verdict or any estimate, and why."""
    observed = observe(timeline, program if len(program.work) else None, None)
    if options.step_ms is not None:
        step, calibration = measured_step(options.step_ms, options.measured_by)
        steps = replace(observed.steps, unprofiled_ms=step)
        observed = replace(observed, steps=steps, calibration=calibration)
    observed = with_beside(observed, options.facts, options.places)
    found = _diagnosis(timeline, program, observed, _Findings(undecided(reason)), None)
    return _drawn(found, timeline, options)


def _drawn(diagnosis: Diagnosis, timeline: Timeline, options: Options) -> Diagnosis:
    """With both timelines, where a picture is wanted."""
    if options.lanes is None:
        return diagnosis
    from boundby.evidence.lanes import draw_lanes  # noqa: PLC0415 - start-up counts

    return replace(diagnosis, lanes=draw_lanes(timeline, options.lanes))


def _diagnosis(
    timeline: Timeline, program: Program, observed: Observed, findings: _Findings, case: Case | None
) -> Diagnosis:
    recording = timeline.recording
    return Diagnosis(
        source=recording.source,
        caliber=recording.caliber,
        quality=_quality(timeline, program, findings),
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
        next=next_commands(findings.verdict, recording.source.path, recording.caliber.device),
        evidence=observed.evidence,
        roofline=observed.roofline,
    )


def _floor(split: DeviceSplit, held: Held, marks: Marks) -> Floor | None:
    """The bottom of the ladder; None where no kernel's roof is known."""
    if np.isnan(marks.floor_ns).all():
        return None
    edit = partial(kernels_at_roofline, marks=marks, bound=0)
    return Floor(edit, split_at_roofline(split, held.roofs))


def _outlook(
    calibrated: Calibrated, recorded: Program, split: DeviceSplit, *, doubtful: bool
) -> Outlook:
    """The waterfalls of the best estimate, of both ends of its range, and as recorded."""
    programs = [calibrated.clean, calibrated.low, calibrated.high]
    by_prior = calibrated.calibration.source == "prior"
    if by_prior:
        programs.append(recorded.middle(MOST_POINTS))
    clean, low, high, *as_recorded = (waterfall(p, descend(p, split), split) for p in programs)
    scale = calibrated.calibration.host_scale
    assumed = by_prior and scale is not None and scale < MOSTLY_ASSUMED
    return Outlook(clean, low, high, next(iter(as_recorded), None), doubtful or assumed)


def _missed(calibrated: Calibrated, options: Options) -> float:
    """How far the replay stays from the told step, relative.

    Raises:
        UsageError: The told step cannot be one of this program.
    """
    told, found = options.step_ms, calibrated.step.estimate
    if told is None:
        return 0.0
    if max(told / found, found / told) > ANOTHER_PROGRAM and not options.clean:
        raise UsageError(
            f"--step-ms {told:g} cannot be a step of this recording: replayed with any host and "
            f"clocks it takes {found:.3g} ms",
            "give milliseconds of one step of the same program, as the recording counts steps",
        )
    return calibrated.misses(told)


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


def _quality(timeline: Timeline, program: Program, findings: _Findings) -> tuple[Quality, ...]:
    """What the reader found, and what timeline and replay did."""
    found = list(timeline.recording.quality)
    if program.edge_waits:
        text = "waits before the first and after the last launch are the recording's own: left out"
        found.append(Quality("edge-sync", "info", program.edge_waits, text))
    found.extend((*_unmarked_steps(timeline), *_uneven_steps(timeline)))
    if findings.over > REPLAY_MAY_EXCEED:
        text = (
            f"The replay takes {findings.over:.0%} longer than the recording: threads that wait at "
            f"the same time, or ids used twice, are not understood here. Distrust the times."
        )
        found.append(Quality("replay-differs", "warning", 1, text))
    if findings.above > ESTIMATE_MAY_EXCEED:
        text = (
            f"The estimate without the profiler is {findings.above:.0%} above the recorded step, "
            f"which no profiler can make shorter: measure the step and give --step-ms."
        )
        found.append(Quality("estimate-above-observed", "warning", 1, text))
    if findings.missed:
        text = (
            f"The told step stays {findings.missed:.0%} away from what any host and clocks "
            f"explain: the recording may be of another program, batch or machine."
        )
        found.append(Quality("step-not-met", "warning", 1, text))
    return tuple(found)


def _unmarked_steps(timeline: Timeline) -> tuple[Quality, ...]:
    """What counts as a step where none is marked."""
    count = len(timeline.steps)
    if len(timeline.launches) and timeline.steps.source == "window":
        text = (
            "No step is marked or repeats itself: the recording as a whole counts as one step. "
            "Call prof.step() after each step."
        )
        return (Quality("no-steps", "info", 1, text),)
    if timeline.steps.source == "periodicity":
        text = (
            f"No step is marked: {count} repetitions of the launched kernels count as steps, and "
            "figures are of one repetition. Call prof.step() after each step."
        )
        return (Quality("steps-by-period", "info", count, text),)
    return ()


def _uneven_steps(timeline: Timeline) -> tuple[Quality, ...]:
    """Steps so much longer than the others that the mean is of no step."""
    long = find_long_steps(timeline)
    if long is None:
        return ()
    longest, usual = duration(ms(long.longest)), duration(ms(long.usual))
    remedy = (
        "Skip them: schedule(wait=1, warmup=3, active=3)."
        if long.are_first
        else "Record a stretch without them, and one of them alone."
    )
    take = "takes" if long.count == 1 else "take"
    text = (
        f"{long.count} of {len(timeline.steps)} steps {take} {long.share:.0%} of the time, up to "
        f"{longest} where the median step takes {usual}: figures are means over all steps, and of "
        f"neither kind. {remedy}"
    )
    return (Quality("uneven-steps", "warning", long.count, text),)


def _above(steps: StepTimes, options: Options) -> float:
    """How far the estimate lies above the observed step, relative; 0 where the step was told."""
    found, observed = steps.unprofiled_ms, steps.drained_ms
    if options.step_ms is not None or found is None or not observed:
        return 0.0
    return max(found.estimate / observed - 1.0, 0.0)
