"""The reference of the command line, made from the commands themselves."""

from __future__ import annotations

import re
from collections.abc import Iterator

import click

from boundby.cli.group import COMMANDS, boundby

OPENING = """\
# Command line

Made from the commands themselves; `boundby COMMAND --help` prints the same. Results go to stdout
and everything else to stderr. What a code of exit means stands under [exit codes](exit-codes.md).

"""


def command_page() -> str:
    """Every command with every option."""
    root = click.Context(boundby, info_name="boundby")
    sections = [OPENING, _list(), *(_section(name, root) for name in COMMANDS)]
    return "\n".join(sections)


def _list() -> str:
    rows = (f"| [{name}](#boundby-{name}) | {what} |" for name, what in COMMANDS.items())
    return "\n".join(("| command | what it does |", "| --- | --- |", *rows, ""))


def _section(name: str, root: click.Context) -> str:
    command = boundby.get_command(root, name)
    if command is None:
        raise LookupError(name)
    context = click.Context(command, info_name=name, parent=root)
    usage = " ".join(command.collect_usage_pieces(context))
    parts = [f"## boundby {name}", f"```text\nboundby {name} {usage}\n```"]
    parts += _paragraphs(command.help or "")
    parts += ["\n".join(_options(command, context)), _examples(command.epilog or "")]
    return "\n\n".join(parts) + "\n"


def _paragraphs(text: str) -> Iterator[str]:
    for paragraph in re.split(r"\n\s*\n", text.strip()):
        if paragraph.startswith("\b"):
            lines = (line.strip() for line in paragraph.splitlines()[1:])
            yield "```text\n" + "\n".join(lines) + "\n```"
        else:
            yield " ".join(paragraph.split())


def _options(command: click.Command, context: click.Context) -> Iterator[str]:
    yield from ("| option | what it does |", "| --- | --- |")
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None and isinstance(parameter, click.Option):
            names, meaning = (part.replace("|", "\\|") for part in record)
            yield f"| `{names}` | {meaning} |"


def _examples(epilog: str) -> str:
    lines = [line.strip() for line in epilog.splitlines() if line.strip().startswith("boundby")]
    return "```shell\n" + "\n".join(lines) + "\n```"
