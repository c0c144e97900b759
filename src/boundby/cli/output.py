"""Where a result goes and in which form: stdout or a file; text, JSON or Markdown."""

from __future__ import annotations

import errno
import os
import sys
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from typing import Any, Literal, TypeVar

import click

from boundby.errors import BoundbyError, UsageError

Form = Literal["text", "json", "markdown", "html", "perfetto"]
FORM_OF: dict[str, Form] = {
    ".json": "json",
    ".md": "markdown",
    ".txt": "text",
    ".html": "html",
}
PERFETTO = ".perfetto.json"
PAGE_BEGINS = "<!DOCTYPE html>"
WITH_TRACE = frozenset({"demo", "memory", "record", "report", "run", "trace"})
"""Commands that know when things happened, and so can write a trace."""
STDOUT = "-"
STDOUT_NUMBER = 1
DISK_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
STDOUT_ERRORS = DISK_FULL | {errno.EBADF, errno.EIO, errno.EPIPE}
"""How writing to stdout fails; none of them comes from opening a file that is named."""

Function = TypeVar("Function", bound=Callable[..., Any])


class StdoutClosedError(Exception):
    """The reader of stdout went away. No OSError, which click would end with a code of its own."""


@dataclass(frozen=True)
class Output:
    """Where the result goes; made from the options that every reporting command has.

    Attributes:
        path: None for stdout.
        source: Whether lines of the user's source may be shown.
        title: Of a page around a report that has no pictures.
        option: The one that names the file.
    """

    form: Form
    path: Path | None
    force: bool
    verbose: bool
    quiet: bool
    source: bool = True
    title: str = "boundby"
    option: str = "-o"

    def write(self, text: str) -> None:
        """Put a result where it belongs; a file is named on stderr once it is there."""
        if self.path is None:
            write_stdout(text)
            return
        if self.form == "html" and not text.startswith(PAGE_BEGINS):
            from boundby.report.page.plain import text_page

            text = text_page(self.title, text)
        try:
            with self.path.open("w" if self.force else "x", encoding="utf-8", newline="\n") as file:
                file.write(text)
        except FileExistsError:
            raise _would_overwrite(self.path) from None
        except OSError as error:
            raise BoundbyError(
                f"{self.path}: cannot write: {error.strerror}",
                f"name another file with {self.option}",
            ) from None
        self.note(f"wrote {self.path}")

    def note(self, text: str) -> None:
        """Say something that is not the result."""
        if not self.quiet:
            click.echo(text, err=True)


def write_stdout(text: str) -> None:
    """Write and flush; what the encoding cannot hold is written as an escape."""
    encoding = sys.stdout.encoding or "ascii"
    try:
        sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))
        sys.stdout.flush()
    except OSError as error:
        raise stdout_failed(error) from None


