"""Two diagnoses: which part of the waterfall moved, which operators appeared or vanished."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import msgspec

from boundby.errors import CannotTellError, UnreadableError, UsageError
from boundby.statistics import PRACTICAL, Effect

SCHEMA_VERSION = 1
COMPARED = ("device", "device_count", "torch", "cuda", "world_size")
LEAST_OP_SHARE = 0.005
"""An operator below half a percent of the step is neither missed nor noticed."""
LONGEST_MS = 1e11
"""Three years: no step is longer."""
ROUNDING = 1 + 1e-9

Ms = Annotated[float, msgspec.Meta(ge=0, le=LONGEST_MS)]


class Estimate(msgspec.Struct):
    """A step time and its range, ms."""

    estimate: Annotated[float, msgspec.Meta(gt=0, le=LONGEST_MS)]
    low: Ms
    high: Annotated[float, msgspec.Meta(gt=0, le=LONGEST_MS)]

    def __post_init__(self) -> None:
        """Refuse an estimate outside its own range."""
        if not self.low <= ROUNDING * self.estimate <= ROUNDING**2 * self.high:
            raise ValueError("a step time outside its own range")


class Steps(msgspec.Struct):
    """Of a diagnosis; None where the step time is unknown."""

    unprofiled_ms: Estimate | None


class Verdict(msgspec.Struct):
    """Of a diagnosis."""

    name: str = msgspec.field(name="class")
    undecided_reason: str | None = None


class Part(msgspec.Struct):
    """Of a waterfall."""

    part: str
    ms: Ms


class Op(msgspec.Struct):
    """A row of the table of operators."""

    name: str
    calls: float
    self_device_ms: Ms | None


class Kernel(msgspec.Struct):
    """A row of the table of kernels; ms of all its calls in a step."""

    name: str
    calls: float
    ms: Ms | None


class Roofline(msgspec.Struct):
    """What is read of the roofline: the kernels of a step, all of them."""

    kernels: list[Kernel]


class Device(msgspec.Struct):
    """What a step asks of the device."""

    launches_per_step: float | None


class Document(msgspec.Struct):
    """What is read of a diagnosis; other fields are left alone."""

    steps: Steps
    verdict: Verdict
    caliber: dict[str, Any]
    waterfall: list[Part]
    ops: list[Op]
    device: Device
    roofline: Roofline | None = None


@dataclass(frozen=True)
class PartChange:
    """A part of the waterfall; ms a step, 0 where a waterfall has no such part."""

    part: str
    old_ms: float
    new_ms: float

    @property
    def change_ms(self) -> float:
        """New minus old."""
        return self.new_ms - self.old_ms


@dataclass(frozen=True)
class OpChange:
    """An operator, launch call or kernel; None where it is absent. ms are of its device time."""

    name: str
    old_calls: float | None
    new_calls: float | None
    old_ms: float | None
    new_ms: float | None


@dataclass(frozen=True)
class DiagnosisComparison:
    """What moved from the old diagnosis to the new one.

    Attributes:
        old_class, new_class: Verdicts.
        old_ms, new_ms: Steps without the profiler.
        effect: Of the step; ``too-noisy`` where the ranges of the estimates overlap beyond 2%,
            ``same`` of a diagnosis and its copy.
        parts: By the size of their change.
        appeared, vanished: Operators with a noticeable share, the longest first.
        moved: Operators in both, by the change of their device time.
        launches: A step, old and new; None where unknown.
        kernels: Kernels that only one of the two ran, the longest first; empty where one of the
            diagnoses has no table of kernels.
    """

    old_class: str
    new_class: str
    old_ms: float
    new_ms: float
    effect: Effect
    parts: tuple[PartChange, ...]
    appeared: tuple[OpChange, ...]
    vanished: tuple[OpChange, ...]
    moved: tuple[OpChange, ...]
    launches: tuple[float | None, float | None]
    kernels: tuple[OpChange, ...] = ()


def read_document(path: str | Path) -> dict[str, Any]:
    """Read any JSON document of boundby; raises UnreadableError where it is none."""
    try:
        found: Any = msgspec.json.decode(Path(path).read_bytes())
    except OSError as error:
        raise UnreadableError(f"{path}: {error.strerror}", "check the path") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise UnreadableError(f"{path}: no JSON", "boundby bench -o result.json") from None
    if not isinstance(found, dict):
        raise UnreadableError(f"{path}: no document of boundby", "boundby bench -o result.json")
    return found


def is_diagnosis(document: dict[str, Any]) -> bool:
    """Whether a document is what ``boundby trace --json`` writes."""
    return "waterfall" in document and "verdict" in document


def compare_diagnoses(
    old: dict[str, Any], new: dict[str, Any], across: Iterable[str] = ()
) -> DiagnosisComparison:
    """Compare two documents of ``boundby trace --json``.

    Raises:
        CannotTellError: One has no step time, another schema or values that no diagnosis has, or
            their calibers differ.
        UsageError: Diagnoses have no such field to differ in.
    """
    wanted = _under_test(across)
    is_copy = _validated("old", old) == _validated("new", new)
    _refuse_other_caliber(old["caliber"], new["caliber"], wanted)
    before, after = old["steps"]["unprofiled_ms"], new["steps"]["unprofiled_ms"]
    return DiagnosisComparison(
        old_class=old["verdict"]["class"],
        new_class=new["verdict"]["class"],
        old_ms=before["estimate"],
        new_ms=after["estimate"],
        effect="same" if is_copy else _effect(before, after),
        parts=_parts(old["waterfall"], new["waterfall"]),
        launches=(old["device"]["launches_per_step"], new["device"]["launches_per_step"]),
        kernels=_kernels(old.get("roofline"), new.get("roofline")),
        **_ops(old, new),
    )


def _under_test(across: Iterable[str]) -> frozenset[str]:
    names = frozenset(name.strip().replace("-", "_") for name in across if name.strip())
    unknown = sorted(names - set(COMPARED))
    if unknown:
        raise UsageError(
            f"--across: diagnoses have no field {unknown[0]!r}", f"one of {', '.join(COMPARED)}"
        )
    return names


def _validated(name: str, document: dict[str, Any]) -> Document:
    if document.get("schema_version") != SCHEMA_VERSION:
        raise CannotTellError(f"the {name} diagnosis has another schema", "make it again")
    try:
        read = msgspec.convert(document, Document)
    except msgspec.ValidationError as error:
        raise CannotTellError(
            f"the {name} diagnosis is damaged: {error}", "make it again with boundby trace --json"
        ) from None
    if read.steps.unprofiled_ms is None:
        reason = read.verdict.undecided_reason or "it has no step time"
        raise CannotTellError(f"the {name} diagnosis is undecided: {reason}")
    return read


def _refuse_other_caliber(old: dict[str, Any], new: dict[str, Any], across: frozenset[str]) -> None:
    for name in COMPARED:
        if name not in across and old.get(name) != new.get(name):
            raise CannotTellError(
                f"different caliber: {name} is {old.get(name)} in the old and {new.get(name)} in "
                "the new",
                f"record both alike, or --across {name}",
            )


def _effect(old: dict[str, float], new: dict[str, float]) -> Effect:
    """The ranges of both estimates decide: apart, within 2% of each other, or neither."""
    ratio = new["estimate"] / old["estimate"]
    if new["low"] > old["high"] and ratio >= 1 + PRACTICAL:
        return "slower"
    if new["high"] < old["low"] and ratio <= 1 - PRACTICAL:
        return "faster"
    if not old["low"] or not new["low"]:
        return "too-noisy"
    widest = max(new["high"] / old["low"], old["high"] / new["low"]) - 1
    return "same" if widest < PRACTICAL else "too-noisy"


def _parts(old: list[dict[str, Any]], new: list[dict[str, Any]]) -> tuple[PartChange, ...]:
    before = {each["part"]: each["ms"] for each in old}
    after = {each["part"]: each["ms"] for each in new}
    changes = [
        PartChange(name, before.get(name, 0.0), after.get(name, 0.0))
        for name in dict.fromkeys([*before, *after])
    ]
    return tuple(sorted(changes, key=lambda each: -abs(each.change_ms)))


def _ops(old: dict[str, Any], new: dict[str, Any]) -> dict[str, tuple[OpChange, ...]]:
    before = {each["name"]: each for each in old["ops"]}
    after = {each["name"]: each for each in new["ops"]}
    changes = [
        _op(name, before.get(name), after.get(name)) for name in dict.fromkeys([*before, *after])
    ]
    least = LEAST_OP_SHARE * min(
        old["steps"]["unprofiled_ms"]["estimate"], new["steps"]["unprofiled_ms"]["estimate"]
    )
    return {
        "appeared": _longest(each for each in changes if each.old_calls is None),
        "vanished": _longest(each for each in changes if each.new_calls is None),
        "moved": tuple(
            sorted(
                (each for each in changes if abs(_moved(each)) >= least),
                key=lambda each: -abs(_moved(each)),
            )
        ),
    }


def _kernels(old: dict[str, Any] | None, new: dict[str, Any] | None) -> tuple[OpChange, ...]:
    """Kernels that appeared or vanished."""
    if old is None or new is None:
        return ()
    before = {each["name"]: each for each in old["kernels"]}
    after = {each["name"]: each for each in new["kernels"]}
    gone = [
        OpChange(n, e["calls"], None, e["ms"], None) for n, e in before.items() if n not in after
    ]
    came = [
        OpChange(n, None, e["calls"], None, e["ms"]) for n, e in after.items() if n not in before
    ]
    return _longest([*gone, *came])


def _op(name: str, old: dict[str, Any] | None, new: dict[str, Any] | None) -> OpChange:
    return OpChange(
        name,
        None if old is None else old["calls"],
        None if new is None else new["calls"],
        None if old is None else old["self_device_ms"],
        None if new is None else new["self_device_ms"],
    )


def _moved(change: OpChange) -> float:
    """Change of device time, ms; 0 for an operator that one of the two lacks."""
    if change.old_calls is None or change.new_calls is None:
        return 0.0
    return (change.new_ms or 0.0) - (change.old_ms or 0.0)


def _longest(changes: Iterable[OpChange]) -> tuple[OpChange, ...]:
    return tuple(sorted(changes, key=lambda each: -((each.new_ms or 0.0) + (each.old_ms or 0.0))))
