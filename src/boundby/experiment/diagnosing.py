"""What bounds a configuration: its recording, diagnosed, as far as the loop needs it."""

from __future__ import annotations

from pathlib import Path

from boundby.capture.findings import read_run
from boundby.diagnose import Options, diagnose
from boundby.diagnosis import Diagnosis
from boundby.errors import CannotTellError
from boundby.experiment.values import Diagnosed
from boundby.read import read_recording
from boundby.read.capture_folder import captures_in


def diagnose_trace(path: str, step_ms: float, submit_ms: float) -> Diagnosed:
    """Diagnose a recording under the step and submission that were timed before it."""
    options = Options(step_ms=step_ms, submit_ms=submit_ms, clean=True)
    return summary_of(diagnose(read_recording(path), options))


def diagnose_run(folder: Path) -> Diagnosed:
    """Diagnose what an observed script wrote, under its own clean steps.

    Raises:
        CannotTellError: It ended before a trace was there.
    """
    found = captures_in(folder)
    if not found:
        raise CannotTellError("no steps were seen")
    run, capture = read_run(found[0])
    if capture.trace is None:
        raise CannotTellError("the script ended before a trace was there")
    options = Options(
        step_ms=run.clocks.step,
        submit_ms=run.clocks.submit,
        clean=True,
        live=run.live,
        facts=run.facts,
        places=run.places,
        void=run.void,
    )
    return summary_of(diagnose(read_recording(capture.trace), options))


def summary_of(diagnosis: Diagnosis) -> Diagnosed:
    """Verdict and predictions of a diagnosis."""
    verdict, unprofiled = diagnosis.verdict, diagnosis.steps.unprofiled_ms
    return Diagnosed(
        verdict=verdict.name,
        cause=verdict.cause,
        strength=verdict.strength or "",
        reason=verdict.undecided_reason or "",
        predicted={p.id: p.predicted_ms for p in diagnosis.prescriptions if p.pays},
        ranges={
            p.id: (p.low, p.high)
            for p in diagnosis.prescriptions
            if p.pays and p.low is not None and p.high is not None
        },
        idle=tuple(p.id for p in diagnosis.prescriptions if not p.pays),
        step_ms=None if unprofiled is None else unprofiled.estimate,
    )
