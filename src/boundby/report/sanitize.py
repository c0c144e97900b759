r"""Text from recordings made safe to show: nothing that moves a cursor, reorders or hides text.

Names come from files of strangers. An escape character can rewrite a terminal, a bidirectional
override can show ``nimda`` for ``admin``; both are shown as what they are, ``\x1b`` and ``\u202e``.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

HOME = re.compile(
    r"""(?<![\w.~-])(?:
        (?: [\\/]+homes?
          | (?:[\\/]+[\w.-]+){1,2}?[\\/]+homes?(?=[\\/]+[^\\/\s"']+[^\\/"']*[\\/])
          | (?:[\\/]+(?:private|data|export|mnt|var|nfs|net|(?:mnt[\\/]+)?[a-z]))?[\\/]+users
          | [a-z]:[\\/]+users
          | [\\/]{2}[\w.-]+[\\/]+users
        )
        [\\/]+[^\\/\s"']+(?:(?:\ [^\\/\s"']+){1,2}(?=[\\/]))?
      | /root(?![\w.-])
    )""",
    re.IGNORECASE | re.VERBOSE,
)
"""A home folder: its name is mostly a person's. Where homes are mounted is told by its path."""

QUOTED_HOME = re.compile(r"\$?'~(/)")

CAST = re.compile(r"\((?:unsigned )?(?:bool|char|short|int|long)(?: long)?\)")
"""What a demangler writes before a template argument that is a number."""

ELLIPSIS = "..."
OPENING, CLOSING = "<([{", ">)]}"
WIDE = frozenset("WF")

BUILTIN = re.compile(
    r"[\d(-].*|(?:unsigned )?(?:bool|char|short|int|long|float|double|half|true|false)\b.*"
    r"|c10::\w+|.*ListMetadata(?:<.*>)?"
)
"""Template arguments that say nothing of what a kernel does."""

LONGEST_NAME = 2000
"""Characters of a kernel name that are looked at: real ones are shorter where it matters."""

WRAPPERS = ("gpu_kernel_impl", "ReduceOp", "func_wrapper_t")
"""Templates of the framework that hold the operation as one of their own arguments."""


def visible(text: str) -> str:
    r"""Text on one line with every control, format and unassigned character written out."""
    if text.isprintable():
        return text
    return "".join(_shown(character) for character in text)


def _shown(character: str) -> str:
    if character.isprintable():
        return character
    if unicodedata.category(character) == "Zs":
        return " "
    code = ord(character)
    if code <= 0xFF:  # noqa: PLR2004 -- the reach of a two-digit escape
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"  # noqa: PLR2004 -- likewise four


def private(text: str) -> str:
    """Text with home folders written ``~``: they carry the name of their owner."""
    if "/" not in text and "\\" not in text:
        return text
    return HOME.sub("~", text)


def shown(text: str) -> str:
    """What a report may show of a text that came from a recording."""
    return visible(private(text))


def command(text: str) -> str:
    """A command that can be typed as it is shown: ``~`` stands outside of quotes."""
    return QUOTED_HOME.sub(r"~\1'", shown(text))


def well_formed(text: str) -> str:
    """Text that UTF-8 can hold: lone surrogates become the replacement character."""
    return text.encode("utf-8", "replace").decode("utf-8")


def cells(text: str) -> int:
    """Columns that a text takes on a terminal."""
    if text.isascii():
        return len(text)
    return sum(_cells_of(character) for character in text)


@lru_cache(maxsize=1024)
def _cells_of(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in WIDE else 1


def fit(text: str, width: int) -> str:
    """Text in exactly ``width`` columns: padded, or cut in the middle."""
    text = cut(text, width)
    return text + " " * (width - cells(text))


def cut(text: str, width: int) -> str:
    """Text in at most ``width`` columns; the middle goes, since names differ at their ends."""
    if cells(text) <= width:
        return text
    if width <= len(ELLIPSIS):
        return ELLIPSIS[:width]
    room = width - len(ELLIPSIS)
    return _head(text, room - room // 2) + ELLIPSIS + _head(text[::-1], room // 2)[::-1]


def _head(text: str, width: int) -> str:
    taken = 0
    for index, character in enumerate(text):
        taken += _cells_of(character)
        if taken > width:
            return text[:index]
    return text


def kernel(name: str) -> str:
    """A demangled kernel name without return type, namespaces, arguments and nested templates.

    ``void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>(int)``
    becomes ``vectorized_elementwise_kernel<CUDAFunctor_add>``.
    """
    if ("::" not in name and not name.startswith("void ")) or not set(name) & set("<("):
        return name
    bare = name[:LONGEST_NAME].removeprefix("void ").replace("(anonymous namespace)::", "")
    bare = CAST.sub("", bare)
    base, arguments, rest = _split_template(bare)
    if rest.startswith("::") and len(rest) > len("::"):
        return kernel(rest.removeprefix("::type "))
    short = base.rpartition("::")[2].strip()
    hint = _operation(arguments)
    return f"{short}<{hint}>" if hint and short else short or name


def _operation(arguments: list[str]) -> str:
    """The template argument that names an operation; empty where none does."""
    for argument in arguments:
        if BUILTIN.fullmatch(argument):
            continue
        base, inner, _ = _split_template(argument)
        name = base.rpartition("::")[2].strip()
        return (_operation(inner) or name) if name.startswith(WRAPPERS) else name
    return ""


def _split_template(name: str) -> tuple[str, list[str], str]:
    """The part before the first bracket, its arguments if it is a template, and what follows."""
    start = next((at for at, character in enumerate(name) if character in "<("), len(name))
    if start == len(name) or name[start] == "(":
        return name[:start], [], ""
    arguments, depth, begin = [], 0, start + 1
    for at in range(start, len(name)):
        depth += (name[at] in OPENING) - (name[at] in CLOSING)
        if depth == 0 or (depth == 1 and name[at] == ","):
            arguments.append(name[begin:at].strip())
            begin = at + 1
        if depth == 0:
            return name[:start], arguments, name[at + 1 :]
    return name[:start], arguments, ""
