"""What a device can do, by its name: from the device table, else from its family."""

from __future__ import annotations

import re

from boundby.roofline.devices import match_device
from boundby.verdict.next import AMD

_BEFORE_TENSOR_CORES = re.compile(r"\b(K\d0|M\d0|P4|P40|P100|TITAN X|GTX)\b", re.IGNORECASE)
_FP16_ONLY = re.compile(r"\b(V100|TITAN V|T4|T4G|TITAN RTX|RTX 20\d\d|Quadro RTX)\b", re.IGNORECASE)
_SINCE_AMPERE = re.compile(
    r"\b(A\d{1,4}|L4|L40S?|H\d{2,3}|H800|GH200|B\d{2,3}|GB\d{3}|RTX [3456]\d\d\d)\b",
    re.IGNORECASE,
)
_AMD_WITH_BF16 = re.compile(r"\bMI[23]\d\d", re.IGNORECASE)
_AMD_WITH_TF32 = re.compile(r"\bMI3[0-4]\d", re.IGNORECASE)


def has_tf32(device: str | None) -> bool | None:
    """Whether matrix units multiply fp32 as TF32; None where unknown."""
    return _rate(device, "tf32")


def has_bf16(device: str | None) -> bool | None:
    """Whether matrix units take bf16; None where unknown."""
    return _rate(device, "bfloat16")


def has_fp16_only(device: str | None) -> bool:
    """Whether matrix units take fp16 but not bf16 (Volta and Turing)."""
    return bool(device) and bool(_rate(device, "float16")) and has_bf16(device) is False


def is_amd(device: str | None) -> bool:
    """Whether AMD made it, as its name tells."""
    return bool(device and AMD.search(device))


def in_doubt(device: str | None, needs: str) -> str:
    """The sentence for a device that may have it or not."""
    if not device:
        return f"The recording does not name its device: {needs}."
    return f"Whether {device} has it is not known here: {needs}."


def _rate(device: str | None, key: str) -> bool | None:
    """Whether the device table has a peak for an element type; by the family where it has none."""
    if not device:
        return None
    known = match_device(device).ceilings
    return _of_family(device, key) if known is None else known.tflops(key) is not None


def _of_family(device: str, key: str) -> bool | None:
    if _BEFORE_TENSOR_CORES.search(device):
        return False
    if _FP16_ONLY.search(device):
        return key == "float16"
    if AMD.search(device) and key == "tf32":
        return bool(_AMD_WITH_TF32.search(device))
    if AMD.search(device):
        return True if _AMD_WITH_BF16.search(device) else None
    return True if _SINCE_AMPERE.search(device) else None
