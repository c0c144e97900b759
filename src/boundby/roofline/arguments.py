"""Arguments of one operator call, decoded from the raw bytes of a Signature."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import msgspec

from boundby.frozen import frozen
from boundby.read.recording import Signature
from boundby.roofline.costs import UncountedError
from boundby.roofline.dtypes import SCALAR_TYPES, category, itemsize, parse_dtype

_T = TypeVar("_T")
Shape = tuple[int, ...]

VECTOR, MATRIX, BATCH, IMAGES = 1, 2, 3, 4
"""Ranks: a vector, a matrix, a batch of matrices, a batch of images or of attention heads."""

MAX_ELEMENTS = 1 << 62
"""More elements than any address space holds: the sizes are damage, not a tensor."""

_NO_TENSOR = {"Scalar", "ScalarList", "GenericList", "Generic", "TensorList", "OptionalTensorList"}


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor operand.

    Attributes:
        shape: Sizes.
        dtype: Element type; empty where unknown.
        strides: In elements, as many as sizes; None where not recorded.
    """

    shape: Shape
    dtype: str
    strides: Shape | None = None

    @property
    def numel(self) -> int:
        """Elements, repeated ones included."""
        return math.prod(self.shape)

    @property
    def distinct(self) -> int:
        """Elements that differ in address: an expanded (stride 0) dimension counts once."""
        if self.strides is None or not self.numel:
            return self.numel
        moved = [(n, s) for n, s in zip(self.shape, self.strides, strict=True) if s]
        span = 1 + sum((n - 1) * abs(s) for n, s in moved)
        return min(math.prod(n for n, _ in moved), span)

    @property
    def bytes(self) -> float:
        """Bytes of the distinct elements; NaN where the type is unknown."""
        return self.distinct * itemsize(self.dtype) if self.distinct else 0.0

    @property
    def is_contiguous(self) -> bool:
        """Whether rows follow each other; unknown strides count as contiguous."""
        expected = 1
        for size, stride in reversed(list(zip(self.shape, self.strides or (), strict=False))):
            if size != 1 and stride != expected:
                return False
            expected *= size
        return True


Slot = Tensor | tuple[Tensor, ...] | None


@frozen
class Arguments:
    """Slots in the order of the operator's schema.

    Attributes:
        slots: A tensor, a list of tensors, or None (a scalar, or nothing).
        scalars: What the recorder wrote for scalars and their lists; empty text elsewhere.
    """

    slots: tuple[Slot, ...]
    scalars: tuple[str, ...]

    def optional(self, index: int) -> Tensor | None:
        """The tensor in a slot, None where there is none."""
        slot = self.slots[index] if index < len(self.slots) else None
        return slot if isinstance(slot, Tensor) else None

    def tensor(self, index: int, rank: int | None = None) -> Tensor:
        """The tensor in a slot, of the given rank; raises UncountedError where it is not so."""
        found = self.optional(index)
        if found is None or (rank is not None and len(found.shape) != rank):
            raise UncountedError
        return found

    def tensors(self, index: int) -> tuple[Tensor, ...]:
        """The tensors of a list; raises UncountedError where their sizes were not recorded."""
        slot = self.slots[index] if index < len(self.slots) else None
        if isinstance(slot, tuple) and slot:
            return slot
        raise UncountedError

    def lists(self) -> list[tuple[Tensor, ...]]:
        """Every non-empty list of tensors, in order."""
        return [slot for slot in self.slots if isinstance(slot, tuple) and slot]

    def text(self, index: int) -> str:
        """A scalar as recorded; empty where absent."""
        return self.scalars[index] if index < len(self.scalars) else ""

    def integers(self, index: int, default: tuple[int, ...] | None = None) -> tuple[int, ...]:
        """A list of integers; ``default`` where absent, and UncountedError without one."""
        text = self.text(index).strip()
        if text:
            try:
                return tuple(int(float(item)) for item in text.strip("[]").split(",") if item)
            except (ValueError, OverflowError) as error:
                raise UncountedError from error
        if default is None:
            raise UncountedError
        return default

    def integer(self, index: int, default: int | None = None) -> int:
        """One integer, under the same rules as ``integers``."""
        found = self.integers(index, None if default is None else (default,))
        if len(found) != 1:
            raise UncountedError
        return found[0]

    def flag(self, index: int, *, default: bool = False) -> bool:
        """A boolean; ``default`` where absent."""
        text = self.text(index).strip().lower()
        return text in ("true", "1") if text else default

    def flags(self, index: int) -> tuple[bool, ...]:
        """A list of booleans; empty where absent."""
        text = self.text(index).strip("[] ").lower()
        return tuple(item.strip() in ("true", "1") for item in text.split(",")) if text else ()

    def dtype(self, index: int, default: str) -> str:
        """The element type that a dtype argument names."""
        text = self.text(index).strip()
        if not text:
            return default
        return SCALAR_TYPES.get(int(text), "") if text.isdigit() else parse_dtype(text) or default


def decode(signature: Signature, element: str = "") -> Arguments:
    """Decode a signature.

    Args:
        signature: Raw JSON of dims, types, strides and scalars; any of them may be empty.
        element: Element type of tensors recorded without one (lists, and all tensors in 2021);
            without it that of the first floating-point operand.

    Raises:
        UncountedError: Nothing was recorded, or it is no JSON of the expected form.
    """
    dims = _array(signature.dims)
    types = [item if isinstance(item, str) else "" for item in _array(signature.types)]
    strides = _array(signature.strides)
    concrete = _array(signature.concrete)
    if not dims and not concrete:
        raise UncountedError
    count = max(len(dims), len(concrete))
    element = element or next(
        (t for t in map(parse_dtype, types) if t and category(t) == "float"), ""
    )
    slots = tuple(
        _slot(_at(dims, i), (_at(types, i) or "") if types else None, _at(strides, i), element)
        for i in range(count)
    )
    return Arguments(slots, tuple(_scalar(_at(concrete, i)) for i in range(count)))


def _array(raw: bytes) -> list[object]:
    if not raw:
        return []
    try:
        value: object = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UncountedError from error
    if not isinstance(value, list):
        raise UncountedError
    return value


def _at(values: Sequence[_T], index: int) -> _T | None:
    return values[index] if index < len(values) else None


def _scalar(value: object) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(_scalar(item) for item in value) + "]"
    return "" if value is None else str(value)


def _slot(dims: object, recorded: str | None, strides: object, element: str) -> Slot:
    """One slot; ``recorded`` is its type, None where the recorder wrote no types at all."""
    if not isinstance(dims, list):
        return None
    if dims and isinstance(dims[0], list):
        inner = strides if isinstance(strides, list) else []
        dtype = parse_dtype(recorded or "") or element
        tensors = (_tensor(item, dtype, _at(inner, i)) for i, item in enumerate(dims))
        return tuple(tensor for tensor in tensors if tensor is not None)
    if recorded is None:
        return _tensor(dims, element, strides) if dims else None
    if not recorded or recorded in _NO_TENSOR:
        return None
    return _tensor(dims, parse_dtype(recorded) or element, strides)


def _tensor(dims: object, dtype: str, strides: object) -> Tensor | None:
    if not isinstance(dims, list) or not all(isinstance(n, int) and n >= 0 for n in dims):
        return None
    if math.prod(dims) > MAX_ELEMENTS:
        return None
    known = isinstance(strides, list) and len(strides) == len(dims)
    if isinstance(strides, list) and known and all(isinstance(stride, int) for stride in strides):
        return Tensor(tuple(dims), dtype, tuple(strides))
    return Tensor(tuple(dims), dtype)
