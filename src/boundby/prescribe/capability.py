"""What a device can do, by its name."""

from __future__ import annotations

import re

_BEFORE_TENSOR_CORES = re.compile(r"\b(K\d0|M\d0|P4|P40|P100|TITAN X|GTX)\b", re.IGNORECASE)
_FP16_ONLY = re.compile(r"\b(V100|TITAN V|T4|T4G|TITAN RTX|RTX 20\d\d|Quadro RTX)\b", re.IGNORECASE)
_SINCE_AMPERE = re.compile(
    r"\b(A\d{1,3}|A800|L4|L40S?|H\d{2,3}|H800|GH200|B\d{2,3}|GB\d{3}|RTX [3456]\d\d\d)\b",
    re.IGNORECASE,
)
_AMD = re.compile(r"\bMI\d|Radeon|\bAMD\b", re.IGNORECASE)
_AMD_WITH_BF16 = re.compile(r"\bMI[23]\d\d", re.IGNORECASE)


def has_tf32(device: str | None) -> bool | None:
    """Whether fp32 products can use tensor cores (Ampere and later); None where unknown."""
    if not device:
        return None
    if any(old.search(device) for old in (_FP16_ONLY, _BEFORE_TENSOR_CORES, _AMD)):
        return False
    return True if _SINCE_AMPERE.search(device) else None


def has_bf16(device: str | None) -> bool | None:
    """Whether matrix units take bf16; None where unknown."""
    if device and _AMD.search(device):
        return True if _AMD_WITH_BF16.search(device) else None
    return has_tf32(device)


def has_fp16_only(device: str | None) -> bool:
    """Whether matrix units take fp16 but not bf16 (Volta and Turing)."""
    return bool(device and _FP16_ONLY.search(device))
