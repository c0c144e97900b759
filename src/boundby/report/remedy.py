"""A change of the catalogue as a topic: its rule, and the words in ``topics/prescriptions``.

The rule holds the title, the code, the costs, the end and the limits; the file says what the change
is, when boundby names it, and what belongs to it. Nothing stands in both.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from functools import lru_cache

from boundby.prescribe.catalogue import RULES
from boundby.prescribe.rule import Rule
from boundby.report.layout import wrap
from boundby.topics import Topic, about_change

WIDTH = 79
KIND = "prescription"
KNOWN = ("What it means", "How boundby knows")
"""Sections of the file that stand before those of the rule, in this order."""


@lru_cache(maxsize=1)
def remedies() -> dict[str, Topic]:
    """All changes that boundby knows, by id."""
    return {rule.id: Topic(rule.id, KIND, rule.title, _text(rule)) for rule in RULES}


def _text(rule: Rule) -> str:
    return "\n".join(_lines(rule, about_change(rule.id)))


def _lines(rule: Rule, told: Mapping[str, str]) -> Iterator[str]:
    yield from (f"# {rule.id}", "", *wrap(rule.title, WIDTH), "")
    for heading in KNOWN:
        if heading in told:
            yield from (f"## {heading}", "", told[heading], "")
    yield from ("## What to do", "")
    yield from (f"    {row}".rstrip() for row in rule.how.splitlines())
    costs = [f"- {name}: {text}." for name, text in vars(rule.costs).items() if text]
    if costs:
        yield from ("", "## What it costs", "")
        for cost in costs:
            yield from textwrap.wrap(cost, WIDTH, subsequent_indent="  ")
    yield from ("", "## When to stop", "", *wrap(f"When {rule.stop_when}.", WIDTH))
    limits = wrap(f"{_sentence(rule.does_not_help)}.", WIDTH)
    yield from ("", "## When it does not help", "", *limits)
    if "See also" in told:
        yield from ("", "## See also", "", told["See also"])
    yield ""


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]
