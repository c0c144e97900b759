"""Where one operator or kernel stands under the roofs of its device.

Time is at least max(FLOPs / rate, bytes / bandwidth). Bytes are a lower bound, so bandwidths and
shares read "at least".
"""

from __future__ import annotations

import re
from typing import Literal

from boundby.frozen import frozen
from boundby.roofline.ceilings import Ceilings
from boundby.roofline.costs import Cost
from boundby.roofline.widths import Width, product_width
from boundby.units import NS_PER_S

Roof = Literal["compute", "memory"]
LimitedBy = Literal["compute", "memory", "special", "neither", "unknown"]
Doubt = Literal["", "above-roof", "cached", "shared-operand", "fewer-operations"]

FILLS = 0.1
"""A kernel below this share of every roof fills none: it is limited by latency, by too few blocks,
or by something the two roofs do not show. (H200: an addition that takes 5 us reaches 0.7.)"""
OVER = 1.05
"""Above this share of a ceiling the figure is refused: clocks and rounding explain less."""

_THREE_TF32 = re.compile(r"fmha_cutlass[FB]_f32")
_FLOAT32_KEYS: dict[Width, tuple[str, ...]] = {"fp32": ("float32",), "tf32": ("tf32",)}
_FEWER = re.compile(r"(?i)winograd|fft|cf32cf32|gcgemm")
"""Winograd and FFT convolutions; the latter multiply complex matrices."""


@frozen
class Placement:
    """One cost, held against a duration and the ceilings of a device.

    Attributes:
        intensity: FLOP per byte, at most; None where uncounted.
        tflops: Achieved, TFLOP/s; None where uncounted or refused.
        gbs: Achieved, GB/s, at least; None where uncounted or refused.
        peak: Key of the compute roof (``tf32``, ``bfloat16``); empty where it cannot be told.
        compute_share: Of the compute roof, 0 to 1; None where uncounted, unknown or refused.
        memory_share: Of the memory roof, at least, 0 to 1; None likewise.
        nearer: The roof that allows less; None where neither is known.
        limited_by: That roof if the kernel fills at least ``FILLS`` of it, ``special`` for the
            special-function unit, else ``neither``; ``unknown`` where nothing is counted.
        floor_ns: Least time under both roofs, ns; None where unknown.
        doubt: Why a figure was refused or is no fault: ``above-roof`` (a wrong device, shape or
            duration), ``cached`` (as much may come from the cache), ``shared-operand`` (two
            operands may be one), ``fewer-operations`` (Winograd, FFT).
    """

    intensity: float | None
    tflops: float | None
    gbs: float | None
    peak: str
    compute_share: float | None
    memory_share: float | None
    nearer: Roof | None
    limited_by: LimitedBy
    floor_ns: float | None
    doubt: Doubt

    @property
    def is_suspect(self) -> bool:
        """Whether device, shapes or duration cannot all be right."""
        return self.doubt == "above-roof"


def compute_keys(cost: Cost, kernel_name: str) -> tuple[str, ...]:
    """Keys of the rates that may apply; two for float32 where the name does not tell which unit.

    torch's memory-efficient attention in float32 uses three TF32 passes (gemm_kernel_utils.h).
    """
    if cost.unit == "vector" or cost.dtype in ("float64", "complex128"):
        return ("float64",) if cost.dtype in ("float64", "complex128") else ("float32",)
    if cost.dtype not in ("float32", "complex64"):
        return (cost.dtype,)
    return _float32_keys(kernel_name)


def _float32_keys(kernel_name: str) -> tuple[str, ...]:
    if _THREE_TF32.search(kernel_name):
        return ("3xtf32",)
    return _FLOAT32_KEYS.get(product_width(kernel_name), ("tf32", "float32"))


@frozen
class ComputePeak:
    """The compute roof of one kernel.

    Attributes:
        key: Of the rate; empty where two may apply.
        tflops: TFLOP/s, the higher of two: the floor stays a lower bound; None where unknown.
        least_tflops: The lower of two, else the same.
    """

    key: str
    tflops: float | None
    least_tflops: float | None


def compute_peak(
    cost: Cost, kernel_name: str, ceilings: Ceilings, duration_ns: float = 0.0
) -> ComputePeak:
    """The compute roof of a kernel.

    Where its name leaves two, a kernel faster than the lower one runs on the higher.
    """
    keys = compute_keys(cost, kernel_name)
    rates = {key: rate for key in keys if (rate := ceilings.tflops(key)) is not None}
    if len(rates) <= 1:
        rate = next(iter(rates.values()), None)
        return ComputePeak(next(iter(rates), keys[-1]), rate, rate)
    (high, higher), (low, lower) = sorted(rates.items(), key=lambda item: -item[1])
    achieved = tera_per_second(cost.flops or 0.0, duration_ns)
    if higher == lower or (achieved is not None and achieved > OVER * lower):
        return ComputePeak(high if higher > lower else low, higher, higher)
    return ComputePeak("", higher, lower)


