"""``bench``: warm up, sample three clocks, say whether to believe them. Read this file first."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from boundby.bench.caliber import Caliber, gather, is_compiled
from boundby.bench.devices import read_device
from boundby.bench.framework import tensors_in, torch
from boundby.bench.machine import Machine, is_cuda, this_machine
from boundby.bench.result import Clock, Labels, Result, Work
from boundby.bench.sampling import Plan, Samples, sample_device, sample_submit, sample_wall
from boundby.bench.shapes import varying_shapes
from boundby.bench.targets import opened, refuse_lazy
from boundby.bench.trust import Observed, examine
from boundby.bench.warmup import LEAST_NS, warm_up
from boundby.bench.work import count_work
from boundby.errors import BoundbyError, UsageError
from boundby.units import NS_PER_MS, NS_PER_S

MIN_RUN_S = 0.5


def bench(  # noqa: PLR0913 -- the names of torch's Timer and of triton's do_bench
    fn: Callable[..., object],
    *args: Any,  # noqa: ANN401 -- the user's own
    label: str = "",
    sub_label: str = "",
    description: str = "",
    min_run_time: float = MIN_RUN_S,
    warmup: float | None = None,
    rep: float | None = None,
    quantiles: Sequence[float] | None = None,
    grad_to_none: Iterable[Any] | None = None,
    cold: bool = False,
    number: int | None = None,
    samples: int | None = None,
    caliber: Caliber | None = None,
    machine: Machine | None = None,
    **keywords: Any,  # noqa: ANN401 -- the user's own
) -> Any:  # noqa: ANN401 -- a Result, or what triton.testing.do_bench returns
    """Measure ``fn(*args, **keywords)`` with three clocks; gives a ``Result``.

    Args:
        label, sub_label, description: As in ``torch.utils.benchmark.Timer``.
        min_run_time: Seconds of measured time of each clock, at least.
        warmup, rep: As in ``triton.testing.do_bench``: least warm-up and measured time, ms.
        quantiles: Likewise: gives these quantiles of the device time (of the wall time on a CPU)
            in ms instead of a Result; of one quantile the number alone.
        grad_to_none: Likewise: tensors whose gradient is dropped before every call.
        cold: Empty the last cache before every call.
        number, samples: Calls a sample of wall time, and samples of each clock; else chosen.
        caliber: What boundby cannot see: scope, metric, batch, sequence; device ``cpu``.
        machine: Where it runs; found where not given.

    Raises:
        UsageError: What cannot be called, an unknown scope or metric, or numbers that are none.
        CannotTellError: torch is not installed.
    """
    refuse_lazy(fn, "bench")
    caliber = caliber or Caliber()
    seconds = rep / 1e3 if rep is not None else min_run_time
    _refuse_numbers(seconds, warmup, (number, samples), quantiles)
    inner, held = opened(fn)
    job = Job(
        call=lambda: fn(*args, **keywords),
        machine=machine or this_machine(caliber.device),
        plan=Plan(seconds * NS_PER_S, cold, _dropper(grad_to_none), number, samples),
        warm_up_ns=LEAST_NS if warmup is None else warmup * NS_PER_MS,
        fn=inner,
    )
    labels = Labels(str(label), str(sub_label), str(description), name_of(fn))
    inputs = (held, args, keywords)
    result = measure(job, labels, gather(caliber, inputs, source_of(inner), inner), inputs)
    return result if quantiles is None else _quantiles(result, quantiles)


def _refuse_numbers(
    seconds: float,
    warmup: float | None,
    counts: Iterable[int | None],
    quantiles: Sequence[float] | None,
) -> None:
    """Refuse before any time is spent what can be no time, count or quantile."""
    if not 0 < seconds < math.inf or not 0 <= (warmup or 0) < math.inf:
        raise UsageError("times must be positive and finite")
    if any(each is not None and (each < 1 or int(each) != each) for each in counts):
        raise UsageError("counts must be positive whole numbers")
    if quantiles is not None and not _are_shares(quantiles):
        raise UsageError("quantiles must be a list of numbers from 0 to 1")


def _are_shares(values: Iterable[float]) -> bool:
    try:
        listed = [float(each) for each in values]
    except (TypeError, ValueError):
        return False
    return bool(listed) and all(0 <= each <= 1 for each in listed)


@dataclass(frozen=True)
class Job:
    """What to measure and how.

    Attributes:
        call: Makes one call.
        warm_up_ns: Least time of the warm-up, ns.
        count: Whether to count the work of a call, where a profiler can.
        fn: What the call is of, to tell whether it is compiled; None where the call says all.
    """

    call: Callable[[], object]
    machine: Machine
    plan: Plan
    warm_up_ns: float = LEAST_NS
    count: bool = True
    fn: object = None


def measure(job: Job, labels: Labels, caliber: Caliber, inputs: object = ()) -> Result:
    """The whole measurement of one job."""
    machine, plan = job.machine, job.plan
    warm = warm_up(_with_before(job), machine, job.warm_up_ns)
    before = read_device() if is_cuda(machine) else None
    peak = PeakMemory(machine)
    submit = sample_submit(job.call, machine, plan)
    device = sample_device(job.call, machine, plan, Clock(submit.ns).summary.median)
    wall = sample_wall(job.call, machine, plan)
    clocks = {"wall": _clock(wall), "submit": _clock(submit)}
    if device.ns:
        clocks["device"] = _clock(device)
    peak_bytes = peak.above()
    after = read_device() if is_cuda(machine) else None
    unused, shapes = _is_unused(job, inputs), varying_shapes(_with_before(job))
    work = _count(job)
    return Result(
        labels=labels,
        wall=clocks["wall"],
        submit=clocks["submit"],
        device=clocks.get("device"),
        warm_up=warm,
        caliber=caliber,
        work=work,
        is_cold=plan.cold,
        peak_bytes=peak_bytes,
        trust=examine(Observed(clocks, warm, work, before, after, unused, shapes)),
    )


def _clock(samples: Samples) -> Clock:
    return Clock(tuple(float(each) for each in samples.ns), samples.number)


def _with_before(job: Job) -> Callable[[], object]:
    before, call = job.plan.before, job.call
    if before is None:
        return call

    def both() -> object:
        before()
        return call()

    return both


def _count(job: Job) -> Work:
    """The work of a call; nothing where there is no device to profile, or no profiler."""
    if not is_cuda(job.machine) or not job.count:
        return Work()
    try:
        return count_work(_with_before(job))
    except (RuntimeError, BoundbyError):  # another profiler runs, or the trace cannot be read
        return Work()


class PeakMemory:
    """Device memory above what is in use now."""

    def __init__(self, machine: Machine) -> None:
        self._is_known = is_cuda(machine) and torch().cuda.is_initialized()
        if self._is_known:
            torch().cuda.reset_peak_memory_stats()
            self._base = torch().cuda.memory_allocated()

    def above(self) -> int | None:
        """Bytes; None where there is no device."""
        return int(torch().cuda.max_memory_allocated() - self._base) if self._is_known else None


def _is_unused(job: Job, inputs: object) -> bool:
    """Whether a compiled function returns no tensor and changes none of its inputs.

    Only of compiled functions, whose dead code is dropped; others do what they say.
    """
    if not is_compiled(job.fn):
        return False
    tensors = tensors_in(inputs)
    before = [tensor._version for tensor in tensors]  # noqa: SLF001 -- torch's own counter
    output = job.call()
    changed = [tensor._version for tensor in tensors] != before  # noqa: SLF001 -- likewise
    return not tensors_in(output) and not isinstance(output, int | float) and not changed


def _dropper(tensors: Iterable[Any] | None) -> Callable[[], object] | None:
    if tensors is None:
        return None
    kept = [tensors] if isinstance(tensors, torch().Tensor) else list(tensors)
    if not all(isinstance(each, torch().Tensor) for each in kept):
        raise UsageError("grad_to_none must be a list of tensors")

    def drop() -> None:
        for tensor in kept:
            tensor.grad = None

    return drop


def name_of(fn: Callable[..., object]) -> str:
    """What a report calls a function."""
    inner = getattr(fn, "func", fn)  # functools.partial
    name = getattr(inner, "__qualname__", type(inner).__qualname__).rpartition("<locals>.")[2]
    return name.rpartition(".")[2] if name.startswith("_") else name


def source_of(fn: Callable[..., object]) -> str | None:
    """The file a function was written in; None for built-in ones."""
    try:
        return inspect.getsourcefile(inspect.unwrap(fn))
    except TypeError:
        return None


def _quantiles(result: Result, quantiles: Sequence[float]) -> list[float] | float:
    import numpy as np  # noqa: PLC0415 -- only for this form of the answer

    clock = result.device or result.wall
    found = [float(each) / 1e6 for each in np.quantile(clock.ns, list(quantiles))]
    return found[0] if len(found) == 1 else found
