"""The same as numpy's, value by value."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from boundby.distribution import distinct, percentiles

columns = st.lists(st.integers(-(2**40), 2**40), min_size=1, max_size=40).map(np.array)


@given(columns)
def test_distinct_is_unique(values):
    assert distinct(values).tolist() == sorted(set(values.tolist()))


@given(columns, st.lists(st.floats(0, 100), max_size=5))
def test_percentiles_are_those_of_numpy(values, shares):
    np.testing.assert_allclose(
        percentiles(values, shares), np.percentile(values, shares), rtol=1e-12, atol=1e-3
    )
