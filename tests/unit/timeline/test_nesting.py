import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from boundby.timeline.nesting import enclosing, parents

ROWS = st.lists(
    st.tuples(st.integers(0, 12), st.integers(0, 8), st.integers(0, 2)), min_size=1, max_size=30
).map(lambda rows: sorted(rows, key=lambda row: (row[0], -row[1])))
"""start, duration and thread, in so little room that every kind of overlap occurs."""


def columns(rows):
    start, dur, thread = (np.array(column, dtype=np.int64) for column in zip(*rows, strict=True))
    return start, start + dur, thread


def parents_by_stack(rows):
    """What ``parents`` computes, one row after the other."""
    stacks, found = {}, []
    for index, (start, dur, thread) in enumerate(rows):
        stack = stacks.setdefault(thread, [])
        while stack:
            end = rows[stack[-1]][0] + rows[stack[-1]][1]
            over = end <= start or (end <= start + 1 and end < start + dur)
            if not over:
                break
            stack.pop()
        found.append(stack[-1] if stack else -1)
        stack.append(index)
    return found


def parents_of(*rows):
    return parents(*columns([(start, end - start, thread) for start, end, thread in rows])).tolist()


@given(ROWS)
def test_agrees_with_a_stack(rows):
    assert parents(*columns(rows)).tolist() == parents_by_stack(rows)


@given(ROWS, st.lists(st.tuples(st.integers(0, 22), st.integers(0, 3)), min_size=1, max_size=10))
def test_enclosing_is_the_latest_row_still_open(rows, questions):
    def latest(time, asked):
        open_rows = [
            index
            for index, (start, dur, thread) in enumerate(rows)
            if thread == asked and start <= time < start + dur
        ]
        return open_rows[-1] if open_rows else -1

    start, end, thread = columns(rows)
    times, threads = (np.array(column) for column in zip(*questions, strict=True))
    found = enclosing((start, end, thread), parents(start, end, thread), times, threads)

    assert found.tolist() == [latest(*question) for question in questions]


def test_nothing_nests_in_nothing():
    nothing = np.zeros(0, dtype=np.int64)

    assert parents(nothing, nothing, nothing).tolist() == []


def test_siblings_share_their_parent():
    assert parents_of((0, 100, 1), (10, 20, 1), (12, 15, 1), (30, 40, 1)) == [-1, 0, 1, 0]


def test_threads_do_not_nest_in_each_other():
    assert parents_of((0, 100, 1), (10, 20, 2), (30, 40, 1)) == [-1, -1, 0]


def test_an_end_rounded_up_swallows_no_sibling():
    assert parents_of((0, 100, 1), (10, 21, 1), (20, 30, 1)) == [-1, 0, 0]


def test_a_child_may_outlive_its_parent_by_rounding():
    assert parents_of((0, 20, 1), (10, 21, 1), (21, 30, 1)) == [-1, 0, -1]


def test_a_child_that_outlives_its_parent_by_more_stays_its_child():
    assert parents_of((0, 20, 1), (15, 25, 1), (26, 30, 1)) == [-1, 0, -1]


def test_a_row_that_begins_as_another_ends_is_no_child():
    assert parents_of((0, 10, 1), (10, 20, 1), (20, 20, 1)) == [-1, -1, -1]


def test_recursion_deeper_than_any_stack():
    depth = 5_000
    rows = [(level, 2 * depth - level, 1) for level in range(depth)]

    assert parents_of(*rows, (3 * depth, 3 * depth + 1, 1)) == [*range(-1, depth - 1), -1]


def test_threads_beyond_16_bits():
    assert parents_of((0, 10, 70_000), (1, 9, 4_464), (2, 3, 70_000)) == [-1, -1, 0]
