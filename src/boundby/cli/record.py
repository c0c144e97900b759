"""``boundby record``: the user's own Nsight tools around a command, then the report."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import click

from boundby.cli.errortext import complain
from boundby.cli.help import examples
from boundby.cli.numbers import NOT_NEGATIVE
from boundby.cli.output import Output, output_options
from boundby.errors import BoundbyError, UsageError


@click.command(
    context_settings={"allow_interspersed_args": False},
    epilog=examples(
        "boundby record --nsys -- python train.py",
        "boundby record --nsys --delay 20 --seconds 5 -- python train.py",
        "boundby record --ncu gemm --count 5 -- python train.py",
    ),
)
@click.option("--nsys", "wants_nsys", is_flag=True, help="Record the program, by Nsight Systems.")
@click.option("--ncu", "pattern", metavar="REGEX", help="Measure kernels, by Nsight Compute.")
@click.option(
    "--delay", type=NOT_NEGATIVE, default=0.0, metavar="S", help="nsys: start S seconds late."
)
@click.option(
    "--seconds",
    type=NOT_NEGATIVE,
    default=30.0,
    metavar="S",
    show_default=True,
    help="nsys: record S seconds at most; 0 is all.",
)
@click.option(
    "--range",
    "inside",
    metavar="NAME",
    help="nsys: record inside an NVTX range; api: between torch.cuda.profiler.start and stop.",
)
@click.option("--stop", is_flag=True, help="nsys: end the program with the recording.")
@click.option("--skip", type=click.IntRange(min=0), default=0, metavar="N", help="ncu: skip N.")
@click.option(
    "--count",
    type=click.IntRange(min=1),
    default=20,
    metavar="N",
    show_default=True,
    help="ncu: measure N launches.",
)
@click.option("--save", metavar="FILE", help="Keep the recording as FILE (.sqlite or .csv).")
@click.argument("command_line", metavar="COMMAND...", nargs=-1, required=True)
@output_options
def command(
    *,
    output: Output,
    wants_nsys: bool,
    pattern: str | None,
    delay: float,
    seconds: float,
    inside: str | None,
    stop: bool,
    skip: int,
    count: int,
    save: str | None,
    command_line: tuple[str, ...],
) -> int:
    """Record a program with your own nsys or ncu.

    The tool runs around COMMAND with the flags that a verdict needs, and the report follows. What
    COMMAND prints goes to stderr; its exit code is passed on. The recording is kept beside you.

    nsys records PyTorch's operators where it is new enough, and the program goes on after the
    recording. ncu leaves the clocks alone and replays each kernel a few dozen times, so choose few.
    """
    from boundby.record import ncu, nsys

    if wants_nsys == (pattern is not None):
        raise UsageError("give either --nsys or --ncu REGEX", "boundby record --help")
    suffix = "-nsys.sqlite" if wants_nsys else "-ncu.csv"
    target = place(save, command_line, suffix, force=output.force)
    with tempfile.TemporaryDirectory(prefix="boundby-") as folder:
        if pattern is not None:
            choice = ncu.Choice(pattern, skip, count)
            code = ncu.measure(command_line, target, choice, Path(folder))
        else:
            window = nsys.Window(delay, seconds, inside, stop)
            recorded = nsys.record(command_line, target, window, Path(folder))
            code = recorded.script_code
            if not recorded.has_operators:
                output.note("this nsys marks no PyTorch operators: a newer one does (--pytorch)")
    output.note(f"wrote {target}")
    try:
        show(target, output)
    except BoundbyError as error:
        if not code:
            raise
        complain(error.message, error.hint)
    return code or 0


def place(save: str | None, command_line: Sequence[str], suffix: str, *, force: bool) -> Path:
    """Where the recording goes: as asked, else a name after the script that is still free."""
    if save is not None:
        path = Path(save)
        if path.exists() and not force:
            raise UsageError(f"{path}: exists already", "add --force to overwrite it")
        return path.absolute()
    scripts = [Path(each).stem for each in command_line if each.endswith(".py")]
    stem = scripts[0] if scripts else Path(command_line[0]).stem
    names = (f"{stem}{f'-{number}' if number else ''}{suffix}" for number in range(sys.maxsize))
    return next(path for name in names if not (path := Path.cwd() / name).exists())


def show(target: Path, output: Output) -> None:
    """Report on a recording as ``trace`` or ``kernel`` would."""
    path = str(target.relative_to(Path.cwd()) if target.is_relative_to(Path.cwd()) else target)
    if target.suffix == ".csv":
        from boundby.cli.kernel import report
        from boundby.kernels.analyse import analyse
        from boundby.read.nsight_compute import read_kernels

        output.write(report(analyse(read_kernels(path)), output, one_of_many=False))
        return
    from boundby.cli.answer import deliver, diagnose_all, drawn_for, known_roofs
    from boundby.diagnose import Options
    from boundby.report.text import Tables

    options = Options(lanes=drawn_for(output), **known_roofs(None))
    deliver(diagnose_all([path], options, [], output), output, Tables(), are_many=False)
