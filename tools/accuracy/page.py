"""The document: fixed words, tables, and the notes that are written by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tools.accuracy import journals, operations, tables
from tools.accuracy.glances import Compared, agreement
from tools.accuracy.measure import Result
from tools.accuracy.questions import answers
from tools.accuracy.roofs import made_up, rates
from tools.accuracy.truth import TruthSet

INTRODUCTION = """\
# Accuracy

What boundby says, against what was measured. `make accuracy` writes this page from the recordings
themselves; nothing in it is typed by hand but the notes at its end.

## What was measured

{count} recordings of 28 programs: {caliber}.
Each program ran without the profiler and then under it, in one process:

- **step measured**: lowest and highest step time without the profiler.
- **recorded step**: the step under the profiler, from completion to completion.
- **device time**: union of the device work launched by the recorded steps, joined by correlation,
  from the same file as the verdict.
- **cured twin**: the step of the same program with one thing changed, without the profiler.

Host times on these machines vary by 10-20% from minute to minute; device times mostly do not.

An error is the distance to the measured interval, relative to its nearer end: 0 inside. Percentiles
are interpolated between the two nearest values. What boundby does not say counts as infinitely far
off, except that twins without an estimate are counted on a line of their own. Host-sensitive
recordings are those whose device time is below 90% of the measured step; on the others the device
sets the step and the estimate is easy. Every recording is diagnosed twice: alone, and with the
middle of the measured step (and the submit time, where measured) told, as `--step-ms` does.

To write this page again, name the folder of recordings in `BOUNDBY_SHARED` (without it, `../shared`
is taken) and run `make accuracy`. `make accuracy ARGS="--also FOLDER"` adds the recordings of
another folder that has a `truth.jsonl`, in a section of their own.
"""

RECORDINGS = """\
The class of a verdict is accepted when it is one of those that count as right for the program: near
a balance there is more than one. Parts of the waterfall below 1% are left out.
"""

TWINS = """\
The measured step of the unchanged program was told; the step of the twin is predicted. Where it
says `no estimate`, no edit applied to the recording.
"""

OPERATIONS = """\
What the rules count from the recorded sizes alone, against operations worked out by hand; a
multiply-add is two. Products of attention over scores count in full, half with a causal mask; its
backward pass has five.
"""

PUBLIC = """\
Recordings published by others, on devices from V100 to MI300X and CPUs, with no measured truth. The
glance is what an engineer sees in the timeline as recorded; the profiler's own cost is part of it.
"""


LIVE = """\
What `boundby run` says on a device, by `gpu/verify_run.py`; [more of it](accuracy_live.md).
"""


@dataclass(frozen=True)
class Section:
    """One set of recordings and how they fared."""

    truths: TruthSet
    results: Sequence[Result]


def caliber(section: Section) -> str:
    """Devices and torch versions of a set."""
    pairs = dict.fromkeys((t.device, t.torch) for t in section.truths.truths)
    return ", ".join(f"{device}, torch {torch}" for device, torch in pairs)


def page(
    main: Section,
    extra: Sequence[Section],
    compared: Sequence[Compared],
    live: str = "",
    notes: str = "",
) -> str:
    """The whole document.

    Args:
        live: The page on live runs, whose tables are repeated.
        notes: Written by hand.
    """
    lines = [
        INTRODUCTION.format(count=len(main.results), caliber=caliber(main)),
        *_block("## Summary", summary(main, compared)),
        *_tables(main, "##"),
        *_block("## Operations", [OPERATIONS, *operations.rows()]),
        *_block("## Public recordings", [PUBLIC, *tables.glances(compared)]),
    ]
    for section in extra:
        about = f"{len(section.results)} recordings, {caliber(section)}.\n"
        lines += _block(f"## Also measured: {section.truths.name}", [about, *summary(section)])
        lines += _tables(section, "###")
    lines += _block("## Live runs", [LIVE, *_tables_of(live)]) if live else []
    tried = journals.tried()
    lines += _block("## Changes tried by tune", journals.section(tried)) if tried else []
    return "\n".join([*lines, notes.strip()]).strip() + "\n"


def _tables_of(text: str) -> list[str]:
    """The tables of a page under their headings, one deeper."""
    lines = []
    for part in text.split("\n## ")[1:]:
        heading, *body = part.splitlines()
        rows = [line for line in body if line.startswith("|")]
        lines += _block(f"### {heading}", rows) if rows else []
    return lines


def summary(section: Section, compared: Sequence[Compared] = ()) -> list[str]:
    """The table of questions and answers."""
    rows = [*answers(section.results), *rates(section.results)]
    rows += made_up() if compared else []
    return tables.summary([*rows, agreement(compared)] if compared else rows)


def _tables(section: Section, mark: str) -> list[str]:
    """One row a recording, and one a twin."""
    results = section.results
    lines = [
        *_block(f"{mark} Verdicts", [RECORDINGS, *tables.verdicts(results)]),
        *_block(f"{mark} Steps without the profiler", tables.steps(results)),
    ]
    if any(result.truth.twins for result in results):
        lines += _block(f"{mark} Cured twins", [TWINS, *tables.twins(results)])
    return lines


def _block(heading: str, body: Sequence[str]) -> list[str]:
    return [heading, "", *body, ""]
