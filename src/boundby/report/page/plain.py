"""The page of a report that has no pictures: its text, kept as it is."""

from __future__ import annotations

import re

from boundby.report.page.parts import Page, Panel, code
from boundby.report.page.render import render

VERDICT = re.compile(r"verdict +([^;\n]+)")


def text_page(title: str, text: str) -> str:
    """A whole page around the text of a report, its verdict first where it has one."""
    found = VERDICT.match(text)
    panel = Panel("report", found[1] if found else title, (code(text.rstrip("\n")),), short=title)
    return render(Page(title, "", (panel,)))
