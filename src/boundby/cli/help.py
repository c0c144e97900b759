"""Examples in the help of a command."""

from __future__ import annotations


def examples(*commands: str) -> str:
    """An epilog that click leaves as it is written."""
    return "\n".join(["\b", "Example:", *(f"  {command}" for command in commands)])
