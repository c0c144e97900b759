"""boundby: what bounds a PyTorch program, and what each fix would buy. Start at ``diagnose.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    __version__: str


def __getattr__(name: str) -> str:
    """Look the version up when it is asked for; importing it costs more than importing boundby."""
    if name == "__version__":
        from importlib.metadata import version  # noqa: PLC0415 -- lazily, see the docstring

        return version("boundby")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
