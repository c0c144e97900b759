"""The tables of the document: one row a question, a recording, a twin, a public recording."""

from __future__ import annotations

from collections.abc import Sequence

from tools.accuracy.glances import Compared
from tools.accuracy.markdown import estimate, interval, percent, table, yes
from tools.accuracy.measure import Object, Result, Twin, twins_of
from tools.accuracy.questions import Answer, is_accepted
from tools.accuracy.scoring import distance, meets

SHOWN_FROM = 0.01
"""Parts of the waterfall below 1% of the step are left out of a cell."""


def summary(answers: Sequence[Answer]) -> list[str]:
    """Question, target, what was measured, over how many, met or not."""
    rows = [(a.question, a.target, a.measured, str(a.n), yes(a.met)) for a in answers]
    return table(("question", "target", "measured", "n", "met"), rows)


def verdicts(results: Sequence[Result]) -> list[str]:
    """What boundby says bounds each recording, against its truth."""
    head = ("recording", "truth", "verdict", "strength", "accepted", "with the step told")
    return table((*head, "waterfall, % of the step"), [_verdict_row(r) for r in results])


def _verdict_row(result: Result) -> tuple[str, ...]:
    truth, verdict = result.truth, result.alone["verdict"]
    return (
        truth.name,
        named(truth.truth_class, truth.cause),
        named(verdict["class"], verdict["cause"]),
        verdict["strength"] or "-",
        yes(is_accepted(result, result.alone)),
        _told(result),
        waterfall(result.alone),
    )


def _told(result: Result) -> str:
    """The verdict with the measured step told, in full only where it is another."""
    alone, told = (
        (said["verdict"]["class"], said["verdict"]["strength"])
        for said in (result.alone, result.told)
    )
    if alone == told:
        return "same"
    right = "" if is_accepted(result, result.told) else ": wrong"
    return f"{told[0]}, {told[1] or '-'}{right}"


def steps(results: Sequence[Result]) -> list[str]:
    """The unprofiled step and the device's share of it, said and measured."""
    head = ("recording", "host-sensitive", "step said, ms", "step measured, ms", "error", "meets")
    return table((*head, "busy said", "busy measured"), [_step_row(r) for r in results])


def _step_row(result: Result) -> tuple[str, ...]:
    truth, busy = result.truth, result.alone["device"]["busy_share_unprofiled"]
    return (
        truth.name,
        yes(truth.is_host_sensitive),
        estimate(result.estimate, result.range),
        interval(truth.step_ms),
        percent(distance(result.estimate, truth.step_ms)),
        yes(meets(result.range, truth.step_ms)),
        "not said" if busy is None else f"{busy:.0%}",
        f"{truth.device_share:.0%}",
    )


def twins(results: Sequence[Result]) -> list[str]:
    """Predicted against measured steps of cured twins; the step of the base was told."""
    rows = [_twin_row(twin) for result in results for twin in twins_of(result)]
    head = ("recording", "change", "edit", "predicted, ms", "measured, ms", "error", "covered")
    return table(head, rows)


def _twin_row(twin: Twin) -> tuple[str, ...]:
    if twin.predicted is None:
        no = ("no estimate", interval(twin.measured), "-", "-")
        return (twin.recording, twin.change, twin.edit, *no)
    return (
        twin.recording,
        twin.change,
        twin.edit,
        estimate(twin.predicted, twin.range),
        interval(twin.measured),
        percent(distance(twin.predicted, twin.measured)),
        yes(meets(twin.range, twin.measured)),
    )


def glances(compared: Sequence[Compared]) -> list[str]:
    """What an engineer sees at a glance, against what boundby says."""
    rows = [(c.glance.file, c.glance.glance, c.said, _agreement(c)) for c in compared]
    return table(("recording", "at a glance", "boundby", "agrees"), rows)


def _agreement(compared: Compared) -> str:
    if compared.agrees:
        return "yes"
    return f"no: {compared.glance.note}" if compared.glance.note else "no: not explained"


def named(name: str, cause: str | None) -> str:
    """A class and its cause."""
    return f"{name} ({cause})" if cause else name


def waterfall(said: Object) -> str:
    """The parts of the unprofiled step in percent."""
    rows = [row for row in said["waterfall"] if row["share"] >= SHOWN_FROM]
    return ", ".join(f"{row['part']} {row['share'] * 100:.0f}" for row in rows) or "none"
