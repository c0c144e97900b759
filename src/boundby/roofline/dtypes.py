"""Element types: the names recorders use, their size, and what kernel names say about them."""

from __future__ import annotations

import math
import re
from functools import lru_cache

BYTES = {
    "bool": 1,
    "uint8": 1,
    "int8": 1,
    "int16": 2,
    "uint16": 2,
    "int32": 4,
    "uint32": 4,
    "int64": 8,
    "uint64": 8,
    "float4": 1,  # two values in a byte: shapes count bytes
    "float8": 1,
    "float16": 2,
    "bfloat16": 2,
    "float32": 4,
    "float64": 8,
    "complex32": 4,
    "complex64": 8,
    "complex128": 16,
}
"""Bytes of one element."""

_RECORDED = {
    "bool": "bool",
    "unsigned char": "uint8",
    "byte": "uint8",
    "signed char": "int8",
    "char": "int8",
    "short int": "int16",
    "short": "int16",
    "unsigned short": "uint16",
    "int": "int32",
    "unsigned int": "uint32",
    "long int": "int64",
    "long long": "int64",
    "long": "int64",
    "unsigned long": "uint64",
    "half": "float16",
    "bfloat16": "bfloat16",
    "float": "float32",
    "double": "float64",
    "complex<half>": "complex32",
    "complex<float>": "complex64",
    "complex<double>": "complex128",
    "quint8": "uint8",
    "qint8": "int8",
    "qint32": "int32",
}

SCALAR_TYPES = {
    0: "uint8",
    1: "int8",
    2: "int16",
    3: "int32",
    4: "int64",
    5: "float16",
    6: "float32",
    7: "float64",
    8: "complex32",
    9: "complex64",
    10: "complex128",
    11: "bool",
    15: "bfloat16",
    23: "float8",
    24: "float8",
    25: "float8",
    26: "float8",
}
"""Numbers of ``c10::ScalarType`` as recorded for dtype arguments (torch: ScalarType.h)."""

_LADDER = ("bool", "int", "float", "complex")


def parse_dtype(recorded: str) -> str:
    """The element type of a recorded type name; empty if it names no element type."""
    name = recorded.strip().removeprefix("c10::").lower().replace("c10::", "")
    if name.startswith("float8"):
        return "float8"
    if name.startswith("float4"):
        return "float4"
    return _RECORDED.get(name, name if name in BYTES else "")


def itemsize(dtype: str) -> float:
    """Bytes of one element; NaN if the type is unknown."""
    return BYTES.get(dtype, math.nan)


def category(dtype: str) -> str:
    """``bool``, ``int``, ``float`` or ``complex``; an unknown type counts as ``float``."""
    if dtype == "bool":
        return "bool"
    if dtype.startswith(("int", "uint")):
        return "int"
    return "complex" if dtype.startswith("complex") else "float"


def promote(dtypes: list[str]) -> str:
    """The type of a result: the highest category, and in it the widest type (torch promotion).

    Float16 with bfloat16 gives float32. Empty if any type is unknown.
    """
    if not dtypes or "" in dtypes:
        return ""
    highest = max(dtypes, key=lambda d: _LADDER.index(category(d)))
    rivals = {d for d in dtypes if category(d) == category(highest)}
    if {"float16", "bfloat16"} <= rivals and not rivals & {"float32", "float64"}:
        return "float32"
    return max(sorted(rivals), key=itemsize)


_KERNEL_DTYPES = tuple(
    (re.compile(pattern), dtype)
    for pattern, dtype in (
        (r"double|dgemm|_f64|Cijk_\w*?_D[BS]?_", "float64"),
        (r"(?i)bfloat16|bf16|Cijk_\w*?_(BBS|B8?BS|BSS)_", "bfloat16"),
        (r"(?i)\bhalf\b|c10::Half|__half|fp16|_f16|hgemm|\d_half|Cijk_\w*?_H[HS]S?_", "float16"),
        (r"\bfloat\b|f32f32|sgemm|scudnn|_f32_|Cijk_\w*?_S[BS]?_|OpaqueType<4", "float32"),
    )
)


@lru_cache(maxsize=65536)
def kernel_dtype(name: str) -> str:
    """The element type a kernel name tells, empty if none: for arguments recorded without types.

    The type named first is that of the elements; accumulators and scalar arguments follow.
    """
    found = ((pattern.search(name), dtype) for pattern, dtype in _KERNEL_DTYPES)
    named = [(match.start(), dtype) for match, dtype in found if match]
    return min(named, key=lambda at: at[0])[1] if named else ""
