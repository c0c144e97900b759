"""The report as Markdown: the same values as in the terminal, as tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from boundby.diagnose import Diagnosis
from boundby.prescribe.prescription import Prescription
from boundby.report import numbers, sanitize
from boundby.report.blocks import CALIBRATIONS
from boundby.topics import summary
from boundby.verdict.decision import Rung

SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~!])")
OPS_SHOWN = 20


def render(diagnosis: Diagnosis) -> str:
    """The whole report, ending in a newline."""
    parts = (
        _verdict(diagnosis),
        _step(diagnosis),
        _waterfall(diagnosis),
        _because(diagnosis),
        _ladder(diagnosis),
        _prescriptions(diagnosis),
        _tables(diagnosis),
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


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A table whose first column is text and whose others are figures; empty without rows."""
    lines = [f"| {' | '.join(row)} |" for row in rows]
    rule = ["---", *["---:"] * (len(heads) - 1)]
    return [f"| {' | '.join(heads)} |", f"| {' | '.join(rule)} |", *lines] if lines else []


def _verdict(diagnosis: Diagnosis) -> Iterator[str]:
    found = diagnosis.verdict
    yield f"# {found.name}{f', {found.strength}' if found.strength else ''}"
    yield ""
    yield text(found.undecided_reason or summary(found.name))
    if found.cause:
        yield f"\nCause: {code(found.cause)}."
    if found.runner_up:
        second = found.runner_up
        yield f"\nRunner-up: {second.name}, {numbers.share(second.share)} of the step."


def _step(diagnosis: Diagnosis) -> list[str]:
    times, device = diagnosis.steps, diagnosis.device
    free = times.unprofiled_ms
    spread = f" ({numbers.between(free.low, free.high)})" if free else ""
    calibration = CALIBRATIONS[diagnosis.calibration.source]
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
    rows = [
        (part.part, numbers.ms(part.ms), numbers.share(part.share)) for part in diagnosis.waterfall
    ]
    return _titled("## Where the step goes", table(("part", "time", "share"), rows))


def _because(diagnosis: Diagnosis) -> list[str]:
    deciding = diagnosis.verdict.because
    facts = sorted(diagnosis.evidence, key=lambda fact: fact.id not in deciding)
    lines = []
    for fact in facts:
        mark = "**decides** " if fact.id in deciding else ""
        places = [f"{text(place.file)}:{place.line} {code(place.function)}" for place in fact.where]
        where = f" At {', '.join(places)}." if places else ""
        lines.append(f"- {mark}{code(fact.id)} {text(fact.text)}{where} ({fact.trust})")
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


def _prescriptions(diagnosis: Diagnosis) -> list[str]:
    lines: list[str] = []
    for change in diagnosis.prescriptions:
        lines += [*_prescription(change), ""]
    return _titled("## What to do", lines[:-1])


def _prescription(change: Prescription) -> Iterator[str]:
    spread = numbers.between(change.low, change.high)
    gain = f"{numbers.ms(change.predicted_ms)}{f' ({spread})' if spread else ''}"
    yield f"### {text(change.title)} {code(change.id)}"
    yield ""
    yield f"- Why: {text(change.why)}"
    yield f"- Step after it: {gain}{'' if change.pays else '; gains less than 2% now'}"
    yield f"- Stop when {text(change.stop_when)}"
    yield from (
        f"- Costs, {name}: {text(cost)}" for name, cost in vars(change.costs).items() if cost
    )
    yield ""
    yield from (f"    {sanitize.shown(row.expandtabs(4))}" for row in change.how.splitlines())


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
    lines = [
        f"{at}. {text(fork.question)}: {text(fork.answer)}" for at, fork in enumerate(path.forks, 1)
    ]
    lines.append(f"{len(path.forks) + 1}. {text(path.leaf)}")
    if path.disagreement:
        lines += ["", f"It differs from the verdict: {text(path.disagreement)}"]
    return _titled("## Path through the decision tree", lines)


def _next(diagnosis: Diagnosis) -> list[str]:
    lines = [f"- {code(each.command)} {text(each.question)}" for each in diagnosis.next]
    return _titled("## Next", lines)


def _titled(title: str, lines: Sequence[str]) -> list[str]:
    return [title, "", *lines] if lines else []
