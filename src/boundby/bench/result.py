"""One result: samples of three clocks, how they were taken, and whether to trust them.

Kept as a plain, versioned record; every figure and every report is a function of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import msgspec

from boundby.bench.caliber import Caliber
from boundby.bench.warmup import WarmUp
from boundby.errors import UnreadableError
from boundby.read.recording import Quality
from boundby.statistics import Summary, summarize

SCHEMA_VERSION = 1
KIND = "boundby-bench"

ClockName = Literal["wall", "submit", "device"]

LONGEST_NS = 1e17
"""Three years: longer than any call, and short of what makes figures overflow."""


@dataclass(frozen=True)
class Clock:
    """Samples of one clock.

    Attributes:
        ns: ns a call, in the order in which they were taken, each the mean of ``number`` calls.
        number: Calls a sample.
    """

    ns: tuple[float, ...]
    number: int = 1

    @property
    def summary(self) -> Summary:
        """Figures of the samples, ns; raises ValueError without samples."""
        return summarize(self.ns)


@dataclass(frozen=True)
class Work:
    """What one call does, counted in a profiled call after the measurement.

    Attributes:
        launches: Device rows a call; None where not counted.
        flops, bytes: At least; None where uncounted.
        floor_ns: Least device time under the roofs; None on an unknown device.
        roofs: Name of the ceilings, for the reader.
    """

    launches: int | None = None
    flops: float | None = None
    bytes: float | None = None
    floor_ns: float | None = None
    roofs: str = ""


@dataclass(frozen=True)
class Labels:
    """What torch's Timer calls label, sub_label and description; ``stmt`` is what was called."""

    label: str = ""
    sub_label: str = ""
    description: str = ""
    stmt: str = ""

    @property
    def title(self) -> str:
        """How a report names the result."""
        head = self.label or self.stmt
        return f"{head}: {self.sub_label}" if self.sub_label else head


@dataclass(frozen=True)
class Result:
    """A measurement of one callable.

    Attributes:
        labels: Names.
        wall, submit: Clocks that every machine has.
        device: Device clock; None where there is no device.
        warm_up: Before the first sample.
        caliber: What makes the figures comparable.
        work: Least work and floors.
        is_cold: Whether the cache was emptied before every call.
        peak_bytes: Device memory at its peak above what was in use before; None where unknown.
        trust: What speaks against the figures; empty where nothing does.
    """

    labels: Labels
    wall: Clock
    submit: Clock
    device: Clock | None
    warm_up: WarmUp
    caliber: Caliber
    work: Work = field(default_factory=Work)
    is_cold: bool = False
    peak_bytes: int | None = None
    trust: tuple[Quality, ...] = ()

    @property
    def clock(self) -> Clock:
        """Wall time: what a program that calls it again and again sees."""
        return self.wall

    @property
    def median(self) -> float:
        """Wall time of a call in seconds, as torch's Measurement gives it."""
        return self.wall.summary.median / 1e9

    @property
    def mean(self) -> float:
        """Mean wall time of a call, seconds."""
        return self.wall.summary.mean / 1e9

    @property
    def iqr(self) -> float:
        """Interquartile range of the wall time, seconds."""
        return self.wall.summary.iqr / 1e9

    @property
    def times(self) -> list[float]:
        """Wall time a call of every sample, seconds."""
        return [each / 1e9 for each in self.wall.ns]

    @property
    def n(self) -> int:
        """Samples of the wall clock."""
        return len(self.wall.ns)

    @property
    def is_trusted(self) -> bool:
        """Whether nothing speaks against the figures."""
        return not any(each.severity in ("warning", "fatal") for each in self.trust)

    def __str__(self) -> str:
        wall = self.wall.summary
        doubts = "".join(f"\n  {each.severity}: {each.message}" for each in self.trust)
        return (
            f"{self.labels.title}\n  wall {wall.median / 1e6:.4g} ms, IQR {wall.iqr / 1e6:.2g} ms, "
            f"{wall.n} samples of {self.wall.number} calls{doubts}"
        )

    def save(self, path: str | Path) -> None:
        """Write the result as JSON."""
        Path(path).write_bytes(encode(self))


def encode(result: Result) -> bytes:
    """A result as JSON."""
    fields = msgspec.to_builtins(result)
    return msgspec.json.encode({"schema_version": SCHEMA_VERSION, "kind": KIND, **fields})


def load(path: str | Path) -> Result:
    """Read a saved result.

    Raises:
        UnreadableError: There is none, or it is not one.
    """
    try:
        raw = Path(path).read_bytes()
    except OSError as error:
        raise UnreadableError(f"{path}: {error.strerror}", "boundby bench -o result.json") from None
    try:
        return decode(msgspec.json.decode(raw), str(path))
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise UnreadableError(f"{path}: no JSON", "boundby bench -o result.json") from None


def decode(document: Any, name: str) -> Result:  # noqa: ANN401 -- what JSON gives
    """A result from its saved form.

    Raises:
        UnreadableError: It is none; ``name`` says in the message what it was.
    """
    if not isinstance(document, dict) or document.get("kind") != KIND:
        raise UnreadableError(f"{name}: no result of boundby bench", "boundby bench --help")
    if document.get("schema_version") != SCHEMA_VERSION:
        raise UnreadableError(f"{name}: written by another version of boundby", "measure it again")
    try:
        found = msgspec.convert(document, Result)
    except msgspec.ValidationError as error:
        raise UnreadableError(f"{name}: damaged result: {error}", "measure it again") from None
    damage = _damage(found)
    if damage:
        raise UnreadableError(f"{name}: damaged result: {damage}", "measure it again")
    return found


def _damage(result: Result) -> str:
    """What no clock can have shown, in words; empty where there is none."""
    if not result.wall.ns:
        return "no samples of the wall clock"
    if result.device is not None and not result.device.ns:
        return "no samples of the device clock"
    clocks = {"wall": result.wall, "submit": result.submit, "device": result.device}
    for name, clock in clocks.items():
        if clock is None:
            continue
        if clock.number < 1:
            return f"{clock.number} calls a sample of the {name} clock"
        may_idle = clock is not result.wall  # a device may have had nothing to do
        if not all(0 < each < LONGEST_NS or (may_idle and each == 0) for each in clock.ns):
            return f"a time of the {name} clock that no clock shows"
    return ""
