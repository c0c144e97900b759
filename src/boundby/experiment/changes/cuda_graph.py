"""The whole step, update included, as one CUDA graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

from boundby.experiment.change import Answers, Change
from boundby.experiment.values import Configuration, Facts, value_of
from boundby.prescribe.rule import Risk

if TYPE_CHECKING:
    from boundby.experiment.build import Build

CAPTURABLE = ("Adam", "AdamW", "Adamax", "NAdam", "RAdam", "ASGD", "Adadelta", "RMSprop", "Rprop")
"""Optimizers whose step count can live on the device."""


def values(facts: Facts, configuration: Configuration) -> tuple[str, ...]:
    """CUDA, and one batch at a fixed address."""
    scaled = value_of(configuration, "fp16")
    moves = {"loader", "log"} & set(facts.offers)
    able = facts.on_cuda and facts.trains and not moves
    return ("step",) if able and not scaled else ()


def without_inner_graphs(configuration: Configuration) -> Configuration:
    """Compiled code that keeps no graphs of its own: graphs cannot be captured into a graph."""
    return tuple(
        (change, "default" if value == "reduce-overhead" else value)
        for change, value in configuration
    )


def apply(build: Build, value: str) -> None:
    """Capture once the program is built."""
    del value
    build.graph = True
    sample = build.workload.optimizer(list(build.model.parameters()))
    if type(sample).__name__ in CAPTURABLE:
        build.options["capturable"] = True


PATCH = """\
optimizer = AdamW(..., capturable=True)
# warm up three steps on a side stream, then, with static_batch at a fixed address:
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    loss = step(static_batch)          # forward, backward, update
for batch in loader:
    static_batch.copy_(batch)
    graph.replay()"""

CHANGE = Change(
    id="cuda-graph",
    title="CUDA graph of the whole step",
    prescription="cuda-graph",
    risk=Risk.CONSTRAINTS,
    stage="step",
    answers=Answers(
        saves=("launch",),
        memory="yes: a pool that nothing else can use",
        shapes="yes: fixed shapes and addresses, no waits inside",
        startup="yes: warm-up and capture",
    ),
    values=values,
    prior=lambda _, __: 0.12,
    apply=apply,
    adjust=without_inner_graphs,
    patch=lambda _: PATCH,
)
