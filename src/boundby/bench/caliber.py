"""Caliber: everything that makes a number comparable with another, and where two of them differ."""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Literal, get_args

from boundby.bench.framework import has_cuda, tensors_in, torch
from boundby.errors import UsageError

Scope = Literal["kernel", "op", "forward", "forward-backward", "step", "end-to-end"]
Metric = Literal["latency", "throughput"]

NOT_COMPARED = ("git_commit", "is_dirty", "script_hash", "clocks")
"""The code is what is tested, and clocks are read, not set."""

OF_FUNCTION = {"compiled", "compile_mode"}
"""Flags of what is measured; the others are of the process."""

COMPILE_SWITCHES = ("TORCH_COMPILE_DISABLE", "TORCHDYNAMO_DISABLE")
ALLOCATOR_VARIABLES = ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF")


@dataclass(frozen=True)
class Caliber:
    """What a number is of. Unknown is an empty text or None, and equal only to unknown.

    Attributes:
        scope: How much of the program a call is.
        metric: ``latency`` of a call, or ``throughput`` of calls that follow each other.
        batch, sequence: Sizes; None where not given.
        dtype: Element types of the floating-point inputs.
        shapes: Of all tensor inputs.
        device, driver, cuda, cudnn, torch, python: Names and versions.
        flags: Settings that change speed or numerics.
        clocks: SM and memory clock in MHz and the power state, as read.
        git_commit, is_dirty, script_hash: The code.
    """

    scope: Scope = "op"
    metric: Metric = "latency"
    batch: int | None = None
    sequence: int | None = None
    dtype: str = ""
    shapes: tuple[str, ...] = ()
    device: str = ""
    driver: str = ""
    cuda: str = ""
    cudnn: str = ""
    torch: str = ""
    python: str = ""
    flags: dict[str, str] = field(default_factory=dict)
    clocks: dict[str, str] = field(default_factory=dict)
    git_commit: str = ""
    is_dirty: bool | None = None
    script_hash: str = ""


@dataclass(frozen=True)
class Difference:
    """One field in which two calibers differ."""

    name: str
    old: str
    new: str


def differences(old: Caliber, new: Caliber) -> tuple[Difference, ...]:
    """Fields that must agree and do not; flags one by one."""
    found = []
    for name in (each.name for each in fields(Caliber)):
        if name in NOT_COMPARED:
            continue
        before, after = getattr(old, name), getattr(new, name)
        if name == "flags":
            found += _flag_differences(before, after)
        elif before != after:
            found.append(Difference(name, _shown(before), _shown(after)))
    return tuple(found)


def under_test(across: Iterable[str]) -> frozenset[str]:
    """Names of fields or flags that may differ.

    Raises:
        UsageError: There is no such field.
    """
    known = {each.name for each in fields(Caliber)} | set(FLAGS) | OF_FUNCTION
    names = frozenset(name.strip().replace("-", "_") for name in across if name.strip())
    unknown = sorted(names - known)
    if unknown:
        raise UsageError(f"--across: no field {unknown[0]!r}", ", ".join(sorted(known)))
    return names


def check(caliber: Caliber) -> None:
    """Refuse words that are none; raises UsageError."""
    for word, allowed in ((caliber.scope, get_args(Scope)), (caliber.metric, get_args(Metric))):
        if word not in allowed:
            raise UsageError(f"caliber: {word!r} is unknown", f"one of {', '.join(allowed)}")


def _flag_differences(old: dict[str, str], new: dict[str, str]) -> list[Difference]:
    names = sorted({*old, *new})
    return [
        Difference(name, old.get(name, "unknown"), new.get(name, "unknown"))
        for name in names
        if old.get(name) != new.get(name)
    ]


def _shown(value: object) -> str:
    if isinstance(value, tuple):
        return " ".join(map(str, value)) or "none"
    return "unknown" if value in (None, "") else str(value)


