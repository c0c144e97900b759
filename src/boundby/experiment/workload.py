"""The workload protocol: what a user writes so that every change can be tried.

    class Workload:
        batch_size = 8                                  # of the program as it is

        def model(self): return Net()                   # on the CPU; it is moved for you
        def optimizer(self, parameters, **options):     # options: fused, foreach, capturable
            return torch.optim.AdamW(parameters, lr=1e-3, **options)
        def batch(self, size): return (torch.randn(size, 512),)     # CPU tensors
        def loss(self, model, batch): return model(*batch).pow(2).mean()

Without ``optimizer`` it is inference, and ``loss`` gives the outputs: a tensor, or tuples, lists
and dictionaries of tensors. Optional:

- ``attention(model, core)``: make ``model`` use ``core(q, k, v)`` in place of its own attention;
- ``cores``: attention functions of your own by name, tried before torch's;
- ``loader(size, **options)``: a DataLoader of batches, of which whole ones are used; without it one
  batch stays on the device;
- ``log(loss)``: what your loop does with each loss, such as ``loss.item()``;
- ``blocks(model)``: modules to checkpoint, where they are no ModuleList;
- ``device``: ``cpu`` to stay there.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from math import prod
from pathlib import Path
from typing import Any

from boundby.bench.caliber import Caliber, gather
from boundby.bench.framework import has_cuda, tensors_in, torch
from boundby.bench.targets import find_target
from boundby.errors import BoundbyError, UsageError
from boundby.experiment.build import Build, repeated_blocks
from boundby.experiment.given import (
    HELP,
    batch_of,
    check_members,
    described,
    loader_of,
    optimizer_of,
    refused,
)
from boundby.experiment.norms import norms_by_hand
from boundby.experiment.values import Facts

REQUIRED = ("model", "batch", "loss")
NAMED = "name a class, as mine.py:Workload or module:Workload; boundby explain workload shows one"


def target_text(text: str) -> str:
    """``file.py:Name`` in the form of the other commands, ``file.py::Name``."""
    place, _, name = text.rpartition(":")
    is_file = place.endswith(".py") and "::" not in text
    return f"{place}::{name}" if is_file and name else text


def is_script(text: str) -> bool:
    """Whether a target is a script rather than a class."""
    return text.endswith(".py") and ":" not in text.rpartition(os.sep)[2]


def make_workload(text: str) -> Any:  # noqa: ANN401 -- the user's own class
    """An instance of the class that a target names.

    Raises:
        UsageError: It is no such class, or lacks a part of the protocol.
    """
    made = _found(text)()
    missing = [name for name in REQUIRED if not callable(getattr(made, name, None))]
    if missing:
        raise UsageError(f"{text} has no method {missing[0]!r}", HELP)
    check_members(made, text)
    return made


def _found(text: str) -> Callable[[], Any]:
    """What a target names, called a class; the classes that its file holds where there is none.

    Raises:
        UsageError: It names no module, file or class.
    """
    asked = target_text(text)
    try:
        return find_target(asked).fn
    except UsageError as error:
        said = error.message.replace(asked, text).replace("not a function", "not a class")
        there = _classes_beside(asked)
        hint = f"name one of its classes: {', '.join(there)}" if there else NAMED
        raise UsageError(said, hint) from None


def _classes_beside(asked: str) -> list[str]:
    """Classes of the file or module of a target, once it was loaded; whole workloads if any."""
    place = asked.partition("::")[0] if "::" in asked else asked.rpartition(":")[0]
    file = str(Path(place).resolve())
    module = next(
        (each for each in list(sys.modules.values()) if getattr(each, "__file__", None) == file),
        sys.modules.get(place),
    )
    own = (
        [
            each
            for each in vars(module).values()
            if isinstance(each, type) and each.__module__ == module.__name__
        ]
        if module
        else []
    )
    whole = [each for each in own if all(hasattr(each, name) for name in REQUIRED)]
    return [each.__name__ for each in whole or own]


def device_of(workload: Any) -> str:  # noqa: ANN401 -- the user's own
    """Where it runs: the GPU where there is one."""
    asked = getattr(workload, "device", "cuda")
    return "cuda" if asked != "cpu" and has_cuda() else "cpu"


def start_build(workload: Any, size: int | None, seed: int) -> Build:  # noqa: ANN401
    """The model of a seed, before any change."""
    torch().manual_seed(seed)
    device = device_of(workload)
    model = workload.model()
    if not isinstance(model, torch().nn.Module):
        raise refused("model", described(model), "no module")
    model = model.to(device)
    model.train(hasattr(workload, "optimizer"))
    return Build(workload, device, size or workload.batch_size, model)


def refuse_small_batch(workload: Any, size: int | None) -> None:  # noqa: ANN401 -- the user's own
    """Raise where a larger batch does not hold its samples: its throughput would be a lie.

    A dimension that is the size at the program's own must be the size; where none follows it, as of
    packed samples, the batch must grow by half of what it should.

    Raises:
        UsageError: ``batch`` passes over its size, or the data of ``loader`` are too few.
    """
    own = workload.batch_size
    if size is None or size <= own:
        return
    before, after = (_shapes(workload, each) for each in (own, size))
    pairs = [
        pair for shapes in zip(before, after, strict=False) for pair in zip(*shapes, strict=False)
    ]
    samples = {now for was, now in pairs if was == own}
    most = sum(map(prod, before)) * (1 + (size / own - 1) / 2)
    is_unknown = samples <= {own}
    has_grown = size in samples or (is_unknown and sum(map(prod, after)) >= most)
    if before and after and not has_grown:
        name = "loader" if hasattr(workload, "loader") else "batch"
        held = f" but {max(samples)}" if samples else ""
        raise UsageError(
            f"{name}({size}) does not give {size} samples{held}",
            "make as many samples as it is asked for",
        )


def _shapes(workload: Any, size: int) -> list[tuple[int, ...]]:  # noqa: ANN401 -- likewise
    """Of all tensors in the first batch of a size; empty where there are none."""
    if hasattr(workload, "loader"):
        batch = next(iter(loader_of(workload, size)), None)
    else:
        batch = batch_of(workload, size)
    return [tuple(each.shape) for each in tensors_in(batch)]


def facts_of(build: Build, script: str | None) -> Facts:
    """What is known of a workload before it is changed."""
    workload, model = build.workload, build.model
    options = optimizer_options(workload, build)
    on_cuda = build.device == "cuda"
    return Facts(
        kind="workload",
        device=build.device,
        device_name=device_name(build.device),
        capability=capability(build.device),
        memory_bytes=memory_of(build.device),
        batch=build.size,
        trains=hasattr(workload, "optimizer"),
        optimizer=options[0],
        optimizer_forms=options[1],
        optimizer_form=options[2],
        dtypes=tuple(sorted({str(p.dtype).removeprefix("torch.") for p in model.parameters()})),
        modules=tuple(sorted({type(each).__name__ for each in model.modules()})),
        offers=offers_of(workload, model),
        loader_workers=build.workers,
        cores=tuple(getattr(workload, "cores", {})),
        blocks=len(repeated_blocks(workload, model)),
        threads=torch().get_num_threads(),
        processors=processors(),
        thread_limit=thread_limit(),
        caliber=caliber_of(build, script, on_cuda=on_cuda),
    )


def offers_of(workload: Any, model: Any) -> tuple[str, ...]:  # noqa: ANN401 -- the user's own
    """What can be asked of a workload or of its model beyond the protocol."""
    own = [name for name in ("attention", "loader", "log") if hasattr(workload, name)]
    theirs = "set_attn_implementation"
    own += [theirs] if hasattr(model, theirs) else []
    return (*own, *(["norms"] if norms_by_hand(model) else []))


def optimizer_options(
    workload: Any,  # noqa: ANN401 -- the user's own
    build: Build,
) -> tuple[str, tuple[str, ...], str]:
    """Class of the optimizer, the forms it has, and the one in use."""
    if not hasattr(workload, "optimizer"):
        return "", (), ""
    made = optimizer_of(workload, list(build.model.parameters()))
    return (type(made).__name__, *forms_of(made))


def forms_of(optimizer: Any) -> tuple[tuple[str, ...], str]:  # noqa: ANN401 -- torch's
    """Which forms an optimizer has, and the one in use; empty for torch's own choice."""
    defaults = getattr(optimizer, "defaults", {})
    forms = tuple(name for name in ("fused", "foreach") if name in defaults)
    return forms, next((name for name in forms if defaults.get(name)), "")


