"""The report on memory as text: the verdict first, the next command to type last."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from boundby.memory.composition import Share
from boundby.memory.diagnose import MemoryDiagnosis
from boundby.memory.facts import Place, size_text
from boundby.memory.message import TextDiagnosis
from boundby.memory.remedies import Remedy
from boundby.memory.verdicts import Verdict
from boundby.read.recording import Quality
from boundby.report import numbers, sanitize
from boundby.report.layout import (
    BLANK,
    LABEL_WIDTH,
    Line,
    Span,
    entry,
    lead,
    line,
    paragraph,
    section,
    wrap,
)
from boundby.report.memory_next import NextCommand, next_commands, next_for_text
from boundby.report.memory_pictures import Canvas, curve, segments
from boundby.report.terminal import Look, draw
from boundby.topics import summary

HOLDERS_SHOWN = 5
HOLDER_COLUMN, HOLDER_LINES = 10, 2
REMEDIES_SHOWN = 4
BAR_WIDTH = 24
LEAST_SHOWN = 0.005
PAYS = {True: "pays", False: "does not pay", None: "whether it pays"}


@dataclass(frozen=True)
class Pictures:
    """Which pictures to draw: the curve over the history, the map of segments."""

    curve: bool = True
    map: bool = False


def render(
    diagnosis: MemoryDiagnosis | TextDiagnosis, look: Look, pictures: Pictures | None = None
) -> str:
    """The whole report, ending in a newline."""
    width = look.width - LABEL_WIDTH
    if isinstance(diagnosis, TextDiagnosis):
        groups = _text_groups(diagnosis, width, detail=look.detail)
    else:
        canvas = Canvas(width, look.unicode)
        groups = _groups(diagnosis, canvas, pictures or Pictures(), detail=look.detail)
    lines: list[Line] = []
    for group in filter(None, groups):
        lines += [BLANK, *group] if lines else group
    return draw(lines, look)


def _groups(
    diagnosis: MemoryDiagnosis, canvas: Canvas, pictures: Pictures, *, detail: bool
) -> Iterable[list[Line]]:
    width = canvas.width
    yield verdict(diagnosis.verdict, width)
    yield [*figures(diagnosis, width), *_others(diagnosis, width)]
    if pictures.curve and len(diagnosis.case.history.events):
        yield section("over time", curve(diagnosis.timeline, canvas))
    yield composition(diagnosis.case.composition)
    yield holders(diagnosis, width)
    yield because(diagnosis, width, detail=detail)
    yield remedies(diagnosis.prescriptions, width, detail=detail)
    if pictures.map:
        yield section("segments", segments(diagnosis.segments, canvas))
    yield quality(diagnosis.quality, width)
    yield following(next_commands(diagnosis), width)


def _text_groups(diagnosis: TextDiagnosis, width: int, *, detail: bool) -> Iterable[list[Line]]:
    yield verdict(diagnosis.verdict, width)
    message = diagnosis.message
    where = f"line {message.line}" + (f", rank {message.rank}" if message.rank is not None else "")
    count = sum(each.count for each in diagnosis.messages)
    text = f"{message.backend}, {where}"
    if count > 1:
        text += f"; {count} in the text, {len(diagnosis.messages)} different"
    yield section("message", paragraph(text, width))
    yield because(diagnosis, width, detail=True)
    yield remedies(diagnosis.prescriptions, width, detail=detail)
    yield following(next_for_text(diagnosis), width)


def verdict(found: Verdict, width: int, label: str = "verdict") -> list[Line]:
    """The class, its strength and cause, and what it means."""
    rest = f", {found.strength}" if found.strength else ""
    rest += f"; cause: {found.cause}" if found.cause else ""
    body = lead(Span(found.name, "class"), rest, width)
    return section(label, [*body, *paragraph(meaning(found), width)])


def meaning(found: Verdict) -> str:
    """The verdict in one sentence: of the host no word about tensors, of growth only if tested."""
    if found.cause == "shared-memory":
        return "The host's shared memory is full, not the device: workers hand over batches there."
    if found.cause == "host-memory":
        return "The host ran out of memory, not the device: what its processes hold is too much."
    if (found.name, found.strength) == ("healthy", "weak"):
        return (
            "No peak stands out and nothing is lost in pieces; whether memory grows could not be "
            "tested."
        )
    return found.undecided_reason or summary(found.name)


def figures(diagnosis: MemoryDiagnosis, width: int, label: str = "memory") -> list[Line]:
    """Most in use and reserved, what was refused, and the steps."""
    case = diagnosis.case
    peak = int(case.history.live_curve.max())
    head = Span(size_text(peak), "strong")
    rest = f" in use at most, {size_text(case.fragmentation.reserved_peak)} reserved"
    if case.refusal:
        free = (
            ""
            if case.refusal.device_free is None
            else f", {size_text(case.refusal.device_free)} free on the device"
        )
        rest += (
            f"; {size_text(case.refusal.size)} refused at {size_text(case.peak.live)} in use{free}"
        )
    rest += (
        f"; {len(case.steps)} steps by {case.steps.source}"
        if len(case.steps)
        else "; no steps found"
    )
    return section(label, lead(head, rest, width))


def _others(diagnosis: MemoryDiagnosis, width: int) -> list[Line]:
    if len(diagnosis.devices) < 2:  # noqa: PLR2004 -- more than one
        return []
    told = [
        f"device {each.id} with {size_text(each.peak)}"
        + (f" and {each.refusals} refused" if each.refusals else "")
        for each in diagnosis.devices
    ]
    text = f"{diagnosis.device}, one of {len(told)} in the file: {', '.join(told)}"
    return section("device", paragraph(text, width, "dim"))


def composition(shares: tuple[Share, ...]) -> list[Line]:
    """What the memory is made of, part by part."""
    whole = sum(share.bytes or 0 for share in shares if share.part != "context") or 1
    body: list[Line] = []
    for share in shares:
        part = (share.bytes or 0) / whole
        if share.bytes is None or (part < LEAST_SHOWN and share.part != "cache"):
            continue
        bar = "#" * round(part * BAR_WIDTH)
        row = f"{share.part:<17}{size_text(share.bytes):>10} {numbers.share(part):>5}  "
        body.append(
            (Span(row), Span(bar.ljust(BAR_WIDTH), "device"), Span(f"  {share.confidence}", "dim"))
        )
    return section("made of", body)


def holders(diagnosis: MemoryDiagnosis, width: int) -> list[Line]:
    """The lines that hold most, and what they hold."""
    body: list[Line] = []
    for holder in diagnosis.case.peak.holders[:HOLDERS_SHOWN]:
        origin = holder.origin
        where = (
            place(origin.place)
            if origin.place
            else sanitize.shown(origin.op or origin.phase.name.lower())
        )
        text = f"{holder.blocks} x {size_text(holder.largest)} {holder.part}"
        text += f" of {sanitize.shown(origin.op)}" if origin.op and origin.place else ""
        text += f"; {where}"
        guess = f"{text}; {holder.shape}"
        if holder.shape and len(wrap(guess, width - HOLDER_COLUMN)) <= HOLDER_LINES:
            text = guess
        body += entry(
            Span(size_text(holder.bytes), "strong"),
            text,
            width,
            column=HOLDER_COLUMN,
            most=HOLDER_LINES,
        )
    return section("held by", body)


def place(where: Place) -> str:
    """A place as text fit for a report."""
    return sanitize.shown(f"{where.function}, {where.file}:{where.line}")


def because(diagnosis: MemoryDiagnosis | TextDiagnosis, width: int, *, detail: bool) -> list[Line]:
    """The facts that the verdict rests on; with ``detail`` all of them."""
    facts, told = diagnosis.evidence, diagnosis.verdict.because
    chosen = facts if detail else tuple(fact for fact in facts if fact.id in told)
    column = max((len(fact.id) for fact in chosen), default=0) + 2
    body: list[Line] = []
    for fact in chosen:
        text = sanitize.shown(fact.text)
        text += f" ({place(fact.where[0])})" if fact.where else ""
        text += "" if fact.trust == "measured" else f" [{fact.trust}]"
        body += entry(Span(fact.id, "id"), text, width, column=column)
    return section("because", body)


def remedies(chosen: tuple[Remedy, ...], width: int, *, detail: bool) -> list[Line]:
    """What to do: the first in full, with ``detail`` all."""
    lines: list[Line] = []
    for number, remedy in enumerate(chosen):
        if number and not detail:
            break
        lines += section("do first" if not number else "then", _remedy(remedy, width))
    if detail or len(chosen) < 2:  # noqa: PLR2004 -- one is shown in full
        return lines
    column = max(len(remedy.id) for remedy in chosen[1:]) + 2
    body: list[Line] = []
    for remedy in chosen[1:REMEDIES_SHOWN]:
        price = f" (time: {remedy.costs.time})" if remedy.costs.time else ""
        price += f"; {PAYS[remedy.pays]}: {remedy.trade}" if remedy.trade else ""
        body += entry(Span(remedy.id, "id"), remedy.title + price, width, column=column)
    return [*lines, *section("then", body)]


def _remedy(remedy: Remedy, width: int) -> list[Line]:
    saves = f"  saves up to {size_text(remedy.saves)}" if remedy.saves else ""
    body: list[Line] = [(Span(remedy.id, "id"), Span(saves, "strong"))]
    body += paragraph(remedy.title, width)
    body += paragraph(f"why: {sanitize.shown(remedy.why)}", width) if remedy.why else []
    body += paragraph(f"where: {place(remedy.where[0])}", width) if remedy.where else []
    body += [line(f"    {row}", "code") for row in remedy.how.splitlines()]
    prices = "; ".join(f"{name}: {text}" for name, text in vars(remedy.costs).items() if text)
    body += paragraph(f"costs: {prices}", width) if prices else []
    body += paragraph(f"{PAYS[remedy.pays]}: {remedy.trade}", width) if remedy.trade else []
    return [*body, *paragraph(f"stop when {remedy.stop_when}", width)]


def quality(findings: tuple[Quality, ...], width: int) -> list[Line]:
    """What weakens the answer."""
    body: list[Line] = []
    for finding in findings:
        head = Span(f"{finding.severity}: {finding.id}  ", finding.severity)
        body += entry(head, sanitize.shown(finding.message), width, column=len(head.text))
    return section("quality", body)


def following(commands: tuple[NextCommand, ...], width: int, label: str = "next") -> list[Line]:
    """What to type next."""
    column = min(max((len(each.command) for each in commands), default=0) + 2, width // 2)
    body: list[Line] = []
    for each in commands:
        if len(each.command) + 2 > column or column + len(each.question) > width:
            body.append((Span(sanitize.command(each.command), "command"),))
            continue
        body.append(
            (
                Span(sanitize.command(each.command).ljust(column), "command"),
                Span(each.question, "dim"),
            )
        )
    return section(label, body)
