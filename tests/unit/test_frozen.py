"""Frozen values behave as those of ``dataclass(frozen=True)``, which they are compared with."""

import copy
import dataclasses
import pickle
from dataclasses import dataclass, field

import pytest

from boundby.frozen import frozen


@frozen
class Ours:
    """A value."""

    a: int
    b: int = 2
    c: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Theirs:
    """The same value."""

    a: int
    b: int = 2
    c: list[int] = field(default_factory=list)


@frozen
class Checked:
    """A value that refuses nonsense."""

    a: int

    def __post_init__(self) -> None:
        if self.a < 0:
            raise ValueError(self.a)


@pytest.mark.parametrize(
    ("values", "named"),
    [((1,), {}), ((1, 5), {}), ((1,), {"c": [3]}), ((), {"a": 1, "b": 3}), ((1, 2, [3]), {})],
)
def test_made_and_shown_like_a_dataclass(values, named):
    ours, theirs = Ours(*values, **named), Theirs(*values, **named)

    assert dataclasses.asdict(ours) == dataclasses.asdict(theirs)
    assert repr(ours) == repr(theirs).replace("Theirs", "Ours")
    assert ours == Ours(*values, **named)


@pytest.mark.parametrize(
    ("values", "named"), [((), {}), ((1, 2, 3, 4), {}), ((1,), {"a": 2}), ((1,), {"d": 2})]
)
def test_what_a_dataclass_refuses_is_refused(values, named):
    for kind in (Theirs, Ours):
        with pytest.raises(TypeError):
            kind(*values, **named)


def test_nothing_changes():
    for value in (Ours(1), Theirs(1)):
        with pytest.raises(dataclasses.FrozenInstanceError):
            value.a = 2
        with pytest.raises(dataclasses.FrozenInstanceError):
            del value.a
        with pytest.raises(dataclasses.FrozenInstanceError):
            value.new = 2


def test_defaults_are_not_shared():
    assert Ours(1).c is not Ours(1).c


def test_replaced_copied_and_pickled():
    value = Ours(1, c=[4])

    assert dataclasses.replace(value, b=9) == Ours(1, 9, [4])
    assert copy.deepcopy(value) == value == pickle.loads(pickle.dumps(value))  # noqa: S301 -- our own


def test_a_hash_goes_by_the_fields():
    assert hash(Checked(3)) == hash(Checked(3))
    assert len({Checked(3), Checked(3), Checked(4)}) == 2


def test_what_comes_after_is_asked():
    with pytest.raises(ValueError, match="-1"):
        Checked(-1)