def stdout_failed(error: OSError) -> Exception:
    """What to raise where stdout takes nothing more; nothing more is written to it at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if isinstance(error, BrokenPipeError):
        return StdoutClosedError()
    return BoundbyError(
        f"stdout: cannot write: {error.strerror}", "write to a file with -o, or elsewhere"
    )


def is_of_stdout(error: OSError) -> bool:
    """Whether click, which writes help and versions, or the last flush failed; no file did."""
    if error.filename is not None or error.errno not in STDOUT_ERRORS:
        return False
    frames = traceback.extract_tb(error.__traceback__)
    inner = Path(frames[-1].filename).parent if frames else None
    return inner in (Path(click.__file__).parent, Path(__file__).parent)


def hold_closed_stdout() -> None:
    """Give a process that was started without stdout one that refuses what is written.

    Python has none then, and the next file that is opened would become stdout.
    """
    if sys.stdout is None:
        held = os.open(os.devnull, os.O_RDONLY)
        if held != STDOUT_NUMBER:
            os.dup2(held, STDOUT_NUMBER)
        sys.stdout = open(STDOUT_NUMBER, "w", encoding="utf-8")  # noqa: SIM115 - for the process


CHOICES = ("as_json", "target", "force", "no_source", "verbose", "quiet")


def output_options(command: Function) -> Function:
    """Add the options of a reporting command and hand it one ``output``."""

    @click.option("--json", "as_json", is_flag=True, help="Write the JSON document.")
    @click.option(
        "-o",
        "--output",
        "target",
        metavar="FILE",
        help="Write to FILE (.html, .json, .md, .txt, .perfetto.json; - is stdout).",
    )
    @click.option("--force", is_flag=True, help="Overwrite FILE.")
    @click.option("--no-source", is_flag=True, help="Leave lines of your source out of a page.")
    @click.option("-v", "--verbose", is_flag=True, help="Print every fact and fix; tracebacks.")
    @click.option("-q", "--quiet", is_flag=True, help="Print nothing but the result.")
    @click.pass_context
    @wraps(command)
    def with_output(ctx: click.Context, /, **options: Any) -> Any:  # noqa: ANN401 -- click's
        chosen = {name: options.pop(name) for name in CHOICES}
        if ctx.obj is not None:
            ctx.obj.verbose = chosen["verbose"]
        output = replace(plan(**chosen), title=ctx.command_path)
        if output.form == "perfetto" and ctx.info_name not in WITH_TRACE:
            raise UsageError(
                f"{output.path}: {ctx.info_name} has no timeline to write", "use .json or .html"
            )
        return command(output=output, **options)

    return with_output  # type: ignore[return-value]


def table_options(command: Function) -> Function:
    """Add the options that print tables after the report."""
    ranges = click.option("--ranges", is_flag=True, help="Print tables of ranges and host waits.")
    ops = click.option(
        "--ops",
        type=click.IntRange(min=0),
        default=0,
        metavar="N",
        help="Print a table of the first N operators.",
    )
    roofline = click.option(
        "--roofline", is_flag=True, help="Print tables of what stands under the roofs."
    )
    return ops(ranges(roofline(command)))


def peak_option(command: Function) -> Function:
    """Add the option that names the peaks of the device."""
    return click.option(
        "--peak",
        metavar="PEAKS",
        help="Peaks of the device, dense TFLOP/s and GB/s: bf16=989,bw=4800.",
    )(command)


def plan(
    *,
    as_json: bool,
    target: str | None,
    force: bool,
    verbose: bool,
    quiet: bool,
    no_source: bool = False,
) -> Output:
    """Decide form and place before any work is done, so that a mistake costs no waiting."""
    if target is None or target == STDOUT:
        return Output("json" if as_json else "text", None, force, verbose, quiet, not no_source)
    path = Path(target)
    form = FORM_OF.get(path.suffix.lower())
    if path.name.lower().endswith(PERFETTO):
        form = "perfetto"
    if as_json and form != "json":
        raise UsageError(f"{target}: --json writes JSON", "name it .json, or leave out --json")
    if form is None:
        raise UsageError(
            f"{target}: no report format has the extension {path.suffix!r}",
            f"use {', '.join((*FORM_OF, PERFETTO))}",
        )
    output = Output(form, path, force, verbose, quiet, not no_source)
    refuse_existing(output)
    return output


def refuse_existing(output: Output) -> None:
    """Raise where the file is there already and may not be overwritten, or has no folder."""
    if output.path is not None and not output.path.absolute().parent.is_dir():
        raise BoundbyError(
            f"{output.path}: cannot write: {os.strerror(errno.ENOENT)}",
            f"name another file with {output.option}",
        )
    if output.path is not None and not output.force and _exists(output.path):
        raise _would_overwrite(output.path)


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError as error:
        raise BoundbyError(
            f"{path}: cannot write: {error.strerror}", "name another file with -o"
        ) from None


def keep_apart(output: Output, inputs: Iterable[str]) -> None:
    """Raise UsageError where the result would be written over what it was made from."""
    target = output.path
    if target is None or not _exists(target):
        return
    for path in map(Path, inputs):
        if _exists(path) and target.samefile(path):
            raise UsageError(f"{target}: is what the report is made from", "name another file")


def _would_overwrite(path: Path) -> UsageError:
    return UsageError(f"{path}: exists already", "add --force to overwrite it")
