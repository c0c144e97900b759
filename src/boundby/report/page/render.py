"""A page as one HTML file: nothing is loaded, nothing of a recording can become markup or code."""

from __future__ import annotations

import base64
import hashlib
import re
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from boundby.report.document import tool_version
from boundby.report.json_text import escape, plain_number
from boundby.report.page.parts import Page

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

FOLDER = Path(__file__).parent.parent.parent / "data" / "page"
LIBRARY = "echarts/echarts.common.min.js"
SCRIPTS = ("common.js", "tables.js", "charts.js", "lanes.js", "main.js")

OPENS_MARKUP = re.compile("[<>&\u2028\u2029]|[^\x00-\x7e]")
"""What must not stand raw inside a script element, and all that is not ASCII."""
SHORT_CODE = 28
"""Characters of code that stay on one line."""


def render(page: Page) -> str:
    """The whole file."""
    library, script = _file(LIBRARY), _script()
    data = {"charts": page.charts, "lanes": page.lanes, "document": page.document}
    template = _environment().get_template("page.html")
    return template.render(
        page=page,
        version=tool_version(),
        policy=policy(library, script),
        style=_trusted(_file("page.css")),
        data=_trusted(as_json(data)),
        library=_trusted(library),
        script=_trusted(script),
    )


def policy(*scripts: str) -> str:
    """What the browser allows: these scripts by their hash, styles of the file, drawn images."""
    hashes = (
        base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode()
        for script in scripts
    )
    allowed = " ".join(f"'sha256-{each}'" for each in hashes)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def as_json(value: object) -> str:
    """JSON that may stand inside a script element: no tag, no line end of JavaScript, ASCII."""
    raw = msgspec.json.encode(value, enc_hook=plain_number).decode("utf-8")
    return OPENS_MARKUP.sub(escape, raw)


@lru_cache(maxsize=1)
def _script() -> str:
    """Our own scripts as one, in a scope of their own."""
    parts = "\n".join(_file(name) for name in SCRIPTS)
    return f'(() => {{\n"use strict";\n{parts}\n}})();\n'


@lru_cache(maxsize=len(SCRIPTS) + 2)
def _file(name: str) -> str:
    return (FOLDER / name).read_text("utf-8")


def _trusted(text: str) -> Markup:
    """Text of the package, or escaped already."""
    from markupsafe import Markup  # noqa: PLC0415 - only pages need templates

    return Markup(text)  # noqa: S704 - files of the package, and JSON without a single tag


@lru_cache(maxsize=1)
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # noqa: PLC0415 - as above

    made = Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["prose"] = _prose
    return made


def _prose(raw: Any) -> Markup:  # noqa: ANN401 - whatever a template holds
    """Text whose backticks mark code."""
    from markupsafe import Markup, escape  # noqa: PLC0415 - as above

    text = str(raw).replace(" -> ", " \u2192 ")
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return escape(text)
    marked = (_code(part) if at % 2 else escape(part) for at, part in enumerate(parts))
    return Markup("").join(marked)


def _code(text: str) -> Markup:
    """Code inside a sentence; what is short does not break over a line."""
    from markupsafe import Markup  # noqa: PLC0415 - as above

    kind = "short" if len(text) <= SHORT_CODE else "long"
    return Markup('<code class="{}">{}</code>').format(kind, text)
