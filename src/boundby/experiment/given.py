"""What the methods of a workload gave: refused with the name of the method where it will not do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from boundby.bench.framework import Tensor, torch, torch_module
from boundby.errors import UsageError

HELP = "boundby explain workload shows the ten lines it needs"
OPTIONAL = ("optimizer", "attention", "loader", "log", "blocks")
LOSS = "no single floating-point number that takes a gradient"


def refused(method: str, given: str, wanted: str) -> UsageError:
    """The error that names a method and what it gave."""
    return UsageError(f"{method}() gave {given}, {wanted}", HELP)


def results_of(given: Any, *, trains: bool) -> list[Tensor]:  # noqa: ANN401 -- the user's own
    """The tensors that ``loss`` gave: one to train with, or all that inference gives.

    Raises:
        UsageError: It gave anything else.
    """
    if trains:
        if not _is_loss(given):
            raise refused("loss", described(given), LOSS)
        return [given]
    leaves = torch_module("utils._pytree").tree_leaves(given)
    found = [leaf for leaf in leaves if leaf is not None]
    other = next((leaf for leaf in found if not _is_dense(leaf)), None)
    if other is not None:
        within = "" if other is given else f"{_kind(given)} with "
        inside = "" if other is given else " in it"
        raise refused("loss", f"{within}{described(other)}{inside}", "not dense tensors alone")
    if not any(each.numel() for each in found):
        raise refused("loss", described(given), "nothing that can be compared")
    return found


def optimizer_of(workload: Any, parameters: list[Any], **options: Any) -> Any:  # noqa: ANN401
    """The optimizer of a workload.

    Raises:
        UsageError: It gave none.
    """
    made = workload.optimizer(parameters, **options)
    if not all(callable(getattr(made, name, None)) for name in ("step", "zero_grad")):
        raise refused("optimizer", _kind(made), "no optimizer")
    return made


def batch_of(workload: Any, size: int) -> Any:  # noqa: ANN401 -- the user's own, any nested value
    """The batch of a workload.

    Raises:
        UsageError: It gave none.
    """
    made = workload.batch(size)
    if made is None:
        raise refused("batch", "None", "no batch")
    return made


def loader_of(workload: Any, size: int, **options: Any) -> Iterable[Any]:  # noqa: ANN401
    """The loader of a workload.

    Raises:
        UsageError: It gave nothing to take batches from.
    """
    made: Iterable[Any] = workload.loader(size, **options)
    if not any(hasattr(made, name) for name in ("__iter__", "__getitem__")):
        raise refused("loader", _kind(made), "nothing to take batches from")
    _check_options(made, options)
    return made


def _check_options(loader: Any, options: dict[str, Any]) -> None:  # noqa: ANN401 -- any iterable
    """Refuse a loader that is not what was asked for: its trial would be of something else.

    Raises:
        UsageError: It has other options, or workers that would each give all samples.
    """
    for name, value in options.items():
        got = getattr(loader, name, value)
        if got != value:
            raise UsageError(
                f"loader() has {name}={got!r} where {value!r} was asked for",
                "pass its options on: DataLoader(..., **options)",
            )
    iterable = torch_module("utils.data").IterableDataset
    if options.get("num_workers") and isinstance(getattr(loader, "dataset", None), iterable):
        raise UsageError(
            "the loader is of an IterableDataset, of which each worker may give all samples",
            "let it divide them by torch.utils.data.get_worker_info(), with num_workers of its own",
        )


def blocks_of(workload: Any, model: Any) -> list[Any]:  # noqa: ANN401 -- torch modules
    """The blocks that a workload names.

    Raises:
        UsageError: They are no modules.
    """
    made = workload.blocks(model)
    is_many = isinstance(made, Iterable)
    found = list(made) if is_many else []
    other = next((each for each in found if not isinstance(each, torch().nn.Module)), None)
    if not is_many or other is not None:
        within = f" with {_kind(other)} in it" if is_many else ""
        raise refused("blocks", f"{_kind(made)}{within}", "no modules")
    return found


def check_members(workload: Any, text: str) -> None:  # noqa: ANN401 -- the user's own
    """Refuse members of a workload that are not what their names promise.

    Raises:
        UsageError: One is not.
    """
    for name in OPTIONAL:
        if hasattr(workload, name) and not callable(getattr(workload, name)):
            raise UsageError(f"{text}: {name} is {_kind(getattr(workload, name))}, no method", HELP)
    size = getattr(workload, "batch_size", None)
    if not isinstance(size, int) or isinstance(size, bool) or size < 1:
        raise UsageError(f"{text}: batch_size is {size!r}, no number of samples", HELP)
    cores = getattr(workload, "cores", {})
    if not isinstance(cores, Mapping):
        raise UsageError(f"{text}: cores is {_kind(cores)}, no functions by name", HELP)
    for name, core in cores.items():
        if not isinstance(name, str) or not callable(core):
            raise UsageError(f"{text}: cores holds {name!r}: {_kind(core)}, no function", HELP)


def described(given: object) -> str:
    """A value in a few words: its type; of a tensor what it is like."""
    if not isinstance(given, torch().Tensor):
        return _kind(given)
    dtype = str(given.dtype).removeprefix("torch.")
    layout = "" if _is_dense(given) else "sparse or nested "
    if not layout and given.numel() == 1:
        takes = "" if given.requires_grad else " without a gradient"
        return f"one {dtype} number{takes}"
    shape = "x".join(map(str, given.shape)) if not layout else ""
    return f"a {layout}tensor of {shape}{' ' if shape else ''}{dtype}"


def _kind(given: object) -> str:
    name = type(given).__name__
    return "None" if given is None else f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"


def _is_dense(given: Any) -> bool:  # noqa: ANN401 -- any value
    if not isinstance(given, torch().Tensor):
        return False
    return bool(given.layout == torch().strided and not given.is_nested and not given.is_quantized)


def _is_loss(given: Any) -> bool:  # noqa: ANN401 -- any value
    is_number = _is_dense(given) and given.is_floating_point() and given.numel() == 1
    return bool(is_number and given.requires_grad)
