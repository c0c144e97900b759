"""What low precision would lose of a training step: gradients of float16, updates of bfloat16."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from boundby.bench.framework import Tensor, torch
from boundby.errors import UsageError

FLOAT16_NORMAL = 2.0**-14
"""Smallest normal float16, 6.1e-5: below, bits of the significand are lost one by one."""
FLOAT16_ZERO = 2.0**-25
"""At and below half of the smallest subnormal (2^-24), float16 rounds to zero."""
BFLOAT16_BITS = 7
"""Stored bits of the significand: neighbours in [1, 2) lie 2^-7 apart, half a step is 2^-8."""


@dataclass(frozen=True)
class Numerics:
    """Shares of 1; None where there was nothing to look at.

    Attributes:
        subnormal: Gradients other than zero that are subnormal in float16.
        vanished: Gradients other than zero that float16 rounds to zero.
        overflowed: Gradients that float16 cannot hold; infinite ones among them.
        not_a_number: Gradients that are NaN, of all.
        lost_updates: Updates other than zero below half a last place of their bfloat16 parameter:
            added to it, they change nothing.
        worst: Parameter with the largest share of lost updates; empty for none.
    """

    subnormal: float | None
    vanished: float | None
    overflowed: float | None
    lost_updates: float | None
    worst: str = ""
    not_a_number: float | None = None

    def __str__(self) -> str:
        worst = f" (most of {self.worst})" if self.worst else ""
        rows = (
            ("gradients that are NaN", self.not_a_number),
            ("gradients other than zero that are subnormal in float16", self.subnormal),
            ("gradients other than zero that vanish in float16", self.vanished),
            ("gradients other than zero that overflow float16", self.overflowed),
            (f"updates that are lost in bfloat16{worst}", self.lost_updates),
        )
        return "\n".join(f"{text}: {_percent(share)}" for text, share in rows)


def _percent(share: float | None) -> str:
    return "unknown" if share is None else f"{share:.1%}"


def numerics(
    named_parameters: Iterable[tuple[str, Tensor]],
    optimizer: Any = None,  # noqa: ANN401 -- a torch optimizer
) -> Numerics:
    """Look at the gradients that parameters hold, and at the update that an optimizer makes.

    Args:
        named_parameters: ``model.named_parameters()`` after a backward pass, in float32.
        optimizer: Makes one step, which is taken back from the parameters; its own state moves on.

    Raises:
        UsageError: Parameters without names, or what is no optimizer.
    """
    held = [(name, each) for name, each in _named(named_parameters) if each.grad is not None]
    if optimizer is not None and not callable(getattr(optimizer, "step", None)):
        raise UsageError(f"no optimizer but {type(optimizer).__name__}", "it must have step()")
    grads = [_dense(each.grad).float().abs().flatten() for _, each in held]
    total = torch().cat([each.cpu() for each in grads]) if grads else torch().empty(0)
    every = total[total > 0]
    lost, worst = (None, "") if optimizer is None else _lost_updates(held, optimizer)
    return Numerics(
        subnormal=_share((every < FLOAT16_NORMAL) & (every > FLOAT16_ZERO)),
        vanished=_share(every <= FLOAT16_ZERO),
        overflowed=_share(every > torch().finfo(torch().float16).max),
        lost_updates=lost,
        worst=worst,
        not_a_number=_share(total.isnan()),
    )


def _named(parameters: Any) -> list[tuple[str, Tensor]]:  # noqa: ANN401 -- checked here
    """Pairs of a name and a tensor; raises UsageError where they are something else."""
    listed = list(parameters) if isinstance(parameters, Iterable) else [parameters]
    for each in listed:
        is_pair = isinstance(each, tuple) and len(each) == 2  # noqa: PLR2004 -- name and tensor
        if not is_pair or not isinstance(each[1], torch().Tensor):
            raise UsageError(
                f"no named parameters but {type(parameters).__name__}",
                "give model.named_parameters()",
            )
    return listed


def _dense(grad: Tensor) -> Tensor:
    """Values of a gradient; of a sparse one those that it holds."""
    grad = grad.detach()
    return grad.coalesce().values() if grad.is_sparse else grad


def half_step(values: Tensor) -> Tensor:
    """Half the distance to the next bfloat16, by the power of two that a value lies in."""
    _, exponent = torch().frexp(values.float())
    return torch().ldexp(torch().ones_like(values.float()), exponent - 1 - BFLOAT16_BITS - 1)


def _lost_updates(held: list[tuple[str, Tensor]], optimizer: Any) -> tuple[float | None, str]:  # noqa: ANN401
    before = [each.detach().clone() for _, each in held]
    optimizer.step()
    lost, made, worst = 0, 0, (0.0, "")
    with torch().no_grad():
        for (name, each), old in zip(held, before, strict=True):
            update = (each.detach() - old).float().abs()
            moved = update > 0
            below = moved & (update < half_step(old))
            count, total = int(below.sum()), int(moved.sum())
            lost, made = lost + count, made + total
            worst = max(worst, (count / total, name)) if count else worst
            each.copy_(old)
    return (lost / made if made else None), worst[1]


def _share(mask: Tensor) -> float | None:
    return float(mask.double().mean()) if mask.numel() else None