def gather(known: Caliber, inputs: object, script: str | None = None, fn: object = None) -> Caliber:
    """The caliber of a call with these inputs, here and now.

    Args:
        known: What the caller knows: scope, metric, sizes, device ``cpu``.
        inputs: Arguments; their tensors name shapes and element types.
        script: File of the code under test, for its hash and its repository.
        fn: What is measured, to tell whether it is compiled.

    Raises:
        UsageError: The scope or metric is none.
    """
    check(known)
    tensors = tensors_in(inputs)
    dtypes = sorted({_short(t.dtype) for t in tensors if t.is_floating_point() or t.is_complex()})
    commit, is_dirty = git_state(script)
    on_device = known.device != "cpu" and has_cuda()
    return replace(
        known,
        dtype=known.dtype or " ".join(dtypes),
        shapes=known.shapes or tuple("x".join(map(str, t.shape)) or "scalar" for t in tensors),
        device=torch().cuda.get_device_name() if on_device else f"cpu {platform.machine()}",
        driver=_driver() if on_device else "",
        cuda=str(torch().version.cuda or torch().version.hip or "") if on_device else "",
        cudnn=str(torch().backends.cudnn.version() or "") if on_device else "",
        torch=str(torch().__version__),
        python=platform.python_version(),
        flags={
            "compiled": str(is_compiled(fn)),
            "compile_mode": compile_mode(fn),
            **{name: str(read()) for name, read in FLAGS.items()},
        },
        clocks=_clocks() if on_device else {},
        git_commit=commit,
        is_dirty=is_dirty,
        script_hash=_hash(script),
    )


def _short(dtype: object) -> str:
    return str(dtype).removeprefix("torch.")


def is_compiled(fn: object) -> bool:
    """Whether a function or module goes through torch.compile, as far as it shows."""
    marks = ("_torchdynamo_orig_callable", "_orig_mod", "_compiled_call_impl")
    return any(getattr(fn, mark, None) is not None for mark in marks)


def compile_mode(fn: object) -> str:
    """Mode of torch.compile as its options show it; empty where nothing is compiled or unknown."""
    if not is_compiled(fn):
        return ""
    read = getattr(fn, "get_compiler_config", None)
    read = read or getattr(getattr(fn, "_compiled_call_impl", None), "get_compiler_config", None)
    options = read() if read else None  # None as well for a backend that has no options
    if not isinstance(options, dict):
        return ""
    graphs = bool(options.get("triton.cudagraphs"))
    if options.get("max_autotune"):
        return "max-autotune" if graphs else "max-autotune-no-cudagraphs"
    return "reduce-overhead" if graphs else "default"


def _compile_switch() -> str:
    return "off" if any(os.environ.get(name) == "1" for name in COMPILE_SWITCHES) else "on"


FLAGS: dict[str, Callable[[], object]] = {
    "matmul_precision": lambda: torch().get_float32_matmul_precision(),
    "cudnn_tf32": lambda: torch().backends.cudnn.allow_tf32,
    "cudnn_benchmark": lambda: torch().backends.cudnn.benchmark,
    "deterministic": lambda: torch().are_deterministic_algorithms_enabled(),
    "grad_enabled": lambda: torch().is_grad_enabled(),
    "autocast": lambda: torch().is_autocast_enabled(),
    "threads": lambda: torch().get_num_threads(),
    "compile": _compile_switch,
    "allocator": lambda: next((v for n in ALLOCATOR_VARIABLES if (v := os.environ.get(n))), ""),
}
"""Settings that are read, by the name under which they are kept."""


def _driver() -> str:
    from boundby.bench.devices import read_device  # noqa: PLC0415 -- asks the driver

    reading = read_device()
    return reading.driver if reading else ""


def _clocks() -> dict[str, str]:
    from boundby.bench.devices import read_device  # noqa: PLC0415 -- asks the driver

    reading = read_device()
    if reading is None:
        return {}
    return {
        "sm_mhz": str(reading.sm_mhz),
        "memory_mhz": str(reading.memory_mhz),
        "power_state": f"P{reading.power_state}",
    }


def git_state(script: str | None) -> tuple[str, bool | None]:
    """Commit and whether tracked files differ from it; empty and None outside a repository."""
    folder = Path(script).resolve().parent if script else Path.cwd()
    commit = _git(folder, "rev-parse", "HEAD")
    if commit is None:
        return "", None
    status = _git(folder, "status", "--porcelain", "--untracked-files=no")
    return commit, None if status is None else bool(status)


def _git(folder: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments],  # noqa: S607 -- the user's own git
            capture_output=True,
            text=True,
            timeout=10,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def _hash(script: str | None) -> str:
    if not script or not Path(script).is_file():
        return ""
    return hashlib.sha256(Path(script).read_bytes()).hexdigest()[:16]
