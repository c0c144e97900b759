"""``boundby compare``: which is faster, how surely, and by how much."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import click

from boundby.cli.help import examples
from boundby.cli.numbers import NOT_NEGATIVE, POSITIVE
from boundby.cli.output import Output, keep_apart, output_options
from boundby.errors import UsageError

if TYPE_CHECKING:
    from boundby.bench.compare import Comparison, Thresholds
    from boundby.bench.diagnoses import DiagnosisComparison
    from boundby.report.terminal import Look

EXIT = {"faster": 0, "same": 0, "slower": 1, "too-noisy": 125}
"""So that ``git bisect run boundby compare --commits ...`` keeps, drops and skips commits."""
PAIR = 2
WRONG = 1


@click.command(
    epilog=examples(
        "boundby compare before.json after.json",
        "boundby compare --live ops:new ops:old --inputs ops:inputs",
        "boundby compare --commits main HEAD -- boundby bench ops:softmax",
        "boundby compare fp32.json bf16.json --across dtype",
    )
)
@click.argument("things", metavar="OLD NEW", nargs=-1)
@click.option("--live", is_flag=True, help="Measure two functions, NEW then OLD, in turns.")
@click.option("--inputs", metavar="TARGET", help="Function that makes the arguments of --live.")
@click.option(
    "--commits",
    nargs=2,
    metavar="OLD NEW",
    help="Run a command on two commits in turns.",
)
@click.option("--across", default="", metavar="FIELDS", help="Fields of caliber under test.")
@click.option(
    "--practical",
    type=POSITIVE,
    default=2.0,
    metavar="PERCENT",
    help="Least change that matters.",
)
@click.option(
    "--floor-us",
    type=NOT_NEGATIVE,
    default=0.2,
    metavar="US",
    help="Least change a call that matters.",
)
@click.option("--rounds", type=click.IntRange(min=6), default=8, help="Runs of each commit.")
@click.option(
    "--budget",
    type=POSITIVE,
    default=10.0,
    metavar="S",
    help="Seconds of sampling with --live.",
)
@output_options
def command(*, output: Output, things: tuple[str, ...], **asked: Any) -> int:  # noqa: ANN401 -- click's
    """Compare results, functions, commits or diagnoses.

    OLD and NEW are results of boundby bench or documents of boundby trace --json. A change counts
    where it is significant and large enough to matter.

    Exits with 0 for faster or same, 1 for slower or, with --live, not correct, 125 where it is too
    noisy to say or where the calibers differ.
    """
    from boundby.report import compare as report

    _refuse_mixed(asked)
    if not asked["live"] and not asked["commits"]:
        keep_apart(output, things)
    found = _compare(things, asked)
    look = _look(output)
    output.write(report.write(found, output.form, look))
    is_wrong = getattr(found, "is_correct", None) is False
    return WRONG if is_wrong else EXIT[found.effect]


def _refuse_mixed(asked: dict[str, Any]) -> None:
    """Raise UsageError where options do not go together, so that none is passed over."""
    if asked["live"] and asked["commits"]:
        raise UsageError("--live and --commits do not go together", "boundby compare --help")
    if asked["inputs"] and not asked["live"]:
        raise UsageError("--inputs goes with --live", "boundby compare --live NEW OLD --inputs F")
    if asked["live"] and asked["across"]:
        raise UsageError(
            "--live measures both alike: --across goes with results", "boundby compare --help"
        )


def _compare(things: tuple[str, ...], asked: dict[str, Any]) -> Comparison | DiagnosisComparison:
    from boundby.bench.compare import Thresholds

    limits = Thresholds(asked["practical"] / 100, asked["floor_us"] * 1e3)
    across = [each for each in asked["across"].split(",") if each]
    if asked["commits"]:
        from boundby.bench.commits import compare_commits

        if not things:
            raise UsageError(
                "--commits needs a command", "boundby compare --commits a b -- python bench.py"
            )
        return compare_commits(asked["commits"], things, asked["rounds"], limits, across)
    if len(things) != PAIR:
        raise UsageError("compare takes two things", "boundby compare --help")
    if asked["live"]:
        return _live(things, asked, limits)
    return _saved(things, across, limits)


def _live(things: tuple[str, ...], asked: dict[str, Any], limits: Thresholds) -> Comparison:
    from dataclasses import replace

    from boundby.bench.live import compare_functions
    from boundby.bench.targets import inputs_of, load_target, refuse_lazy, users_own

    new, old = (load_target(each).fn for each in things)
    for name, fn in zip(things, (new, old), strict=True):
        refuse_lazy(fn, name)
    maker = load_target(asked["inputs"]) if asked["inputs"] else None
    inputs = inputs_of(maker, seed=0)
    with users_own(*things):
        found = compare_functions(new, old, inputs, budget_s=asked["budget"], limits=limits)
    return replace(found, new=things[0], old=things[1])


def _saved(
    things: tuple[str, ...], across: list[str], limits: Thresholds
) -> Comparison | DiagnosisComparison:
    from boundby.bench.compare import compare_results
    from boundby.bench.diagnoses import compare_diagnoses, is_diagnosis, read_document
    from boundby.bench.result import load

    documents = [read_document(each) for each in things]
    kinds = {is_diagnosis(each) for each in documents}
    if len(kinds) > 1:
        raise UsageError("one is a diagnosis, the other is not", "compare two of a kind")
    if kinds == {True}:
        return compare_diagnoses(documents[0], documents[1], across)
    return compare_results(load(things[0]), load(things[1]), across, limits)


def _look(output: Output) -> Look:
    from boundby.report.terminal import Look, look_at

    if output.path is not None:
        return Look(detail=output.verbose)
    return look_at(sys.stdout, os.environ, detail=output.verbose)
