"""The sections of the terminal report, each a function from a Diagnosis to lines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from textwrap import shorten

from boundby.diagnose import Diagnosis
from boundby.evidence.facts import Evidence, Place
from boundby.prescribe.prescription import Prescription
from boundby.read.recording import Quality
from boundby.replay.values import StepTimes, WaterfallPart
from boundby.report import numbers, sanitize
from boundby.report.code import fold
from boundby.report.layout import Line, Span, entry, lead, line, paragraph, section, wrap
from boundby.topics import summary

EVIDENCE_SHOWN = 4
FIXES_SHOWN = 3
FINDINGS_SHOWN = 2
CODE_LINES_SHOWN = 4
COST_LINES_SHOWN = 2
LADDER_LINES_SHOWN = 2

LEAST_PART_SHOWN = 0.005
"""Parts below half a percent of the step are named, not drawn."""

FIGURES = " {:>8} {:>5}  |"
"""Time and share of a part of the waterfall, up to the left edge of its bar."""

HOST_PARTS = frozenset({"data", "sync", "python", "submission"})
SEVERITIES = ("fatal", "warning", "info")
CALIBRATIONS = {
    "prior": "from the recording alone",
    "step-ms": "set by --step-ms",
    "clean-pass": "measured in a clean pass",
}


@dataclass(frozen=True)
class Space:
    """The room a section has, and how much it should say.

    Attributes:
        width: Columns right of the labels.
        full, sliver: Characters of a bar: filled, and for a part too small to fill one.
        detail: All of everything instead of the deciding few.
    """

    width: int
    full: str = "#"
    sliver: str = "."
    detail: bool = False


def report_lines(diagnosis: Diagnosis, space: Space) -> Iterator[list[Line]]:
    """All sections in reading order, grouped into blocks that a blank line separates."""
    yield verdict(diagnosis, space)
    yield [*step(diagnosis, space), *device(diagnosis, space)]
    yield waterfall(diagnosis, space)
    yield [*because(diagnosis, space), *ladder(diagnosis, space)]
    yield fixes(diagnosis, space)
    yield [*quality(diagnosis, space), *tree(diagnosis, space)]


def verdict(diagnosis: Diagnosis, space: Space) -> list[Line]:
    """The class in a word, its cause and strength, and what that means in a sentence."""
    found = diagnosis.verdict
    rest = f", {found.strength}" if found.strength else ""
    rest += f"; cause: {sanitize.shown(found.cause)}" if found.cause else ""
    if found.runner_up:
        second = found.runner_up
        rest += f"; runner-up: {second.name}, {numbers.share(second.share)} of the step"
    meaning = found.undecided_reason or summary(found.name)
    body = lead(Span(found.name, "class"), rest, space.width)
    return section("verdict", [*body, *paragraph(sanitize.shown(meaning), space.width)])


def step(diagnosis: Diagnosis, space: Space) -> list[Line]:
    """The step without the observer and how it was found, then what was observed."""
    times = diagnosis.steps
    observed = _observed(times)
    observed += f"; {_plural(times.count, 'step')} by {sanitize.shown(times.source)}"
    seen = paragraph(observed, space.width, "dim")
    if times.unprofiled_ms is None:
        return section("step", [line("unknown without the profiler"), *seen])
    free = times.unprofiled_ms
    calibration = CALIBRATIONS[diagnosis.calibration.source]
    if space.detail and diagnosis.calibration.host_scale is not None:
        calibration += f", host time x {numbers.number(diagnosis.calibration.host_scale)}"
    spread = numbers.between(free.low, free.high)
    rest = f" without the profiler ({spread}), {calibration}"
    return section(
        "step", [*lead(Span(numbers.ms(free.estimate), "strong"), rest, space.width), *seen]
    )


def device(diagnosis: Diagnosis, space: Space) -> list[Line]:
    """How busy the device is in truth and in the recording, and with how much."""
    line_of = diagnosis.device
    known = [sanitize.shown(device.name) for device in diagnosis.devices if device.name]
    name = known[0] if known else sanitize.shown(diagnosis.caliber.device or "")
    where = ", ".join(filter(None, (name, _versions(diagnosis))))
    if line_of.ms_per_step is None:
        text = "no device work in this recording"
        return section("device", paragraph(_sentence(text, where), space.width))
    text = (
        f"busy {numbers.share(line_of.busy_share_unprofiled)} of the step "
        f"({numbers.share(line_of.busy_share_observed)} as recorded): "
        f"{numbers.ms(line_of.ms_per_step)}, {_launches(line_of.launches_per_step)}"
    )
    return section("device", paragraph(_sentence(text, where), space.width))


def waterfall(diagnosis: Diagnosis, space: Space) -> list[Line]:
    """The parts of the step, one a line, each where it falls between 0 and the step time."""
    drawn = [part for part in diagnosis.waterfall if part.share >= LEAST_PART_SHOWN]
    names = max((len(part.part) for part in drawn), default=0)
    room = space.width - names - len(FIGURES.format("", "")) - 1
    body, before = [], 0.0
    for part in diagnosis.waterfall:
        if part in drawn:
            body.append(_part(part, names, _bar(before, part.share, room, space)))
        before += part.share
    small = [part.part for part in diagnosis.waterfall if 0 < part.share < LEAST_PART_SHOWN]
    if small and space.detail:
        body.append(line(f"below half a percent each: {', '.join(small)}", "dim"))
    return section("waterfall", body)


def because(diagnosis: Diagnosis, space: Space) -> list[Line]:
    """The facts the verdict rests on; with detail, all facts."""
    known = {fact.id: fact for fact in diagnosis.evidence}
    facts = [known[name] for name in diagnosis.verdict.because if name in known]
    if space.detail:
        facts += [fact for fact in diagnosis.evidence if fact not in facts]
    else:
        facts = facts[:EVIDENCE_SHOWN]
    column = max((len(fact.id) for fact in facts), default=0) + 2
    body = []
    for fact in facts:
        body += entry(Span(fact.id, "id"), _fact(fact), space.width, column=column)
    return section("because", body)


def ladder(diagnosis: Diagnosis, space: Space) -> list[Line]:
    """What binds now, the fix, what binds next, down to the floor."""
    free = diagnosis.steps.unprofiled_ms
    if not diagnosis.ladder or free is None:
        return []
    text, now = "", numbers.ms(free.estimate)
    for rung in diagnosis.ladder:
        text += f"{rung.name} {now}"
        now = numbers.ms(rung.step_ms)
        if rung.fix:
            idle = "" if rung.pays else ", gains nothing yet"
            text += f" -> ({rung.fix}{idle}) "
    text += now if diagnosis.ladder[-1].fix else ""
    most = None if space.detail else LADDER_LINES_SHOWN
    parts = wrap(sanitize.shown(text), space.width, most)
    return section("ladder", [line(part) for part in parts])


def fixes(diagnosis: Diagnosis, space: Space) -> list[Line]:
    """The first change in full, the next as one line each, and those that gain nothing now."""
    paying = [change for change in diagnosis.prescriptions if change.pays]
    idle = [change for change in diagnosis.prescriptions if not change.pays]
    lines = _first(diagnosis, paying, space)
    if space.detail:
        for change in paying[1:]:
            lines += section("then", _prescription(diagnosis, change, space))
    else:
        lines += section("then", _one_liners(paying[1:], space))
    if idle:
        named = ", ".join(f"{change.id} {_predicted(change)}" for change in idle)
        text = sanitize.shown(f"{named} (less than 2% now)")
        lines += section("not yet", paragraph(text, space.width, "dim"))
    return lines


def quality(diagnosis: Diagnosis, space: Space) -> list[Line]:
    """What is wrong with the recording, worst first; notes only with detail."""
    found = sorted(diagnosis.quality, key=lambda finding: SEVERITIES.index(finding.severity))
    shown = [finding for finding in found if space.detail or finding.severity != "info"]
    kept = shown if space.detail else shown[:FINDINGS_SHOWN]
    reason = diagnosis.verdict.undecided_reason
    body = [row for finding in kept for row in _finding(finding, reason, space)]
    hidden = len(found) - len(kept)
    if hidden and kept:
        body.append(line(f"and {_plural(hidden, 'more note')}: --verbose", "dim"))
    return section("beware", body)


def tree(diagnosis: Diagnosis, space: Space) -> list[Line]:
    """The path through the decision tree, and why it may lead elsewhere."""
    path = diagnosis.path
    if path is None:
        return []
    steps = [f"{fork.question}: {fork.answer}" for fork in path.forks]
    text = sanitize.shown(" > ".join([*steps, path.leaf]))
    body = paragraph(text, space.width)
    if path.disagreement:
        body += paragraph(f"differs: {sanitize.shown(path.disagreement)}", space.width)
    return section("tree", body)


def following(diagnosis: Diagnosis, space: Space) -> list[Line]:
    """The commands to type next and what each of them can see."""
    commands = diagnosis.next
    column = min(max((len(each.command) for each in commands), default=0) + 2, space.width // 2)
    body = []
    for each in commands:
        command, question = sanitize.shown(each.command), sanitize.shown(each.question)
        if len(command) + 2 > column:
            body += [line(command, "command"), *paragraph(f"  {question}", space.width)]
        else:
            body += entry(Span(command, "command"), question, space.width, column=column)
    return section("next", body)


def _first(diagnosis: Diagnosis, paying: list[Prescription], space: Space) -> list[Line]:
    if paying:
        return section("do first", _prescription(diagnosis, paying[0], space))
    if diagnosis.verdict.name == "undecided":
        return []
    return section("do first", paragraph("no known change gains 2% or more now", space.width))


def _observed(times: StepTimes) -> str:
    if times.drained_ms is None:
        median = times.range_ms.median
        return f"{numbers.ms(median)} observed on the host" if median else "no step time observed"
    full = f" ({numbers.ms(times.steady_ms)} with a full queue)" if times.steady_ms else ""
    return f"{numbers.ms(times.drained_ms)} observed{full}"


def _part(part: WaterfallPart, names: int, bar: str) -> Line:
    figures = FIGURES.format(numbers.ms(part.ms), numbers.share(part.share))
    style = "host" if part.part in HOST_PARTS else "device"
    return (Span(part.part.ljust(names)), Span(figures), Span(bar, style), Span("|"))


def _bar(before: float, share: float, room: int, space: Space) -> str:
    start = min(round(before * room), room - 1)
    length = min(round((before + share) * room), room) - start
    drawn = space.full * length if length > 0 else space.sliver
    return (" " * start + drawn).ljust(room)


def _fact(fact: Evidence) -> str:
    text = sanitize.shown(fact.text)
    if fact.where:
        text += f" ({_place(fact.where[0])})"
    return text if fact.trust == "measured" else f"{text} [{fact.trust}]"


def _place(place: Place) -> str:
    inside = "" if place.exact else "inside "
    return sanitize.shown(f"{inside}{place.function}, {place.file}:{place.line}")


def _prescription(diagnosis: Diagnosis, change: Prescription, space: Space) -> list[Line]:
    title = sanitize.shown(change.title)
    body: list[Line] = [(Span(sanitize.shown(change.id), "id"), Span(f": {title}"))]
    body += paragraph(_gain(diagnosis, change), space.width, "strong")
    body += entry(Span("why", "dim"), sanitize.shown(change.why), space.width, column=6)
    code = fold(sanitize.private(change.how), space.width - 6)
    hidden = 0 if space.detail else max(len(code) - CODE_LINES_SHOWN, 0)
    for at, row in enumerate(code[: len(code) - hidden]):
        body.append(
            (
                Span("how".ljust(6) if at == 0 else " " * 6, "dim"),
                Span(sanitize.visible(row), "code"),
            )
        )
    if hidden:
        more = f"... {_plural(hidden, 'more line')}: boundby explain {sanitize.shown(change.id)}"
        body.append(line(" " * 6 + more, "dim"))
    body += entry(Span("stop", "dim"), sanitize.shown(change.stop_when), space.width, column=6)
    named = vars(change.costs).items()
    costs = "; ".join(f"{name}: {sanitize.shown(text)}" for name, text in named if text)
    if costs:
        most = None if space.detail else COST_LINES_SHOWN
        body += entry(Span("cost", "dim"), costs, space.width, column=6, most=most)
    return body


def _gain(diagnosis: Diagnosis, change: Prescription) -> str:
    if change.predicted_ms is None:
        return "no prediction: measure it"
    free = diagnosis.steps.unprofiled_ms
    now = f"{numbers.number(free.estimate)} -> " if free else ""
    spread = numbers.between(change.low, change.high)
    speedups = [edit.speedup for edit in diagnosis.what_if if edit.id == change.edit]
    faster = f", {numbers.times(speedups[0])} faster" if speedups else ""
    return f"{now}{numbers.ms(change.predicted_ms)}{f' ({spread})' if spread else ''}{faster}"


def _one_liners(changes: list[Prescription], space: Space) -> list[Line]:
    shown = changes[:FIXES_SHOWN]
    column = max((len(change.id) for change in shown), default=0) + 2
    figures = max((len(_predicted(change)) for change in shown), default=0)
    body: list[Line] = []
    for change in shown:
        figure = f"{_predicted(change):>{figures}}  "
        room = space.width - column - len(figure)
        title = shorten(sanitize.shown(change.title), room, placeholder=" ...")
        body.append((Span(change.id.ljust(column), "id"), Span(figure + title)))
    if len(changes) > len(shown):
        rest = len(changes) - len(shown)
        body.append(line(f"and {_plural(rest, 'more change')}: --verbose", "dim"))
    return body


def _predicted(change: Prescription) -> str:
    return "no estimate" if change.predicted_ms is None else numbers.ms(change.predicted_ms)


def _finding(finding: Quality, reason: str | None, space: Space) -> list[Line]:
    """One finding; the one that is printed as the reason of an abstention is not said twice."""
    name = sanitize.shown(finding.id)
    head = Span(f"{finding.severity}: {name}  ", finding.severity)
    is_said = finding.message == reason
    text = f"voids the verdict: boundby explain {name}" if is_said else finding.message
    return entry(head, sanitize.shown(text), space.width, column=len(head.text))


def _launches(count: float | None) -> str:
    return "1 launch" if count == 1 else f"{numbers.count(count)} launches"


def _versions(diagnosis: Diagnosis) -> str:
    caliber = diagnosis.caliber
    known = [f"torch {caliber.torch}"] if caliber.torch else []
    known += [f"CUDA {caliber.cuda}"] if caliber.cuda else []
    return sanitize.shown(", ".join(known))


def _sentence(text: str, where: str) -> str:
    return f"{text}; {where}" if where else text


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
