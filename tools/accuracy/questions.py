"""The questions asked of a set of recordings, each with its target and the measured answer."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

from tools.accuracy.markdown import percent, points
from tools.accuracy.measure import Object, Result, Twin, twins_of
from tools.accuracy.scoring import distance, meets, percentile, width

REPLAY_WITHIN = 0.02
STEP_MEDIAN, STEP_P90, STEP_COVERED, STEP_WIDTH = 0.05, 0.20, 0.85, 0.50
BUSY_POINTS, BUSY_SHARE = 0.07, 0.90
DEVICE_WITHIN = 0.01
ACCEPTED_SHARE = 54 / 56
TWIN_MEDIAN, TWIN_P90, TWIN_COVERED = 0.08, 0.30, 0.85

DEVICE_CLASSES = {"device-compute": "compute-bound", "device-memory": "memory-bound"}


@dataclass(frozen=True)
class Answer:
    """One row of the summary; ``met`` is None where there is no target."""

    question: str
    target: str
    measured: str
    n: int
    met: bool | None


def answers(results: Sequence[Result]) -> list[Answer]:
    """Every question that the set can answer."""
    rows = [
        _replay(results),
        *_step([r for r in results if r.truth.is_host_sensitive]),
        _busy(results),
        _device(results),
        _device_class([r for r in results if _has_device_class(r)]),
        *_verdicts("from the recording alone", results, [r.alone for r in results]),
        *_verdicts("with the measured step told", results, [r.told for r in results]),
        _cause([r for r in results if r.truth.cause]),
        *_twins([twin for result in results for twin in twins_of(result)]),
    ]
    return [row for row in rows if row.n]


def _replay(results: Sequence[Result]) -> Answer:
    errors = {
        r.truth.name: distance(r.alone["steps"]["drained_ms"], (r.truth.profiled_ms,) * 2)
        for r in results
    }
    return _within("recorded step, replayed unedited", errors, REPLAY_WITHIN)


def _device(results: Sequence[Result]) -> Answer:
    errors = {
        r.truth.name: distance(r.alone["device"]["ms_per_step"], (r.truth.gpu_ms,) * 2)
        for r in results
    }
    return _within("device time a step", errors, DEVICE_WITHIN)


def _busy(results: Sequence[Result]) -> Answer:
    errors = {r.truth.name: busy_error(r) for r in results}
    held = sum(error <= BUSY_POINTS for error in errors.values())
    return Answer(
        "device share of the unprofiled step",
        f"within {BUSY_POINTS * 100:.0f} points on {BUSY_SHARE:.0%} of files",
        f"{held} of {len(errors)}; {_worst(errors, points)}",
        len(errors),
        held >= BUSY_SHARE * len(errors),
    )


def busy_error(result: Result) -> float:
    """Difference of two shares of the step; infinite where boundby gave none."""
    said = result.alone["device"]["busy_share_unprofiled"]
    return math.inf if said is None else abs(said - result.truth.device_share)


def _within(asked: str, errors: dict[str, float], limit: float) -> Answer:
    """Whether every error stays within a limit, how many do, and the worst."""
    n = len(errors)
    held = sum(error <= limit for error in errors.values())
    said = f"{held} of {n}; {_worst(errors, percent)}"
    return Answer(asked, f"within {limit:.0%} on every file", said, n, held == n)


def _worst(errors: dict[str, float], written: Callable[[float], str]) -> str:
    if not errors:
        return ""
    name = max(errors, key=lambda name: errors[name])
    return f"worst {written(errors[name])} ({name})"


def _at_most(asked: str, value: float, limit: float, n: int) -> Answer:
    return Answer(asked, f"at most {limit:.0%}", percent(value), n, value <= limit)


def _covered(asked: str, held: int, n: int, share: float) -> Answer:
    said = f"{held} of {n} ({held / n:.0%})"
    return Answer(asked, f"at least {share:.0%}", said, n, held >= share * n)


def _step(results: Sequence[Result]) -> list[Answer]:
    """The unprofiled step from the recording alone, where the host line decides it."""
    if not results:
        return []
    n = len(results)
    errors = [distance(r.estimate, r.truth.step_ms) for r in results]
    held = sum(meets(r.range, r.truth.step_ms) for r in results)
    widths = [_width(r.estimate, r.range) for r in results]
    asked = "unprofiled step, host-sensitive recordings"
    return [
        _at_most(f"{asked}: median error", median(errors), STEP_MEDIAN, n),
        _at_most(f"{asked}: 90th percentile", percentile(errors, 90), STEP_P90, n),
        _covered(f"{asked}: range meets the measured", held, n, STEP_COVERED),
        _at_most(f"{asked}: median width of the range", median(widths), STEP_WIDTH, n),
    ]


def _width(value: float | None, reach: tuple[float, float] | None) -> float:
    return math.inf if value is None or reach is None else width(value, reach)


def _has_device_class(result: Result) -> bool:
    """Whether the device sets the step, and compute or memory is what counts as right."""
    accept = set(result.truth.accept)
    return not result.truth.is_host_sensitive and bool(accept & set(DEVICE_CLASSES.values()))


def _device_class(results: Sequence[Result]) -> Answer:
    wrong = [r.truth.name for r in results if device_class(r.alone) not in r.truth.accept]
    n = len(results)
    said = f"{n - len(wrong)} of {n}" + (f"; wrong: {', '.join(wrong)}" if wrong else "")
    asked = "compute or memory, where the device sets the step"
    return Answer(asked, "right on every file", said, n, not wrong)


def device_class(said: Object) -> str | None:
    """The class of the larger of the two device parts of the waterfall."""
    ms = {row["part"]: row["ms"] for row in said["waterfall"] if row["part"] in DEVICE_CLASSES}
    return DEVICE_CLASSES[max(ms, key=lambda part: ms[part])] if ms else None


def is_accepted(result: Result, said: Object) -> bool:
    """Whether the verdict is among the classes that count as right; ``undecided`` never is."""
    return said["verdict"]["class"] in result.truth.accept


def _verdicts(how: str, results: Sequence[Result], said: Sequence[Object]) -> list[Answer]:
    n = len(results)
    wrong = [(r, d) for r, d in zip(results, said, strict=True) if not is_accepted(r, d)]
    strong = [r.truth.name for r, d in wrong if d["verdict"]["strength"] == "strong"]
    need = math.ceil(ACCEPTED_SHARE * n)
    named = "; others: " + ", ".join(r.truth.name for r, _ in wrong) if wrong else ""
    right = f"{n - len(wrong)} of {n}{named}"
    none = f"{len(strong)}" + (f": {', '.join(strong)}" if strong else "")
    return [
        Answer(f"verdict accepted, {how}", f"at least {need}", right, n, n - len(wrong) >= need),
        Answer(f"wrong and strong, {how}", "none", none, n, not strong),
    ]


def _cause(results: Sequence[Result]) -> Answer:
    """Whether the verdict also names the cause that the program was built around."""
    held = sum(r.alone["verdict"]["cause"] == r.truth.cause for r in results)
    n = len(results)
    return Answer("cause named, where the program has one", "-", f"{held} of {n}", n, None)


def _twins(twins: Sequence[Twin]) -> list[Answer]:
    """Predicted steps of cured twins, over those that an edit predicts."""
    said = [twin for twin in twins if twin.predicted is not None]
    n = len(said)
    counted = f"{n} of {len(twins)}"
    found = [Answer("cured twins that have an estimate", "-", counted, len(twins), None)]
    if not said:
        return found
    errors = [distance(twin.predicted, twin.measured) for twin in said]
    held = sum(meets(twin.range, twin.measured) for twin in said)
    wide = median(_width(twin.predicted, twin.range) for twin in said)
    return [
        *found,
        _at_most("predicted step of a twin: median error", median(errors), TWIN_MEDIAN, n),
        _at_most("predicted step of a twin: 90th percentile", percentile(errors, 90), TWIN_P90, n),
        _covered("predicted step of a twin: range covers the measured", held, n, TWIN_COVERED),
        Answer("predicted step of a twin: median width of the range", "-", percent(wide), n, None),
    ]
