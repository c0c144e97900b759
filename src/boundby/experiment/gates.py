"""Is a candidate right? Its outputs and gradients, its losses, its attention over layouts."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from boundby.bench.correctness import check
from boundby.bench.framework import is_out_of_memory, torch
from boundby.bench.losscurve import compare_curves
from boundby.bench.tolerance import FACTOR, limit, lowest
from boundby.errors import BoundbyError
from boundby.experiment.changes.sdpa import by_formula
from boundby.experiment.generators import Drawn, is_apart
from boundby.experiment.reference import (
    BF16_PARAMETERS,
    FILE,
    TF32,
    Kept,
    is_whole,
    least_of,
    relative,
    usual_size,
)
from boundby.experiment.values import WIDE, Gate

HELD_AS = {TF32: "float16", BF16_PARAMETERS: "bfloat16"}
"""Element type whose tolerance holds: TF32 keeps as many bits as float16."""
TOO_LARGE = "not checked: the score matrix of its formula does not fit into memory"
ATTENTION_BATCH = 8
"""Samples with which an attention function is checked alone, at most."""


def load_reference(folder: str) -> dict[str, Any]:
    """What ``make_reference`` kept."""
    loaded: dict[str, Any] = torch().load(Path(folder) / FILE, weights_only=True)
    return loaded


def judge_tensors(found: Kept, reference: dict[str, Any], precision: str) -> dict[str, Any]:
    """Hold outputs and gradients against float64; the fields of a ``Gate`` that they fill."""
    exact, known = reference["exact"], reference["errors"].get(precision, {})
    if not exact:
        return {"passed": True, "precision": precision}
    usual, held = usual_size(exact), held_to(precision, reference["held"])
    own = reference["errors"].get("float32", {})
    rows = []
    for name, truth in exact.items():
        if name not in found:
            rows.append((float("inf"), name, float("inf"), 0.0))
            continue
        error = relative(found[name], truth, least_of(name, usual))
        allowed = limit(held, truth.numel(), known.get(name, 0.0))
        if is_whole(truth):  # no precision may change them more than the program itself does
            allowed = limit("float32", truth.numel(), own.get(name, 0.0), FACTOR["float32"])
        rows.append((error / allowed, name, error, allowed))
    strain, worst, error, allowed = max(rows)
    return {
        "passed": strain <= 1,
        "precision": precision,
        "tensors": len(rows),
        "worst": worst,
        "error": _finite(error),
        "limit": _finite(allowed),
        "wide": sum(each[-1] > WIDE for each in rows),
    }


def where_drawn_alike(fields: dict[str, Any], mine: Drawn, other: Drawn) -> dict[str, Any]:
    """The same fields; without tensors where those are off since both drew other random numbers."""
    if fields["passed"] or not is_apart(mine, other):
        return fields
    return {"passed": True, "precision": fields["precision"]}


APART = "it draws other random numbers than the unchanged run: its losses alone were compared"
RANDOM = "the pass draws random numbers: its losses were compared, its gradients cannot be"


def held_to(precision: str, own: str) -> str:
    """Element type whose tolerance holds: the coarser of the change's and the program's own."""
    return lowest(frozenset((HELD_AS.get(precision, precision), own)))


def judge_losses(losses: list[float], reference: dict[str, Any]) -> str:
    """The loss curve beside the spread of the baseline's seeds, as one line."""
    baseline = [curve[: len(losses)] for curve in reference["losses"]]
    return str(compare_curves(losses, baseline))


def judge_attention(core: Any, seen: Any) -> str:  # noqa: ANN401 -- a function, tensors
    """Check an attention function alone, over layouts of its gradient, in this process.

    Args:
        core: Called with query, key and value.
        seen: The three of a real step.
    """
    for size in (ATTENTION_BATCH, 2, 1):
        try:
            return str(check(core, by_formula, *[each[:size].detach() for each in seen]))
        except (BoundbyError, RuntimeError, ValueError, TypeError) as error:
            if is_out_of_memory(error):
                continue
            reason = getattr(error, "message", str(error)).splitlines()
            return f"fail: {reason[0] if reason else type(error).__name__}"
    return TOO_LARGE


def whole(fields: dict[str, Any], loss: str, layouts: str, notes: list[str]) -> dict[str, Any]:
    """A gate as plain values."""
    failed = any(each.startswith("fail") for each in (loss, layouts))
    passed = bool(fields.get("passed", True)) and not failed
    gate = Gate(**{**fields, "passed": passed}, loss=loss, layouts=layouts, notes=tuple(notes))
    return asdict(gate)


SCRIPT_LIMITS = {"float32": 1e-3, TF32: 1e-2, "float16": 1e-2, "bfloat16": 0.1}
"""A script has no float64 run, so its own first gradients stand in: wide enough for another order
of sums in a deep network, far below what a wrong kernel gives."""
NO_FLOAT64 = "a script has no float64 reference: held against its own unchanged run"


def judge_script(found: Kept, reference: dict[str, Any], precision: str) -> dict[str, Any]:
    """Gradients of a script's first update against those of its unchanged run."""
    exact = reference["exact"]
    usual, allowed = usual_size(exact), SCRIPT_LIMITS.get(precision, 0.1)
    far = {
        name: relative(found[name], truth, least_of(name, usual)) if name in found else 1e30
        for name, truth in exact.items()
    }
    worst = max(far, key=lambda name: far[name], default="")
    error = _finite(far.get(worst, 0.0))
    return {
        "passed": error <= allowed,
        "precision": precision,
        "tensors": len(far),
        "worst": worst,
        "error": error,
        "limit": allowed,
    }


def _finite(value: float) -> float:
    """JSON knows no infinity."""
    return min(value, 1e30)


def seen_by(core: Any) -> tuple[Any, list[Any]]:  # noqa: ANN401 -- a function, tensors
    """The function, and a list that will hold the arguments of its first call."""
    seen: list[Any] = []

    def watched(q: Any, k: Any, v: Any) -> Any:  # noqa: ANN401 -- tensors
        if not seen:
            seen.extend((q, k, v))
        return core(q, k, v)

    return watched, seen
