"""Frozen values that are cheap to declare.

``dataclass(frozen=True)`` writes and compiles six methods for every class. The analysis declares
some 140 values, and start-up counts, so none is compiled here: all values share their methods.
"""

from __future__ import annotations

import sys
from dataclasses import MISSING, FrozenInstanceError, dataclass
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
    """A frozen dataclass: made, compared, hashed and shown by its fields like any other."""
    made: Any = dataclass(init=False, eq=False, repr=False)(cls)
    made.__init__ = _fill
    made.__setattr__ = made.__delattr__ = _refuse
    made.__eq__ = _equal
    made.__hash__ = _hash
    if "__repr__" not in cls.__dict__:
        made.__repr__ = _show
    return made


def _fill(self: Any, /, *values: object, **named: object) -> None:  # noqa: ANN401
    fields = self.__dataclass_fields__
    given = dict(zip(fields, values, strict=False))
    if len(values) > len(fields) or named.keys() - fields.keys() or given.keys() & named.keys():
        _complain(self, values, named)
    given.update(named)
    if len(given) < len(fields):
        missing = [name for name in fields if name not in given]
        given.update({name: _default(self, fields[name]) for name in missing})
    self.__dict__.update(given)
    if hasattr(self, "__post_init__"):
        self.__post_init__()


def _default(self: object, field: Any) -> Any:  # noqa: ANN401 - a field of any type
    if field.default is not MISSING:
        return field.default
    if field.default_factory is not MISSING:
        return field.default_factory()
    message = f"{type(self).__qualname__}() lacks a value for {field.name!r}"
    raise TypeError(message)


def _complain(self: Any, values: tuple[object, ...], named: dict[str, object]) -> None:  # noqa: ANN401
    fields = list(self.__dataclass_fields__)
    twice = [name for name in fields[: len(values)] if name in named]
    unknown = [name for name in named if name not in fields]
    message = (
        f"{type(self).__qualname__}() takes {', '.join(fields)}: "
        f"{len(values)} values given, twice {twice}, unknown {unknown}"
    )
    raise TypeError(message)


def _refuse(self: object, name: str, *_value: object) -> None:
    message = f"cannot change {name!r} of a {type(self).__qualname__}"
    raise FrozenInstanceError(message)


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
