"""Optimizers of torch by class name, and the ways each can update."""

from __future__ import annotations

from boundby.prescribe.case import Case
from boundby.prescribe.readings import of_device, share

FUSED = frozenset({"Adam", "AdamW", "SGD"})
"""Classes with a fused form on devices in every torch since 2.3."""
FOREACH = FUSED | {
    "ASGD", "Adadelta", "Adagrad", "Adamax", "NAdam", "RAdam", "RMSprop", "Rprop",
}  # fmt: skip


def has_form(case: Case, known: frozenset[str]) -> bool:
    """Whether the recorded optimizer is one of these, or is not named."""
    name = case.signs.update.optimizer
    return name is None or name in known


def construct(case: Case, how: str, option: str) -> str:
    """The code that builds the recorded optimizer with an option.

    Args:
        how: What to say where no optimizer is named.
    """
    name = case.signs.update.optimizer
    return how if name is None else f"optimizer = torch.optim.{name}(..., {option}=True)\n"


def launches(case: Case) -> str:
    """`` (1920 of the step's launches)``; empty where unknown."""
    count = case.signs.update.launches
    return f" ({count:.0f} of the step's launches)" if count is not None else ""


def most(case: Case) -> float | None:
    """All that updating takes of the step."""
    host, device = case.signs.update.host_share, of_device(case, case.signs.update.device_share)
    if host is None or device is None:
        return None
    return host * share(case, "python", "submission") + device
