"""Lines of the user's own source around what a finding may be about."""

from __future__ import annotations

from collections.abc import Sequence

from boundby.evidence.facts import Place
from boundby.evidence.source_lines import candidate_lines, source_at_hand
from boundby.evidence.tables import SyncRow
from boundby.frozen import frozen

AROUND = 2
"""Lines shown before and after a line."""
MOST_LINES = 24
"""Lines of one excerpt."""


@frozen
class Excerpt:
    """Some lines of a file.

    Attributes:
        kind: Of the wait they may be about.
        rows: Number, text, and whether the line fits the finding.
    """

    kind: str
    place: Place
    rows: tuple[tuple[int, str, bool], ...]


def excerpts(syncs: Sequence[SyncRow], recording: str) -> tuple[Excerpt, ...]:
    """The lines of each kind of wait; only of files below the working directory.

    A file that is newer than the recording is left alone: its lines may have moved.

    Args:
        recording: Path of the recording.
    """
    found = [_excerpt(row.kind, place, recording) for row in syncs for place in row.where]
    return tuple(dict.fromkeys(each for each in found if each is not None))


def _excerpt(kind: str, place: Place, recording: str) -> Excerpt | None:
    fits = (place.line,) if place.exact else candidate_lines(place, kind, recording)
    text = source_at_hand(place.file, recording) if fits else None
    if text is None:
        return None
    lines = text.splitlines()
    marked = {line for line in fits if 0 < line <= len(lines)}
    near = {n for line in marked for n in range(line - AROUND, line + AROUND + 1)}
    shown = sorted(near & set(range(1, len(lines) + 1)))[:MOST_LINES]
    rows = tuple((number, lines[number - 1], number in marked) for number in shown)
    return Excerpt(kind, place, rows) if rows else None
