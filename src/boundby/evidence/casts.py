"""Casts: kernels that only copy a tensor into another element type, as autocast inserts them."""

from __future__ import annotations

import re

import numpy as np

from boundby.distribution import distinct
from boundby.evidence.launched import Launched
from boundby.evidence.naming import Bools, rows_named
from boundby.read.recording import NONE
from boundby.roofline.families import Family, classify_kernel

CONVERT = re.compile(r"^aten::_to_copy$")
COPY = re.compile(r"^aten::(copy_|_copy_from)$")
TYPE = re.compile(rb'"([^"]*)"')


def is_cast(launched: Launched) -> Bools:
    """bool[m]: kernels that change the element type on the device and do nothing else.

    Of copies by the recorded types of both tensors, else where a conversion asked for them; of
    other kernels (compiled ones) by name.
    """
    copies = launched.by(COPY) & launched.is_kernel
    types = _types(launched, copies)
    asked = launched.under(CONVERT) & (types == UNKNOWN)
    named = rows_named(
        launched.names, launched.name, lambda name: classify_kernel(name) is Family.CAST
    )
    cast = np.where(copies, asked | (types == DIFFERENT), named)
    return np.asarray(cast & launched.is_kernel & launched.alone)


UNKNOWN, SAME, DIFFERENT = 0, 1, 2


def _types(launched: Launched, copies: Bools) -> np.ndarray:
    """int8[m]: whether the two tensors of a copy have one element type."""
    signature = launched.signatures()
    signatures = launched.timeline.recording.signatures
    known = np.full(len(signatures) + 1, UNKNOWN, dtype=np.int8)
    for index in distinct(signature[copies]).tolist():
        if index != NONE:
            known[index] = _compared(signatures[index].types)
    return np.asarray(known[signature])


def _compared(raw: bytes) -> int:
    types = TYPE.findall(raw)[:2]
    if len(types) < len(("to", "from")) or not all(types):
        return UNKNOWN
    return SAME if types[0] == types[1] else DIFFERENT
