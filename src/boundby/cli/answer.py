"""What ``trace`` and ``demo`` share: recordings in, reports out."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypedDict

from boundby.cli.errortext import complain
from boundby.cli.output import Output
from boundby.errors import BoundbyError, GateError, UsageError

if TYPE_CHECKING:
    from boundby.diagnose import Diagnosis, Options
    from boundby.evidence.lanes import Extent
    from boundby.report.text import Tables
    from boundby.roofline.ceilings import Peaks
    from boundby.roofline.measured import MeasuredCeilings


OURS = "boundby trace "
"""Commands that read the recording again."""


class Roofs(TypedDict):
    """What is known about devices beyond the table, as options of ``diagnose``."""

    peaks: Peaks | None
    measured: tuple[MeasuredCeilings, ...]


def known_roofs(peak: str | None) -> Roofs:
    """Peaks named on the command line, and ceilings that ``boundby device`` stored."""
    from boundby.roofline.ceilings import parse_peaks
    from boundby.roofline.measured import cache_folder, load_all

    peaks = None if peak is None else parse_peaks(peak)
    return {"peaks": peaks, "measured": load_all(cache_folder())}


def diagnose_all(
    files: Sequence[str], options: Options, failures: list[BoundbyError], output: Output
) -> Iterator[Diagnosis]:
    """Diagnose file after file; of several, one that cannot be read does not stop the others."""
    from boundby.cli.freed_memory import keep_freed_memory
    from boundby.cli.progress import reading
    from boundby.diagnose import diagnose
    from boundby.read import read_recording

    keep_freed_memory()
    for file in files:
        try:
            with reading(output):
                diagnosis = diagnose(read_recording(file), options)
        except BoundbyError as error:
            if len(files) == 1:
                raise
            complain(error.message, error.hint)
            failures.append(error)
        else:
            yield diagnosis


def keep_given(diagnoses: Iterable[Diagnosis], given: str) -> Iterator[Diagnosis]:
    """Diagnoses whose next commands repeat what the user told about the program.

    Args:
        given: Options as they are typed: ``--step-ms 3.9``.
    """
    for diagnosis in diagnoses:
        following = (
            replace(each, command=f"{each.command} {given}")
            if given and each.command.startswith(OURS)
            else each
            for each in diagnosis.next
        )
        yield replace(diagnosis, next=tuple(following))


def deliver(
    diagnoses: Iterable[Diagnosis], output: Output, tables: Tables, *, are_many: bool
) -> list[Diagnosis]:
    """Report each diagnosis: to stdout as it is made, to a file once all are there."""
    done, texts = [], []
    for diagnosis in diagnoses:
        done.append(diagnosis)
        text = report(diagnosis, output, tables, one_of_many=are_many)
        if output.path is None:
            output.write(text)
        else:
            texts.append(text)
    if texts:
        output.write("".join(texts))
    return done


def drawn_for(output: Output) -> Extent | None:
    """Which timelines a report in this form draws."""
    extents: dict[str, Extent] = {"html": "typical", "perfetto": "all"}
    return extents.get(output.form)


def one_picture(output: Output, count: int) -> None:
    """Raise UsageError where a page or a trace would have to hold several recordings."""
    if count > 1 and output.form in ("html", "perfetto"):
        raise UsageError(
            f"{output.path}: holds one recording, and {count} are given",
            "give one, or write .md or .json",
        )


def report(diagnosis: Diagnosis, output: Output, tables: Tables, *, one_of_many: bool) -> str:
    """One diagnosis in the form that was asked for; many JSON documents stand one a line."""
    if output.form == "json":
        from boundby.report.document import encode

        return encode(diagnosis, on_one_line=one_of_many)
    if output.form == "markdown":
        from boundby.report.markdown import render as render_markdown

        return render_markdown(diagnosis) + ("\n" if one_of_many else "")
    if output.form == "html":
        return page(diagnosis, output)
    if output.form == "perfetto":
        from boundby.report.perfetto import render as render_trace

        return render_trace(diagnosis)
    from boundby.report.sanitize import visible
    from boundby.report.terminal import Look, look_at
    from boundby.report.text import render

    look = look_at(sys.stdout, os.environ, detail=output.verbose)
    if output.path is not None:
        look = Look(detail=output.verbose)
    text = render(diagnosis, look, tables)
    return f"== {visible(diagnosis.source.path)} ==\n{text}\n" if one_of_many else text


def page(diagnosis: Diagnosis, output: Output) -> str:
    """The diagnosis as a page, with lines of the user's source where they may be shown."""
    from boundby.evidence.excerpts import excerpts
    from boundby.report.page.diagnosis import Extras, page_of
    from boundby.report.page.render import render

    found = excerpts(diagnosis.syncs, diagnosis.source.path) if output.source else ()
    return render(page_of(diagnosis, Extras(excerpts=found)))


def check_expected(diagnoses: Iterable[Diagnosis], expected: str | None) -> None:
    """Fail where a verdict is not the class that the user asked for."""
    if expected is None:
        return
    others = [each for each in diagnoses if each.verdict.name != expected]
    if others:
        found = ", ".join(f"{each.source.path} is {each.verdict.name}" for each in others)
        raise GateError(
            f"expected {expected}: {found}", f"boundby explain {others[0].verdict.name}"
        )
