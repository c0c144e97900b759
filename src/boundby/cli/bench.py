"""``boundby bench``: one function, three clocks, and whether to believe them."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import click

from boundby.cli.help import examples
from boundby.cli.numbers import POSITIVE
from boundby.cli.output import Output, output_options
from boundby.errors import BoundbyError

if TYPE_CHECKING:
    from boundby.bench.result import Result

CANNOT_TELL = 125


@click.command(
    epilog=examples(
        "boundby bench model:forward",
        "boundby bench train.py::step --scope step -o before.json",
        "boundby bench ops:softmax --inputs ops:inputs --cold",
    )
)
@click.argument("what", metavar="MODULE:FUNCTION|SCRIPT::NAME")
@click.option("--inputs", metavar="TARGET", help="Function that makes the arguments.")
@click.option("--label", default="", help="Title of the result.")
@click.option("--sub-label", default="", help="Row in a table of results.")
@click.option("--description", default="", help="Column in a table of results.")
@click.option(
    "--min-run-time",
    type=POSITIVE,
    default=0.5,
    metavar="S",
    help="Seconds of measured time of each clock.",
)
@click.option("--cold", is_flag=True, help="Empty the last cache before every call.")
@click.option("--cpu", is_flag=True, help="Measure on the CPU where there is a GPU.")
@click.option("--scope", default="op", help="kernel, op, forward, forward-backward, step ...")
@click.option("--metric", default="latency", help="latency or throughput.")
@click.option("--batch", type=click.IntRange(min=1), help="Batch size, for the caliber.")
@click.option("--sequence", type=click.IntRange(min=1), help="Sequence length, for the caliber.")
@output_options
def command(*, output: Output, what: str, **asked: Any) -> int:  # noqa: ANN401 -- click's
    """Measure a function with three clocks.

    It is called without arguments, or with what --inputs makes. Wall time runs from an idle
    device to an idle device, submit time until the call returns, device time in its own queue.

    Calls are repeated until they are steady before the first sample; what the first ones cost is
    told. Exits with 125 where the numbers are impossible.
    """
    from boundby.report import bench as report

    result = _measure(what, asked)
    if output.form == "json":
        output.write(report.encode(result))
    elif output.form == "markdown":
        output.write(report.markdown(result))
    elif output.form == "html":
        from boundby.report.page.bench import bench_page
        from boundby.report.page.render import render

        output.write(render(bench_page(result)))
    else:
        from boundby.report.terminal import Look, look_at

        look = look_at(sys.stdout, os.environ) if output.path is None else Look()
        output.write(report.render(result, look))
    _keep(result, os.environ.get("BOUNDBY_RESULT"))
    is_void = any(each.severity == "fatal" for each in result.trust)
    return CANNOT_TELL if is_void else 0


def _keep(result: Result, path: str | None) -> None:
    """Leave the result where ``compare --commits`` looks for it."""
    if not path:
        return
    try:
        result.save(path)
    except OSError as error:
        raise BoundbyError(
            f"{path}: cannot write: {error.strerror}", "$BOUNDBY_RESULT names this file"
        ) from None


def _measure(target: str, asked: dict[str, Any]) -> Result:
    from boundby.bench.caliber import Caliber, check, gather
    from boundby.bench.machine import this_machine
    from boundby.bench.measure import Job, measure
    from boundby.bench.result import Labels
    from boundby.bench.sampling import Plan
    from boundby.bench.targets import inputs_of, load_target, refuse_lazy, users_own

    device = "cpu" if asked["cpu"] else ""
    known = Caliber(
        asked["scope"], asked["metric"], asked["batch"], asked["sequence"], device=device
    )
    check(known)
    found = load_target(target)
    refuse_lazy(found.fn, target)
    maker = load_target(asked["inputs"]) if asked["inputs"] else None
    inputs = inputs_of(maker, batch=asked["batch"] or 1, seed=0)
    plan = Plan(min_run_ns=asked["min_run_time"] * 1e9, cold=asked["cold"])
    job = Job(lambda: found.fn(*inputs), this_machine(device or None), plan, fn=found.fn)
    labels = Labels(asked["label"], asked["sub_label"], asked["description"], target)
    with users_own(target):
        return measure(job, labels, gather(known, inputs, found.file, found.fn), inputs)
