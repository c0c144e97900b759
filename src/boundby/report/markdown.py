"""The report as Markdown: the same values as in the terminal, as tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from boundby.diagnose import Diagnosis
from boundby.prescribe.prescription import Prescription
from boundby.report import numbers, roofline_markdown, sanitize, sentences
from boundby.verdict.decision import Rung

SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~!])")
FENCE = "```"
OPS_SHOWN = 20


def render(diagnosis: Diagnosis, opening: Sequence[str] = ()) -> str:
    """The whole report, ending in a newline.

    Args:
        opening: What else is known before any figure: an item each.
    """
    parts = (
        _verdict(diagnosis),
        items(opening),
        _step(diagnosis),
        _waterfall(diagnosis),
        _because(diagnosis),
        _ladder(diagnosis),
        _changes(diagnosis),
        _tables(diagnosis),
        roofline_markdown.section(diagnosis.roofline, table, code, text),
        _quality(diagnosis),
        _path(diagnosis),
        _next(diagnosis),
    )
    return "\n\n".join("\n".join(part) for part in map(list, parts) if part) + "\n"


def text(raw: str) -> str:
    """Text in which Markdown and HTML see no markup."""
    return SPECIAL.sub(r"\\\1", sanitize.shown(raw))


def code(raw: str) -> str:
    """A name as code, fit for a table cell."""
    return f"`{sanitize.shown(raw).replace('`', chr(39)).replace('|', chr(92) + '|')}`"


def typed(command: str) -> str:
    """A command as code."""
    return f"`{sanitize.command(command).replace('`', chr(39))}`"


def as_drawn(title: str, report: str) -> str:
    """A report that has no Markdown of its own, under a title, as it is drawn."""
    return "\n".join([f"# {text(title)}", "", *fenced(report, "text"), ""])


def items(said: Iterable[str]) -> list[str]:
    """A list of sentences."""
    return [f"- {text(each)}" for each in said]


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A table whose first column is text and whose others are figures; empty without rows."""
    lines = [f"| {' | '.join(row)} |" for row in rows]
    rule = ["---", *["---:"] * (len(heads) - 1)]
    return [f"| {' | '.join(heads)} |", f"| {' | '.join(rule)} |", *lines] if lines else []


def _verdict(diagnosis: Diagnosis) -> Iterator[str]:
    found, second = diagnosis.verdict, sentences.runner_up(diagnosis)
    yield f"# {found.name}{f', {found.strength}' if found.strength else ''}"
    yield ""
    yield _prose(sentences.meaning(diagnosis))
    more = (
        f"Cause: {code(found.cause)}." if found.cause else "",
        f"Runner-up: {second}." if second else "",
        sentences.rule(diagnosis),
        _sentence(sentences.doubt(diagnosis)),
        _sentence(sentences.ranks(diagnosis)),
    )
    yield from (f"\n{each}" for each in more if each)


def _prose(raw: str) -> str:
    """A sentence of a topic, in which backticks already mark code."""
    parts = raw.split("`")
    if len(parts) % 2 == 0:
        return text(raw)
    return "".join(code(part) if at % 2 else text(part) for at, part in enumerate(parts))


def _sentence(raw: str) -> str:
    return f"{text(raw[:1].upper() + raw[1:])}." if raw else ""


def _step(diagnosis: Diagnosis) -> list[str]:
    times, device = diagnosis.steps, diagnosis.device
    free = times.unprofiled_ms
    spread = f" ({numbers.between(free.low, free.high)})" if free else ""
    how = diagnosis.calibration
    calibration = sentences.CALIBRATIONS[how.source] + sentences.scales(how)
    rows = [
        ("Step without the profiler", f"{numbers.ms(free.estimate if free else None)}{spread}"),
        ("Calibration", calibration),
        ("Step as observed", numbers.ms(times.drained_ms)),
        ("The same with a full queue", numbers.ms(times.steady_ms)),
        ("Steps", f"{times.count} by {text(times.source)}"),
        ("Device busy without the profiler", numbers.share(device.busy_share_unprofiled)),
        ("Device busy as recorded", numbers.share(device.busy_share_observed)),
        ("Device work", f"{numbers.ms(device.ms_per_step)} a step"),
        ("Launches", f"{numbers.count(device.launches_per_step)} a step"),
        ("Device", text(diagnosis.caliber.device or numbers.UNKNOWN)),
        ("torch", text(diagnosis.caliber.torch or numbers.UNKNOWN)),
        ("Recording", f"{code(diagnosis.source.path)} ({text(diagnosis.source.format)})"),
    ]
    return ["## Step", "", *table(("", ""), rows)]


