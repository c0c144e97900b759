"""The float64 reference of a run: by a formula, on the device, or on the CPU."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from boundby.bench.framework import torch
from boundby.bench.runs import Outcome, Weights, cast, cast_inputs, plain_attention, run

NO_PATH = (RuntimeError, NotImplementedError, TypeError, ValueError)
"""How a kernel says that it has no way for an element type or a device."""

Where = str
"""``float64``, ``float64 on the CPU``, ``float64 by formula``, ``the baseline itself``."""


@dataclass(frozen=True)
class Reference:
    """The reference of one run, and how it was computed."""

    outcome: Outcome
    where: Where


@dataclass(frozen=True)
class Baseline:
    """What a candidate is compared with.

    Attributes:
        fn: The baseline.
        formula: A function for the float64 reference where the baseline has no float64 path; None
            where the baseline serves.
    """

    fn: Callable[..., object]
    formula: Callable[..., object] | None = None

    def exact(self, inputs: Sequence[Any], weights: Weights | None, seed: int) -> Reference:
        """The best reference that can be had: float64 where any way leads there.

        Where the kernel has no float64 path, attention is computed by its formula, then all is
        tried on the CPU; the last resort is the baseline as it is, and it is called so. A formula
        that was given must serve: what it raises is passed on.
        """
        fn, name = (self.fn, "float64")
        if self.formula is not None:
            fn, name = self.formula, "float64 by formula"
        try:
            return Reference(self._in_float64(fn, inputs, weights, seed, None), name)
        except NO_PATH:
            pass  # another way leads there
        try:
            return Reference(
                self._in_float64(fn, inputs, weights, seed, "cpu"), f"{name} on the CPU"
            )
        except NO_PATH:
            if self.formula is not None:
                raise
        with plain_attention():
            return Reference(run(self.fn, inputs, weights, seed), "the baseline itself")

    @staticmethod
    def _in_float64(
        fn: Callable[..., object],
        inputs: Sequence[Any],
        weights: Weights | None,
        seed: int,
        device: str | None,
    ) -> Outcome:
        return _attempt(fn, inputs, weights, seed, torch().float64, device)()

    def at_precision(
        self, precision: str, inputs: Sequence[Any], weights: Weights | None, seed: int
    ) -> Outcome | None:
        """The baseline computed in an element type; None where it cannot be."""
        dtype = getattr(torch(), precision)
        try:
            return _attempt(self.fn, inputs, weights, seed, dtype, None)()
        except NO_PATH:
            return None


def _attempt(
    fn: Callable[..., object],
    inputs: Sequence[Any],
    weights: Weights | None,
    seed: int,
    dtype: Any,  # noqa: ANN401 -- a torch.dtype
    device: str | None,
) -> Callable[[], Outcome]:
    def cast_weights(at: int, output: Any) -> Any:  # noqa: ANN401 -- tensors
        assert weights is not None  # noqa: S101 -- only called with weights
        weight = weights(at, output)
        return None if weight is None else weight.to(dtype=output.dtype, device=output.device)

    def attempt() -> Outcome:
        with plain_attention():
            return run(
                cast(fn, dtype, device),
                cast_inputs(inputs, dtype, device),
                None if weights is None else cast_weights,
                seed,
            )

    return attempt
