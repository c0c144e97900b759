"""One tensor of a candidate against the float64 reference and the baseline."""

from __future__ import annotations

from dataclasses import dataclass

from boundby.bench.framework import Tensor, torch
from boundby.bench.tolerance import ELEMENTWISE, limit

IMPOSSIBLE = float("inf")
BLIND = "no value of the reference is finite: nothing was compared"


@dataclass(frozen=True)
class Rule:
    """How to decide.

    Attributes:
        precision: Lowest element type in which the candidate computes.
        k: Factor over the baseline's error; None for that of the type.
        rtol, atol: Elementwise tolerances instead; both None for the rule of errors.
    """

    precision: str
    k: float | None = None
    rtol: float | None = None
    atol: float | None = None

    @property
    def is_elementwise(self) -> bool:
        """Whether the user gave tolerances."""
        return self.rtol is not None or self.atol is not None


@dataclass(frozen=True)
class Agreement:
    """How one tensor agrees.

    Attributes:
        name: Which.
        is_equal: Bit for bit with the baseline.
        error: Relative error against float64; for integers the share that differs.
        baseline: That of the baseline at the same precision; None where it was not run.
        limit: Largest error that passes.
        largest: Largest absolute difference of an element from float64.
        passed: Whether it does.
        reason: Why not, or what else the reader should know; empty for nothing.
        is_blind: Whether NaN and infinities stand alike and no element could be compared.
    """

    name: str
    is_equal: bool
    error: float
    baseline: float | None
    limit: float
    largest: float
    passed: bool
    reason: str = ""
    is_blind: bool = False


def agree(
    name: str, new: Tensor, old: Tensor, exact: Tensor, baseline: Tensor | None, rule: Rule
) -> Agreement:
    """Compare one tensor.

    Args:
        name: Of the tensor.
        new: The candidate's.
        old: The baseline's as it is.
        exact: In float64.
        baseline: The baseline's, computed at the candidate's precision; None where it cannot be.
        rule: How to decide.
    """
    if new.shape != exact.shape:
        reason = f"shape {tuple(new.shape)} instead of {tuple(exact.shape)}"
        return Agreement(name, False, IMPOSSIBLE, None, 0.0, IMPOSSIBLE, False, reason)  # noqa: FBT003
    if not new.is_floating_point() and not new.is_complex():
        return _integers(name, new, old)
    special = _special_values(new, exact)
    error, largest = relative_error(new, exact)
    known = None if baseline is None else relative_error(baseline, exact)[0]
    allowed = limit(rule.precision, new.numel(), known or 0.0, rule.k)
    close = _is_close(new, exact, rule) if rule.is_elementwise else error <= allowed
    is_blind = not special and _is_blind(exact)
    return Agreement(
        name=name,
        is_equal=bool(new.dtype == old.dtype and torch().equal(new.cpu(), old.cpu())),
        error=error,
        baseline=known,
        limit=allowed,
        largest=largest,
        passed=close and not special,
        reason=BLIND if is_blind else special or ("" if close else _why(rule)),
        is_blind=is_blind,
    )


def relative_error(found: Tensor, exact: Tensor) -> tuple[float, float]:
    """Relative error of the whole and largest absolute difference, where both are finite."""
    truth = _wide(exact)
    difference = _wide(found).to(truth.device) - truth
    finite = torch().isfinite(difference)
    if not bool(finite.any()):
        return 0.0, 0.0
    difference, truth = difference[finite], truth[finite]
    size, distance = float(truth.norm()), float(difference.norm())
    largest = float(difference.abs().max())
    if size == 0:
        return (0.0 if distance == 0 else distance), largest
    return distance / size, largest


def _wide(tensor: Tensor) -> Tensor:
    return tensor.to(torch().complex128 if tensor.is_complex() else torch().float64)


def _integers(name: str, new: Tensor, old: Tensor) -> Agreement:
    differ = float((new.cpu() != old.cpu()).double().mean()) if new.numel() else 0.0
    reason = "integers must be exact" if differ else ""
    return Agreement(name, differ == 0, differ, 0.0, 0.0, differ, differ == 0, reason)


def _special_values(new: Tensor, exact: Tensor) -> str:
    """What is wrong with NaN and infinity; empty where they stand alike."""
    truth = exact.to(new.device)
    if not torch().equal(new.isnan(), truth.isnan()):
        count = int((new.isnan() != truth.isnan()).sum())
        return f"{count} NaN where the reference has none, or the other way"
    if not torch().equal(new.isinf(), truth.to(new.dtype).isinf()):
        return "infinities stand elsewhere than in the reference"
    return ""


def _is_blind(exact: Tensor) -> bool:
    """Whether the reference holds values and none of them is finite."""
    return bool(exact.numel()) and not bool(torch().isfinite(exact).any())


def _is_close(new: Tensor, exact: Tensor, rule: Rule) -> bool:
    rtol, atol = ELEMENTWISE.get(rule.precision, ELEMENTWISE["bfloat16"])
    rtol = rtol if rule.rtol is None else rule.rtol
    atol = atol if rule.atol is None else rule.atol
    truth = _wide(exact)
    return bool(
        torch().allclose(_wide(new).to(truth.device), truth, rtol=rtol, atol=atol, equal_nan=True)
    )


def _why(rule: Rule) -> str:
    if rule.is_elementwise:
        return "elements lie outside rtol and atol"
    return f"error above the limit for {rule.precision}"
