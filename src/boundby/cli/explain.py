"""``boundby explain``: what a word of a report means, offline."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from boundby.cli.help import examples
from boundby.cli.output import write_stdout
from boundby.errors import UsageError

if TYPE_CHECKING:
    from boundby.topics import Topic


@click.command(epilog=examples("boundby explain launch-bound", "boundby explain"))
@click.argument("name", metavar="[ID]", required=False)
@click.option("--json", "as_json", is_flag=True, help="Write the topic as JSON.")
def command(name: str | None, as_json: bool) -> None:
    """Explain a class, cause, fact, fix or word.

    ID is any word that a report prints, on a page or in JSON: launch-bound, device-busy, because.
    Without one, all topics are listed. The text is the one in the documentation.
    """
    from boundby.report.terminal import look_at

    look = look_at(sys.stdout, os.environ)
    if name is None:
        from boundby.report import index

        write_stdout(index.listing_json() if as_json else index.listing(look))
        return
    from boundby.report import topic

    found = _find(name)
    write_stdout(topic.as_json(found) if as_json else topic.render(found, look))


def _find(name: str) -> Topic:
    """A topic by its id, a change by its id, then a term that lists the word."""
    from boundby.topics import listing, named, near

    topic = named(name)
    if topic is not None:
        return topic
    from boundby.report.remedy import remedies

    changes = remedies()
    exact = name.strip().lower()
    found = changes.get(exact) or listing(name) or changes.get(exact.replace("_", "-"))
    if found is not None:
        return found
    close = near(name, changes)
    meant = f"did you mean {' or '.join(close)}? " if close else ""
    raise UsageError(f"no topic {name!r}", f"{meant}boundby explain lists them all")
