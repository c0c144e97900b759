"""``boundby loader``: does the data come as fast as the step needs it?"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from boundby.cli.help import examples
from boundby.cli.numbers import POSITIVE
from boundby.cli.output import Output, keep_apart, output_options
from boundby.errors import CannotTellError, UsageError

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

    Unraisable = Callable[[UnraisableHookArgs], object]

WORKER = "DataLoader worker"
"""In torch's word of a worker that died."""


@click.command(
    epilog=examples(
        "boundby loader data:make_loader",
        "boundby loader train.py::make_loader --step-ms 65",
        "boundby loader data:make_loader --recording trace.json.gz",
    )
)
@click.argument("what", metavar="MODULE:FUNCTION|SCRIPT::NAME")
@click.option("--step-ms", type=POSITIVE, metavar="MS", help="Step time to compare with.")
@click.option("--recording", metavar="FILE", help="Recording whose step time to compare with.")
@click.option("--budget", type=POSITIVE, default=20.0, metavar="S", help="Seconds for all passes.")
@click.option("--no-sweep", is_flag=True, help="Measure the settings of the loader alone.")
@output_options
def command(
    *,
    output: Output,
    what: str,
    step_ms: float | None,
    recording: str | None,
    budget: float,
    no_sweep: bool,
) -> int:
    """Measure a data loader without the model.

    The function makes a DataLoader. Batches are taken as fast as they come: the first apart, with
    the time of every stage where it runs, then with other settings, in bounded time.
    """
    from boundby.bench.loader import measure_loader
    from boundby.bench.targets import load_target, users_own
    from boundby.report import loader as report
    from boundby.report.terminal import Look, look_at

    if recording is not None:
        if step_ms is not None:
            raise UsageError("--step-ms and --recording both give the step", "give one of them")
        keep_apart(output, [recording])
        step_ms = _step_of(recording)
    make = load_target(what).fn
    with _workers_alive(what), users_own(what):
        found = measure_loader(make(), step_ms, budget, sweep=not no_sweep)
    if output.form == "json":
        output.write(report.encode(found))
    elif output.form == "markdown":
        output.write(report.markdown(found))
    else:
        look = look_at(sys.stdout, os.environ) if output.path is None else Look()
        output.write(report.render(found, look))
    return 0


@contextmanager
def _workers_alive(what: str) -> Iterator[None]:
    """Tell in one line of a worker that dies, whenever that is.

    torch raises from its handler of SIGCHLD, wherever this process then is: also where it tells of
    the worker that died before, and where Python can pass no error on and prints it.
    """
    held = sys.unraisablehook
    sys.unraisablehook = without_dead_workers(held)
    try:
        yield
    except RuntimeError as error:
        if hasattr(signal, "SIGCHLD"):
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        first = (str(error).splitlines() or [type(error).__name__])[0]
        raise CannotTellError(
            f"{what}: {first}", "num_workers=0 shows what the worker did"
        ) from error
    else:
        sys.unraisablehook = held


def without_dead_workers(told: Unraisable) -> Unraisable:
    """The hook for errors that nobody can catch, without those of workers that died."""

    def tell(said: UnraisableHookArgs) -> None:
        if WORKER not in str(said.exc_value):
            told(said)

    return tell


def _step_of(recording: str) -> float:
    from boundby.diagnose import diagnose
    from boundby.read import read_recording

    times = diagnose(read_recording(recording)).steps
    if times.unprofiled_ms is None:
        raise UsageError(f"{recording}: no step time in it", "give it with --step-ms")
    return times.unprofiled_ms.estimate
