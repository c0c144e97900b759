import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from boundby.intervals import Intervals, subtract, union


@given(
    st.lists(st.tuples(st.integers(0, 90), st.integers(1, 30)), max_size=10),
    st.integers(0, 50),
    st.integers(1, 60),
)
def test_idle_and_busy_time_fill_the_window(rows, start, length):
    busy = union(np.array([s for s, _ in rows], int), np.array([s + d for s, d in rows], int))
    window = np.array([start]), np.array([start + length])

    idle = subtract(Intervals(*window), busy)

    assert idle.total + int(busy.within(*window)[0]) == length
    assert int(idle.within(busy.start, busy.end).sum()) == 0
