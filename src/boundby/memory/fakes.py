"""Tensors without data: a training step run for its shapes alone, every storage accounted for.

The only place in the package that runs torch to analyse; torch is imported when it is called.
"""

from __future__ import annotations

import logging
import weakref
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from boundby.memory.lifetimes import GRAIN

LOWER = (
    "linear", "matmul", "__matmul__", "__rmatmul__", "mm", "bmm", "addmm", "baddbmm", "conv1d",
    "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "einsum",
    "scaled_dot_product_attention", "prelu", "addbmm", "chain_matmul", "mv",
)  # fmt: skip
HIGHER = (
    "softmax", "log_softmax", "layer_norm", "group_norm", "cross_entropy", "nll_loss", "mse_loss",
    "l1_loss", "smooth_l1_loss", "cosine_similarity", "pow", "__pow__", "prod", "sum", "cumsum",
    "cumprod", "norm", "dist", "cdist", "exp", "expm1", "log", "log10", "log2",
    "log1p", "reciprocal", "rsqrt", "softplus", "softmin", "erfinv", "acos", "asin", "cosh",
    "sinh", "tan",
    "kl_div", "binary_cross_entropy_with_logits",
)  # fmt: skip
"""Functions that autocast runs in the lower type and in fp32 on CUDA (torch.amp reference)."""


SCRATCH = -1
"""Number of memory that a kernel takes for itself and gives back before it returns."""

SCRATCH_OF = frozenset({"_softmax_backward_data"})
"""Operators whose CUDA kernels hold a product of the size of their result. Seen in snapshots of an
H200 (torch 2.11): two blocks of the scores in SoftmaxBackward0. Without it predictions were 2.6%
low, with recomputation 13%."""


