"""``boundby kernel``: what Nsight Compute measured in, what bounds each kernel out."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from boundby.cli.errortext import complain
from boundby.cli.help import examples
from boundby.cli.output import Output, keep_apart, output_options
from boundby.errors import BoundbyError, GateError

if TYPE_CHECKING:
    from boundby.kernels.values import KernelAnalysis

CLASSES = ("latency-bound", "memory-bound", "compute-bound", "at-limit", "undecided")


@click.command(
    epilog=examples(
        "boundby kernel kernels.csv",
        "boundby kernel kernels.csv.gz -o kernels.md",
        "boundby kernel kernels.csv --expect at-limit",
    )
)
@click.argument("paths", metavar="FILE...", nargs=-1, required=True)
@click.option(
    "--expect",
    metavar="CLASS",
    type=click.Choice(CLASSES),
    help="Exit with 1 where most of the time is of another class.",
)
@output_options
def command(*, output: Output, paths: tuple[str, ...], expect: str | None) -> int:
    r"""Say what bounds kernels that Nsight Compute measured.

    FILE is what ncu --csv writes, page raw or details, plain or .gz; of a report (.ncu-rep) only
    where the module ncu_report is on the path of this Python. The raw page says more:

    \b
      ncu --set full --csv --page raw --log-file kernels.csv python train.py
      ncu --import report.ncu-rep --csv --page raw > kernels.csv

    A kernel is at-limit from 80% of the peak of compute or memory, compute- or memory-bound from
    60%, and latency-bound below. Several files are reported one after the other.
    """
    from boundby.cli.answer import one_picture
    from boundby.kernels.analyse import analyse
    from boundby.read.nsight_compute import read_kernels

    keep_apart(output, paths)
    one_picture(output, len(paths))
    failures: list[BoundbyError] = []
    done: list[KernelAnalysis] = []
    texts = []
    for path in paths:
        try:
            done.append(analyse(read_kernels(path)))
        except BoundbyError as error:
            if len(paths) == 1:
                raise
            complain(error.message, error.hint)
            failures.append(error)
        else:
            texts.append(report(done[-1], output, one_of_many=len(paths) > 1))
    if texts:
        output.write("".join(texts))
    if failures:
        return max(error.exit_code for error in failures)
    check_expected(done, expect)
    return 0


def report(analysis: KernelAnalysis, output: Output, *, one_of_many: bool) -> str:
    """One analysis in the form that was asked for; many JSON documents stand one a line."""
    if output.form == "json":
        from boundby.report.kernel_document import encode

        return encode(analysis, on_one_line=one_of_many)
    if output.form == "markdown":
        from boundby.report.kernel_markdown import render as render_markdown

        return render_markdown(analysis) + ("\n" if one_of_many else "")
    if output.form == "html":
        from boundby.report.page.kernels import kernel_page
        from boundby.report.page.render import render as render_page

        return render_page(kernel_page(analysis))
    from boundby.report.kernel_text import render
    from boundby.report.sanitize import visible
    from boundby.report.terminal import Look, look_at

    look = look_at(sys.stdout, os.environ, detail=output.verbose)
    if output.path is not None:
        look = Look(detail=output.verbose)
    text = render(analysis, look)
    return f"== {visible(analysis.path)} ==\n{text}\n" if one_of_many else text


def check_expected(analyses: Sequence[KernelAnalysis], expected: str | None) -> None:
    """Fail where most of the time is not of the class that the user asked for."""
    others = [each for each in analyses if expected and each.verdict.name != expected]
    if others:
        found = ", ".join(f"{each.path} is {each.verdict.name}" for each in others)
        raise GateError(
            f"expected {expected}: {found}", f"boundby explain {others[0].verdict.name}"
        )
