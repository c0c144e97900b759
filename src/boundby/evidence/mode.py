"""How the program runs: training or inference, compiled, in graphs, with fixed shapes."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from boundby.distribution import distinct
from boundby.evidence.kernels import KernelTime
from boundby.evidence.launched import Launched, nodes_named
from boundby.evidence.phases import BACKWARD, OPTIMIZER
from boundby.frozen import frozen
from boundby.read.recording import NONE
from boundby.timeline.calls import CallKind

REGION = re.compile(r"^Torch-Compiled Region|^## Call CompiledFxGraph|^CompiledFunction$")
LOOKUP = re.compile(r"^TorchDynamo Cache Lookup")
ENTRY = re.compile(r"^Torch-Compiled Region")
TRITON = re.compile(r"^triton_(poi|per|red|tem|for|spl|mm)|^triton__?\d")
"""Kernels that Inductor writes; those users write have other names."""
FORWARD = re.compile(
    r"^aten::(linear|conv[123]d|layer_norm|batch_norm|group_norm|scaled_dot_product_attention"
    r"|dropout|embedding|max_pool2d)$"
)
"""Operators that programs call forward and no formula of a backward pass does."""
SIZED = re.compile(
    r"^aten::(mm|addmm|bmm|baddbmm|linear|conv[123]d|convolution|embedding"
    r"|scaled_dot_product_attention)$"
)
"""Operators whose sizes show the sizes of the batch."""


@frozen
class Mode:
    """How the program runs; None where operators were not recorded.

    Attributes:
        training: Whether a backward pass ran.
        records_grad: Whether operators were recorded for a backward pass.
        compiled: Whether compiled code ran.
        compiled_calls: Calls of compiled regions a step; None where entries are not marked.
        guards: Share of recorded host time that looks up compiled code and checks its guards;
            None where lookups are not marked.
        in_graphs: Whether CUDA graphs were launched.
        recomputed: Share of device time that repeats forward work in the backward pass.
        shapes_vary: Whether the same operators see other sizes from step to step; None where
            sizes were not recorded.
    """

    training: bool | None = None
    records_grad: bool | None = None
    compiled: bool | None = None
    compiled_calls: float | None = None
    guards: float | None = None
    in_graphs: bool | None = None
    recomputed: float | None = None
    shapes_vary: bool | None = None


def find_mode(launched: Launched, kernels: KernelTime) -> Mode:
    """How the steps run."""
    if not len(launched):
        return Mode()
    recording = launched.timeline.recording
    regions = launched.rows(REGION)
    entries = launched.rows(ENTRY)
    calls = launched.timeline.calls[recording.host.name[launched.timeline.launches.row]]
    graphs = calls[launched.call] == CallKind.GRAPH_LAUNCH
    mode = Mode(
        compiled=bool(len(regions)) or any(map(TRITON.search, kernels.names)),
        compiled_calls=len(entries) / launched.steps if len(entries) else None,
        guards=_guards(launched),
        in_graphs=bool(graphs.any()),
    )
    return _with_operators(launched, mode) if launched.tree.is_op.any() else mode


def _with_operators(launched: Launched, mode: Mode) -> Mode:
    host, tree = launched.timeline.recording.host, launched.tree
    updates = launched.rows(OPTIMIZER)
    again = launched.under(FORWARD) & launched.under(BACKWARD)
    device = float(launched.work.sum())
    return replace(
        mode,
        training=bool(len(nodes_named(launched, BACKWARD))) or bool(len(updates)),
        records_grad=bool((host.sequence[tree.row[tree.is_op]] != NONE).any()),
        recomputed=float(launched.work[again].sum()) / device if device else None,
        shapes_vary=_shapes_vary(launched),
    )


def _guards(launched: Launched) -> float | None:
    host, rows = launched.timeline.recording.host, launched.rows(LOOKUP)
    total = launched.host_ns
    return float(host.dur[rows].sum()) / total if len(rows) and total else None


def _shapes_vary(launched: Launched) -> bool | None:
    """Whether two steps differ in the sizes their products and convolutions see."""
    recording, tree = launched.timeline.recording, launched.tree
    nodes = nodes_named(launched, SIZED)
    signature = recording.host.signature[tree.row[nodes]]
    nodes, signature = nodes[signature != NONE], signature[signature != NONE]
    step = launched.timeline.steps.of(tree.start[nodes])
    per_step = np.split(signature, np.flatnonzero(np.diff(step)) + 1)
    if len(per_step) < 2:  # noqa: PLR2004 - a pair to compare
        return None
    dims = {index: recording.signatures[index].dims for index in distinct(signature).tolist()}
    first = {dims[index] for index in per_step[0].tolist()}
    return any({dims[index] for index in other.tolist()} != first for other in per_step[1:])
