"""The roofs a kernel is held against: bandwidth of the memory, FLOP rates of both units."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from typing import Literal

from boundby.errors import UsageError
from boundby.frozen import frozen

Origin = Literal["datasheet", "measured", "override"]

_ALIASES = {
    "fp32": "float32",
    "f32": "float32",
    "float": "float32",
    "tf32": "tf32",
    "fp16": "float16",
    "f16": "float16",
    "half": "float16",
    "bf16": "bfloat16",
    "fp8": "float8",
    "f8": "float8",
    "fp64": "float64",
    "f64": "float64",
    "double": "float64",
}
_BANDWIDTH = ("bw", "bandwidth", "gbs")
_EXAMPLE = "for example --peak bf16=989,bw=4800 (TFLOP/s dense, GB/s)"


@frozen
class Ceilings:
    """Peaks of one device.

    Attributes:
        name: The device as the table or the user names it.
        source: Vendor figure, measured on a device, or given by the user.
        document: Where the figures come from, for the reader.
        memory_gbs: Bandwidth of device memory, GB/s; None where unknown.
        peak_tflops: Dense rates by ``float32`` (vector unit), ``tf32``, ``float16``,
            ``bfloat16``, ``float8`` (matrix unit), ``float64``; TFLOP/s.
        special_gops: Special-function evaluations, in billions a second; None where unknown.
        cache_mib: Last cache before device memory, MiB; 0 where unknown.
        multiprocessors: Of the whole device or slice; 0 where unknown.
        note: What was scaled or differs, for the reader; empty for nothing.
    """

    name: str
    source: Origin
    document: str
    memory_gbs: float | None
    peak_tflops: Mapping[str, float] = field(default_factory=dict)
    special_gops: float | None = None
    cache_mib: float = 0.0
    multiprocessors: int = 0
    note: str = ""

    def tflops(self, key: str) -> float | None:
        """A rate in TFLOP/s by key; None where the device has none or it is unknown.

        ``3xtf32`` is float32 accuracy out of three passes in TF32.
        """
        if key == "3xtf32":
            tf32 = self.peak_tflops.get("tf32")
            return None if tf32 is None else tf32 / 3
        return self.peak_tflops.get(key)

    def vector_tflops(self, dtype: str) -> float | None:
        """The rate of the vector unit, TFLOP/s; half precision and integers run as float32."""
        return self.tflops("float64" if dtype in ("float64", "complex128") else "float32")

    def ridge(self, key: str) -> float | None:
        """FLOP per byte at which a rate and the bandwidth meet; None where either is unknown."""
        peak = self.tflops(key)
        if peak is None or not self.memory_gbs:
            return None
        return peak * 1e3 / self.memory_gbs

    def ridges(self) -> dict[str, float]:
        """FLOP per byte of every roof of the device."""
        points = {key: self.ridge(key) for key in self.peak_tflops}
        return {key: point for key, point in points.items() if point is not None}


@frozen
class Peaks:
    """Figures given by the user, to replace those of the table."""

    memory_gbs: float | None
    peak_tflops: Mapping[str, float]


def parse_peaks(text: str) -> Peaks:
    """Read ``bf16=989,bw=4800``: dense TFLOP/s by element type, and GB/s.

    Raises:
        UsageError: Not of this form, an unknown key, a key twice, or a figure that is not positive.
    """
    rates: dict[str, float] = {}
    for item in text.split(","):
        key, equals, figure = (part.strip() for part in item.partition("="))
        name = "bw" if key.lower() in _BANDWIDTH else _ALIASES.get(key.lower(), key.lower())
        if not equals or name not in ("bw", *_ALIASES.values()):
            raise UsageError(f"--peak: cannot read {item.strip()!r}", _EXAMPLE)
        try:
            rate = float(figure)
        except ValueError:
            raise UsageError(f"--peak: {figure!r} is no number", _EXAMPLE) from None
        if not 0 < rate < float("inf"):
            raise UsageError(f"--peak: {key} must be positive", _EXAMPLE)
        if name in rates:
            raise UsageError(f"--peak: {key} is given twice", _EXAMPLE)
        rates[name] = rate
    return Peaks(rates.pop("bw", None), rates)


def override(base: Ceilings | None, peaks: Peaks, name: str = "") -> Ceilings:
    """The ceilings with the user's figures in place; what the user leaves out stays as it was."""
    if base is None:
        base = Ceilings(name, "override", "given with --peak", None)
    return replace(
        base,
        source="override",
        document=f"{base.document}, changed with --peak" if base.memory_gbs else base.document,
        memory_gbs=peaks.memory_gbs or base.memory_gbs,
        peak_tflops={**base.peak_tflops, **peaks.peak_tflops},
    )
