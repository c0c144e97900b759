"""The page of a report that has no pictures: its text, kept as it is."""

from __future__ import annotations

from boundby.report.page.parts import Page, Panel, code
from boundby.report.page.render import render


def text_page(title: str, text: str) -> str:
    """A whole page around the text of a report."""
    panel = Panel("report", title, (code(text.rstrip("\n")),))
    return render(Page(title, "", (panel,)))
