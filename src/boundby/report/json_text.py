"""Texts and numbers as the JSON documents of every command hold them: masked, escaped, ASCII."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from boundby.report.sanitize import command as typed_command
from boundby.report.sanitize import private, well_formed

OUTSIDE_ASCII = re.compile(r"[^\x00-\x7e]")
HIGHEST_SINGLE_UNIT = 0xFFFF

Object = dict[str, Any]


def encoded(values: Object, *, on_one_line: bool = False) -> str:
    """Plain values as ASCII text that ends in a newline."""
    raw = msgspec.json.encode(values, enc_hook=plain_number)
    raw = raw if on_one_line else msgspec.json.format(raw, indent=2)
    return OUTSIDE_ASCII.sub(escape, raw.decode("utf-8")) + "\n"


def text(raw: str) -> str:
    """A text of a recording, fit for a report: well-formed, personal folders masked."""
    return private(well_formed(raw))


def text_or_none(raw: str | None) -> str | None:
    """The same; unknown stays unknown."""
    return None if raw is None else text(raw)


def texts(fields: Object) -> Object:
    """The same fields with every text fit for a report."""
    return {key: text(value) if isinstance(value, str) else value for key, value in fields.items()}


def all_texts(value: Any) -> Any:  # noqa: ANN401 -- any JSON value
    """The same value with every text fit for a report, at any depth."""
    if isinstance(value, str):
        return text(value)
    if isinstance(value, dict):
        return {key: all_texts(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [all_texts(each) for each in value]
    return value


def typed(command: str, question: str) -> Object:
    """A next command as it can be typed: its path is not shortened."""
    return {"command": typed_command(well_formed(command)), "question": text(question)}


def plain_number(value: object) -> object:
    """A numpy scalar as the Python number it holds."""
    item = getattr(value, "item", None)
    if item is None:
        raise NotImplementedError(f"no JSON for {type(value).__name__}")
    return item()


def escape(match: re.Match[str]) -> str:
    """A character as JSON escapes; outside the first plane as a surrogate pair."""
    code = ord(match[0])
    if code <= HIGHEST_SINGLE_UNIT:
        return f"\\u{code:04x}"
    high, low = divmod(code - 0x10000, 0x400)
    return f"\\u{0xD800 + high:04x}\\u{0xDC00 + low:04x}"
