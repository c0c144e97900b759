"""The optimizer on lists of tensors, where it has no fused form or runs tensor by tensor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from boundby.experiment.change import Answers, Change
from boundby.experiment.changes.fused_optimizer import set_form
from boundby.experiment.values import Configuration, Facts, value_of

if TYPE_CHECKING:
    from boundby.experiment.build import Build
    from boundby.experiment.outside import Outside


def values(facts: Facts, configuration: Configuration) -> tuple[str, ...]:
    """An optimizer with this form that uses none; on CUDA torch chooses it by itself."""
    idle = "foreach" in facts.optimizer_forms and not facts.optimizer_form
    fused = value_of(configuration, "fused-optimizer")
    return ("true",) if idle and not facts.on_cuda and not fused else ()


def apply(build: Build, value: str) -> None:
    """As a keyword of the optimizer."""
    del value
    build.options["foreach"] = True


def outside(script: Outside, value: str) -> None:
    """In the groups of every optimizer that has it."""
    del value
    script.when_optimizer(lambda made: set_form(made, "foreach"))


CHANGE = Change(
    id="foreach-optimizer",
    title="foreach optimizer",
    prescription="foreach-optimizer",
    stage="optimizer",
    answers=Answers(saves=("launch",), memory="yes: temporary lists", numerics="rounding only"),
    values=values,
    prior=lambda _, __: 0.03,
    apply=apply,
    outside=outside,
    patch=lambda _: "optimizer = torch.optim.AdamW(..., foreach=True)",
)
