"""Names of files as a shell reads them back."""

from __future__ import annotations

import os
import shlex

_ESCAPED = {"'": "\\'", "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def quoted(path: str) -> str:
    r"""A path as an argument: never taken for an option or for stdin, and printable throughout.

    Where it holds what a terminal does not show, it is quoted as bash, zsh and ksh read it:
    ``$'a\nb'``.
    """
    if path.startswith("-"):
        path = f"./{path}"
    if path.isprintable():
        return shlex.quote(path)
    return "$'" + "".join(map(_escaped, path)) + "'"


def _escaped(character: str) -> str:
    if character in _ESCAPED:
        return _ESCAPED[character]
    if character.isprintable():
        return character
    return "".join(f"\\x{byte:02x}" for byte in os.fsencode(character))
