import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from boundby.intervals import EMPTY, Intervals, merge, subtract, union
from boundby.units import ms, us


def joined(*pairs):
    found = union(np.array([a for a, _ in pairs]), np.array([b for _, b in pairs]))
    return list(zip(found.start.tolist(), found.end.tolist(), strict=True))


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        pytest.param([(0, 5), (10, 15)], [(0, 5), (10, 15)], id="apart"),
        pytest.param([(0, 5), (5, 15)], [(0, 15)], id="touching"),
        pytest.param([(0, 10), (5, 15)], [(0, 15)], id="overlapping"),
        pytest.param([(0, 20), (5, 10), (12, 14)], [(0, 20)], id="nested"),
        pytest.param([(10, 15), (0, 5)], [(0, 5), (10, 15)], id="out of order"),
        pytest.param([(3, 3), (9, 4)], [], id="empty and backwards"),
    ],
)
def test_union(pairs, expected):
    assert joined(*pairs) == expected


def test_a_window_sees_the_part_that_lies_inside():
    busy = Intervals(np.array([10, 30]), np.array([20, 40]))

    inside = busy.within(np.array([0, 15, 20, 12, 45]), np.array([50, 35, 30, 14, 60]))

    assert inside.tolist() == [20, 10, 0, 2, 0]
    assert busy.total == 20


def test_nothing_covers_nothing():
    nothing = Intervals(EMPTY, EMPTY)

    assert nothing.total == 0
    assert nothing.within(np.array([0]), np.array([9])).tolist() == [0]
    assert merge().total == 0
    assert merge(nothing, union(np.array([1]), np.array([4]))).total == 3


PAIRS = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), max_size=12)


@settings(max_examples=60, derandomize=True)
@given(pairs=PAIRS, window=st.tuples(st.integers(0, 40), st.integers(0, 40)))
def test_union_covers_the_instants_that_any_interval_covers(pairs, window):
    instants = {t for a, b in pairs for t in range(a, b)}
    low, high = sorted(window)
    found = union(np.array([a for a, _ in pairs], int), np.array([b for _, b in pairs], int))

    assert found.total == len(instants)
    assert (found.end[:-1] < found.start[1:]).all()
    assert found.within(np.array([low]), np.array([high])).tolist() == [
        len([t for t in instants if low <= t < high])
    ]


@settings(max_examples=60, derandomize=True)
@given(kept=PAIRS, removed=PAIRS)
def test_subtracting_leaves_the_instants_of_the_first_that_the_second_lacks(kept, removed):
    first, second = ({t for a, b in pairs for t in range(a, b)} for pairs in (kept, removed))
    sets = [
        union(np.array([a for a, _ in pairs], int), np.array([b for _, b in pairs], int))
        for pairs in (kept, removed)
    ]
    left = subtract(*sets)
    spans = zip(left.start.tolist(), left.end.tolist(), strict=True)

    assert {t for a, b in spans for t in range(a, b)} == first - second
    assert left.total == len(first - second)


def test_units_leave_as_floats():
    assert ms(2_500_000) == 2.5
    assert us(2_500) == 2.5
    assert isinstance(ms(np.int64(1_000_000)), float)
