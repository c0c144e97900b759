"""In which precision a product multiplies, by the name of its kernel.

cuBLAS, CUTLASS and cuDNN name TF32 kernels ``tf32f32`` or ``s1688``, float32 ones ``sgemm``,
``ffma``, ``simt`` or ``f32f32_f32f32``. nvjet kernels exist for the matrix unit alone.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

Width = Literal["double", "fp32", "tf32", "half", ""]

_HALF = re.compile(
    r"bf16|fp16|f16|half|bfloat16|h1688|h884|hgemm|hcudnn|s16816|s161616|e4m3|e5m2|fp8|fp4"
    r"|nvjet_(sm\d+_)?[thqo]|Cijk_[a-z]+_[a-z]+_(H|B|F8)|xdl\w*?I(ttft|DF16)",
    re.IGNORECASE,
)
_TF32 = re.compile(r"tf32|xf32|s1688|nvjet", re.IGNORECASE)
_DOUBLE = re.compile(r"dgemm|d884|f64|<double|Cijk_[a-z]+_[a-z]+_DB_", re.IGNORECASE)
_FP32 = re.compile(
    r"sgemm|gemmSN|gemmk1|gemv|scudnn|simt|f32f32|cf32cf32|<(int, int, )?float|engine<float|fft2d"
    r"|winograd|convolve|ffma|dot_kernel|depthwise|Cijk_\w*?_S[BS]?_",
    re.IGNORECASE,
)
"""Asked after the others: names of TF32 kernels hold ``f32f32`` too."""

_KINDS: tuple[tuple[re.Pattern[str], Width], ...] = (
    (_DOUBLE, "double"),
    (_HALF, "half"),
    (_TF32, "tf32"),
    (_FP32, "fp32"),
)


@lru_cache(maxsize=65536)
def product_width(name: str) -> Width:
    """Element type a matrix product or convolution multiplies in; empty where the name hides it.

    Args:
        name: Of a kernel that multiplies; other kernels match by accident.
    """
    return next((kind for pattern, kind in _KINDS if pattern.search(name)), "")
