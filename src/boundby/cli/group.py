"""The group of commands: each is imported when it runs, so that ``--help`` stays fast."""

from __future__ import annotations

from difflib import get_close_matches
from importlib import import_module

import click

from boundby.cli.help import examples

COMMANDS = {
    "run": "Say what bounds a script while it runs.",
    "trace": "Say what bounds a recorded program.",
    "kernel": "Say what bounds kernels that Nsight Compute measured.",
    "bench": "Measure a function with three clocks.",
    "check": "Check that a change still gives right results.",
    "compare": "Compare results, functions, commits or diagnoses.",
    "tune": "Try one change at a time, correctness before speed.",
    "loader": "Measure a data loader without the model.",
    "memory": "Say what holds the memory of a device and what to do.",
    "record": "Record a program with your own nsys or ncu.",
    "device": "Measure what this device and its host attain.",
    "report": "Draw what was recorded as one page.",
    "explain": "Explain a class, cause, fact, fix or word.",
    "demo": "Diagnose a recording that comes with boundby.",
}
"""Name and summary of each command, in the order of the help. ``boundby.cli.NAME`` holds it as
``command``; the summary is the first line of its docstring, and a test keeps the two alike."""


class LazyGroup(click.Group):
    """A group that knows its commands by name and imports only the one that runs."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 -- click's
        """All commands, in the order of the help."""
        return list(COMMANDS)

    def get_command(
        self,
        ctx: click.Context,  # noqa: ARG002 -- click's
        cmd_name: str,
    ) -> click.Command | None:
        """Import a command; None where there is none of that name."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"boundby.cli.{cmd_name}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or say which one may be meant."""
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            close = get_close_matches(name.lower(), COMMANDS, n=1)
            meant = f" Did you mean {close[0]!r}?" if close else ""
            raise click.UsageError(f"no such command: {name!r}.{meant}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(
        self,
        ctx: click.Context,  # noqa: ARG002 -- click's
        formatter: click.HelpFormatter,
    ) -> None:
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


def _print_version(ctx: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    if not wanted or ctx.resilient_parsing:
        return
    from boundby.report.document import tool_version

    click.echo(f"boundby {tool_version()}")
    ctx.exit()


@click.group(
    cls=LazyGroup,
    invoke_without_command=True,
    epilog=examples("boundby demo", "boundby trace trace.json.gz"),
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Print the version.",
)
@click.pass_context
def boundby(ctx: click.Context) -> None:
    """Say what bounds a PyTorch program and what each fix buys.

    The host submits work, the device executes it, and a queue joins the two. boundby rebuilds both
    timelines from a recording, takes the profiler's own cost out, and replays the step with one
    cost removed at a time.
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help(), err=True)
        ctx.exit(2)
