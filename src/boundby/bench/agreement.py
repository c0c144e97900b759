"""One tensor of a candidate against the float64 reference and the baseline."""

from __future__ import annotations

from dataclasses import dataclass

from boundby.bench.framework import Tensor, torch
from boundby.bench.tolerance import ELEMENTWISE, limit

IMPOSSIBLE = float("inf")
BLIND = "no value of the reference is finite: nothing was compared"
EMPTY = "no elements: nothing was compared"
AS_BEFORE = "not finite where float64 is, exactly as the baseline"
NO_YARDSTICK = "the baseline is not finite where float64 is: it has no error to be held to"


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
        is_blind: Whether nothing could be compared, or what fails is the baseline's own failure.
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
        return _different(name, f"shape {tuple(new.shape)} instead of {tuple(exact.shape)}")
    if _kind(new) != _kind(old):
        return _different(name, f"{_dtype(new)} instead of {_dtype(old)}")
    if _kind(new) == "integer":
        return _integers(name, new, old)
    special = _special_values(new, exact)
    error, largest = relative_error(new, exact)
    is_known = baseline is not None and _can_compare(baseline, exact)
    known = relative_error(baseline, exact)[0] if is_known else None
    allowed = limit(rule.precision, new.numel(), known or 0.0, rule.k)
    close = _is_close(new, exact, rule) if rule.is_elementwise else error <= allowed
    blind = _blind(exact)
    if special and _alike(new, old):
        blind = special = AS_BEFORE
    elif not close and not special and not _can_compare(old, exact):
        blind = NO_YARDSTICK
    return Agreement(
        name=name,
        is_equal=_is_equal(new, old),
        error=error,
        baseline=known,
        limit=allowed,
        largest=largest,
        passed=close and not special,
        reason=blind or special or ("" if close else _why(rule)),
        is_blind=bool(blind) and special in ("", AS_BEFORE),
    )


def missing(name: str) -> Agreement:
    """A tensor that the baseline gives and the candidate does not."""
    return _different(name, "the candidate gives none")


def only_in_candidate(name: str, *, is_output: bool) -> Agreement:
    """A tensor that the baseline does not give: a failure of outputs, of gradients unknown."""
    if is_output:
        return _different(name, "the baseline gives none")
    reason = "the baseline gives none: nothing was compared"
    return Agreement(name, False, 0.0, None, 0.0, 0.0, True, reason, is_blind=True)  # noqa: FBT003


def _different(name: str, reason: str) -> Agreement:
    return Agreement(name, False, IMPOSSIBLE, None, 0.0, IMPOSSIBLE, False, reason)  # noqa: FBT003


def _kind(tensor: Tensor) -> str:
    if tensor.is_complex():
        return "complex"
    return "real" if tensor.is_floating_point() else "integer"


def _dtype(tensor: Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")


def _is_equal(new: Tensor, old: Tensor) -> bool:
    return bool(new.dtype == old.dtype and torch().equal(new.cpu(), old.cpu()))


def _can_compare(found: Tensor, exact: Tensor) -> bool:
    """Whether any element is finite in both, or in neither."""
    truth = exact.to(found.device)
    if not bool(torch().isfinite(truth).any()):
        return True
    return bool((torch().isfinite(found) & torch().isfinite(truth)).any())


def _alike(new: Tensor, old: Tensor) -> bool:
    """Whether NaN and infinities stand in the same places."""
    before = old.to(new.device)
    same_nan = torch().equal(new.isnan(), before.isnan())
    return bool(same_nan and torch().equal(new.isinf(), before.isinf()))


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
    reason = "integers must be exact" if differ else "" if new.numel() else EMPTY
    is_equal = _is_equal(new, old)
    is_blind = not new.numel()
    return Agreement(name, is_equal, differ, 0.0, 0.0, differ, differ == 0, reason, is_blind)


def _special_values(new: Tensor, exact: Tensor) -> str:
    """What is wrong with NaN and infinity; empty where they stand alike."""
    truth = exact.to(new.device)
    here, there = new.isnan(), truth.isnan()
    if not torch().equal(here, there):
        more, fewer = int((here & ~there).sum()), int((there & ~here).sum())
        parts = [f"{more} NaN that the reference has not"] if more else []
        parts += [f"{fewer} NaN of the reference are missing"] if fewer else []
        return ", ".join(parts)
    if not torch().equal(new.isinf(), truth.to(new.dtype).isinf()):
        return "infinities stand elsewhere than in the reference"
    return ""


def _blind(exact: Tensor) -> str:
    """Why a reference leaves nothing to compare; empty where it does."""
    if not exact.numel():
        return EMPTY
    return "" if bool(torch().isfinite(exact).any()) else BLIND


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
