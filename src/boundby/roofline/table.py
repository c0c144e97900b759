"""Costs of host rows of one recording, worked out once for each distinct call."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from boundby.read.recording import NONE, Ints, Recording, Signature
from boundby.roofline.costs import Cost
from boundby.roofline.operators import cost_of

Floats = npt.NDArray[np.float64]

_NOTHING = Signature(b"", b"", b"", b"")


class CostTable:
    """FLOPs and least bytes of the operators of a recording.

    Nothing is decoded before it is asked for; calls of one operator with one signature are
    decoded once.
    """

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._costs: dict[tuple[int, int, str], Cost | None] = {}

    def cost(self, row: int, element: str = "") -> Cost | None:
        """The cost of one host row; None where uncounted.

        Args:
            row: A host row that is an operator.
            element: Element type where the recorder wrote none (``dtypes.kernel_dtype``).
        """
        host = self._recording.host
        name, signature = int(host.name[row]), int(host.signature[row])
        key = (name, signature, element)
        if key not in self._costs:
            raw = _NOTHING if signature == NONE else self._recording.signatures[signature]
            self._costs[key] = cost_of(self._recording.names[name], raw, element)
        return self._costs[key]

    def costs(self, rows: Ints) -> list[Cost | None]:
        """The cost of each host row."""
        return [self.cost(int(row)) for row in rows]

    def flops(self, rows: Ints) -> Floats:
        """float64[len(rows)]: operations of each host row; NaN where uncounted."""
        return self._column([None if c is None else c.flops for c in self.costs(rows)])

    def bytes(self, rows: Ints) -> Floats:
        """float64[len(rows)]: least bytes of each host row; NaN where uncounted."""
        return self._column([None if c is None else c.bytes for c in self.costs(rows)])

    @staticmethod
    def _column(values: list[float | None]) -> Floats:
        return np.array([np.nan if v is None else v for v in values], dtype=np.float64)
