"""``boundby check``: is a change still right? Correctness before speed."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import click

from boundby.cli.help import examples
from boundby.cli.numbers import NOT_NEGATIVE, POSITIVE
from boundby.cli.output import Output, keep_apart, output_options
from boundby.errors import CannotTellError, UnreadableError, UsageError

if TYPE_CHECKING:
    from boundby.bench.correctness import Check
    from boundby.report.terminal import Look

FAILED = 1


@click.command(
    epilog=examples(
        "boundby check ops:fused ops:plain --inputs ops:inputs",
        "boundby check train.py::new train.py::old --training --steps 20",
        "boundby check --lint model.py",
        "boundby check --streams pipeline:step",
    )
)
@click.argument("targets", metavar="NEW REF", nargs=-1)
@click.option("--inputs", metavar="TARGET", help="Function that makes the arguments.")
@click.option("--rtol", type=NOT_NEGATIVE, help="Relative tolerance of elements, instead of -k.")
@click.option("--atol", type=NOT_NEGATIVE, help="Absolute tolerance of elements, instead of -k.")
@click.option("-k", type=POSITIVE, help="Error against float64, in errors of the baseline.")
@click.option("--precision", help="Element type in which NEW may compute.")
@click.option("--no-grads", is_flag=True, help="Compare outputs alone.")
@click.option(
    "--batch",
    "batches",
    type=click.IntRange(min=1),
    multiple=True,
    help="Batch size to try; repeatable.",
)
@click.option("--formula", metavar="TARGET", help="Float64 reference where REF has none.")
@click.option("--training", is_flag=True, help="NEW and REF make a step that gives its loss.")
@click.option("--steps", type=click.IntRange(min=2), default=20, help="Steps of --training.")
@click.option("--seeds", type=click.IntRange(min=2), default=3, help="Seeds of --training.")
@click.option("--lint", "is_lint", is_flag=True, help="Look for lossy lines in source files.")
@click.option("--streams", is_flag=True, help="Run the target under torch's CUDA sanitizer.")
@output_options
def command(*, output: Output, targets: tuple[str, ...], **asked: Any) -> int:  # noqa: ANN401 -- click's
    """Check that a change still gives right results.

    NEW and REF are functions (module:function or script.py::name). Outputs and gradients are
    compared with a float64 reference: NEW passes where its error is at most a small factor over
    that of REF at the same precision. Several layouts of grad_output, fresh values, non-contiguous
    inputs and other batch sizes are tried in one process.

    Exits with 1 where it fails, 125 where nothing could be compared.
    """
    _refuse_mixed(asked)
    if asked["is_lint"]:
        return _lint(output, targets)
    if asked["streams"]:
        return _streams(output, targets)
    if len(targets) != 2:  # noqa: PLR2004 -- NEW and REF
        raise UsageError("check compares two functions: NEW REF", "boundby check --help")
    if asked["training"]:
        return _training(output, targets, asked)
    from boundby.report import bench_check as report

    found = _check(targets, asked)
    forms = {"json": report.encode, "markdown": report.markdown}
    make = forms.get(output.form)
    output.write(make(found) if make else report.render(found, _look(output)))
    if found.is_blind:
        reason = found.worst[1].reason
        raise CannotTellError(reason, "give --inputs with which REF gives finite values")
    return 0 if found.passed else FAILED


MODES = {"training": "--training", "is_lint": "--lint", "streams": "--streams"}
OF_TENSORS = {
    "inputs": "--inputs",
    "rtol": "--rtol",
    "atol": "--atol",
    "k": "-k",
    "precision": "--precision",
    "no_grads": "--no-grads",
    "batches": "--batch",
    "formula": "--formula",
}
"""Options of the comparison of outputs and gradients."""


def _refuse_mixed(asked: dict[str, Any]) -> None:
    """Raise UsageError where options do not go together, so that none is passed over."""
    modes = [option for name, option in MODES.items() if asked[name]]
    if len(modes) > 1:
        raise UsageError(f"{' and '.join(modes)} do not go together", "one check at a time")
    given = [o for n, o in OF_TENSORS.items() if asked[n] not in (None, False, ())]
    if modes and given:
        raise UsageError(f"{modes[0]} takes no {given[0]}", "boundby check --help")


def _check(targets: tuple[str, ...], asked: dict[str, Any]) -> Check:
    from boundby.bench.correctness import check
    from boundby.bench.targets import inputs_of, load_target, users_own

    new, ref = (load_target(each).fn for each in targets)
    maker = load_target(asked["inputs"]) if asked["inputs"] else None
    formula = load_target(asked["formula"]).fn if asked["formula"] else None
    inputs = inputs_of(maker, seed=0)
    with users_own(*targets, *([asked["formula"]] if formula else [])):
        return check(
            new,
            ref,
            *inputs,
            **{name: asked[name] for name in ("rtol", "atol", "k", "precision")},
            grads=not asked["no_grads"],
            batch_sizes=asked["batches"] or None,
            formula=formula,
        )


def _training(output: Output, targets: tuple[str, ...], asked: dict[str, Any]) -> int:
    from boundby.bench.losscurve import check_training
    from boundby.bench.targets import load_target, users_own
    from boundby.report import bench_check as report

    new, ref = (load_target(each).fn for each in targets)
    with users_own(*targets):
        found = check_training(new, ref, asked["steps"], asked["seeds"])
    if output.form == "json":
        output.write(report.encode_training(found))
    else:
        _write_drawn(output, report.render_training(found, _look(output)))
    return 0 if found.passed else FAILED


def _write_drawn(output: Output, drawn: str) -> None:
    """Write a report that has no Markdown of its own."""
    from boundby.report.markdown import as_drawn

    output.write(as_drawn(output.title, drawn) if output.form == "markdown" else drawn)


def _lint(output: Output, files: tuple[str, ...]) -> int:
    keep_apart(output, files)
    from boundby.bench.lint import lint_files
    from boundby.report.bench_check import encode_lint, render_lint

    if not files:
        raise UsageError("--lint needs files", "boundby check --lint model.py")
    found, unread = lint_files(files)
    if output.form == "json":
        output.write(encode_lint(found, unread))
    elif found or not unread:
        _write_drawn(output, render_lint(found, _look(output)))
    if unread:
        others = f" (and {len(unread) - 1} more)" if len(unread) > 1 else ""
        raise UnreadableError(f"{unread[0].message}{others}", unread[0].hint)
    return FAILED if found else 0


def _streams(output: Output, targets: tuple[str, ...]) -> int:
    from boundby.bench.streams import find_races
    from boundby.report.bench_check import encode_races, render_races

    if len(targets) != 1:
        raise UsageError("--streams runs one target", "boundby check --streams pipeline:step")
    found = find_races(targets[0])
    if output.form == "json":
        output.write(encode_races(found))
    else:
        _write_drawn(output, render_races(found, _look(output)))
    return FAILED if found else 0


def _look(output: Output) -> Look:
    from boundby.report.terminal import Look, look_at

    if output.path is not None:
        return Look(detail=output.verbose)
    return look_at(sys.stdout, os.environ, detail=output.verbose)
