"""torch.compile: the default mode first, then the modes that cost more to start."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from boundby.bench.framework import torch
from boundby.experiment.change import Answers, Change
from boundby.experiment.values import Configuration, Facts, value_of
from boundby.prescribe.rule import Risk

if TYPE_CHECKING:
    from boundby.experiment.build import Build
    from boundby.experiment.outside import Outside

TORCHS_OWN = "torch.nn."
GRAPHS = "reduce-overhead"
TUNED = "max-autotune-no-cudagraphs"
SAVES = {
    "default": ("traffic", "launch"),
    GRAPHS: ("launch",),
    TUNED: ("compute", "traffic"),
}
PRIOR = {"default": 0.25, GRAPHS: 0.05, TUNED: 0.03}
SLOW_S = {"default": 40.0, GRAPHS: 40.0, TUNED: 300.0}
"""Twelve blocks on an H200, cold: 35 s, 26 s and 287 s."""


def values(facts: Facts, configuration: Configuration) -> tuple[str, ...]:
    """The default; once it is in force, what goes beyond it."""
    now = value_of(configuration, "compile-model")
    if now is None:
        return ("default",)
    if not facts.on_cuda or now != "default":
        return ()
    in_graph = value_of(configuration, "cuda-graph") is not None
    return (TUNED,) if in_graph else (GRAPHS, TUNED)


def apply(build: Build, value: str) -> None:
    """In place: class, attributes and names of parameters stay."""
    build.compiled = True
    compile_in_place(build.model, value)


def outside(script: Outside, value: str) -> None:
    """The root module, before its first step."""
    script.when_model(lambda model: compile_in_place(model, value))


def compile_in_place(model: Any, mode: str) -> None:  # noqa: ANN401 -- a module
    """Compile a module in a mode.

    Dynamo passes over files of torch, and so over the forward of a plain ``nn.Sequential``: that
    one is called from here.
    """
    options = {} if mode == "default" else {"mode": mode}
    if type(model).forward.__module__.startswith(TORCHS_OWN):
        model.forward = torch().compile(_called_from_here(model.forward), **options)
    else:
        model.compile(**options)


def _called_from_here(forward: Callable[..., Any]) -> Callable[..., Any]:
    def whole(*arguments: Any, **keywords: Any) -> Any:  # noqa: ANN401 -- the user's own
        return forward(*arguments, **keywords)

    return whole


def patch(value: str) -> str:
    """The code."""
    mode = "" if value == "default" else f'mode="{value}"'
    whole = f"model, {mode}" if mode else "model"
    return (
        f"model.compile({mode})\n"
        f"# where it is a plain nn.Sequential: model = torch.compile({whole})"
    )


CHANGE = Change(
    id="compile-model",
    title="torch.compile",
    prescription="compile-model",
    risk=Risk.SHAPES,
    stage="compile",
    answers=Answers(
        saves=("traffic", "launch"),
        memory="mostly less; reduce-overhead keeps a pool of its own",
        numerics="rounding only",
        shapes="yes: each new shape compiles again",
        startup="yes: compilation",
    ),
    values=values,
    prior=lambda _, value: PRIOR[value],
    apply=apply,
    outside=outside,
    slow_start=lambda value: SLOW_S.get(value, 0.0),
    saves=lambda value: SAVES.get(value, SAVES["default"]),
    patch=patch,
)
