"""The keys of the JSON documents, made from the schemas that ship with the package."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boundby

DATA = Path(boundby.__file__).parent / "data"
SCHEMAS = {
    "boundby trace, run and demo": "schema-v1.json",
    "boundby memory": "memory-schema-v1.json",
    "boundby kernel": "schema-kernel-v1.json",
}
OPENING = """\
# JSON documents

Made from the JSON schemas (draft 2020-12) that ship with the package. Unknown is `null`, never 0.
Times end in their unit, shares are fractions of 1. `schema_version` rises when a key changes its
meaning or goes away; new keys alone do not raise it. What each word means stands under
[json](words.md#json).

"""

Schema = dict[str, Any]


def document_page() -> str:
    """Every key of every document that has a schema."""
    return OPENING + "\n".join(_section(title, file) for title, file in SCHEMAS.items())


def _section(title: str, file: str) -> str:
    schema = json.loads((DATA / file).read_text("utf-8"))
    rows = (f"| `{path}` | {kind} | {words} |" for path, kind, words in keys(schema))
    table = "\n".join(("| key | type | meaning |", "| --- | --- | --- |", *rows))
    return (
        f"## {title}\n\n{schema.get('description', '')} The schema is `data/{file}`.\n\n{table}\n"
    )


def keys(schema: Schema) -> Iterator[tuple[str, str, str]]:
    """Path, type and meaning of each key, in the order of the document."""
    yield from _keys(schema, "", schema.get("$defs", {}))


def _keys(part: Schema, path: str, known: Schema) -> Iterator[tuple[str, str, str]]:
    for name, child in part.get("properties", {}).items():
        whole = _resolved(child, known)
        here = f"{path}{name}"
        yield here, _kind(whole), _cell(whole.get("description", ""))
        yield from _keys(whole, f"{here}.", known)
        items = _resolved(whole.get("items", {}), known)
        yield from _keys(items, f"{here}[].", known)


def _resolved(part: Schema, known: Schema) -> Schema:
    """A part with its reference and its one alternative to null merged in."""
    if "$ref" in part:
        part = known[part["$ref"].rpartition("/")[2]] | {
            k: v for k, v in part.items() if k != "$ref"
        }
    choices = part.get("anyOf") or part.get("oneOf")
    if not choices:
        return part
    chosen = next((_resolved(each, known) for each in choices if each.get("type") != "null"), {})
    return (
        chosen | {"nullable": True} | {k: v for k, v in part.items() if k not in {"anyOf", "oneOf"}}
    )


def _kind(part: Schema) -> str:
    if "enum" in part:
        kinds = ["null" if each is None else f"`{each}`" for each in part["enum"]]
    elif "const" in part:
        kinds = [f"`{part['const']}`"]
    else:
        told = part.get("type", "any")
        kinds = told if isinstance(told, list) else [told]
    return ", ".join([*kinds, *(["null"] if part.get("nullable") and "null" not in kinds else [])])


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
