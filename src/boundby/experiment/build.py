"""A workload while it is being built: what changes may change before the first step."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from typing import Any

from boundby.bench.framework import map_tensors, torch
from boundby.experiment.given import blocks_of

Context = Callable[[], AbstractContextManager[Any]]


@dataclass
class Build:
    """Everything that changes act upon.

    Attributes:
        workload: The user's class, made.
        device: ``cuda`` or ``cpu``.
        size: Samples of a batch.
        model: The module.
        options: Keywords for the optimizer.
        around: Contexts that the forward pass runs in.
        loader: Keywords for the loader.
        workers: How many its loader has.
        core: Attention function that was put in; None where the model has its own.
        masters: Float32 copies of the parameters, which the optimizer works on; empty for none.
        input_dtype: Element type that floating-point inputs are cast to; None for their own.
        compiled: Whether the model goes through torch.compile.
        scaler: Whether the loss is scaled (float16).
        graph: Whether the whole step becomes one CUDA graph.
        prefetch: Whether batches are copied ahead on a stream of their own.
        channels_last: Whether four-dimensional inputs are laid out so.
        log_every: Steps between two calls of the workload's ``log``.
        inference: Context of a forward pass without an optimizer: ``no_grad``, ``inference_mode``.
        tick: Called with the number of each step.
    """

    workload: Any
    device: str
    size: int
    model: Any
    options: dict[str, Any] = field(default_factory=dict)
    around: list[Context] = field(default_factory=list)
    loader: dict[str, Any] = field(default_factory=dict)
    workers: int = 0
    core: Callable[..., Any] | None = None
    masters: list[Any] = field(default_factory=list)
    input_dtype: Any = None
    compiled: bool = False
    scaler: bool = False
    graph: bool = False
    prefetch: bool = False
    channels_last: bool = False
    log_every: int = 1
    inference: str = "no_grad"
    tick: Callable[[int], None] | None = None


class Entry:
    """What a loss calls as the model: the contexts, the casts, and the last outputs seen.

    Attributes of the model can be read through it.
    """

    def __init__(self, build: Build) -> None:
        self._build = build
        self._model = build.model
        self._dtype = build.input_dtype
        self.keep = False
        self.outputs: Any = None

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:  # noqa: ANN401 -- the user's own
        """The forward pass; outputs of half precision are widened, so the loss is in float32."""
        with ExitStack() as stack:
            for context in self._build.around:
                stack.enter_context(context())
            outputs = self._model(*self._fit(arguments), **self._fit(keywords))
        outputs = map_tensors(_widened, outputs)
        if self.keep:
            self.outputs = outputs
        return outputs

    def __repr__(self) -> str:
        """The model's class: what Python's own messages show of it."""
        return f"{type(self._model).__name__}(...)"

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 -- passes on
        return getattr(self._model, name)

    def _fit(self, values: Any) -> Any:  # noqa: ANN401 -- any nested value
        if self._dtype is None and not self._build.channels_last:
            return values
        return map_tensors(self._fitted, values)

    def _fitted(self, tensor: Any) -> Any:  # noqa: ANN401 -- a tensor
        if self._dtype is not None and tensor.is_floating_point():
            tensor = tensor.to(self._dtype)
        if self._build.channels_last and tensor.dim() == 4:  # noqa: PLR2004 -- images
            tensor = tensor.to(memory_format=torch().channels_last)
        return tensor


def _widened(tensor: Any) -> Any:  # noqa: ANN401 -- a tensor
    half = (torch().float16, torch().bfloat16)
    return tensor.float() if tensor.dtype in half else tensor


def repeated_blocks(workload: Any, model: Any) -> list[Any]:  # noqa: ANN401 -- torch modules
    """The blocks of a model: what the workload names, else the longest run of like modules."""
    if hasattr(workload, "blocks"):
        return blocks_of(workload, model)
    containers = torch().nn.ModuleList, torch().nn.Sequential
    runs = [list(each) for each in model.modules() if isinstance(each, containers)]
    alike = [run for run in runs if len(run) > 1 and len({type(each) for each in run}) == 1]
    return max(alike, key=len, default=[])
