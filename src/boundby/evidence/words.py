"""Numbers and lists inside the sentences of facts."""

from __future__ import annotations

from collections.abc import Sequence

PLAIN_FROM = 1000
"""From here three significant digits would need an exponent."""

UNITS = (("s", 1000.0), ("ms", 1.0), ("us", 0.001))
"""Units of time and their milliseconds, the largest first."""
ROUNDS_TO_ONE = 0.9995
"""From here three digits round up to 1, so the number belongs to the unit."""

LEAST_DIGITS = 0.0005
"""Below it a number would need an exponent, or a row of zeros."""


def figure(value: float) -> str:
    """Three significant digits, or a whole number where there are more before the point."""
    if 0 < abs(value) < LEAST_DIGITS:
        return digits(value)
    return f"{value:.0f}" if abs(value) >= PLAIN_FROM else f"{value:.3g}"


def digits(value: float) -> str:
    """Three significant digits, zeros at the end included, two below a tenth; no exponent."""
    size = abs(value)
    for least, places in ((99.95, 0), (9.995, 1), (0.9995, 2), (0.09995, 3)):
        if size >= least:
            return f"{value:.{places}f}"
    if 0 < size < LEAST_DIGITS:
        return f"{'-' if value < 0 else ''}<0.001"
    return f"{value:.2g}" if size else "0"


def unit_for(ms: float) -> tuple[str, float]:
    """The unit that a time of so many milliseconds is told in, and the milliseconds of one."""
    fitting = (unit for unit in UNITS if abs(ms) >= ROUNDS_TO_ONE * unit[1])
    return next(fitting, UNITS[-1] if ms else UNITS[1])


def duration(ms: float, like: float | None = None) -> str:
    """A time of so many milliseconds with the unit that its size asks for: ``34.0 us``.

    Args:
        like: Milliseconds that choose the unit instead, so that several times can be compared.
    """
    unit, size = unit_for(ms if like is None else like)
    return f"{digits(ms / size)} {unit}"


def counted(value: float, noun: str, plural: str = "") -> str:
    """A count or mean count with its noun: ``1 launch call``, ``2.5 launch calls``."""
    return f"{figure(value)} {noun if value == 1 else plural or f'{noun}s'}"


def often(value: float) -> str:
    """``once`` or ``2.5 times``."""
    return "once" if value == 1 else f"{figure(value)} times"


SELDOM = 2 / 3
"""Above it, in how many steps something happens once is a number close to one."""


def per_step(value: float) -> str:
    """``24 times a step``, ``once a step``, ``0.95 times a step``, ``once in 3 steps``."""
    if 0 < value <= SELDOM:
        return f"once in {figure(1 / value)} steps"
    return f"{often(value)} a step"


def listed(items: Sequence[object]) -> str:
    """``45``, ``45 and 51``, ``45, 51 and 60``."""
    *before, last = (str(item) for item in items)
    return f"{', '.join(before)} and {last}" if before else last
