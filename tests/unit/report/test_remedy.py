"""Changes of the catalogue are explained by their own rules, in the shape of the other topics."""

import re

import pytest

from boundby.prescribe.catalogue import RULES
from boundby.report.remedy import remedies
from boundby.topics import CHANGES, about_change, find, named

HEADINGS = [
    "What it means",
    "How boundby knows",
    "What to do",
    "What it costs",
    "When to stop",
    "When it does not help",
    "See also",
]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_rule_is_a_topic(rule):
    topic = remedies()[rule.id]

    assert topic.text.startswith(f"# {rule.id}\n\n{rule.title[:20]}")
    assert topic.summary == rule.title
    assert "## When to stop\n\nWhen " in topic.text
    assert "## When it does not help\n" in topic.text
    assert all(f"    {line}".rstrip() in topic.text for line in rule.how.splitlines())


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_its_sections_stand_in_one_order(rule):
    headings = re.findall(r"^## (.*)$", remedies()[rule.id].text, re.MULTILINE)

    assert headings == [each for each in HEADINGS if each in headings]
    assert len(headings) == len(set(headings))
    assert {"What it means", "What to do", "When it does not help"} <= set(headings)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_it_is_ascii_and_fits_80_columns(rule):
    text = remedies()[rule.id].text

    assert text.isascii()
    assert [line for line in text.splitlines() if len(line) > 79] == []


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_what_it_refers_to_exists(rule):
    related = about_change(rule.id).get("See also", "")

    assert [each for each in re.split(r"[,\s]+", related) if each and not known(each)] == []
    assert rule.id not in related.replace(",", " ").split()


def known(name):
    return find(name) or name in remedies()


def test_every_file_belongs_to_a_rule():
    assert {path.stem for path in CHANGES.glob("*.md")} == {rule.id for rule in RULES}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_rule_shares_no_id_with_a_topic(rule):
    assert named(rule.id) is None
