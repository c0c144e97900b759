"""Changes of the catalogue are explained by their own rules, in the shape of the other topics."""

import pytest

from boundby.prescribe.catalogue import RULES
from boundby.report.remedy import remedies
from boundby.topics import named


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_rule_is_a_topic(rule):
    topic = remedies()[rule.id]

    assert topic.text.startswith(f"# {rule.id}\n\n{rule.title[:20]}")
    assert topic.summary == rule.title
    assert "## When to stop\n\nWhen " in topic.text
    assert "## When it does not help\n" in topic.text
    assert rule.how.splitlines()[0] in topic.text


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_rule_shares_no_id_with_a_topic(rule):
    assert named(rule.id) is None
