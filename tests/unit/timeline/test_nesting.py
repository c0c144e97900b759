import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from boundby.timeline.nesting import enclosing, parents

NONE = -1

ROWS = st.lists(
    st.tuples(st.integers(0, 12), st.integers(0, 8), st.integers(0, 2)), min_size=1, max_size=30
).map(lambda rows: sorted(((at, at + dur, t) for at, dur, t in rows), key=lambda r: (r[0], -r[1])))
"""start, end and thread, in so little room that every kind of overlap occurs."""


def columns(rows):
    """start, end and thread of rows (start, end[, thread])."""
    return tuple(
        np.array([row[column] if column < len(row) else 1 for row in rows], dtype=np.int64)
        for column in range(3)
    )


def nested(*rows):
    """Parent of each row (start, end[, thread])."""
    return parents(*columns(rows)).tolist()


def nested_by_stack(rows):
    """What ``parents`` computes, one row after the other."""
    stacks, found = {}, []
    for index, (start, end, thread) in enumerate(rows):
        stack = stacks.setdefault(thread, [])
        while stack:
            last = rows[stack[-1]][1]
            if not (last <= start or (last <= start + 1 and last < end)):
                break
            stack.pop()
        found.append(stack[-1] if stack else NONE)
        stack.append(index)
    return found


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        pytest.param([], [], id="nothing"),
        pytest.param([(0, 10), (10, 20)], [NONE, NONE], id="one after the other"),
        pytest.param([(0, 50), (10, 20), (30, 40)], [NONE, 0, 0], id="siblings"),
        pytest.param([(0, 50), (10, 40), (20, 30)], [NONE, 0, 1], id="grandchild"),
        pytest.param([(0, 50), (0, 40), (60, 70)], [NONE, 0, NONE], id="same start"),
        pytest.param([(0, 50, 1), (10, 20, 2), (30, 40, 1)], [NONE, NONE, 0], id="other thread"),
        pytest.param([(0, 50), (10, 21), (20, 30)], [NONE, 0, 0], id="1 ns too long, by rounding"),
        pytest.param([(0, 20), (10, 21), (21, 30)], [NONE, 0, NONE], id="1 ns beyond its parent"),
        pytest.param([(0, 50), (10, 60), (55, 58)], [NONE, 0, 1], id="outlives its parent"),
        pytest.param([(0, 9, 70_000), (1, 8, 4_464)], [NONE, NONE], id="threads beyond 16 bits"),
    ],
)
def test_parents(rows, expected):
    assert nested(*rows) == expected


def test_recursion_deeper_than_any_stack():
    depth = 5_000
    rows = [(level, 2 * depth - level) for level in range(depth)]

    assert nested(*rows, (3 * depth, 3 * depth + 1)) == [*range(-1, depth - 1), NONE]


@given(ROWS)
def test_agrees_with_a_stack(rows):
    assert nested(*rows) == nested_by_stack(rows)


@given(ROWS, st.lists(st.tuples(st.integers(0, 22), st.integers(0, 3)), min_size=1, max_size=10))
def test_the_innermost_open_row_is_the_last_of_the_thread_to_have_started(rows, questions):
    def last_open(time, asked):
        is_open = [k for k, r in enumerate(rows) if r[0] <= time < r[1] and r[2] == asked]
        return max(is_open, default=NONE)

    times, threads = (np.array(column) for column in zip(*questions, strict=True))
    found = enclosing(columns(rows), parents(*columns(rows)), times, threads)

    assert found.tolist() == [last_open(*question) for question in questions]
