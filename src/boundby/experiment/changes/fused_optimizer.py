"""The optimizer as one fused kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from boundby.experiment.change import Answers, Change
from boundby.experiment.values import Configuration, Facts

if TYPE_CHECKING:
    from boundby.experiment.build import Build
    from boundby.experiment.outside import Outside


def values(facts: Facts, configuration: Configuration) -> tuple[str, ...]:
    """An optimizer with a fused form that it does not use."""
    del configuration
    return ("true",) if "fused" in facts.optimizer_forms and facts.optimizer_form != "fused" else ()


def apply(build: Build, value: str) -> None:
    """As a keyword of the optimizer."""
    del value
    build.options.pop("foreach", None)
    build.options["fused"] = True


def outside(script: Outside, value: str) -> None:
    """In the groups of every optimizer that has it."""
    del value
    script.when_optimizer(lambda made: set_form(made, "fused"))


def set_form(optimizer: object, form: str) -> None:
    """Choose a form in every parameter group."""
    for group in getattr(optimizer, "param_groups", ()):
        if "fused" in group:
            group.update({"fused": form == "fused", "foreach": form == "foreach"})


CHANGE = Change(
    id="fused-optimizer",
    title="fused optimizer",
    prescription="fused-optimizer",
    stage="optimizer",
    answers=Answers(saves=("launch", "traffic"), numerics="rounding only"),
    values=values,
    prior=lambda _, __: 0.05,
    apply=apply,
    outside=outside,
    replaces=("foreach-optimizer",),
    patch=lambda _: "optimizer = torch.optim.AdamW(..., fused=True)   # or your Adam, or SGD",
)
