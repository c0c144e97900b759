"""``boundby explain``: what a word of a report means, offline."""

from __future__ import annotations

import os
import sys

import click

from boundby.cli.help import examples
from boundby.cli.output import write_stdout
from boundby.errors import UsageError


@click.command(epilog=examples("boundby explain launch-bound", "boundby explain"))
@click.argument("name", metavar="[ID]", required=False)
@click.option("--json", "as_json", is_flag=True, help="Write the topic as JSON.")
def command(name: str | None, as_json: bool) -> None:
    """Explain a class, cause, fact, fix or word.

    ID is any word that a report shows in its first column: launch-bound, device-busy, cuda-graph.
    Without one, all of them are listed. The text is the one in the documentation.
    """
    from boundby.report import topic as report
    from boundby.report.terminal import look_at
    from boundby.topics import find, near

    look = look_at(sys.stdout, os.environ)
    if name is None:
        write_stdout(report.listing_json() if as_json else report.listing(look))
        return
    topic = find(name)
    if topic is None:
        close = near(name)
        meant = f"did you mean {' or '.join(close)}? " if close else ""
        raise UsageError(f"no topic {name!r}", f"{meant}boundby explain lists them all")
    write_stdout(report.as_json(topic) if as_json else report.render(topic, look))
