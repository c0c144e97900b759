"""How the program runs: training or inference, compiled, in graphs, with fixed shapes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Mode:
    """How the program runs.

    Attributes:
        training: Whether a backward pass ran.
        records_grad: Whether operators were recorded for a backward pass.
        compiled: Whether compiled code ran.
        compiled_calls: Calls of compiled regions a step.
        in_graphs: Whether CUDA graphs were launched.
        recomputed: Share of device time that repeats forward work in the backward pass.
        shapes_vary: Whether the same operators see other sizes from step to step.
    """

    training: bool | None = None
    records_grad: bool | None = None
    compiled: bool | None = None
    compiled_calls: float | None = None
    in_graphs: bool | None = None
    recomputed: float | None = None
    shapes_vary: bool | None = None
