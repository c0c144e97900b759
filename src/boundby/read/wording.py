"""Words that findings share."""

from __future__ import annotations

VOWELS = tuple("aeiou")


def counted(number: int, noun: str) -> str:
    """``1 launch``, ``3 launches``, ``3 entries``: a number with its noun."""
    if number == 1:
        return f"1 {noun}"
    if noun.endswith("y") and noun[-2:-1] not in VOWELS:
        return f"{number} {noun[:-1]}ies"
    return f"{number} {noun}{'es' if noun.endswith(('ch', 's', 'sh')) else 's'}"
