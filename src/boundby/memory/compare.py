"""Two snapshots side by side: what the memory at their peaks is made of, line by line."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from boundby.memory.diagnose import MemoryDiagnosis
from boundby.memory.facts import Place


@dataclass(frozen=True)
class Change:
    """One line (or operator, where there is no line) in both snapshots; bytes at the peaks."""

    label: str
    place: Place | None
    before: int
    after: int

    @property
    def difference(self) -> int:
        """Bytes more than before."""
        return self.after - self.before


@dataclass(frozen=True)
class Comparison:
    """Two diagnoses and what differs.

    Attributes:
        parts: Bytes of each part before and after.
        lines: Those that differ, the largest difference first.
    """

    before: MemoryDiagnosis
    after: MemoryDiagnosis
    parts: dict[str, tuple[int, int]]
    lines: tuple[Change, ...]


def compare(before: MemoryDiagnosis, after: MemoryDiagnosis) -> Comparison:
    """Compare by part and by line; lines are matched by file name and function, not by number."""
    first, second = _by_line(before), _by_line(after)
    keys = [*first, *(key for key in second if key not in first)]
    lines = []
    for key in keys:
        old, new = first.get(key), second.get(key)
        known = new or old
        if known is not None:
            lines.append(Change(key, known[1], old[0] if old else 0, new[0] if new else 0))
    lines.sort(key=lambda change: -abs(change.difference))
    return Comparison(before, after, _parts(before, after), tuple(c for c in lines if c.difference))


def _by_line(diagnosis: MemoryDiagnosis) -> dict[str, tuple[int, Place | None]]:
    amount: Counter[str] = Counter()
    places: dict[str, Place | None] = {}
    for holder in diagnosis.case.peak.holders:
        origin = holder.origin
        where = origin.place
        file = where.file.replace("\\", "/").rpartition("/")[2] if where else ""
        key = f"{holder.part}: {origin.op or origin.phase.name.lower()}" + (
            f" in {where.function}, {file}" if where else ""
        )
        amount[key] += holder.bytes
        places[key] = where
    return {key: (size, places[key]) for key, size in amount.items()}


def _parts(before: MemoryDiagnosis, after: MemoryDiagnosis) -> dict[str, tuple[int, int]]:
    first, second = (
        {share.part: share.bytes or 0 for share in each.case.composition}
        for each in (before, after)
    )
    names = [*first, *(name for name in second if name not in first)]
    return {name: (first.get(name, 0), second.get(name, 0)) for name in names}
