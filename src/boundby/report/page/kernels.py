"""The page of kernels that Nsight Compute measured."""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

from boundby.evidence.words import unit_for
from boundby.kernels.values import Kernel, KernelAnalysis
from boundby.report import kernel_figures, kernel_names, numbers, sanitize
from boundby.report.kernel_document import document
from boundby.report.page.parts import (
    Block,
    Cell,
    Head,
    Page,
    Panel,
    bars_height,
    chart,
    figure,
    folded,
    listing,
    missing,
    pairs,
    prose,
    table,
    words,
)
from boundby.topics import summary
from boundby.units import ms

HEADS = (
    Head("kernel", "name"),
    Head("bound by", "text"),
    Head("launches"),
    Head("time", order="descending"),
    Head("share"),
    Head("compute"),
    Head("memory"),
    Head("occupancy"),
)
GROUPS = {
    "latency-bound": "submission",
    "memory-bound": "memory",
    "compute-bound": "compute",
    "at-limit": "copy",
    "undecided": "other",
}
DETAILED = 20


def kernel_page(analysis: KernelAnalysis) -> Page:
    """The whole page."""
    charts: dict[str, Any] = {}
    rows = [_row(kernel) for kernel in analysis.kernels]
    none = missing("No kernels: the file holds none.")
    kernels = table("kernels", "Kernels, the longest first", HEADS, rows) if rows else none
    details = [_detail(kernel) for kernel in analysis.kernels[:DETAILED]]
    panels = (
        _verdict(analysis),
        Panel("classes", "Time by class", tuple(_times(analysis, charts)), short="Classes"),
        Panel("look-next", "What to look at next", (_look_next(analysis),), short="Look at"),
        Panel("kernels", "Kernels", (kernels, *details)),
        _quality(analysis),
        Panel("next", "Next", (listing(_commands(analysis)),)),
    )
    name = sanitize.shown(PurePath(analysis.path).name)
    title = f"{analysis.verdict.name}: {name}"
    return Page(title, name, panels, charts, document=document(analysis))


def _verdict(analysis: KernelAnalysis) -> Panel:
    found = analysis.verdict
    title = kernel_names.class_of(found.name, found.side)
    if found.share is not None:
        title += f", {numbers.share(found.share)} of the kernel time"
    total = None if analysis.total_ns is None else ms(analysis.total_ns)
    limit = None if found.at_limit_ns is None else ms(found.at_limit_ns)
    figures = [
        {
            "name": "all launches",
            "value": numbers.ms(total),
            "note": f"{analysis.launches} launches of {len(analysis.kernels)} kernels",
        },
        {
            "name": "at 80% of the side each uses most",
            "value": numbers.ms(limit),
            "note": sanitize.shown(analysis.device or "device unknown"),
        },
    ]
    meaning = sanitize.shown(found.undecided_reason or summary(found.name))
    head: Block = {"kind": "headline", "words": [meaning], "figures": figures}
    return Panel("verdict", title, (head,), short="Verdict")


def _times(analysis: KernelAnalysis, charts: dict[str, Any]) -> list[Block]:
    shares = analysis.verdict.shares
    if not shares:
        return [missing("No times: the launches were not timed.")]
    whole = sum(ms(each.ns) for each in shares)
    unit, size = unit_for(whole)
    rows = [
        {
            "name": kernel_names.class_of(each.name, each.side),
            "size": ms(each.ns) / size,
            "group": GROUPS[each.name],
            "text": f"{numbers.ms(ms(each.ns), whole)}  {numbers.share(each.share)}",
            "hint": summary(each.name),
        }
        for each in shares
    ]
    charts["classes"] = {"kind": "bars", "axis": f"{unit} of kernel time", "rows": rows}
    told = ", ".join(f"{row['name']} {row['text']}" for row in rows)
    return [chart("classes", f"Kernel time by class: {told}", bars_height(rows))]


def _look_next(analysis: KernelAnalysis) -> Block:
    rows = []
    for look in analysis.look_next:
        share = f", {numbers.share(look.share)} of the time" if look.share is not None else ""
        name = sanitize.shown(look.id)
        text = sanitize.shown(look.text)
        rows.append(f"`{name}` `{kernel_names.short(look.kernel)}`{share}: {text}")
    return listing(rows) if rows else missing("Nothing stands out.")


def _row(kernel: Kernel) -> tuple[Cell, ...]:
    metrics = kernel.metrics
    total = None if kernel.total_ns is None else ms(kernel.total_ns)
    shares = (kernel.share, metrics.compute, metrics.memory, metrics.occupancy)
    return (
        Cell(kernel_names.short(kernel.name), None, sanitize.shown(kernel.name)),
        words(kernel_names.verdict(kernel.verdict)),
        figure(kernel.launches, numbers.count(kernel.launches)),
        figure(total, numbers.ms(total)),
        *(figure(share, numbers.share(share)) for share in shares),
    )


def _detail(kernel: Kernel) -> Block:
    said = pairs((label, sanitize.shown(text)) for label, text in kernel_figures.rows(kernel))
    findings = [f"`{each.id}` {sanitize.shown(each.text)}" for each in kernel.findings]
    more = (listing(findings),) if findings else ()
    return folded(kernel_names.short(kernel.name), said, *more)


def _quality(analysis: KernelAnalysis) -> Panel:
    rows = [
        {
            "id": sanitize.shown(each.id),
            "text": sanitize.shown(each.message),
            "tag": each.severity,
            "style": each.severity,
        }
        for each in analysis.quality
    ]
    nothing = prose("Nothing is wrong with the file as far as can be seen.")
    return Panel("quality", "Quality", ({"kind": "facts", "rows": rows} if rows else nothing,))


def _commands(analysis: KernelAnalysis) -> list[str]:
    return [f"`{sanitize.shown(s.command)}`  {sanitize.shown(s.question)}" for s in analysis.next]
