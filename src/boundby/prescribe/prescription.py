"""A prescription: what to change, what it buys, what it costs, and when to stop."""

from __future__ import annotations

from boundby.frozen import frozen


@frozen
class Costs:
    """What the change costs: one plain phrase each, empty where nothing.

    The price in memory is always stated, ``none`` where there is none: time is traded against it.
    """

    memory: str = ""
    numerics: str = ""
    shapes: str = ""
    compile: str = ""


@frozen
class Prescription:
    """One change.

    Attributes:
        edit: Id of the what-if it is predicted from; None where it is predicted from none.
        why: The evidence that calls for it, in one sentence.
        how: Code in the user's terms (may span lines).
        predicted_ms, low, high: Step time after the change, for the samples of today's step (a
            batch of four times the samples counts a quarter); None where there is no estimate.
        stop_when: The condition under which more of this no longer pays.
    """

    id: str
    edit: str | None
    title: str
    why: str
    how: str
    predicted_ms: float | None
    low: float | None
    high: float | None
    stop_when: str
    costs: Costs = Costs()
    pays: bool = True
    """False where it would gain less than 2% now."""
