"""The report on kernels as text: what bounds the file, what to look at, then every kernel."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from boundby.kernels.values import Kernel, KernelAnalysis
from boundby.report import kernel_figures, kernel_names, numbers, sanitize
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
)
from boundby.report.terminal import Look, draw
from boundby.topics import summary
from boundby.units import ms

KERNELS_SHOWN = 12
LEAST_NAME = 20
HEADS = (("n", 5), ("ms", 8), ("time", 6), ("comp.", 7), ("mem.", 6), ("occ.", 6))
"""Columns of the table and their widths: launches, time, and shares of the peak."""
SEVERITIES = ("fatal", "warning", "info")
BAR, SLIVER = "#", "."


def render(analysis: KernelAnalysis, look: Look) -> str:
    """The whole report, ending in a newline."""
    room = look.width - LABEL_WIDTH
    groups = [
        _verdict(analysis, room),
        [*_source(analysis, room), *_times(analysis, room), *_gain(analysis, room)],
        _look_next(analysis, room),
        _table(analysis, look),
        *(_detail(kernel, room) for kernel in analysis.kernels if look.detail),
        _quality(analysis, room),
        _following(analysis, room),
    ]
    lines: list[Line] = []
    for group in filter(None, groups):
        lines += [BLANK, *group] if lines else group
    return draw(lines, look)


def _verdict(analysis: KernelAnalysis, room: int) -> list[Line]:
    found = analysis.verdict
    rest = f" ({found.side})" if found.name == "at-limit" else ""
    if found.share is not None:
        rest += f", {numbers.share(found.share)} of the kernel time"
    meaning = found.undecided_reason or summary(found.name)
    body = lead(Span(found.name, "class"), rest, room)
    return section("verdict", [*body, *paragraph(sanitize.shown(meaning), room)])


def _source(analysis: KernelAnalysis, room: int) -> list[Line]:
    many = f"{analysis.launches} launches of {len(analysis.kernels)} kernels"
    time = "" if analysis.total_ns is None else f", {numbers.ms(ms(analysis.total_ns))}"
    device = sanitize.shown(analysis.device or "")
    cores = analysis.multiprocessors
    where = [device, f"{cores} multiprocessors" if cores else ""]
    told = ", ".join(filter(None, where))
    return section("kernels", paragraph(f"{many}{time}{f'; {told}' if told else ''}", room))


def _times(analysis: KernelAnalysis, room: int) -> list[Line]:
    """The time of each class as a bar."""
    shares = analysis.verdict.shares
    named = [kernel_names.class_of(each.name, each.side) for each in shares]
    column = max(map(len, named), default=0)
    bar = max(room - column - 20, 10)
    body = []
    for name, each in zip(named, shares, strict=True):
        figures = f" {numbers.ms(ms(each.ns)):>9} {numbers.share(each.share):>5}  |"
        drawn = (BAR * round(each.share * bar) or SLIVER).ljust(bar)
        body.append((Span(name.ljust(column)), Span(figures), Span(drawn, "device"), Span("|")))
    return section("time", body)


def _gain(analysis: KernelAnalysis, room: int) -> list[Line]:
    at_limit, total = analysis.verdict.at_limit_ns, analysis.total_ns
    if at_limit is None or total is None:
        return []
    text = (
        f"{numbers.change(ms(total), ms(at_limit))} if every kernel reached 80% "
        "of the side it uses most"
    )
    return section("room", paragraph(text, room))


def _look_next(analysis: KernelAnalysis, room: int) -> list[Line]:
    body: list[Line] = []
    for look in analysis.look_next:
        part = f"{numbers.share(look.share)} of the time, " if look.share is not None else ""
        head: Line = (Span(look.id, "id"), Span(f": {part}{_cut(look.kernel, room - 40)}"))
        body += [head, *entry(Span(""), sanitize.shown(look.text), room, column=2)]
    return section("look next", body)


def _cut(name: str, width: int) -> str:
    return sanitize.cut(kernel_names.short(name), max(width, LEAST_NAME))


def _table(analysis: KernelAnalysis, look: Look) -> list[Line]:
    """A line a kernel, the longest first."""
    shown = analysis.kernels if look.detail else analysis.kernels[:KERNELS_SHOWN]
    verdicts = [kernel_names.verdict(kernel.verdict) for kernel in shown]
    taken = sum(width for _, width in HEADS) + max(map(len, verdicts), default=0) + 2
    name = max(look.width - taken, LEAST_NAME)
    heads = "".join(f"{head:>{width}}" for head, width in HEADS)
    title = sanitize.fit(f"kernels ({len(shown)} of {len(analysis.kernels)})", name)
    lines: list[Line] = [(Span(title, "heading"), Span(f"{heads}  bound by", "dim"))]
    for kernel, verdict in zip(shown, verdicts, strict=True):
        pairs = zip(_figures(kernel), HEADS, strict=True)
        figures = "".join(f"{text:>{width}}" for text, (_, width) in pairs)
        short = sanitize.fit(kernel_names.short(kernel.name), name)
        lines.append((Span(short), Span(f"{figures}  {verdict}")))
    return lines


def _figures(kernel: Kernel) -> Iterator[str]:
    metrics = kernel.metrics
    yield numbers.count(kernel.launches)
    yield "-" if kernel.total_ns is None else numbers.number(ms(kernel.total_ns))
    for share in (kernel.share, metrics.compute, metrics.memory, metrics.occupancy):
        yield "-" if share is None else numbers.share(share)


def _detail(kernel: Kernel, room: int) -> list[Line]:
    """All figures and findings of one kernel."""
    body: list[Line] = [*paragraph(kernel_names.short(kernel.name), room, "strong")]
    for label, text in kernel_figures.rows(kernel):
        body += entry(Span(label, "dim"), text, room, column=12)
    for finding in kernel.findings:
        head = Span(finding.id, "id")
        body += entry(head, sanitize.shown(finding.text), room, column=len(finding.id) + 2)
    return section("kernel", body)


def _quality(analysis: KernelAnalysis, room: int) -> list[Line]:
    body: list[Line] = []
    found = sorted(analysis.quality, key=lambda each: SEVERITIES.index(each.severity))
    for each in found:
        head = Span(f"{each.severity}: {each.id}  ", each.severity)
        body += entry(head, sanitize.shown(each.message), room, column=len(head.text))
    return section("beware", body)


def _following(analysis: KernelAnalysis, room: int) -> list[Line]:
    steps: Sequence[tuple[str, str]] = [
        (sanitize.command(step.command), sanitize.shown(step.question)) for step in analysis.next
    ]
    column = max((len(command) for command, _ in steps), default=0) + 2
    body: list[Line] = []
    for command, question in steps:
        if column > room // 2:
            body += [line(command, "command"), *paragraph(f"  {question}", room)]
        else:
            body += entry(Span(command, "command"), question, room, column=column)
    return section("next", body)
