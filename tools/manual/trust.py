"""What ``docs/accuracy.md`` measured, both sets beside: all of it, or in short."""

from __future__ import annotations

import re

QUESTIONS = (
    "recorded step, replayed unedited",
    "unprofiled step, host-sensitive recordings: median error",
    "unprofiled step, host-sensitive recordings: 90th percentile",
    "unprofiled step, host-sensitive recordings: range meets the measured",
    "verdict accepted, from the recording alone",
    "wrong and strong, from the recording alone",
    "predicted step of a twin: median error",
    "predicted step of a twin: 90th percentile",
    "predicted step of a twin: range covers the measured",
    "predicted step of a twin: median width of the range",
)
IN_SHORT = {
    "class of the verdict right": ("verdict accepted, from the recording alone",),
    "wrong and `strong`": ("wrong and strong, from the recording alone",),
    "device time a step, within 1%": ("device time a step",),
    "step without the profiler, error": (
        "unprofiled step, host-sensitive recordings: median error",
        "unprofiled step, host-sensitive recordings: 90th percentile",
    ),
    "step after a change, error": (
        "predicted step of a twin: median error",
        "predicted step of a twin: 90th percentile",
    ),
    "its range holds the measured step": ("predicted step of a twin: range covers the measured",),
}
"""Questions by what they are called in short; of two values the second is the 90th percentile."""
SECOND = "## Also measured: recordings"
"""Where the summary of the second set begins."""


def table(accuracy: str) -> str:
    """One row a question, from the page on accuracy."""
    first, _, second = accuracy.partition(SECOND)
    head = ("question", "target", "first set", "second set")
    rows = [head, ("---",) * len(head)]
    for question in QUESTIONS:
        (target, measured), (other, beside) = _cells(first, question), _cells(second, question)
        rows.append(
            (question, target if other == target else f"{target}; {other}", measured, beside)
        )
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def short_table(accuracy: str) -> str:
    """The questions that decide whether to believe a report, and how often it was right."""
    parts = accuracy.partition(SECOND)[::2]
    sets = (re.search(r"^(\d+ recordings)\b", part, re.MULTILINE) for part in parts)
    rows = [
        (name, *(_in_short([_cells(part, each)[1] for each in questions]) for part in parts))
        for name, questions in IN_SHORT.items()
    ]
    head = ("said, against measured", *(found[1] for found in sets if found))
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ("---",) * len(head), *rows))


def _in_short(values: list[str]) -> str:
    """``4.4% in the median, 16.5% at the 90th percentile``; a count without its worst file."""
    first, *more = (value.partition(";")[0] for value in values)
    return ", ".join((f"{first} (median)", f"{more[0]} (90th percentile)")) if more else first


def _cells(text: str, question: str) -> tuple[str, str]:
    """Target and measured value of a row, without the name of the worst file."""
    found = re.search(rf"^\| {re.escape(question)} \| ([^|]+) \| ([^|]+) \|", text, re.MULTILINE)
    if found is None:
        raise LookupError(question)
    return found[1], re.sub(r" \([a-z]\w+(\.\w+)*\)", "", found[2])
