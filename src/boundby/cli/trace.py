"""``boundby trace``: a recording in, what bounds it out."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import TYPE_CHECKING, TypedDict, get_args

import click

from boundby.cli.help import examples
from boundby.cli.numbers import POSITIVE
from boundby.cli.output import (
    Function,
    Output,
    keep_apart,
    output_options,
    peak_option,
    table_options,
)
from boundby.errors import BoundbyError
from boundby.verdict.decision import BoundClass

if TYPE_CHECKING:
    from boundby.report.text import Tables

Told = TypedDict(
    "Told",
    {
        "--step-ms": float | None,
        "--submit-ms": float | None,
        "--peak": str | None,
        "--device": int | None,
    },
)
"""What the user knows about the program, and which device is meant, by option."""


def milliseconds(name: str, meaning: str) -> Callable[[Function], Function]:
    """Add an option that takes a positive time."""
    return click.option(name, type=POSITIVE, metavar="MS", help=meaning)


device_option = click.option(
    "--device",
    type=click.IntRange(min=0),
    metavar="N",
    help="Report this device where several did work; else the busiest.",
)


@click.command(
    epilog=examples(
        "boundby trace trace.json.gz --step-ms 3.9",
        "boundby trace logs/ -o report.md",
        "boundby trace trace.json --expect compute-bound",
    )
)
@click.argument("paths", metavar="FILE|FOLDER...", nargs=-1, required=True)
@milliseconds("--step-ms", "Step time measured without the profiler.")
@milliseconds("--submit-ms", "Host time of a step that waits for nothing.")
@click.option(
    "--expect",
    metavar="CLASS",
    type=click.Choice(get_args(BoundClass)),
    help="Exit with 1 where the verdict is another class.",
)
@peak_option
@device_option
@table_options
@output_options
def command(
    *,
    output: Output,
    paths: tuple[str, ...],
    step_ms: float | None,
    submit_ms: float | None,
    peak: str | None,
    device: int | None,
    expect: str | None,
    ops: int,
    ranges: bool,
    roofline: bool,
) -> int:
    """Say what bounds a recorded program.

    FILE is a trace of torch.profiler (.json, .json.gz) or an export of Nsight Systems (.sqlite). Of
    a FOLDER with the traces of several ranks, the lowest is taken. Several arguments are reported
    one after the other, as JSON one document a line.

    Give --step-ms when you know it: the profiler slows the host, and a measured step takes out
    exactly what it added.
    """
    from boundby.report.text import Tables

    keep_apart(output, paths)
    told: Told = {
        "--step-ms": step_ms,
        "--submit-ms": submit_ms,
        "--peak": peak,
        "--device": device,
    }
    tables = Tables(ops, ranges, roofline)
    return report_traces(paths, told, output, tables, expect)


def report_traces(
    paths: tuple[str, ...],
    told: Told,
    output: Output,
    tables: Tables | None = None,
    expect: str | None = None,
) -> int:
    """Diagnose and report one file after the other; the exit code."""
    from boundby.cli.answer import (
        check_expected,
        deliver,
        diagnose_all,
        drawn_for,
        keep_given,
        known_roofs,
        one_picture,
    )
    from boundby.diagnose import Options
    from boundby.read.release import return_large_arrays
    from boundby.report.text import Tables

    one_picture(output, len(paths))
    return_large_arrays()
    failures: list[BoundbyError] = []
    options = Options(
        step_ms=told["--step-ms"],
        submit_ms=told["--submit-ms"],
        lanes=drawn_for(output),
        device=told["--device"],
        **known_roofs(told["--peak"]),
    )
    diagnoses = keep_given(diagnose_all(paths, options, failures, output), _typed_again(told))
    done = deliver(diagnoses, output, tables or Tables(), are_many=len(paths) > 1)
    if failures:
        return max(error.exit_code for error in failures)
    check_expected(done, expect)
    return 0


def _typed_again(told: Told) -> str:
    """What the user told about the program, as it is typed."""
    known = {name: value for name, value in told.items() if value is not None}
    return " ".join(f"{name} {_typed(value)}" for name, value in known.items())


def _typed(value: object) -> str:
    return f"{value:.12g}" if isinstance(value, float) else shlex.quote(str(value))
