"""The sections of the terminal report, each a function from a Diagnosis to lines."""

from __future__ import annotations

from collections.abc import Iterator

from boundby.diagnose import Diagnosis
from boundby.evidence.facts import Evidence
from boundby.read.recording import Quality
from boundby.replay.values import StepTimes
from boundby.report import numbers, roofline_table, sanitize, sentences
from boundby.report.changes import changes
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

__all__ = ["Space", "following", "report_lines"]

FACTS_SHOWN = 3
FINDINGS_SHOWN = 2
LADDER_LINES_SHOWN = 2

LEAST_PART_SHOWN = 0.005
"""Parts below half a percent of the step are named, not drawn."""

FIGURES = " {:>8} {:>5}  |"
"""Time and share of a part of the waterfall, up to the left edge of its bar."""

HOST_PARTS = frozenset({"data", "sync", "python", "submission"})
DEVICE_BOUND = frozenset({"compute-bound", "memory-bound"})
SEVERITIES = ("fatal", "warning", "info")
SAID_ELSEWHERE = "several-ranks"
"""A finding that has a section of its own."""


def report_lines(diagnosis: Diagnosis, space: Space) -> Iterator[list[Line]]:
    """All sections in reading order, grouped into blocks that a blank line separates."""
    yield verdict(diagnosis, space)
    yield [
        *section("recording", paragraph(sentences.ranks(diagnosis), space.width)),
        *step(diagnosis, space),
        *device(diagnosis, space),
        *roofline(diagnosis, space),
    ]
    yield waterfall(diagnosis, space)
    yield [*because(diagnosis, space), *ladder(diagnosis, space)]
    yield changes(diagnosis, space)
    yield [*quality(diagnosis, space), *tree(diagnosis, space)]


def verdict(diagnosis: Diagnosis, space: Space) -> list[Line]:
    """The class in a word, its cause and strength, and what that means in a sentence."""
    found, second = diagnosis.verdict, sentences.runner_up(diagnosis)
    rest = f", {found.strength}" if found.strength else ""
    rest += f"; cause: {sanitize.shown(found.cause)}" if found.cause else ""
    rest += f"; runner-up: {second}" if second else ""
    meaning = " ".join(filter(None, (sentences.meaning(diagnosis), sentences.rule(diagnosis))))
    body = lead(Span(found.name, "class"), rest, space.width)
    return section("verdict", [*body, *paragraph(meaning.replace("`", ""), space.width)])


def step(diagnosis: Diagnosis, space: Space) -> list[Line]:
    """The step without the observer and how it was found, then what was observed."""
    times = diagnosis.steps
    observed = _observed(times)
    observed += f"; {plural(times.count, 'step')} by {sanitize.shown(times.source)}"
    seen = paragraph(observed, space.width, "dim")
    if times.unprofiled_ms is None:
        return section("step", [line("unknown without the profiler"), *seen])
    free, how = times.unprofiled_ms, diagnosis.calibration
    doubt = sentences.doubt(diagnosis)
    is_whole = space.detail and not doubt
    calibration = sentences.CALIBRATIONS[how.source]
    calibration += sentences.scales(how) if is_whole else sentences.clocks(how)
    spread = numbers.between(free.low, free.high)
    rest = f" without the profiler ({spread}), {calibration}"
    first = lead(Span(numbers.ms(free.estimate), "strong"), rest, space.width)
    return section("step", [*first, *seen, *paragraph(doubt, space.width, "warning")])


def device(diagnosis: Diagnosis, space: Space) -> list[Line]:
    """How busy the device is in truth and in the recording, with how much, and which it is."""
    line_of = diagnosis.device
    known = [sanitize.shown(device.name) for device in diagnosis.devices if device.name]
    name = known[0] if known else sanitize.shown(diagnosis.caliber.device or "")
    text = "no device work in this recording"
    if line_of.has_work:
        text = f"busy {_busy(diagnosis)}"
    if line_of.ms_per_step is not None:
        text += f": {numbers.ms(line_of.ms_per_step)}, {_launches(line_of.launches_per_step)}"
    text = "; ".join(filter(None, (text, name)))
    full = ", ".join(filter(None, (text, *_versions(diagnosis))))
    is_short = space.detail or len(full) <= space.width
    return section("device", paragraph(full if is_short else text, space.width))


def _busy(diagnosis: Diagnosis) -> str:
    busy = diagnosis.device.busy_share_unprofiled
    seen = f"{numbers.share(diagnosis.device.busy_share_observed)} as recorded"
    return seen if busy is None else f"{numbers.share(busy)} of the step ({seen})"


def roofline(diagnosis: Diagnosis, space: Space) -> list[Line]:
    """How much of the device a step uses that the device bounds."""
    found = diagnosis.roofline
    if found is None or diagnosis.verdict.name not in DEVICE_BOUND:
        return []
    return section("roofline", paragraph(roofline_table.summary(found), space.width))


