"""Where one operator or kernel stands under the roofs of its device.

Time is at least max(FLOPs / rate, bytes / bandwidth). Bytes are a lower bound, so bandwidths and
shares read "at least".
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from boundby.roofline.ceilings import Ceilings
from boundby.roofline.costs import Cost
from boundby.units import NS_PER_S

Roof = Literal["compute", "memory"]
LimitedBy = Literal["compute", "memory", "special", "neither", "unknown"]
Doubt = Literal["", "above-roof", "cached", "fewer-operations"]

FILLS = 0.1
"""A kernel below this share of every roof fills none: it is limited by latency, by too few blocks,
or by something the two roofs do not show. Elementwise kernels of 10 us on an H200 reach it."""
OVER = 1.05
"""Above this share of a ceiling the figure is refused: clocks and rounding explain less."""

_TF32 = re.compile(
    r"(?i)tf32|xf32|tensorop_s1688|s1688(gemm|fprop|dgrad|wgrad)(?!_(fp16|f16))|nvjet"
)
_FP32 = re.compile(
    r"(?i)simt|ffma|sgemm|scudnn|f32f32_f32f32|cf32cf32|convolve|engine<float|winograd|fft2d"
    r"|Cijk_\w*?_S[BS]?_|gemv|gemmSN|gemmk1|dot_kernel"
)
_FEWER = re.compile(r"(?i)winograd|fft|strassen")


@dataclass(frozen=True)
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
            duration), ``cached`` (operands fit the cache), ``fewer-operations`` (Winograd, FFT).
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

    cuBLAS, CUTLASS and cuDNN name TF32 kernels ``tf32f32`` or ``s1688``, float32 ones ``sgemm``,
    ``ffma``, ``simt`` or ``f32f32_f32f32``. nvjet kernels exist for the matrix unit alone.
    """
    if cost.unit == "vector" or cost.dtype in ("float64", "complex128"):
        return ("float64",) if cost.dtype in ("float64", "complex128") else ("float32",)
    if cost.dtype not in ("float32", "complex64"):
        return (cost.dtype,)
    if _TF32.search(kernel_name):
        return ("tf32",)
    return ("float32",) if _FP32.search(kernel_name) else ("tf32", "float32")


def compute_peak(
    cost: Cost, kernel_name: str, ceilings: Ceilings, duration_ns: float = 0.0
) -> tuple[str, float | None]:
    """The compute roof of a kernel: its key, and TFLOP/s.

    Where the name leaves two, a kernel faster than the lower one runs on the higher; otherwise the
    key is empty and the rate the higher one, which keeps the floor a lower bound.
    """
    keys = compute_keys(cost, kernel_name)
    rates = [ceilings.tflops(key) for key in keys]
    known = [rate for rate in rates if rate is not None]
    if len(keys) == 1 or len(known) < len(keys):
        return keys[0] if len(keys) == 1 else keys[-1], known[0] if known else None
    higher, lower = max(known), min(known)
    achieved = tera_per_second(cost.flops or 0.0, duration_ns)
    if achieved is not None and achieved > OVER * lower:
        return keys[rates.index(higher)], higher
    return ("", higher) if higher > lower else (keys[0], higher)


def tera_per_second(amount: float, duration_ns: float) -> float | None:
    """An amount over a time, in units of 1e12 a second; None without a duration."""
    return amount / duration_ns * NS_PER_S / 1e12 if duration_ns > 0 else None


def place(cost: Cost, duration_ns: float, ceilings: Ceilings, kernel_name: str = "") -> Placement:
    """Hold a cost against a duration.

    Args:
        cost: What had to be done.
        duration_ns: Device time it took: the kernels of the operator together.
        ceilings: Of the device it ran on.
        kernel_name: The main kernel, to tell which unit did the arithmetic.
    """
    peak, rate = compute_peak(cost, kernel_name, ceilings, duration_ns)
    compute = _floor(cost.flops, None if rate is None else rate * 1e12)
    memory = _floor(cost.bytes, None if not ceilings.memory_gbs else ceilings.memory_gbs * 1e9)
    doubt = _doubt(cost, duration_ns, compute, ceilings, kernel_name)
    floors = [floor for floor in (compute, memory) if floor is not None]
    refused_compute = doubt in ("above-roof", "fewer-operations") and _over(compute, duration_ns)
    refused_memory = doubt in ("above-roof", "cached") and _over(memory, duration_ns)
    compute_share = None if refused_compute or not peak else _share(compute, duration_ns)
    memory_share = None if refused_memory else _share(memory, duration_ns)
    return Placement(
        intensity=cost.intensity,
        tflops=_rate(cost.flops, duration_ns, 1.0, refused=refused_compute),
        gbs=_rate(cost.bytes, duration_ns, 1e3, refused=refused_memory),
        peak=peak if compute is not None else "",
        compute_share=compute_share,
        memory_share=memory_share,
        nearer=_nearer(compute, memory),
        limited_by=_limited_by(cost, duration_ns, compute, memory, ceilings),
        floor_ns=min(max(floors), duration_ns) if floors else None,
        doubt=doubt,
    )


def _floor(amount: float | None, per_second: float | None) -> float | None:
    """Least ns for an amount at a rate; None where either is unknown."""
    return None if amount is None or not per_second else amount / per_second * NS_PER_S


def _share(floor: float | None, duration_ns: float) -> float | None:
    return None if floor is None or duration_ns <= 0 else min(floor / duration_ns, 1.0)


def _over(floor: float | None, duration_ns: float) -> bool:
    return floor is not None and floor > OVER * duration_ns


def _rate(
    amount: float | None, duration_ns: float, factor: float, *, refused: bool
) -> float | None:
    """Achieved rate in units of 1e12 a second times ``factor``; None where refused."""
    rate = None if amount is None or refused else tera_per_second(amount, duration_ns)
    return None if rate is None else rate * factor


def _nearer(compute: float | None, memory: float | None) -> Roof | None:
    if compute is None and memory is None:
        return None
    return "compute" if (compute or 0.0) > (memory or 0.0) else "memory"


def _doubt(
    cost: Cost, duration_ns: float, compute: float | None, ceilings: Ceilings, kernel_name: str
) -> Doubt:
    """Whether a figure stands above its roof, and what explains it.

    As much as the cache holds may not have come from memory; what is left must fit the bandwidth.
    """
    if _over(compute, duration_ns):
        return "fewer-operations" if _FEWER.search(kernel_name) else "above-roof"
    if cost.bytes is None or not ceilings.memory_gbs:
        return ""
    per_ns = ceilings.memory_gbs
    if cost.bytes / per_ns <= OVER * duration_ns:
        return ""
    beyond_cache = cost.bytes - ceilings.cache_mib * 2**20
    return "cached" if beyond_cache / per_ns <= OVER * duration_ns else "above-roof"


def _limited_by(
    cost: Cost,
    duration_ns: float,
    compute: float | None,
    memory: float | None,
    ceilings: Ceilings,
) -> LimitedBy:
    if compute is None and memory is None:
        return "unknown"
    roof = max(compute or 0.0, memory or 0.0)
    special_rate = (ceilings.special_gops or 0.0) * 1e9
    special = _floor(cost.special, special_rate) or 0.0
    if max(roof, special) < FILLS * duration_ns:
        return "neither"
    if special > roof:
        return "special"
    return _nearer(compute, memory) or "unknown"
