"""What was measured beside the recording, in the same run, joined to what the recording tells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from boundby.evidence.facts import Evidence, Place
from boundby.evidence.observed import Observed

WAIT = "wait-"
"""What the id of a fact about waits begins with; its kind follows."""

Places = Mapping[str, tuple[Place, ...]]


def with_beside(observed: Observed, facts: Sequence[Evidence], places: Places) -> Observed:
    """The same with facts of a live run.

    Args:
        observed: What the recording tells.
        facts: They stand before it, and in place of facts of the same id.
        places: Exact lines of each kind of wait, in place of the functions around them.
    """
    known = {fact.id for fact in facts}
    told = (_placed(fact, places) for fact in observed.evidence if fact.id not in known)
    rows = (replace(row, where=places.get(row.kind, row.where)) for row in observed.syncs)
    return replace(observed, syncs=tuple(rows), evidence=(*facts, *told))


def _placed(fact: Evidence, places: Places) -> Evidence:
    """A fact about waits at the lines they happen at; the sentence no longer names a function."""
    where = places.get(fact.id.removeprefix(WAIT)) if fact.id.startswith(WAIT) else None
    if not where:
        return fact
    return replace(fact, text=fact.text.partition(", in ")[0], where=where)
