"""Console blocks: what is typed, and what is shown below it."""

import contextlib
import io
import shlex
from dataclasses import dataclass

import click

from boundby.cli import main
from boundby.cli.group import boundby as group

PROMPT = "$ "
ANYTHING = "..."
OTHERS = {"pip", "git", "make", "nsys", "ncu"}
"""Programs of which only the name is checked."""


@dataclass
class Typed:
    """One command line, and the lines shown below it."""

    words: list[str]
    shown: list[str]


def typed(code):
    """The commands of a block: what stands before a pipe, without comments."""
    found = []
    for line in code.splitlines():
        if line.startswith(PROMPT):
            words = shlex.split(line.removeprefix(PROMPT), comments=True)
            cut = words.index("|") if "|" in words else len(words)
            found.append(Typed(words[:cut], []))
        elif line.strip():
            found[-1].shown.append(line.rstrip())
    return found


def parse(words):
    """Whether the command knows these options; raises what click raises."""
    command = group.get_command(click.Context(group), words[1])
    command.make_context(words[1], list(words[2:]))


def run(words):
    """Run in this process: the exit code and what went to stdout."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        code = main(words[1:])
    return code, out.getvalue()


def shows(printed, expected):
    """Whether the output is what is shown, ``...`` standing for any number of lines."""
    lines = [line.rstrip() for line in printed.splitlines() if line.strip()]
    at, free = 0, False
    for line in expected:
        if line.strip() == ANYTHING:
            free = True
            continue
        if free:
            while at < len(lines) and lines[at] != line:
                at += 1
        if at >= len(lines) or lines[at] != line:
            return False
        at, free = at + 1, False
    return free or at == len(lines)
