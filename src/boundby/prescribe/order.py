"""Which changes to offer, and in which order."""

from __future__ import annotations

from collections.abc import Sequence

from boundby.frozen import frozen
from boundby.prescribe.case import Case
from boundby.prescribe.catalogue import RULES
from boundby.prescribe.prediction import Prediction
from boundby.prescribe.prescription import Prescription
from boundby.prescribe.readings import PAYS
from boundby.prescribe.rule import Rule, Turn

LIKE = 0.75
"""Gains per risk of at least this fraction of the best are alike: predictions are no sharper."""


@frozen
class Offer:
    """A rule that applies.

    Attributes:
        gain: Share of the step it is predicted to save; without a prediction the most it could, or
            0 where nothing tells.
        predicted: Whether ``gain`` comes from a replay.
        answers: Whether it is the answer to the cause of the verdict.
    """

    rule: Rule
    change: Prescription
    gain: float
    predicted: bool
    answers: bool = False


def prescribe(case: Case) -> tuple[Prescription, ...]:
    """Every change that applies, best first; those that do not pay now at the end.

    Without a verdict nothing is prescribed.
    """
    if case.verdict.name == "undecided":
        return ()
    offers = [offer for rule in RULES if (offer := make_offer(rule, case))]
    return tuple(offer.change for offer in in_order(offers))


def make_offer(rule: Rule, case: Case) -> Offer | None:
    """The rule as an offer to this program.

    None where it does not apply, or where it can gain too little and no number says how little.
    """
    why = rule.applies(case)
    if why is None:
        return None
    found = rule.prediction(case)
    worth = rule.at_most(case) if found is None else 1.0 - found.step_ms / case.step.estimate
    pays = rule.turn == Turn.SWITCH or worth is None or worth >= PAYS
    if found is None and not pays:
        return None
    return Offer(
        rule=rule,
        change=_write(rule, case, why, found, pays=pays),
        gain=worth or 0.0,
        predicted=found is not None,
        answers=rule.is_answer(case),
    )


def _write(
    rule: Rule, case: Case, why: str, found: Prediction | None, *, pays: bool
) -> Prescription:
    return Prescription(
        id=rule.id,
        edit=found.edit if found else None,
        title=rule.title,
        why=why if found else f"{why} {_without_estimate(rule, case)}",
        how=rule.code(case),
        predicted_ms=found.step_ms if found else None,
        low=found.low if found else None,
        high=found.high if found else None,
        stop_when=rule.stop_when,
        costs=rule.costs,
        pays=pays,
    )


def _without_estimate(rule: Rule, case: Case) -> str:
    """Why there is no number, and the most it can be; a switch falsifies that one too."""
    reason = rule.no_estimate or "this recording does not let it be replayed"
    most = None if rule.turn == Turn.SWITCH else rule.at_most(case)
    if most is None:
        return f"No estimate: {reason}."
    return f"No estimate: {reason}; it can gain at most {most * case.step.estimate:.3g} ms."


def in_order(offers: Sequence[Offer]) -> list[Offer]:
    """Switches, answers to the cause, predicted changes, larger batches, then what has no number.

    A larger batch computes something else, so changes of the same program come before it. What
    does not pay now comes last.
    """
    paying = [offer for offer in offers if offer.change.pays]
    idle = [offer for offer in offers if not offer.change.pays]
    groups: dict[int, list[Offer]] = {}
    for offer in paying:
        groups.setdefault(_group(offer), []).append(offer)
    ordered = [offer for group in sorted(groups) for offer in by_gain(groups[group])]
    return [*ordered, *sorted(idle, key=lambda offer: -offer.gain)]


def _group(offer: Offer) -> int:
    """Groups in which changes are compared by gain, the first first."""
    if offer.rule.turn == Turn.SWITCH:
        return 0
    if offer.answers:
        return 1 if offer.predicted else 2
    if not offer.predicted:
        return 5
    return 4 if offer.rule.turn == Turn.BATCH else 3


def by_gain(offers: Sequence[Offer]) -> list[Offer]:
    """By gain per risk; changes of like gain in the method's order."""
    left = sorted(offers, key=_per_risk, reverse=True)
    ordered: list[Offer] = []
    while left:
        limit = LIKE * _per_risk(left[0])
        alike = [offer for offer in left if _per_risk(offer) >= limit]
        ordered += sorted(alike, key=lambda offer: offer.rule.turn)
        left = left[len(alike) :]
    return ordered


def _per_risk(offer: Offer) -> float:
    return offer.gain / offer.rule.risk
