"""How batches are loaded, as far as the ranges of the DataLoader tell."""

from __future__ import annotations

import re

import numpy as np

from boundby.distribution import distinct
from boundby.evidence.naming import rows_named
from boundby.frozen import frozen
from boundby.read.recording import HostKind
from boundby.timeline.loaders import in_process
from boundby.timeline.steps import LOADER
from boundby.timeline.timeline import Timeline
from boundby.units import ms

WORKER_STARTS = re.compile(r"multiprocessing/process\.py\(\d+\): start$")
LATE = 0.10
"""A wait of at least this share of the median step holds the step up."""


@frozen
class Loading:
    """Loading of batches; all None without a DataLoader.

    Attributes:
        in_process: True where the training process loads, False where workers do; None where
            the range does not name its iterator.
        wait_ms: Median time of one call for a batch.
        longest_ms: The longest one.
        late_share: Share of calls that took at least a tenth of the median step.
        restarts: Starts of worker processes; None where Python frames were not recorded.
    """

    in_process: bool | None = None
    wait_ms: float | None = None
    longest_ms: float | None = None
    late_share: float | None = None
    restarts: int | None = None


def find_loading(timeline: Timeline) -> Loading:
    """Loading in the whole window: a wait may begin before its step."""
    recording, host = timeline.recording, timeline.recording.host
    rows = np.flatnonzero(np.isin(host.kind, (HostKind.RANGE, HostKind.OP)))
    rows = rows[rows_named(recording.names, host.name[rows], LOADER.search)]
    if not len(rows):
        return Loading()
    names = {recording.names[index] for index in distinct(host.name[rows]).tolist()}
    step = float(np.median(timeline.steps.end - timeline.steps.start))
    return Loading(
        in_process=in_process(names),
        wait_ms=ms(float(np.median(host.dur[rows]))),
        longest_ms=ms(host.dur[rows].max()),
        late_share=float((host.dur[rows] >= LATE * step).mean()),
        restarts=_restarts(timeline),
    )


def _restarts(timeline: Timeline) -> int | None:
    recording = timeline.recording
    if not len(recording.python):
        return None
    return int(rows_named(recording.names, recording.python.name, WORKER_STARTS.search).sum())
