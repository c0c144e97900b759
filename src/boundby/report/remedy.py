"""A change of the catalogue as a topic: the rule is the only place where it is described."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from boundby.prescribe.catalogue import RULES
from boundby.prescribe.rule import Rule
from boundby.report.layout import wrap
from boundby.topics import Topic

WIDTH = 79
KIND = "prescription"


def remedies() -> dict[str, Topic]:
    """All changes that boundby knows, by id."""
    return {rule.id: Topic(rule.id, KIND, rule.title, "\n".join(_lines(rule))) for rule in RULES}


def _lines(rule: Rule) -> Iterator[str]:
    yield from (f"# {rule.id}", "", *wrap(rule.title, WIDTH), "", "## What to do", "")
    yield from (f"    {row}".rstrip() for row in rule.how.splitlines())
    costs = [f"- {name}: {text}." for name, text in vars(rule.costs).items() if text]
    if costs:
        yield from ("", "## What it costs", "")
        for cost in costs:
            yield from textwrap.wrap(cost, WIDTH, subsequent_indent="  ")
    yield from ("", "## When to stop", "", *wrap(f"When {rule.stop_when}.", WIDTH))
    yield from (
        "",
        "## When it does not help",
        "",
        *wrap(f"{_sentence(rule.does_not_help)}.", WIDTH),
    )
    yield ""


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]
