"""Batches in pinned memory, copied without waiting; ahead on a stream of their own if that pays."""

from __future__ import annotations

from typing import TYPE_CHECKING

from boundby.experiment.change import Answers, Change
from boundby.experiment.values import Configuration, Facts, value_of

if TYPE_CHECKING:
    from boundby.experiment.build import Build


def values(facts: Facts, configuration: Configuration) -> tuple[str, ...]:
    """A loader that feeds a CUDA device."""
    if not facts.on_cuda or "loader" not in facts.offers:
        return ()
    now = value_of(configuration, "pinned-copies")
    return {None: ("pinned", "ahead"), "pinned": ("ahead",)}.get(now, ())


def apply(build: Build, value: str) -> None:
    """Pinned batches; copied ahead of the step where asked."""
    build.loader["pin_memory"] = True
    build.prefetch = value == "ahead"


PATCH = """\
loader = DataLoader(..., pin_memory=True)
batch = batch.to("cuda", non_blocking=True)"""
AHEAD = """
# ahead: issue the copy of the next batch under torch.cuda.stream(copies) before the step,
# current_stream().wait_stream(copies) and record_stream() before it is used"""

CHANGE = Change(
    id="pinned-copies",
    title="pinned copies",
    prescription="pinned-copies",
    stage="process",
    answers=Answers(saves=("sync",), memory="pinned host memory"),
    values=values,
    prior=lambda _, __: 0.05,
    apply=apply,
    patch=lambda value: PATCH + (AHEAD if value == "ahead" else ""),
)
