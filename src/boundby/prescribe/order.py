"""Which changes to offer, and in which order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from boundby.prescribe.case import Case
from boundby.prescribe.catalogue import RULES
from boundby.prescribe.prescription import Prescription
from boundby.prescribe.readings import PAYS, gain, millis, share
from boundby.prescribe.rule import Rule, Turn

LIKE = 0.75
"""Gains per risk of at least this fraction of the best are alike: predictions are no sharper."""


@dataclass(frozen=True)
class Offer:
    """A rule that applies.

    Attributes:
        gain: Share of the step it is predicted to save; without a prediction the most it could.
        predicted: Whether ``gain`` comes from a replay.
    """

    rule: Rule
    change: Prescription
    gain: float
    predicted: bool


def prescribe(case: Case) -> tuple[Prescription, ...]:
    """Every change that applies, best first; those that do not pay now at the end.

    Without a verdict nothing is prescribed.
    """
    if case.verdict.name == "undecided":
        return ()
    offers = [offer for rule in RULES if (offer := make_offer(rule, case))]
    return tuple(offer.change for offer in in_order(offers))


def make_offer(rule: Rule, case: Case) -> Offer | None:
    """The rule as an offer to this program; None where it does not apply."""
    why = rule.applies(case)
    if why is None:
        return None
    edit = rule.edit(case) if callable(rule.edit) else rule.edit
    asked = case.what_if.get(edit) if edit else None
    saved = gain(case, edit) if edit else None
    most = share(case, *rule.attacks)
    worth = most if saved is None else saved
    return Offer(
        rule=rule,
        change=Prescription(
            id=rule.id,
            edit=edit,
            title=rule.title,
            why=why if asked else f"{why} {_without_estimate(rule, case)}",
            how=rule.how,
            predicted_ms=asked.step_ms if asked else None,
            low=asked.low if asked else None,
            high=asked.high if asked else None,
            stop_when=rule.stop_when,
            costs=rule.costs,
            pays=rule.turn == Turn.SWITCH or worth >= PAYS,
        ),
        gain=worth,
        predicted=saved is not None,
    )


def _without_estimate(rule: Rule, case: Case) -> str:
    reason = rule.no_estimate or "this recording does not let it be replayed"
    return f"No estimate: {reason}; it can gain at most {millis(case, *rule.attacks):.3g} ms."


def in_order(offers: Sequence[Offer]) -> list[Offer]:
    """Switches, then predicted changes, then those without prediction, then what does not pay."""
    paying = [offer for offer in offers if offer.change.pays]
    switches = [offer for offer in paying if offer.rule.turn == Turn.SWITCH]
    others = [offer for offer in paying if offer.rule.turn != Turn.SWITCH]
    idle = [offer for offer in offers if not offer.change.pays]
    return [
        *switches,
        *by_gain([offer for offer in others if offer.predicted]),
        *by_gain([offer for offer in others if not offer.predicted]),
        *sorted(idle, key=lambda offer: -offer.gain),
    ]


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