def device_name(device: str) -> str:
    """As the driver says; ``cpu`` for a CPU."""
    return str(torch().cuda.get_device_name()) if device == "cuda" else "cpu"


def capability(device: str) -> float | None:
    """Of a CUDA device, such as 9.0; None elsewhere."""
    if device != "cuda" or torch().version.hip:
        return None
    major, minor = torch().cuda.get_device_capability()
    return float(major) + minor / 10


def memory_of(device: str) -> int | None:
    """Bytes of the device, or of the machine."""
    if device == "cuda":
        return int(torch().cuda.get_device_properties(0).total_memory)
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        return None


def processors() -> int:
    """Processors this process may run on."""
    affinity: Callable[[int], set[int]] | None = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def thread_limit() -> int | None:
    """Operator threads that OMP_NUM_THREADS allows; None where it is not set, or no number."""
    first = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()
    return int(first) if first.isdecimal() and int(first) else None


def caliber_of(build: Build, script: str | None, *, on_cuda: bool) -> dict[str, Any]:
    """Device, versions, shapes and flags: what makes a number comparable."""
    from dataclasses import asdict  # noqa: PLC0415 -- here alone

    known = Caliber("step", "throughput", build.size, device="" if on_cuda else "cpu")
    try:
        inputs = tensors_in(build.workload.batch(1))
        kept = asdict(gather(known, inputs, script))
    except BoundbyError:
        return {}
    kept["shapes"] = [f"N x {'x'.join(map(str, each.shape[1:])) or '1'}" for each in inputs]
    return kept
