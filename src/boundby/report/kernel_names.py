"""Names of kernels and of their classes as reports show them."""

from __future__ import annotations

from boundby.kernels.values import KernelClass, KernelVerdict, Side
from boundby.report import sanitize

_UNNAMED = "<unnamed>::"
"""How ncu spells an anonymous namespace."""


def short(name: str) -> str:
    """A kernel without return type, namespaces and arguments, safe to show."""
    return sanitize.shown(sanitize.kernel(name.replace(_UNNAMED, "")))


def class_of(name: KernelClass, side: Side | None) -> str:
    """A class, with the side it stands at where that is not said by its name."""
    return f"{name} ({side})" if name == "at-limit" and side else name


def verdict(found: KernelVerdict) -> str:
    """The class of a kernel with the unit that is busiest: ``at-limit (memory: L2)``."""
    if found.name == "undecided" or found.side is None:
        return found.name
    where = found.side if found.name == "at-limit" else ""
    unit = found.unit if found.name != "latency-bound" else None
    named = ": ".join(filter(None, (where, unit)))
    balanced = ", balanced" if found.is_balanced else ""
    return f"{found.name} ({named}{balanced})" if named or balanced else found.name
