"""How text may look where it goes: a terminal of any width, in colour or not, or a pipe.

The only file that uses rich, and only where styles are wanted: a pipe never waits for its import.
"""

from __future__ import annotations

import io
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TextIO

from boundby.report.layout import Line, plain

PIPE_WIDTH = 100
NARROWEST, WIDEST = 60, 120

STYLES = {
    "class": "bold",
    "label": "dim",
    "dim": "dim",
    "strong": "bold",
    "id": "cyan",
    "code": "green",
    "command": "bold",
    "host": "yellow",
    "device": "blue",
    "fatal": "bold red",
    "warning": "yellow",
    "info": "dim",
    "heading": "bold",
}
"""Styles by role. No meaning is carried by a style alone."""


@dataclass(frozen=True)
class Look:
    """How text may look where it goes.

    Attributes:
        width: Columns.
        styled: Whether escape sequences for styles are allowed.
        unicode: Whether characters outside ASCII are drawn with.
        detail: All evidence, every change in full.
    """

    width: int = PIPE_WIDTH
    styled: bool = False
    unicode: bool = False
    detail: bool = False


def look_at(stream: TextIO, environment: Mapping[str, str], *, detail: bool = False) -> Look:
    """The look that a stream allows: a terminal its width and styles, a pipe neither.

    COLUMNS sets the width of either. NO_COLOR removes all styles; FORCE_COLOR asks for them in a
    pipe too; the first wins.
    """
    is_terminal = stream.isatty()
    forced = environment.get("FORCE_COLOR", "") not in {"", "0"}
    refused = bool(environment.get("NO_COLOR")) or environment.get("TERM") == "dumb"
    return Look(
        width=min(max(_columns(stream, environment), NARROWEST), WIDEST),
        styled=(is_terminal or forced) and not refused,
        unicode=is_terminal and (stream.encoding or "").lower().startswith("utf"),
        detail=detail,
    )


def _columns(stream: TextIO, environment: Mapping[str, str]) -> int:
    """What COLUMNS says, else what the terminal has, else what a pipe gets."""
    told = environment.get("COLUMNS", "")
    if told.isdecimal() and int(told):
        return int(told)
    return shutil.get_terminal_size((PIPE_WIDTH, 24)).columns if stream.isatty() else PIPE_WIDTH


def draw(lines: Iterable[Line], look: Look) -> str:
    """Lines as text, styled where the look allows it."""
    if look.styled:
        return _styled(lines)
    return "".join(f"{plain(row)}\n" for row in lines)


def _styled(lines: Iterable[Line]) -> str:
    from rich.console import Console  # noqa: PLC0415 -- a pipe must not pay for it
    from rich.text import Text  # noqa: PLC0415

    target = io.StringIO()
    console = Console(
        file=target,
        width=WIDEST,  # lines are laid out already
        force_terminal=True,
        color_system="standard",
        legacy_windows=False,
        no_color=False,
        highlight=False,
    )
    for row in lines:
        text = Text()
        for span in row:
            text.append(span.text, STYLES.get(span.style, ""))
        text.rstrip()
        console.print(text, soft_wrap=True)
    return target.getvalue()
