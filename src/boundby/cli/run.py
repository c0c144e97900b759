"""``boundby run``: an unchanged script, observed while it runs."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from boundby.cli.help import examples
from boundby.cli.output import Output, output_options, table_options, write_stdout
from boundby.errors import BoundbyError, CannotTellError, UsageError

if TYPE_CHECKING:
    from boundby.capture.device_memory import DeviceMemory
    from boundby.capture.findings import LiveRun
    from boundby.capture.plan import Plan
    from boundby.diagnose import Diagnosis
    from boundby.evidence.lanes import Extent
    from boundby.read.capture_folder import Capture

PASS_NAMES = ("clean", "trace", "stacks", "syncs", "loader", "memory")
INTERRUPTED = 130
SHORT_S = 10.0
"""Without an optimizer or a DataLoader the outermost module is looked for: seconds, torch's own
import included, from which it should have been found."""
NO_STEPS = (
    "boundby: no steps were seen: no optimizer, DataLoader or module ran often enough\n\n"
    "hint: call boundby.step() at the end of each step"
)
TOO_SHORT = (
    "boundby: no steps were seen: the program ended after {seconds:.2g} s, and without an "
    "optimizer or a DataLoader steps are found only after some seconds\n\n"
    "hint: call boundby.step() at the end of each step, or let it run for {enough:.0f} s or more"
)


@click.command(
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
    epilog=examples(
        "boundby run train.py --epochs 1",
        "boundby run --skip 100 --stop -m package.train",
        "boundby run -o report.json torchrun --nproc-per-node 2 train.py",
    ),
)
@click.option("-m", "is_module", is_flag=True, help="SCRIPT is a module, as for python -m.")
@click.option("--skip", type=click.IntRange(min=0), default=0, help="Leave N steps alone first.")
@click.option("--steps", type=click.IntRange(min=3), help="Steps to time without an observer.")
@click.option("--passes", help=f"Which passes, of {','.join(PASS_NAMES)}.")
@click.option("--stop", is_flag=True, help="End the program when all passes are done.")
@click.option("--oracle", is_flag=True, help="Also time steps whose batch is loaded ahead.")
@click.option("--stacks", "stack_trace", is_flag=True, help="Record Python stacks in the trace.")
@click.option("--snapshot", is_flag=True, help="Keep a snapshot of the device memory.")
@click.option("--no-memory", is_flag=True, help="Keep no history for the case of no memory.")
@click.option("--folder", type=click.Path(path_type=Path), help="Keep the recording here.")
@click.option(
    "--read", "kept", type=click.Path(exists=True, path_type=Path), help="Report a kept recording."
)
@click.option("--env", "wants_env", is_flag=True, help="Print the variables that observe.")
@table_options
@output_options
@click.argument("script", required=False)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def command(  # noqa: PLR0917 -- click passes by keyword
    output: Output,
    script: str | None,
    arguments: tuple[str, ...],
    kept: Path | None,
    folder: Path | None,
    passes: str | None,
    is_module: bool,
    wants_env: bool,
    ops: int,
    ranges: bool,
    roofline: bool,
    **settings: bool | int | None,
) -> int:
    """Say what bounds a script while it runs.

    SCRIPT runs as ever, with its own output and exit code. Some of its steps are timed without any
    observer, some are traced, sampled and searched for waits; then it runs on undisturbed. The
    report follows when it has ended. Options for boundby stand before SCRIPT, all after it is the
    script's own. With --json the script's output goes to stderr.

    SCRIPT may be a launcher such as torchrun: each rank is observed, the lowest is reported.
    """
    tables = {"ops": ops, "ranges": ranges, "roofline": roofline}
    if kept is not None:
        if not report_run(kept, output, tables):
            raise CannotTellError(f"{kept}: holds no recording", "boundby run train.py makes one")
        return 0
    plan = _plan(passes, settings)
    if wants_env:
        _print_environment(plan, folder)
        return 0
    if script is None:
        raise UsageError("no script named", "boundby run train.py")
    ended = _observe(plan, folder, output, (script, arguments, is_module))
    _report_ended(ended, output, tables)
    return ended.code


def _plan(passes: str | None, settings: dict[str, bool | int | None]) -> Plan:
    from boundby.capture.plan import Plan

    named = tuple(passes.split(",")) if passes else PASS_NAMES
    unknown = [name for name in named if name not in PASS_NAMES]
    if unknown:
        raise UsageError(f"--passes: no pass {unknown[0]!r}", f"choose of {','.join(PASS_NAMES)}")
    memory = not settings.pop("no_memory")
    return Plan(passes=named, memory=memory, **settings)  # type: ignore[arg-type]


def _print_environment(plan: Plan, folder: Path | None) -> None:
    """Variables for a shell: ``eval "$(boundby run --env)"`` observes whatever starts next."""
    from boundby.capture.launch import DEFAULT_PARENT, environment_of
    from boundby.capture.plan import PARENT

    variables = environment_of(plan, folder or Path(DEFAULT_PARENT))
    variables.pop(PARENT)
    lines = (f"export {name}={shlex.quote(text)}\n" for name, text in variables.items())
    write_stdout("".join(lines))


class _Ended(NamedTuple):
    """A program that has ended: its exit code, the folder of the recording, how long it ran."""

    code: int
    place: Path
    seconds: float


def _observe(
    plan: Plan, folder: Path | None, output: Output, what: tuple[str, tuple[str, ...], bool]
) -> _Ended:
    """Run the program to its end."""
    from boundby.capture import launch
    from boundby.cli.progress import observing

    script, arguments, is_module = what
    target = launch.target_of(script, arguments, module=is_module)
    place = _place(folder, target.name, force=output.force)
    aside = sys.stderr.fileno() if output.form == "json" and output.path is None else None
    variables = launch.environment_of(plan, place)
    is_apart = aside is None and not sys.stdout.isatty()
    began = monotonic()
    with observing(place, output, is_apart=is_apart) as shown:
        code = launch.run(target, variables, stdout=aside, meanwhile=shown)
    return _Ended(code, place, monotonic() - began)


def _report_ended(ended: _Ended, output: Output, tables: dict[str, Any]) -> None:
    """Report a program that has ended; a failed one keeps its code where the report fails too."""
    try:
        if not report_run(ended.place, output, tables):
            output.note(_why_nothing(ended))
    except BoundbyError as error:
        if not ended.code:
            raise
        from boundby.cli.errortext import complain

        complain(error.message, error.hint)


def _why_nothing(ended: _Ended) -> str:
    """Why a program that has ended left no recording."""
    from boundby.read.capture_folder import TAPE

    place = ended.place
    if not place.is_dir():
        return f"boundby: {place} is gone: the recording was deleted while the program ran"
    if any(place.rglob(TAPE)):
        return f"boundby: {place} holds no whole recording: is there room on the disk?"
    if ended.code == INTERRUPTED:
        return "boundby: interrupted before a step was seen"
    if ended.seconds < SHORT_S:
        return TOO_SHORT.format(seconds=ended.seconds, enough=SHORT_S)
    return NO_STEPS


def _place(folder: Path | None, name: str, *, force: bool) -> Path:
    """The folder of the recording, there and open to writing before the program starts."""
    from boundby.capture import launch
    from boundby.read.capture_folder import captures_in

    wanted = folder or Path(launch.DEFAULT_PARENT)
    if folder is not None and captures_in(folder) and not force:
        raise UsageError(
            f"{folder}: holds a recording already",
            f"name another folder; boundby run --read {folder} reports what is there",
        )
    try:
        return launch.free_folder(wanted, name) if folder is None else launch.open_folder(folder)
    except OSError as error:
        raise CannotTellError(
            f"{wanted}: cannot keep a recording: {error.strerror}", "name a folder with --folder"
        ) from None


def report_run(place: Path, output: Output, tables: dict[str, Any]) -> bool:
    """Report the process of the lowest rank; False where no process had steps."""
    from boundby.read.capture_folder import captures_in

    found = captures_in(place)
    if not found:
        return False
    if len(found) > 1:
        output.note(f"boundby: {len(found)} processes were observed; {found[0].name} is reported")
    output.write(_text(found[0], output, tables))
    return True


def _text(folder: Path, output: Output, tables: dict[str, Any]) -> str:
    """The report of one process in the form that was asked for."""
    from dataclasses import replace

    from boundby.capture.clocks import with_traced
    from boundby.capture.device_memory import read_device_memory
    from boundby.capture.findings import read_run
    from boundby.cli.answer import drawn_for
    from boundby.cli.progress import reading

    run, capture = read_run(folder)
    with reading(output):
        diagnosis = _diagnose(run, capture, drawn_for(output))
    if output.form == "perfetto":
        return _trace(run, diagnosis)
    memory, problems = read_device_memory(run, diagnosis)
    run = replace(
        run,
        problems=(*run.problems, *problems),
        passes=with_traced(run.passes, _traced_ms(diagnosis), run.clocks.wall),
    )
    if output.form == "html":
        return _page(run, diagnosis, memory, output)
    if output.form == "json":
        from boundby.report.run_document import encode

        return encode(run, diagnosis, memory)
    if output.form == "markdown":
        from boundby.report.run_markdown import render as render_markdown

        return render_markdown(run, diagnosis, memory)
    from boundby.report.run_text import render
    from boundby.report.terminal import Look, look_at
    from boundby.report.text import Tables

    look = look_at(sys.stdout, os.environ, detail=output.verbose)
    look = Look(detail=output.verbose) if output.path else look
    return render(run, diagnosis, look, Tables(**tables), memory)


def _traced_ms(diagnosis: Diagnosis | None) -> float | None:
    """The step as the recording holds it, with a full queue where it shows one."""
    if diagnosis is None:
        return None
    return diagnosis.steps.steady_ms or diagnosis.steps.drained_ms


def _page(
    run: LiveRun, diagnosis: Diagnosis | None, memory: DeviceMemory | None, output: Output
) -> str:
    from boundby.evidence.excerpts import excerpts
    from boundby.report.page.render import render
    from boundby.report.page.run import run_page

    wanted = output.source and diagnosis is not None
    found = excerpts(diagnosis.syncs, diagnosis.source.path) if wanted and diagnosis else ()
    return render(run_page(run, diagnosis, found, memory))


def _trace(run: LiveRun, diagnosis: Diagnosis | None) -> str:
    from boundby.report.perfetto import render
    from boundby.report.run_text import why_no_trace

    if diagnosis is None:
        raise CannotTellError(why_no_trace(run), "boundby run --steps 3 train.py")
    return render(diagnosis)


def _diagnose(run: LiveRun, capture: Capture, lanes: Extent | None) -> Diagnosis | None:
    """The trace under the clean step of the same run; None where the program ended before it."""
    from dataclasses import replace

    from boundby.capture.host_alone import next_commands, retold
    from boundby.cli.answer import known_roofs
    from boundby.diagnose import Options, diagnose
    from boundby.read import read_recording

    if capture.trace is None:
        return None
    options = Options(
        step_ms=run.clocks.step,
        submit_ms=run.clocks.submit,
        clean=True,
        live=run.live,
        facts=run.facts,
        places=run.places,
        void=run.void,
        lanes=lanes,
        **known_roofs(None),
    )
    recording = retold(read_recording(capture.trace), run)
    known = capture.header.get("torch")
    caliber = recording.caliber
    if caliber.torch is None and isinstance(known, str):
        recording = replace(recording, caliber=replace(caliber, torch=known))
    found = diagnose(recording, options)
    if found.verdict.name == "undecided" and not run.uses_device:
        return replace(found, next=tuple(next_commands(run, found.quality)))
    return found
