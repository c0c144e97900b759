"""Another number of operator threads."""

from __future__ import annotations

from typing import Any

from boundby.bench.framework import torch
from boundby.experiment.change import Answers, Change
from boundby.experiment.values import Configuration, Facts, value_of

VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS")


def values(facts: Facts, configuration: Configuration) -> tuple[str, ...]:
    """On a CPU: one thread, half of the processors, all of them; other than now.

    Never more than the user's own OMP_NUM_THREADS: it may be set since other programs run too.
    """
    if facts.on_cuda or value_of(configuration, "thread-limit"):
        return ()
    wanted = dict.fromkeys((facts.processors, max(facts.processors // 2, 1), 1))
    most = facts.thread_limit or facts.processors
    return tuple(str(count) for count in wanted if count != facts.threads and count <= most)


def apply(_: Any, value: str) -> None:  # noqa: ANN401 -- a build, or a script from outside
    """A switch of torch, beside the variables that libraries read."""
    torch().set_num_threads(int(value))


CHANGE = Change(
    id="thread-limit",
    title="operator threads",
    prescription="thread-limit",
    answers=Answers(saves=("compute",), numerics="rounding only"),
    values=values,
    prior=lambda _, __: 0.1,
    apply=apply,
    outside=apply,
    environment=lambda value: dict.fromkeys(VARIABLES, value),
    patch=lambda value: f"export OMP_NUM_THREADS={value}     # or torch.set_num_threads({value})",
)