def waterfall(diagnosis: Diagnosis, space: Space) -> list[Line]:
    """The parts of the step, one a line, each where it falls between 0 and the step time."""
    drawn = [part for part in diagnosis.waterfall if part.share >= LEAST_PART_SHOWN]
    names = max((len(part.part) for part in drawn), default=0)
    room = space.width - names - len(FIGURES.format("", "")) - 1
    body, before, whole = [], 0.0, sum(part.ms for part in diagnosis.waterfall)
    for part in diagnosis.waterfall:
        if part in drawn:
            figures = FIGURES.format(numbers.ms(part.ms, whole), numbers.share(part.share))
            bar = _bar(before, part.share, room, space)
            body.append(_part(part.part, names, figures, bar))
        before += part.share
    small = [part.part for part in diagnosis.waterfall if 0 < part.share < LEAST_PART_SHOWN]
    if small and space.detail:
        body.append(line(f"below half a percent each: {', '.join(small)}", "dim"))
    return section("waterfall", body)


def because(diagnosis: Diagnosis, space: Space) -> list[Line]:
    """The facts the verdict rests on; with detail, all facts."""
    facts = sentences.deciding(diagnosis)
    if space.detail:
        facts += [fact for fact in diagnosis.evidence if fact not in facts]
    else:
        facts = facts[:FACTS_SHOWN]
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


def quality(diagnosis: Diagnosis, space: Space) -> list[Line]:
    """What is wrong with the recording, worst first; notes only with detail."""
    found = [each for each in diagnosis.quality if space.detail or each.id != SAID_ELSEWHERE]
    found.sort(key=lambda finding: SEVERITIES.index(finding.severity))
    shown = [finding for finding in found if space.detail or finding.severity != "info"]
    kept = shown if space.detail else shown[:FINDINGS_SHOWN]
    reason = diagnosis.verdict.undecided_reason
    body = [row for finding in kept for row in _finding(finding, reason, space)]
    hidden = len(found) - len(kept)
    if hidden and kept:
        body.append(line(f"and {plural(hidden, 'more note')}: --verbose", "dim"))
    return section("beware", body)


def tree(diagnosis: Diagnosis, space: Space) -> list[Line]:
    """The path through the decision tree, and why it may lead elsewhere."""
    path = diagnosis.path
    if path is None:
        return []
    steps = [*map(sentences.fork, path.forks), sanitize.shown(path.leaf)]
    body = paragraph(" > ".join(steps), space.width)
    if path.disagreement:
        body += paragraph(f"differs: {sanitize.shown(path.disagreement)}", space.width)
    return section("tree", body)


def following(diagnosis: Diagnosis, space: Space) -> list[Line]:
    """The commands to type next and what each of them can see."""
    commands = [(sanitize.command(each.command), each.question) for each in diagnosis.next]
    short = [len(command) for command, _ in commands if len(command) < space.width // 2]
    column = max(short, default=0)
    body: list[Line] = []
    for command, raw in commands:
        question, head = sanitize.shown(raw), f"{command:{column}}  "
        if len(head) + len(question) <= space.width:
            body.append((Span(head, "command"), Span(question)))
        else:
            body += [line(command, "command"), *paragraph(f"  {question}", space.width)]
    return section("next", body)


def _observed(times: StepTimes) -> str:
    if times.drained_ms is None:
        median = times.range_ms.median
        return f"{numbers.ms(median)} observed on the host" if median else "no step time observed"
    like = times.unprofiled_ms.estimate if times.unprofiled_ms else None
    drained, steady = (numbers.ms(value, like) for value in (times.drained_ms, times.steady_ms))
    is_told = steady not in (drained, numbers.UNKNOWN)
    return f"{drained} observed{f' ({steady} with a full queue)' if is_told else ''}"


def _part(name: str, names: int, figures: str, bar: str) -> Line:
    style = "host" if name in HOST_PARTS else "device"
    return (Span(name.ljust(names)), Span(figures), Span(bar, style), Span("|"))


def _bar(before: float, share: float, room: int, space: Space) -> str:
    start = min(round(before * room), room - 1)
    length = min(round((before + share) * room), room) - start
    drawn = space.full * length if length > 0 else space.sliver
    return (" " * start + drawn).ljust(room)


def _fact(fact: Evidence) -> str:
    text, place = sentences.fact(fact), sentences.place(fact)
    text += f" ({place})" if place else ""
    return text if fact.trust == "measured" else f"{text} [{fact.trust}]"


def _finding(finding: Quality, reason: str | None, space: Space) -> list[Line]:
    """One finding; the one that is printed as the reason of an abstention is not said twice."""
    name = sanitize.shown(finding.id)
    head = Span(f"{finding.severity}: {name}  ", finding.severity)
    is_said = finding.message == reason
    text = f"voids the verdict: boundby explain {name}" if is_said else finding.message
    return entry(head, numbers.in_words(sanitize.shown(text)), space.width, column=len(head.text))


def _launches(count: float | None) -> str:
    return "1 launch" if count == 1 else f"{numbers.count(count)} launches"


def _versions(diagnosis: Diagnosis) -> list[str]:
    caliber = diagnosis.caliber
    known = {"torch": caliber.torch, "CUDA": caliber.cuda}
    return [sanitize.shown(f"{name} {version}") for name, version in known.items() if version]
