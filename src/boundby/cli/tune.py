"""``boundby tune``: one change at a time, correctness before speed."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from boundby.cli.help import examples
from boundby.cli.numbers import GIBIBYTES, POSITIVE
from boundby.cli.output import Output, output_options
from boundby.errors import BoundbyError, UsageError

if TYPE_CHECKING:
    from boundby.experiment.outcome import Outcome
    from boundby.experiment.settings import Settings

DEFAULT_PARENT = "boundby_runs"
KINDS = ("batch", "numerics")
INTERRUPTED = 130
"""What a shell reports for a program that Ctrl-C ended."""
GIB = 1 << 30


class UntilScript(click.Command):
    """Options of boundby may follow a class; what follows a script belongs to the script."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """End the options behind the first word that is a script and no value of an option."""
        takes = {
            name
            for each in self.params
            if isinstance(each, click.Option) and not each.is_flag
            for name in each.opts
        }
        for at, word in enumerate(args):
            if word == "--":
                break
            if word.endswith(".py") and ":" not in word and (not at or args[at - 1] not in takes):
                args = [*args[: at + 1], "--", *args[at + 1 :]]
                break
        return super().parse_args(ctx, args)


@click.command(
    cls=UntilScript,
    epilog=examples(
        "boundby tune --minutes 20 train.py --epochs 1",
        "boundby tune workload.py:Workload --allow batch,numerics --minutes 20",
        "boundby tune mine:Workload --only compile-model,sdpa -o tuned.html",
    ),
)
@click.option("--journal", type=click.Path(path_type=Path), help="Keep (or take up) it here.")
@click.option("--minutes", type=POSITIVE, help="Time for this run.")
@click.option("--trials", type=click.IntRange(min=0), help="Most trials of this run.")
@click.option("--allow", default="", metavar="KINDS", help="batch, numerics, or both.")
@click.option("--only", default="", metavar="CHANGES", help="Try these alone, by id.")
@click.option("--skip", default="", metavar="CHANGES", help="Leave these out, by id.")
@click.option("--memory-cap", type=GIBIBYTES, metavar="GIB", help="Device memory a step may use.")
@click.option("--steps", type=click.IntRange(min=3), default=12, help="Steps of a loss curve.")
@output_options
@click.argument("what", metavar="SCRIPT|MODULE:CLASS")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def command(*, output: Output, what: str, arguments: tuple[str, ...], **asked: Any) -> int:  # noqa: ANN401 -- click's
    """Try one change at a time, correctness before speed.

    The target is an unchanged script, or a class of ten lines for which every change can be tried
    (boundby explain workload). Each change runs in a process of its own: its outputs, gradients and
    losses are held against the unchanged program and float64, then it is measured in turns with the
    best so far, and kept or taken back. The journal can be taken up after a kill.

    Another batch size or precision is tried only where --allow says so.
    """
    settings = _settings(what, arguments, asked)
    try:
        outcome = _tune(settings, asked["journal"], output)
    except BoundbyError:
        for option in _passed_on(arguments):
            output.note(f"{option} went to {what}; an option of boundby stands before the script")
        raise
    output.write(_text(outcome, output))
    return 0


def report_journal(path: Path, output: Output) -> None:
    """Write what a journal tells, without running anything."""
    from boundby.experiment.ending import read_outcome

    if output.form == "perfetto":
        raise UsageError(f"{path}: a tuning run has no timeline", "write .html, .md or .json")
    output.write(_text(read_outcome(path), output))


def _settings(target: str, arguments: tuple[str, ...], asked: dict[str, Any]) -> Settings:
    from boundby.experiment.changes import named
    from boundby.experiment.settings import Settings

    allow = _listed(asked["allow"])
    unknown = [each for each in allow if each not in KINDS]
    if unknown:
        raise UsageError(f"--allow: no kind {unknown[0]!r}", f"one of {', '.join(KINDS)}")
    only, skip = _listed(asked["only"]), _listed(asked["skip"])
    named((*only, *skip))
    cap = asked["memory_cap"]
    return Settings(
        target=target,
        arguments=arguments,
        minutes=asked["minutes"],
        trials=asked["trials"],
        allow=allow,  # type: ignore[arg-type]
        only=only,
        skip=skip,
        memory_cap=None if cap is None else int(cap * GIB),
        steps=asked["steps"],
    )


def _passed_on(arguments: tuple[str, ...]) -> list[str]:
    """Words behind a script that boundby knows as well: they may have been meant for it."""
    own = {name for each in command.params for name in each.opts if name.startswith("--")}
    return [each for each in arguments if each.partition("=")[0] in own]


def _listed(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _tune(settings: Settings, folder: Path | None, output: Output) -> Outcome:
    from boundby.experiment.journal import Journal
    from boundby.experiment.lab import ProcessLab
    from boundby.experiment.tune import tune

    _check_target(settings.target)
    journal = Journal(folder or _new_folder(), settings)
    say = output.note if sys.stderr.isatty() or output.verbose else lambda _: None
    try:
        return tune(ProcessLab(settings, journal), journal, settings, say)
    except KeyboardInterrupt:
        if not journal.records:
            raise
        raise _stopped(journal.folder) from None


def _stopped(folder: Path) -> BoundbyError:
    """An interrupt in the middle: where what was measured is, and how to go on."""
    found = BoundbyError(
        "interrupted",
        f"boundby report {folder} tells what was measured; "
        f"the same command with --journal {folder} goes on",
    )
    found.exit_code = INTERRUPTED
    return found


def _new_folder() -> Path:
    """A folder for a journal below the working directory."""
    from boundby.capture.launch import free_folder

    try:
        return free_folder(Path(DEFAULT_PARENT), "tune")
    except OSError as error:
        raise BoundbyError(
            f"{DEFAULT_PARENT}: cannot keep a journal: {error.strerror}", "name one with --journal"
        ) from None


def _check_target(target: str) -> None:
    """Refuse what cannot be a target before anything is written."""
    place = target.partition(".py:")[0] + ".py" if ".py:" in target else target
    if place.endswith(".py") and not Path(place).is_file():
        raise UsageError(f"{place}: no such file", "boundby tune train.py")
    if not place.endswith(".py") and ":" not in target:
        raise UsageError(f"{target}: neither a script nor MODULE:CLASS", "boundby tune --help")


def _text(outcome: Outcome, output: Output) -> str:
    if output.form == "json":
        from boundby.report.tune_document import encode

        return encode(outcome)
    if output.form == "markdown":
        from boundby.report.tune_markdown import render as render_markdown

        return render_markdown(outcome)
    if output.form == "html":
        from boundby.report.page.render import render as render_page
        from boundby.report.page.tune import tune_page

        return render_page(tune_page(outcome))
    from boundby.report.terminal import Look, look_at
    from boundby.report.tune import render

    look = look_at(sys.stdout, os.environ, detail=output.verbose)
    return render(outcome, Look(detail=output.verbose) if output.path else look)