def tera_per_second(amount: float | None, duration_ns: float) -> float | None:
    """An amount over a time, in units of 1e12 a second; None without an amount or a duration."""
    if amount is None or duration_ns <= 0:
        return None
    return amount / duration_ns * NS_PER_S / 1e12


def place(cost: Cost, duration_ns: float, ceilings: Ceilings, kernel_name: str = "") -> Placement:
    """Hold a cost against a duration.

    Args:
        cost: What had to be done.
        duration_ns: Device time it took: the kernels of the operator together.
        ceilings: Of the device it ran on.
        kernel_name: The main kernel, to tell which unit did the arithmetic.
    """
    peak = compute_peak(cost, kernel_name, ceilings, duration_ns)
    floors = _Floors(
        compute=_floor(cost.flops, peak.tflops, 1e12),
        slow_compute=_floor(cost.flops, peak.least_tflops, 1e12),
        memory=_floor(cost.bytes, ceilings.memory_gbs, 1e9),
        special=_floor(cost.special, ceilings.special_gops, 1e9) or 0.0,
        decides=cost.unit == "vector" or peak.tflops is not None or not cost.flops,
    )
    doubt = _doubt(cost, duration_ns, floors, ceilings, kernel_name)
    no_compute = _over(floors.compute, duration_ns)
    no_memory = _over(floors.memory, duration_ns)
    known = [floor for floor in (floors.compute, floors.memory) if floor is not None]
    return Placement(
        intensity=cost.intensity,
        tflops=None if no_compute else tera_per_second(cost.flops, duration_ns),
        gbs=None if no_memory else _scaled(tera_per_second(cost.bytes, duration_ns), 1e3),
        peak=peak.key if floors.compute is not None else "",
        compute_share=None if no_compute or not peak.key else _share(floors.compute, duration_ns),
        memory_share=None if no_memory else _share(floors.memory, duration_ns),
        nearer=floors.nearer,
        limited_by=_limited_by(floors, duration_ns),
        floor_ns=min(max(known), duration_ns) if known else None,
        doubt=doubt,
    )


@frozen
class _Floors:
    """Least ns under each roof; None where unknown.

    Attributes:
        slow_compute: With the lower of two rates that may apply.
        special: Of the special-function unit.
        decides: Whether what is known tells which roof is nearer: not so for products on a unit
            whose rate is unknown.
    """

    compute: float | None
    slow_compute: float | None
    memory: float | None
    special: float
    decides: bool

    @property
    def nearer(self) -> Roof | None:
        if not self.decides or (self.compute is None and self.memory is None):
            return None
        return "compute" if (self.compute or 0.0) > (self.memory or 0.0) else "memory"


def _floor(amount: float | None, rate: float | None, unit: float) -> float | None:
    """Least ns for an amount at a rate in multiples of ``unit``; None where either is unknown."""
    return None if amount is None or not rate else amount / (rate * unit) * NS_PER_S


def _scaled(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor


def _share(floor: float | None, duration_ns: float) -> float | None:
    return None if floor is None or duration_ns <= 0 else min(floor / duration_ns, 1.0)


def _over(floor: float | None, duration_ns: float) -> bool:
    return floor is not None and floor > OVER * duration_ns


def _doubt(
    cost: Cost, duration_ns: float, floors: _Floors, ceilings: Ceilings, kernel_name: str
) -> Doubt:
    """Whether a figure stands above its roof, and what explains it.

    As much as the cache holds may not have come from memory; what is left must fit the bandwidth.
    """
    if _over(floors.compute, duration_ns):
        return "fewer-operations" if _FEWER.search(kernel_name) else "above-roof"
    if cost.bytes is None or not ceilings.memory_gbs or not _over(floors.memory, duration_ns):
        return ""
    fits = OVER * duration_ns * ceilings.memory_gbs
    if cost.bytes - cost.alike <= fits:
        return "shared-operand"
    return "cached" if cost.bytes - ceilings.cache_mib * 2**20 <= fits else "above-roof"


def _limited_by(floors: _Floors, duration_ns: float) -> LimitedBy:
    if floors.nearer is None:
        return "unknown"
    roof = max(floors.compute or 0.0, floors.memory or 0.0)
    if max(roof, floors.special) < FILLS * duration_ns:
        could_fill = (floors.slow_compute or 0.0) >= FILLS * duration_ns
        return "unknown" if could_fill else "neither"
    return "special" if floors.special > roof else floors.nearer
