"""The report on memory as Markdown: the text report with its sections as headings."""

from __future__ import annotations

from boundby.memory.diagnose import MemoryDiagnosis
from boundby.memory.facts import size_text
from boundby.memory.message import TextDiagnosis
from boundby.report import numbers
from boundby.report.markdown import code, table, text
from boundby.report.memory_text import PAYS, meaning, place


def render(diagnosis: MemoryDiagnosis | TextDiagnosis, title: str = "", level: str = "#") -> str:
    """The whole report, ending in a newline.

    Args:
        title: What stands before the class in the first heading.
        level: The mark of the first heading; further ones lie below it.
    """
    verdict = diagnosis.verdict
    strength = f", {verdict.strength}" if verdict.strength else ""
    parts = [
        [
            f"{level} {title}{verdict.name}{strength}",
            "",
            text(meaning(verdict)),
        ],
        [f"Cause: {code(verdict.cause)}."] if verdict.cause else [],
    ]
    if isinstance(diagnosis, MemoryDiagnosis):
        parts += [_composition(diagnosis, level), _holders(diagnosis, level)]
    facts = [[code(fact.id), text(fact.text), fact.trust] for fact in diagnosis.evidence]
    parts.append(_section(f"{level}# Because", table(["fact", "value", "trust"], facts)))
    parts += [_remedies(diagnosis, level)]
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def _section(title: str, body: list[str]) -> list[str]:
    return [title, "", *body] if body else []


def _composition(diagnosis: MemoryDiagnosis, level: str) -> list[str]:
    case = diagnosis.case
    whole = case.peak.reserved or 1
    rows = [
        [share.part, size_text(share.bytes), numbers.share(share.bytes / whole), share.confidence]
        for share in case.composition
        if share.bytes is not None
    ]
    return _section(f"{level}# Made of", table(["part", "size", "share", "confidence"], rows))


def _holders(diagnosis: MemoryDiagnosis, level: str) -> list[str]:
    rows = []
    for holder in diagnosis.case.peak.holders:
        origin = holder.origin
        where = (
            code(place(origin.place))
            if origin.place
            else text(origin.op or origin.phase.name.lower())
        )
        rows.append([where, holder.part, str(holder.blocks), size_text(holder.bytes)])
    return _section(f"{level}# Held by", table(["line", "part", "blocks", "size"], rows))


def _remedies(diagnosis: MemoryDiagnosis | TextDiagnosis, level: str) -> list[str]:
    body: list[str] = []
    for remedy in diagnosis.prescriptions:
        saves = f", saves up to {size_text(remedy.saves)}" if remedy.saves else ""
        body += [
            f"{level}## {remedy.id}{saves}",
            "",
            text(remedy.title),
            "",
            "```python",
            *remedy.how.splitlines(),
            "```",
            "",
        ]
        prices = "; ".join(
            f"{name}: {price}" for name, price in vars(remedy.costs).items() if price
        )
        body += [text(f"Costs: {prices}. Stop when {remedy.stop_when}."), ""]
        body += [text(f"{PAYS[remedy.pays].capitalize()}: {remedy.trade}."), ""] * bool(
            remedy.trade
        )
    return _section(f"{level}# Do", body)
