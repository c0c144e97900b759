"""Frozen values that are cheap to declare.

``dataclass(frozen=True)`` writes and compiles six methods for every class. The analysis declares
some 140 values, and start-up counts, so the three methods that need not be compiled are shared.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar

if sys.version_info >= (3, 11):
    from typing import dataclass_transform
elif TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:

    def dataclass_transform(**_: object):  # noqa: ANN201 - stands in for typing's own
        """What type checkers read; nothing at run time."""
        return lambda decorator: decorator


_T = TypeVar("_T")


@dataclass_transform(frozen_default=True)
def frozen(cls: type[_T]) -> type[_T]:
    """A frozen dataclass: compared, hashed and shown by its fields like any other."""
    made = dataclass(frozen=True, eq=False, repr=False)(cls)
    made.__eq__ = _equal  # type: ignore[method-assign]
    made.__hash__ = _hash  # type: ignore[method-assign]
    if "__repr__" not in cls.__dict__:
        made.__repr__ = _show  # type: ignore[method-assign]
    return made


def _values(value: Any) -> tuple[Any, ...]:  # noqa: ANN401 - any frozen value
    names = tuple(value.__dataclass_fields__)
    if len(names) == 1:
        return (getattr(value, names[0]),)
    return attrgetter(*names)(value) if names else ()


def _equal(self: object, other: object) -> bool:
    if other.__class__ is not self.__class__:
        return NotImplemented
    return _values(self) == _values(other)


def _hash(self: object) -> int:
    return hash(_values(self))


def _show(self: Any) -> str:  # noqa: ANN401 - any frozen value
    shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__dataclass_fields__)
    return f"{type(self).__qualname__}({shown})"
