"""Measured truth about recordings: one line of ``truth.jsonl`` each."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import msgspec

from tools.accuracy.scoring import Interval

HOST_SENSITIVE_BELOW = 0.9
"""Device share of the measured step below which the host line decides the estimate."""

EDIT_OF_TWIN = {
    "no_launch": "no_submit_cost",
    "no_data": "no_data_wait",
    "pinned": "pinned_copies",
    "compile": "compile_fusion",
}
"""The edit that predicts a measured twin, where the two are not called alike."""


class Truth(msgspec.Struct, frozen=True):
    """What was measured on the program of one recording; times in ms a step.

    Attributes:
        file: The recording, below the folder of ``truth.jsonl``.
        step_ms: Lowest and highest sample without the profiler.
        profiled_ms: The step under the profiler, completion to completion.
        gpu_ms: Union of the device work that the recorded steps launched, from the same file.
        accept: Classes that count as right.
        submit_ms: Host time to submit one step without waiting; None where it was not measured.
        cured_ms: Measured step of the program with one thing changed, by the name of the change.
    """

    file: str
    step_ms: Interval
    profiled_ms: float
    gpu_ms: float
    truth_class: str
    accept: tuple[str, ...]
    cause: str | None = None
    submit_ms: float | None = None
    cured_ms: dict[str, float | Interval] = {}
    device: str = ""
    torch: str = ""

    @property
    def name(self) -> str:
        """The file without folder and ending."""
        return Path(self.file).name.split(".json")[0]

    @property
    def middle_ms(self) -> float:
        """Middle of the measured interval."""
        return sum(self.step_ms) / 2

    @property
    def device_share(self) -> float:
        """Device share of the measured step, at most 1."""
        return min(self.gpu_ms / self.middle_ms, 1.0)

    @property
    def is_host_sensitive(self) -> bool:
        """Whether the host line decides the step; where it does not, the estimate is easy."""
        return self.gpu_ms < HOST_SENSITIVE_BELOW * self.middle_ms

    @property
    def twins(self) -> dict[str, Interval]:
        """Measured interval of each cured twin; a single sample is an interval of no width."""
        return {
            name: measured if isinstance(measured, tuple) else (measured, measured)
            for name, measured in self.cured_ms.items()
        }


@dataclass(frozen=True)
class TruthSet:
    """The recordings of one folder and the name the document gives them."""

    name: str
    folder: Path
    truths: tuple[Truth, ...]


def has_truth(folder: Path) -> bool:
    """Whether a folder holds measured recordings."""
    return (folder / "truth.jsonl").is_file()


def load_set(name: str, folder: Path) -> TruthSet:
    """Every line of a folder's ``truth.jsonl``."""
    lines = (folder / "truth.jsonl").read_text("utf-8").splitlines()
    truths = tuple(msgspec.json.decode(line, type=Truth) for line in lines if line.strip())
    return TruthSet(name, folder, truths)
