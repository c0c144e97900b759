"""What to change, for a terminal: the first in full, others as one line each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import shorten

from boundby.diagnose import Diagnosis
from boundby.prescribe.prescription import Prescription
from boundby.report import sanitize, sentences
from boundby.report.code import fold
from boundby.report.layout import (
    Line,
    Space,
    Span,
    entry,
    lead,
    line,
    paragraph,
    plural,
    section,
    wrap,
)

CHANGES_SHOWN = 3
CODE_LINES_SHOWN = 4
COST_LINES_SHOWN = 2
INDENT = 6
"""Columns of the words why, how, stop and cost."""


def changes(diagnosis: Diagnosis, space: Space) -> list[Line]:
    """The first change in full, what could be done instead, and what gains nothing now."""
    paying = [change for change in diagnosis.prescriptions if change.pays]
    idle = [change for change in diagnosis.prescriptions if not change.pays]
    lines = _first(diagnosis, paying, space)
    if space.detail:
        for change in paying[1:]:
            lines += section("or", _in_full(diagnosis, change, space))
    else:
        lines += section("or", _one_a_line(diagnosis, paying[1:], space))
    if idle:
        named = ", ".join(
            f"{change.id} {sentences.step_after(diagnosis, change)}" for change in idle
        )
        text = sanitize.shown(f"less than 2% now: {named}")
        rows = wrap(text, space.width, None if space.detail else 1)
        lines += section("not yet", (line(row, "dim") for row in rows))
    return lines


FREE = "none"
"""A price that is stated where every price is, and takes no line in the short report."""


def _first(diagnosis: Diagnosis, paying: Sequence[Prescription], space: Space) -> list[Line]:
    if paying:
        return section("do first", _in_full(diagnosis, paying[0], space))
    if diagnosis.verdict.name == "undecided":
        return []
    return section("do first", paragraph(sentences.nothing_pays(diagnosis), space.width))


def _in_full(diagnosis: Diagnosis, change: Prescription, space: Space) -> list[Line]:
    name = Span(sanitize.shown(change.id), "id")
    costs = "; ".join(
        f"{kind}: {sanitize.shown(text)}"
        for kind, text in vars(change.costs).items()
        if text and text != FREE
    )
    most = None if space.detail else COST_LINES_SHOWN
    return [
        *lead(name, f": {sanitize.shown(change.title)}", space.width),
        *paragraph(sentences.gain(diagnosis, change), space.width, "strong"),
        *_beside("why", sentences.why(change), space),
        *_code(change, space),
        *_beside("stop", sanitize.shown(change.stop_when), space),
        *(_beside("cost", costs, space, most) if costs else []),
    ]


def _beside(word: str, text: str, space: Space, most: int | None = None) -> list[Line]:
    return entry(Span(word, "dim"), text, space.width, column=INDENT, most=most)


def _code(change: Prescription, space: Space) -> Iterator[Line]:
    """The code of a change; what does not fit is counted."""
    code = fold(sanitize.private(change.how), space.width - INDENT)
    if len(code) > CODE_LINES_SHOWN and not space.detail:
        shown = CODE_LINES_SHOWN - 1
        more = f"... {plural(len(code) - shown, 'more line')}: boundby explain "
        rows = [*code[:shown], more + sanitize.shown(change.id)]
    else:
        rows = code
    for at, row in enumerate(rows):
        head = Span(("how" if at == 0 else "").ljust(INDENT), "dim")
        yield (head, Span(sanitize.visible(row), "code" if row in code else "dim"))


def _one_a_line(diagnosis: Diagnosis, others: Sequence[Prescription], space: Space) -> list[Line]:
    """Each with the step after it alone, since their gains do not add up."""
    shown = others[:CHANGES_SHOWN]
    column = max((len(change.id) for change in shown), default=0) + 2
    told = [_alone(diagnosis, change) for change in shown]
    figures = max(map(len, told), default=0) + 2
    body: list[Line] = []
    for change, figure in zip(shown, told, strict=True):
        room = space.width - column - figures
        title = shorten(sanitize.shown(change.title), room, placeholder=" ...")
        body.append((Span(change.id.ljust(column), "id"), Span(figure.ljust(figures) + title)))
        body += [
            line(" " * column + row, "dim")
            for row in wrap(sentences.before(change), space.width - column)
            if row
        ]
    if len(others) > len(shown):
        rest = len(others) - len(shown)
        body.append(line(f"and {plural(rest, 'more change')}: --verbose", "dim"))
    return body


def _alone(diagnosis: Diagnosis, change: Prescription) -> str:
    """``alone: 24.5 ms``; without the word where something has to be done before."""
    after = sentences.step_after(diagnosis, change)
    return after if change.predicted_ms is None or sentences.before(change) else f"alone: {after}"
