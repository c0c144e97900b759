"""``boundby demo``: a verdict without a recording of your own."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from boundby.cli.help import examples
from boundby.cli.output import (
    Output,
    output_options,
    peak_option,
    table_options,
    write_stdout,
)
from boundby.errors import UsageError
from boundby.shell import quoted

if TYPE_CHECKING:
    from boundby.cli.answer import Roofs
    from boundby.diagnose import Diagnosis
    from boundby.evidence.lanes import Extent


@click.command(epilog=examples("boundby demo", "boundby demo --list", "boundby demo pageable-copy"))
@click.argument("name", metavar="[NAME]", required=False)
@click.option("--list", "wants_list", is_flag=True, help="List the recordings.")
@peak_option
@table_options
@output_options
def command(
    *,
    output: Output,
    name: str | None,
    wants_list: bool,
    peak: str | None,
    ops: int,
    ranges: bool,
    roofline: bool,
) -> None:
    """Diagnose a recording that comes with boundby.

    The recordings were made on an NVIDIA H200 with torch.profiler. Each is a small program that is
    bound by one thing.
    """
    from boundby.cli.demos import DEFAULT, DEMOS

    if wants_list:
        width = max(map(len, DEMOS))
        write_stdout("".join(f"{each:{width}}  {what}\n" for each, what in DEMOS.items()))
        return
    name = name or DEFAULT
    if name not in DEMOS:
        raise UsageError(f"no demo {name!r}", "boundby demo --list")
    _report(name, peak, output, (ops, ranges, roofline))


def _report(name: str, peak: str | None, output: Output, wanted: tuple[int, bool, bool]) -> None:
    from boundby.cli.answer import deliver, drawn_for, known_roofs
    from boundby.cli.demos import DEMOS
    from boundby.report.text import Tables

    roofs = known_roofs(peak)
    given = f"--peak {shlex.quote(peak)}" if peak else ""
    output.note(f"demo {name}: {DEMOS[name]}\n")
    deliver(
        [_diagnose(name, roofs, given, drawn_for(output))], output, Tables(*wanted), are_many=False
    )


def _diagnose(name: str, roofs: Roofs, given: str, lanes: Extent | None) -> Diagnosis:
    """The diagnosis under the name of the demo: where the package lies is nobody's business."""
    from boundby.cli.answer import keep_given
    from boundby.cli.demos import demo_file
    from boundby.diagnose import Options, diagnose
    from boundby.read import read_recording

    path = f"demo {name}"
    recording = read_recording(demo_file(name))
    recording = replace(recording, source=replace(recording.source, path=path))
    found = diagnose(recording, Options(lanes=lanes, **roofs))
    (diagnosis,) = keep_given((found,), given)
    following = (
        replace(each, command=each.command.replace(f"trace {quoted(path)}", path))
        for each in diagnosis.next
    )
    return replace(diagnosis, next=tuple(following))
