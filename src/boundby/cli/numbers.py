"""Numbers of options: real ones, for no clock shows NaN and no machine has infinite memory."""

from __future__ import annotations

import math
from typing import Any

import click


class Finite(click.FloatRange):
    """A number in a range, neither NaN nor infinite."""

    def convert(
        self,
        value: Any,  # noqa: ANN401 -- click's
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> float:
        """The number; a usage error where it is none."""
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{number} is no finite number.", param, ctx)
        return number


GIBIBYTES = Finite(min=1e-3, max=1 << 20)
"""From about a MiB, below which no process starts, to a PiB, more than any machine has."""
POSITIVE = Finite(min=0, min_open=True)
NOT_NEGATIVE = Finite(min=0)
