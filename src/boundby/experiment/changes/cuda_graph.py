"""The whole step as one CUDA graph, the update of a training included."""

from __future__ import annotations

from typing import TYPE_CHECKING

from boundby.experiment.change import Answers, Change
from boundby.experiment.values import Configuration, Facts, value_of
from boundby.prescribe.rule import Risk

if TYPE_CHECKING:
    from boundby.experiment.build import Build

STEP, FORWARD = "step", "forward"
"""With an update and without one."""
CAPTURABLE = ("Adam", "AdamW", "Adamax", "NAdam", "RAdam", "ASGD", "Adadelta", "RMSprop", "Rprop")
"""Optimizers whose step count can live on the device."""


def values(facts: Facts, configuration: Configuration) -> tuple[str, ...]:
    """CUDA, and one batch at a fixed address."""
    scaled = facts.trains and value_of(configuration, "fp16")
    moves = {"loader", "log"} & set(facts.offers)
    if not facts.on_cuda or moves or scaled:
        return ()
    return (STEP,) if facts.trains else (FORWARD,)


def without_inner_graphs(configuration: Configuration) -> Configuration:
    """Compiled code that keeps no graphs of its own: graphs cannot be captured into a graph."""
    return tuple(
        (change, "default" if value == "reduce-overhead" else value)
        for change, value in configuration
    )


def apply(build: Build, value: str) -> None:
    """Capture once the program is built."""
    build.graph = True
    if value == FORWARD:
        return
    sample = build.workload.optimizer(list(build.model.parameters()))
    if type(sample).__name__ in CAPTURABLE:
        build.options["capturable"] = True


STEP_PATCH = """\
optimizer = AdamW(..., capturable=True)
# warm up three steps on a side stream, then, with static_batch at a fixed address:
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    loss = step(static_batch)          # forward, backward, update
for batch in loader:
    static_batch.copy_(batch)
    graph.replay()"""
FORWARD_PATCH = """\
# warm up three passes on a side stream, then, with static_batch at a fixed address:
graph = torch.cuda.CUDAGraph()
with torch.inference_mode(), torch.cuda.graph(graph):
    outputs = model(static_batch)
# for each batch:
static_batch.copy_(batch)
graph.replay()                         # outputs hold the result until the next replay"""
PATCHES = {STEP: STEP_PATCH, FORWARD: FORWARD_PATCH}

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
    patch=lambda value: PATCHES[value],
)
