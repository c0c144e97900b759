"""What boundby says about one recording, as one value."""

from __future__ import annotations

from typing import TYPE_CHECKING

from boundby.evidence.facts import Evidence
from boundby.evidence.roofs import Roofline
from boundby.evidence.tables import OpRow, RangeRow, SyncRow
from boundby.frozen import frozen
from boundby.prescribe.prescription import Prescription
from boundby.read.recording import Caliber, Device, Quality, Source
from boundby.replay.values import Calibration, StepTimes, WaterfallPart, WhatIf
from boundby.timeline.summary import DeviceSummary, HostSummary
from boundby.verdict.decision import DecisionPath, Rung, Verdict
from boundby.verdict.next import NextCommand

if TYPE_CHECKING:
    from boundby.evidence.lanes import Lanes


@frozen
class Diagnosis:
    """Everything boundby says about one recording; reports format this and compute nothing.

    Attributes:
        lanes: Both timelines as they are drawn; None where no picture was asked for.
    """

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
    roofline: Roofline | None = None
    lanes: Lanes | None = None
