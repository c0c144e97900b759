"""Collectives of a step, by the names that torch gives them."""

from __future__ import annotations

import re

from boundby.prescribe.case import Case
from boundby.prescribe.readings import NOTICEABLE, millis, share
from boundby.replay.values import Part

EXPOSED: Part = "device-communication"
COLLECTIVE = re.compile(r"^c10d::|^nccl:")
GRADIENTS = re.compile(r"all_?reduce|reduce_?scatter", re.IGNORECASE)
"""What exchanges gradients: DDP reduces, FSDP reduces and scatters."""


def is_exposed(case: Case) -> bool:
    """Whether communication that no computation hides takes a notable part of the step."""
    return share(case, EXPOSED) >= NOTICEABLE


def exposed(case: Case) -> str:
    """``Collectives that nothing hides take 11.6 of 20 ms``."""
    return (
        f"Collectives that nothing hides take {millis(case, EXPOSED):.3g} of "
        f"{case.step.estimate:.3g} ms"
    )


def count(case: Case) -> float:
    """Collectives a step, the larger count of operators and ranges; 0 where none is recorded."""
    operators = sum(row.calls for row in case.ops if COLLECTIVE.match(row.name))
    ranges = sum(row.count for row in case.ranges if COLLECTIVE.match(row.name))
    return max(operators, ranges)


def of_gradients(case: Case) -> float:
    """Share of the device time of collectives that reduces gradients; 0 where none is named.

    Where operators carry no device time, their share of the collectives.
    """
    rows = [row for row in case.ops if COLLECTIVE.match(row.name)]
    time = sum(row.total_device_ms for row in rows)
    weights = [row.total_device_ms if time else row.calls for row in rows]
    mine = [w for row, w in zip(rows, weights, strict=True) if GRADIENTS.search(row.name)]
    return sum(mine) / sum(weights) if rows else 0.0
