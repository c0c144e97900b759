"""Segments that can grow: fewer calls of the driver's allocator, less stranded memory."""

from __future__ import annotations

import os

from boundby.experiment.change import Answers, Change
from boundby.experiment.values import Configuration, Facts, value_of
from boundby.prescribe.rule import Risk

NAMES = ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF")
SETTING = "expandable_segments:True"


def values(facts: Facts, configuration: Configuration) -> tuple[str, ...]:
    """CUDA, not set already, and no graph: hangs are known beside graphs and peer copies."""
    is_set = any("expandable_segments" in os.environ.get(name, "") for name in NAMES)
    in_graph = value_of(configuration, "cuda-graph")
    return (SETTING,) if facts.on_cuda and not is_set and not in_graph else ()


CHANGE = Change(
    id="allocator-settings",
    title="expandable segments",
    prescription="allocator-settings",
    risk=Risk.SHAPES,
    answers=Answers(saves=("sync",), memory="less where it was fragmented"),
    values=values,
    prior=lambda _, __: 0.02,
    outside=lambda _, __: None,
    environment=lambda value: dict.fromkeys(NAMES, value),
    patch=lambda value: f"export PYTORCH_ALLOC_CONF={value}   # PYTORCH_CUDA_ALLOC_CONF before 2.9",
)
