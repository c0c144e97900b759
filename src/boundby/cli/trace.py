"""``boundby trace``: a recording in, what bounds it out."""

from __future__ import annotations

from typing import get_args

import click

from boundby.cli.help import examples
from boundby.cli.output import Output, output_options, table_options
from boundby.errors import BoundbyError
from boundby.verdict.decision import BoundClass

POSITIVE = click.FloatRange(min=0, min_open=True)


@click.command(
    epilog=examples(
        "boundby trace trace.json.gz --step-ms 3.9",
        "boundby trace logs/ -o report.md",
        "boundby trace trace.json --expect compute-bound",
    )
)
@click.argument("paths", metavar="FILE|FOLDER...", nargs=-1, required=True)
@click.option(
    "--step-ms", type=POSITIVE, metavar="MS", help="Step time measured without the profiler."
)
@click.option(
    "--submit-ms", type=POSITIVE, metavar="MS", help="Host time of a step that waits for nothing."
)
@click.option(
    "--expect",
    metavar="CLASS",
    type=click.Choice(get_args(BoundClass)),
    help="Exit with 1 where the verdict is another class.",
)
@table_options
@output_options
def command(
    *,
    output: Output,
    paths: tuple[str, ...],
    step_ms: float | None,
    submit_ms: float | None,
    expect: str | None,
    ops: int,
    ranges: bool,
) -> int:
    """Say what bounds a recorded program.

    FILE is a trace of torch.profiler (.json, .json.gz) or an export of Nsight Systems (.sqlite). Of
    a FOLDER with the traces of several ranks, the lowest is taken. Several arguments are reported
    one after the other, as JSON one document a line.

    Give --step-ms when you know it: the profiler slows the host, and a measured step takes out
    exactly what it added.
    """
    from boundby.cli.answer import check_expected, deliver, diagnose_all
    from boundby.diagnose import Options
    from boundby.read.release import return_large_arrays
    from boundby.report.text import Tables

    return_large_arrays()
    failures: list[BoundbyError] = []
    diagnoses = diagnose_all(paths, Options(step_ms=step_ms, submit_ms=submit_ms), failures)
    done = deliver(diagnoses, output, Tables(ops, ranges), are_many=len(paths) > 1)
    if failures:
        return max(error.exit_code for error in failures)
    check_expected(done, expect)
    return 0
