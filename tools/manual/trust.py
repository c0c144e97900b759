"""The table of the page on the replay: what ``docs/accuracy.md`` measured, both sets beside."""

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


def _cells(text: str, question: str) -> tuple[str, str]:
    """Target and measured value of a row, without the name of the worst file."""
    found = re.search(rf"^\| {re.escape(question)} \| ([^|]+) \| ([^|]+) \|", text, re.MULTILINE)
    if found is None:
        raise LookupError(question)
    return found[1], re.sub(r" \([a-z]\w+(\.\w+)*\)", "", found[2])
