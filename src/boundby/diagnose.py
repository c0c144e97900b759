"""The whole flow: a recording in, a diagnosis out. Read this file first."""

from __future__ import annotations

from dataclasses import dataclass

from boundby.evidence.facts import Evidence
from boundby.evidence.tables import OpRow, RangeRow, SyncRow
from boundby.prescribe.prescription import Prescription
from boundby.read.recording import Caliber, Device, Quality, Source
from boundby.replay.values import Calibration, StepTimes, WaterfallPart, WhatIf
from boundby.timeline.summary import DeviceSummary, HostSummary
from boundby.verdict.decision import DecisionPath, Rung, Verdict


@dataclass(frozen=True)
class NextCommand:
    """A command worth typing next and the question (and layer) it answers."""

    command: str
    question: str


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
