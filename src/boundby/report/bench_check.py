"""What ``check`` found, as text, JSON or Markdown."""

from __future__ import annotations

import math
from typing import Any

import msgspec

from boundby.bench.agreement import Agreement
from boundby.bench.correctness import Case, Check
from boundby.bench.lint import Finding
from boundby.bench.losscurve import LossCurve
from boundby.bench.streams import CANNOT_SEE, StreamRace
from boundby.errors import UnreadableError
from boundby.report import sanitize
from boundby.report.bench import as_json
from boundby.report.layout import LABEL_WIDTH, Line, Span, line, paragraph, plural, section
from boundby.report.markdown import text
from boundby.report.terminal import Look, draw

SCHEMA_VERSION = 1
SHOWN = 5


def render(found: Check, look: Look) -> str:
    """The report, ending in a newline."""
    width = look.width - LABEL_WIDTH
    count = sum(len(case.agreements) for case in found.cases)
    runs = plural(len(found.cases), "run")
    head: Line = (
        Span(found.word, "class"),
        Span(f": {plural(count, 'tensor')} in {runs}, held to {found.precision}"),
    )
    lines = [
        *section("check", [head]),
        *section("worst", paragraph(_row(*found.worst), width)),
        *section("failed", _failures(found, width)),
        *section("reference", [line(", ".join(dict.fromkeys(c.reference for c in found.cases)))]),
        *section("runs", _runs(found, look)),
        *section(
            "notes",
            [row for each in found.notes for row in paragraph(sanitize.shown(each), width, "dim")],
        ),
    ]
    return draw(lines, look)


def encode(found: Check) -> str:
    """The check as JSON."""
    fields: dict[str, Any] = msgspec.to_builtins(found)
    passed = None if found.is_blind else found.passed
    head = {"schema_version": SCHEMA_VERSION, "kind": "boundby-check", "passed": passed}
    return as_json({**head, **fields})


def markdown(found: Check) -> str:
    """The check as Markdown."""
    rows = [
        f"| {case.inputs} | {case.layout} | {each.name} | {each.error:.2e} "
        f"| {_number(each.baseline)} | {each.limit:.2e} | {'pass' if each.passed else 'fail'} |"
        for case in found.cases
        for each in case.agreements
    ]
    heads = "| inputs | grad_output | tensor | error | baseline | limit | |"
    notes = [f"- {text(note)}" for note in found.notes]
    return "\n".join(
        [
            f"# {found.word}, held to {found.precision}",
            "",
            heads,
            "|" + " --- |" * 7,
            *rows,
            *(["", *notes] if notes else []),
            "",
        ]
    )


def render_training(found: LossCurve, look: Look) -> str:
    """The loss curve of a training check."""
    width = look.width - LABEL_WIDTH
    steps = [
        line(f"{at:4}  {new:12.6g}  {old:12.6g}  {away:8.2%}  {band:8.2%}{_mark(away, band)}")
        for at, (new, old, away, band) in enumerate(
            zip(found.new, found.baseline[0], found.deviation, found.band, strict=True)
        )
    ]
    head = line("step           new      baseline      away    spread", "dim")
    lines = [*section("loss", paragraph(str(found), width)), *section("steps", [head, *steps])]
    return draw(lines, look)


def encode_training(found: LossCurve) -> str:
    """The loss curve as JSON."""
    head = {"schema_version": SCHEMA_VERSION, "kind": "boundby-check-training"}
    fields: dict[str, Any] = msgspec.to_builtins(found)
    return as_json({**head, "passed": found.passed, **fields})


def render_lint(findings: tuple[Finding, ...], look: Look) -> str:
    """Source findings, one a line, as editors read them."""
    rows = [line(sanitize.shown(f"{f.file}:{f.line}: {f.id}: {f.message}")) for f in findings]
    return draw(rows or [line("nothing found")], look)


def encode_lint(findings: tuple[Finding, ...], unread: tuple[UnreadableError, ...] = ()) -> str:
    """Source findings as JSON, and what could not be read."""
    head = {"schema_version": SCHEMA_VERSION, "kind": "boundby-check-lint"}
    passed = None if unread and not findings else not findings
    messages = [each.message for each in unread]
    return as_json({**head, "passed": passed, "findings": findings, "unread": messages})


def encode_races(races: tuple[StreamRace, ...]) -> str:
    """Races between streams as JSON."""
    head = {"schema_version": SCHEMA_VERSION, "kind": "boundby-check-streams"}
    return as_json({**head, "passed": not races, "races": races, "not_seen": CANNOT_SEE})


def render_races(races: tuple[StreamRace, ...], look: Look) -> str:
    """Races between streams, and what could not be seen."""
    rows = [row for race in races for row in paragraph(sanitize.shown(race.message), look.width)]
    seen = rows or [line("no race seen")]
    return draw([*seen, *paragraph(CANNOT_SEE, look.width, "dim")], look)


def _mark(away: float, band: float) -> str:
    return "" if away <= band else "  outside"


def _failures(found: Check, width: int) -> list[Line]:
    """The worst run of each tensor that failed, and how many more there are."""
    failed = found.failures
    worst = list({each.name: (case, each) for case, each in reversed(failed)}.values())[::-1]
    lines = [row for case, each in worst[:SHOWN] for row in paragraph(_row(case, each), width)]
    more = len(failed) - len(worst[:SHOWN])
    return [*lines, line(f"and {more} more", "dim")] if more else lines


def _runs(found: Check, look: Look) -> list[Line]:
    width = look.width - LABEL_WIDTH
    if not look.detail:
        names = dict.fromkeys(case.inputs for case in found.cases)
        layouts = dict.fromkeys(case.layout for case in found.cases)
        return paragraph(f"inputs: {', '.join(names)}; grad_output: {', '.join(layouts)}", width)
    rows = (_row(case, each) for case in found.cases for each in case.agreements)
    return [part for row in rows for part in paragraph(row, width)]


def _row(case: Case, each: Agreement) -> str:
    where = f"{each.name}, {case.inputs}, grad_output {case.layout}"
    if math.isinf(each.error):
        return f"{where}: {each.reason}"
    equal = ", bit for bit the baseline" if each.is_equal else ""
    reason = f"; {each.reason}" if each.reason else ""
    return (
        f"{where}: error {each.error:.2e}, baseline "
        f"{_number(each.baseline)}, limit {each.limit:.2e}{equal}{reason}"
    )


def _number(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.2e}"
