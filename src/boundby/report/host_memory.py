"""The memory of the host as text: of a run, and of a loader."""

from __future__ import annotations

from collections.abc import Iterator

from boundby.memory.facts import size_text
from boundby.memory.host import HostUse
from boundby.report import sanitize
from boundby.report.layout import Line, Span, entry, line, paragraph


def rows(use: HostUse, width: int) -> list[Line]:
    """Figures, facts, and what to do."""
    text = "; ".join(_figures(use))
    body = paragraph(text, width) if text else []
    column = max((len(fact.id) for fact in use.facts), default=0) + 2
    for fact in use.facts:
        words = sanitize.shown(fact.text)
        words += "" if fact.trust == "measured" else f" [{fact.trust}]"
        body += entry(Span(fact.id, "id"), words, width, column=column)
    for remedy in use.prescriptions:
        body += entry(Span(remedy.id, "id"), remedy.title, width, column=len(remedy.id) + 2)
        body += [line(f"    {row}", "code") for row in remedy.how.splitlines()]
        body += paragraph(f"costs: time: {remedy.costs.time}; why: {remedy.why}", width, "dim")
    return body


def _figures(use: HostUse) -> Iterator[str]:
    if use.main_peak is not None:
        yield f"{size_text(use.main_peak)} resident in the program at most"
    if use.workers:
        own = f" with up to {size_text(use.worker_peak)} of their own" if use.worker_peak else ""
        own = own if use.workers > 1 else own.replace("their", "its")
        yield f"{use.workers} child process{'' if use.workers == 1 else 'es'}{own}"
    if use.available_least is not None and use.total is not None:
        yield f"{size_text(use.available_least)} of {size_text(use.total)} available at least"
