"""The report on kernels as Markdown: the same values as in the terminal, as tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from boundby.kernels.values import Kernel, KernelAnalysis
from boundby.report import kernel_figures, kernel_names, numbers
from boundby.report.markdown import code, table, text, typed
from boundby.topics import summary
from boundby.units import ms


def render(analysis: KernelAnalysis) -> str:
    """The whole report, ending in a newline."""
    parts = (
        [*_verdict(analysis)],
        _titled("## Time by class", _times(analysis)),
        _titled("## What to look at next", [*_look_next(analysis)]),
        _titled("## Kernels", _kernels(analysis)),
        *([*_detail(kernel)] for kernel in analysis.kernels),
        _titled("## About the file", [*_quality(analysis)]),
        _titled("## Next", [f"- {typed(s.command)} {text(s.question)}" for s in analysis.next]),
    )
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def _titled(title: str, lines: Sequence[str]) -> list[str]:
    return [title, "", *lines] if lines else []


def _verdict(analysis: KernelAnalysis) -> Iterator[str]:
    found = analysis.verdict
    share = f", {numbers.share(found.share)} of the kernel time" if found.share else ""
    yield f"# {kernel_names.class_of(found.name, found.side)}{share}"
    yield ""
    yield text(found.undecided_reason or summary(found.name))
    yield ""
    total = "" if analysis.total_ns is None else f", {numbers.ms(ms(analysis.total_ns))}"
    yield (
        f"{code(analysis.path)} ({text(analysis.format)}): {analysis.launches} launches of "
        f"{len(analysis.kernels)} kernels{total}; {text(analysis.device or 'device unknown')}."
    )
    if found.at_limit_ns is not None:
        yield ""
        yield (
            "If every kernel reached 80% of the side it uses most: "
            f"{numbers.ms(ms(found.at_limit_ns))}."
        )


def _times(analysis: KernelAnalysis) -> list[str]:
    rows = [
        (
            kernel_names.class_of(each.name, each.side),
            numbers.ms(ms(each.ns)),
            numbers.share(each.share),
        )
        for each in analysis.verdict.shares
    ]
    return table(("class", "time", "share"), rows)


def _look_next(analysis: KernelAnalysis) -> Iterator[str]:
    for look in analysis.look_next:
        share = f", {numbers.share(look.share)} of the time" if look.share is not None else ""
        yield f"- {code(look.id)} {code(kernel_names.short(look.kernel))}{share}: {text(look.text)}"


def _kernels(analysis: KernelAnalysis) -> list[str]:
    heads = ("kernel", "bound by", "launches", "time", "share", "compute", "memory", "occupancy")
    return table(heads, [_row(kernel) for kernel in analysis.kernels])


def _row(kernel: Kernel) -> tuple[str, ...]:
    metrics = kernel.metrics
    return (
        code(kernel_names.short(kernel.name)),
        kernel_names.verdict(kernel.verdict),
        numbers.count(kernel.launches),
        numbers.ms(None if kernel.total_ns is None else ms(kernel.total_ns)),
        numbers.share(kernel.share),
        numbers.share(metrics.compute),
        numbers.share(metrics.memory),
        numbers.share(metrics.occupancy),
    )


def _detail(kernel: Kernel) -> Iterator[str]:
    yield f"### {code(kernel_names.short(kernel.name))}"
    yield ""
    yield from (f"- {label}: {text(figures)}" for label, figures in kernel_figures.rows(kernel))
    yield from (f"- {code(each.id)} {text(each.text)}" for each in kernel.findings)


def _quality(analysis: KernelAnalysis) -> Iterator[str]:
    for each in analysis.quality:
        yield f"- {each.severity}: {code(each.id)} {text(each.message)}"
