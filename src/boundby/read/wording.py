"""Words that findings share."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """``1 launch``, ``3 launches``: a number with its noun."""
    if number == 1:
        return f"1 {noun}"
    return f"{number} {noun}{'es' if noun.endswith(('ch', 's', 'sh')) else 's'}"
