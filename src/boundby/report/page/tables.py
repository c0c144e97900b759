"""Tables of the page: operators, ranges, waits with the lines they happen on, all facts."""

from __future__ import annotations

from collections.abc import Sequence

from boundby.diagnose import Diagnosis
from boundby.evidence.excerpts import Excerpt
from boundby.evidence.facts import Evidence, Place
from boundby.evidence.tables import OpRow
from boundby.report import numbers, sanitize, sentences
from boundby.report.layout import plural
from boundby.report.page.parts import (
    Block,
    Cell,
    Head,
    figure,
    folded,
    heading,
    missing,
    named,
    table,
    words,
)

OPS = (
    Head("operator or call", "name"),
    Head("calls"),
    Head("host self, ms", order="descending"),
    Head("host total, ms"),
    Head("device self, ms"),
    Head("device total, ms"),
    Head("host self, us a call"),
)
WAITS = (
    Head("kind", "name"),
    Head("a step", order="descending"),
    Head("queued then, ms"),
    Head("cost, ms"),
    Head("where", "text"),
)
RANGES = (Head("range", "name"), Head("count"), Head("host, ms"), Head("device, ms"))


def operators(diagnosis: Diagnosis) -> list[Block]:
    """Operators and launch calls."""
    if not diagnosis.ops:
        return [missing("No operators: none was recorded inside the steps.")]
    rows = sorted(diagnosis.ops, key=lambda row: -row.self_host_ms)
    return [table("ops", "Operators and calls, a step", OPS, map(_op, rows))]


def _op(row: OpRow) -> tuple[Cell, ...]:
    each = row.self_host_ms * 1000 / row.calls if row.calls else None
    return (
        named(row.name),
        figure(row.calls, numbers.count(row.calls)),
        figure(row.self_host_ms),
        figure(row.total_host_ms),
        figure(row.self_device_ms),
        figure(row.total_device_ms),
        figure(each),
    )


def ranges(diagnosis: Diagnosis) -> list[Block]:
    """Named ranges and phases; nothing where none was recorded."""
    rows = [
        (
            named(row.name),
            figure(row.count, numbers.count(row.count)),
            figure(row.host_ms),
            figure(row.device_ms),
        )
        for row in diagnosis.ranges
    ]
    return [table("ranges", "Named ranges and phases, a step", RANGES, rows)] if rows else []


def waits(diagnosis: Diagnosis, excerpts: Sequence[Excerpt]) -> list[Block]:
    """Kinds of host wait with their places, and the user's own lines there."""
    if not diagnosis.syncs:
        return [missing("No waits: none was seen inside the steps.")]
    rows = [
        (
            Cell(row.kind),
            figure(row.count_per_step, numbers.count(row.count_per_step)),
            figure(row.outstanding_device_ms),
            figure(row.cost_ms),
            words("; ".join(map(place, row.where)) or "not recorded: with_stack=True records it"),
        )
        for row in diagnosis.syncs
    ]
    return [table("waits", "Host waits, a step", WAITS, rows), *sources(excerpts)]


def place(where: Place) -> str:
    """``step, train.py:42``; told apart where the line is that of the definition."""
    inside = "" if where.exact else "inside "
    return sanitize.shown(f"{inside}{where.function}, {where.file}:{where.line}")


def sources(excerpts: Sequence[Excerpt]) -> list[Block]:
    """The user's lines that a finding may be about, marked, with those around them."""
    if not excerpts:
        return []
    blocks: list[Block] = [heading("Lines it may be")]
    for each in excerpts:
        title = sanitize.shown(f"{each.kind}: {each.place.function}, {each.place.file}")
        rows = [(number, sanitize.visible(text), marked) for number, text, marked in each.rows]
        blocks.append({"kind": "source", "title": title, "rows": rows})
    return blocks


def facts(diagnosis: Diagnosis) -> list[Block]:
    """All facts; those the verdict rests on first, and marked."""
    deciding = sentences.deciding(diagnosis)
    others = [fact for fact in diagnosis.evidence if fact not in deciding]
    if not deciding and not others:
        return [missing("No facts: nothing could be measured.")]
    more = [fact_list(others)]
    if deciding:
        more = [folded(f"{plural(len(others), 'more fact')}", *more)]
    return [
        *([fact_list(deciding)] if deciding else []),
        *(more if others else []),
    ]


def fact_list(found: Sequence[Evidence]) -> Block:
    """Facts, one a line, with how far to trust them."""
    rows = []
    for fact in found:
        where = sentences.place(fact)
        text = sentences.fact(fact) + (f" ({where})" if where else "")
        rows.append({"id": sanitize.shown(fact.id), "text": text, "tag": fact.trust, "style": ""})
    return {"kind": "facts", "rows": rows}
