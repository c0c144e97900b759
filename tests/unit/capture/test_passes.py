"""How long a program is observed: by the length of its steps."""

import pytest

from boundby.capture import passes
from boundby.capture.passes import Scene, planned
from boundby.capture.plan import Plan


@pytest.mark.parametrize(
    ("step_s", "most_s"),
    [(0.001, 10), (0.03, 15), (0.3, 25), (1.0, 30), (2.0, 45), (5.0, 65), (20.0, 250)],
)
def test_the_passes_take_about_half_a_minute_on_usual_steps(monkeypatch, step_s, most_s):
    monkeypatch.setattr(passes, "has_device", lambda: True)
    made = planned(Scene(None, Plan(), None, None, None, step_s=step_s))

    assert [each.name for each in made] == [
        "clean", "drained", "trace", "after", "stacks", "syncs", "memory",
    ]  # fmt: skip
    assert all(each.steps >= 1 for each in made)
    assert sum(each.steps for each in made) * step_s <= most_s


def test_what_the_user_asks_for_is_kept_on_steps_of_any_length():
    made = planned(Scene(None, Plan(steps=40), None, None, None, step_s=20.0))

    assert made[0].steps == 40
