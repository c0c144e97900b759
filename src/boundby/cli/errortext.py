"""How an error looks: what is wrong on one line, then what to do next; on stderr."""

from __future__ import annotations

import click

from boundby.report.sanitize import visible


def complain(message: str, hint: str | None) -> None:
    """Write one error; names in it may come from a recording."""
    click.echo(visible(message), err=True)
    if hint:
        click.echo(f"\nhint: {visible(hint)}", err=True)