@dataclass
class Ledger:
    """Bytes of storages alive, and the most there ever were.

    Attributes:
        live, peak: Bytes, rounded to the allocator's grain.
        alive: Bytes of each storage, by its number.
        number: Of each storage alive, by its identity, which is used again after its death.
        newest: The highest number so far.
        course: Bytes after each storage that came since the last restart.
        before_update: The peak until the update of the optimizer began; None before that.
        update_from: The first number that the update may give.
    """

    live: int = 0
    peak: int = 0
    alive: dict[int, int] = field(default_factory=dict)
    number: dict[int, int] = field(default_factory=dict)
    at_peak: dict[int, int] = field(default_factory=dict)
    newest: int = -1
    course: list[int] = field(default_factory=list)
    before_update: int | None = None
    update_from: int = 0

    def add(self, key: int, size: int) -> None:
        """A storage is there."""
        size = max(-(-size // GRAIN), 1) * GRAIN
        self.alive[key] = size
        self.newest = max(self.newest, key)
        self.live += size
        self.course.append(self.live)
        if self.live > self.peak:
            self.peak, self.at_peak = self.live, {}

    def drop(self, key: int) -> None:
        """A storage is gone."""
        if not self.at_peak and self.live == self.peak:
            self.at_peak = dict(self.alive)
        self.live -= self.alive.pop(key, 0)

    def restart(self) -> None:
        """Forget the peak so far."""
        self.peak, self.at_peak, self.before_update = self.live, {}, None
        self.course.clear()

    def begin_update(self) -> None:
        """From here on, what is new is the optimizer's own."""
        self.before_update, self.update_from = self.peak, self.newest + 1

    def is_passing(self, key: int) -> bool:
        """Whether a storage is scratch memory of a kernel or of the update."""
        made_by_update = self.before_update is not None and key >= self.update_from
        return key == SCRATCH or made_by_update

    def number_of(self, tensor: Any) -> int | None:  # noqa: ANN401 -- torch's
        """The number of a tensor's storage."""
        return self.number.get(tensor.untyped_storage()._cdata)  # noqa: SLF001 -- its identity

    def state(self) -> dict[int, int]:
        """Bytes of each storage at the peak."""
        return self.at_peak or dict(self.alive)


def tracker(ledger: Ledger) -> Any:  # noqa: ANN401 -- a dispatch mode of torch
    """A mode in which every new storage is entered into the ledger and leaves when it dies."""
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_leaves

    numbers = count()
    references: dict[int, Any] = {}

    class Tracker(TorchDispatchMode):  # type: ignore[misc]  # torch is untyped here
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN204
            made = func(*args, **(kwargs or {}))
            for leaf in tree_leaves(made):
                if isinstance(leaf, torch.Tensor):
                    enter(leaf)
                    if func.overloadpacket.__name__ in SCRATCH_OF:
                        ledger.add(SCRATCH, leaf.untyped_storage().nbytes())
                        ledger.drop(SCRATCH)
            return made

    def enter(tensor: Any) -> None:  # noqa: ANN401 -- torch's
        storage = tensor.untyped_storage()
        identity = storage._cdata  # noqa: SLF001 -- the only one a storage has
        if identity in ledger.number:
            return
        number = ledger.number[identity] = next(numbers)
        references[number] = weakref.ref(storage, lambda _: leave(identity, number))
        ledger.add(number, storage.nbytes())

    def leave(identity: int, number: int) -> None:
        references.pop(number, None)
        ledger.number.pop(identity, None)
        ledger.drop(number)

    return Tracker()


def autocast_like_cuda(dtype: Any) -> Any:  # noqa: ANN401 -- a function mode of torch
    """A mode that casts as autocast does on CUDA, weights once; for tensors of no device."""
    import torch
    from torch.overrides import TorchFunctionMode
    from torch.utils._pytree import tree_map

    kept: dict[int, Any] = {}

    def lower(value: Any) -> Any:  # noqa: ANN401 -- torch's
        if not isinstance(value, torch.Tensor) or value.dtype != torch.float32:
            return value
        if not (value.is_leaf and value.requires_grad):
            return value.to(dtype)
        if id(value) not in kept:
            kept[id(value)] = value.to(dtype)
        return kept[id(value)]

    def higher(value: Any) -> Any:  # noqa: ANN401 -- torch's
        is_low = isinstance(value, torch.Tensor) and value.dtype == dtype
        return value.float() if is_low else value

    class Autocast(TorchFunctionMode):  # type: ignore[misc]  # torch is untyped here
        def __torch_function__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN204
            name = getattr(func, "__name__", "")
            cast = lower if name in LOWER else higher if name in HIGHER else None
            if cast is not None:
                args, kwargs = tree_map(cast, args), tree_map(cast, kwargs or {})
                with torch._C.DisableTorchFunction():  # noqa: SLF001 -- inner calls keep their types
                    return func(*args, **kwargs)
            return func(*args, **(kwargs or {}))

    return Autocast()


def without_device() -> Any:  # noqa: ANN401 -- a function mode of torch
    """A mode in which ``.cuda()`` and ``device='cuda'`` stay where they are: nothing has data."""
    import torch
    from torch.overrides import TorchFunctionMode

    def here(value: Any) -> Any:  # noqa: ANN401 -- torch's
        is_device = isinstance(value, torch.device) and value.type != "cpu"
        is_name = isinstance(value, str) and value.startswith(("cuda", "hip", "xpu"))
        return torch.device("cpu") if is_device or is_name else value

    class Here(TorchFunctionMode):  # type: ignore[misc]  # torch is untyped here
        def __torch_function__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN204
            if getattr(func, "__name__", "") == "cuda" and args:
                return args[0]
            kwargs = {name: here(value) for name, value in (kwargs or {}).items()}
            return func(*(here(value) for value in args), **kwargs)

    return Here()


@contextmanager
def fake_world(ledger: Ledger) -> Iterator[None]:
    """Inside, tensors have shapes and no data, and the ledger knows them all."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    with ExitStack() as stack:
        stack.enter_context(_quiet())
        stack.enter_context(FakeTensorMode(allow_non_fake_inputs=True))
        stack.enter_context(without_device())
        stack.enter_context(tracker(ledger))
        stack.enter_context(_moved_by_replacement())
        yield


@contextmanager
def _quiet() -> Iterator[None]:
    """What torch logs of an exception is left out; who catches it tells it in a line."""
    log = logging.getLogger("torch._subclasses.fake_tensor")
    before = log.disabled
    log.disabled = True
    try:
        yield
    finally:
        log.disabled = before


@contextmanager
def _moved_by_replacement() -> Iterator[None]:
    """``module.cuda()`` and ``.bfloat16()`` replace parameters: those without data cannot swap."""
    import torch

    def apply(module: Any, change: Callable[[Any], Any], recurse: bool = True) -> Any:  # noqa: ANN401, FBT001, FBT002 -- torch's
        for child in module.children() if recurse else ():
            apply(child, change)
        for name, old in module._parameters.items():  # noqa: SLF001 -- as torch's own does
            with torch.no_grad():
                new = old if old is None else change(old)
            if new is not old:
                module._parameters[name] = torch.nn.Parameter(new, old.requires_grad)  # noqa: SLF001
        for name, old in module._buffers.items():  # noqa: SLF001 -- as torch's own does
            module._buffers[name] = old if old is None else change(old)  # noqa: SLF001
        return module

    original = torch.nn.Module._apply  # noqa: SLF001 -- restored below
    torch.nn.Module._apply = apply  # noqa: SLF001
    try:
        yield
    finally:
        torch.nn.Module._apply = original  # noqa: SLF001


def computed_again(block: Any, dtype: Any, *, keeps_products: bool) -> None:  # noqa: ANN401 -- torch's
    """Make a module compute its activations again, under autocast where the step has it."""
    from torch.utils.checkpoint import checkpoint

    forward = block.forward

    def cast(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 -- the module's
        with autocast_like_cuda(dtype):
            return forward(*args, **kwargs)

    chosen = {"context_fn": _keep_products} if keeps_products else {}
    block.forward = lambda *args, **kwargs: checkpoint(
        cast if dtype else forward,
        *args,
        use_reentrant=False,
        preserve_rng_state=False,
        **chosen,
        **kwargs,
    )


def _keep_products() -> Any:  # noqa: ANN401 -- contexts of torch
    """Contexts of forward and recomputation in which results of matrix products are kept."""
    import torch
    from torch.utils.checkpoint import create_selective_checkpoint_contexts

    aten = torch.ops.aten
    names = ("mm", "addmm", "bmm", "baddbmm", "convolution")
    kept = [getattr(aten, name).default for name in names]
    kept += [
        getattr(aten, name).default
        for name in (
            "_scaled_dot_product_flash_attention", "_scaled_dot_product_efficient_attention",
            "_scaled_dot_product_flash_attention_for_cpu",
        )
        if hasattr(aten, name)
    ]  # fmt: skip
    return create_selective_checkpoint_contexts(kept)