def _waterfall(diagnosis: Diagnosis) -> list[str]:
    whole = sum(part.ms for part in diagnosis.waterfall)
    rows = [
        (part.part, numbers.ms(part.ms, whole), numbers.share(part.share))
        for part in diagnosis.waterfall
    ]
    return _titled("## Where the step goes", table(("part", "time", "share"), rows))


def _because(diagnosis: Diagnosis) -> list[str]:
    deciding = sentences.deciding(diagnosis)
    facts = [*deciding, *(fact for fact in diagnosis.evidence if fact not in deciding)]
    lines = []
    for fact in facts:
        mark = "**decides** " if fact in deciding else ""
        places = [f"{text(place.file)}:{place.line} {code(place.function)}" for place in fact.where]
        where = f" At {', '.join(places)}." if places else ""
        lines.append(
            f"- {mark}{code(fact.id)} {_prose(sentences.fact(fact))}{where} ({fact.trust})"
        )
    return _titled("## Evidence", lines)


def _ladder(diagnosis: Diagnosis) -> list[str]:
    rows = [
        (
            rung.name,
            code(rung.fix) if rung.fix else "",
            numbers.ms(rung.step_ms),
            _pays(rung),
        )
        for rung in diagnosis.ladder
    ]
    return _titled("## Ladder", table(("bound by", "fix", "step after it", "pays now"), rows))


def _pays(rung: Rung) -> str:
    if not rung.fix:
        return "the floor"
    return "yes" if rung.pays else "not yet"


def _changes(diagnosis: Diagnosis) -> list[str]:
    lines: list[str] = []
    for change in diagnosis.prescriptions:
        lines += [*_change(diagnosis, change), ""]
    return _titled("## What to do", lines[:-1])


def _change(diagnosis: Diagnosis, change: Prescription) -> Iterator[str]:
    gain = sentences.gain(diagnosis, change)
    yield f"### {text(change.title)} {code(change.id)}"
    yield ""
    yield f"- Why: {_prose(sentences.why(change))}"
    yield f"- Step after it alone: {gain}{'' if change.pays else '; gains less than 2% now'}"
    yield f"- Stop when {text(change.stop_when)}"
    yield from (
        f"- Costs, {name}: {text(cost)}" for name, cost in vars(change.costs).items() if cost
    )
    yield ""
    yield from fenced(change.how)


def fenced(raw: str, language: str = "python") -> Iterator[str]:
    """Code between fences that no line of it can close."""
    rows = [sanitize.shown(row.expandtabs(4)) for row in raw.splitlines()]
    fence = FENCE
    while any(row.lstrip().startswith(fence) for row in rows):
        fence += "`"
    yield from (f"{fence}{language}", *rows, fence)


def _tables(diagnosis: Diagnosis) -> list[str]:
    heads = ("op", "calls", "host self", "host total", "device self", "device total")
    ops = [
        (
            code(sanitize.kernel(row.name)),
            numbers.count(row.calls),
            numbers.ms(row.self_host_ms),
            numbers.ms(row.total_host_ms),
            numbers.ms(row.self_device_ms),
            numbers.ms(row.total_device_ms),
        )
        for row in diagnosis.ops[:OPS_SHOWN]
    ]
    waits = [
        (code(row.kind), numbers.count(row.count_per_step), numbers.ms(row.cost_ms))
        for row in diagnosis.syncs
    ]
    lines = _titled("## Operators, per step", table(heads, ops))
    both = [""] if lines and waits else []
    return [
        *lines,
        *both,
        *_titled("## Host waits, per step", table(("kind", "count", "cost"), waits)),
    ]


def _quality(diagnosis: Diagnosis) -> list[str]:
    lines = [
        f"- {finding.severity}: {code(finding.id)} {text(finding.message)}"
        for finding in diagnosis.quality
    ]
    return _titled("## About the recording", lines)


def _path(diagnosis: Diagnosis) -> list[str]:
    path = diagnosis.path
    if path is None:
        return []
    lines = [f"{at}. {text(sentences.fork(fork))}" for at, fork in enumerate(path.forks, 1)]
    lines.append(f"{len(path.forks) + 1}. {text(path.leaf)}")
    if path.disagreement:
        lines += ["", f"It differs from the verdict: {text(path.disagreement)}"]
    return _titled("## Path through the decision tree", lines)


def _next(diagnosis: Diagnosis) -> list[str]:
    lines = [f"- {typed(each.command)} {text(each.question)}" for each in diagnosis.next]
    return _titled("## Next", lines)


def _titled(title: str, lines: Sequence[str]) -> list[str]:
    return [title, "", *lines] if lines else []
