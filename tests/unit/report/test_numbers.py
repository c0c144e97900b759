"""Three significant digits, and a word where nothing is known."""

import math

import pytest

from boundby.report import numbers


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (0.000012, "1.2e-05"),
        (0.0324, "0.032"),
        (0.325, "0.325"),
        (0.99951, "1.00"),
        (2.7234, "2.72"),
        (9.996, "10.0"),
        (24.61, "24.6"),
        (99.96, "100"),
        (12345.6, "12346"),
        (-2.5, "-2.50"),
        (None, "unknown"),
        (math.nan, "unknown"),
        (math.inf, "unknown"),
    ],
)
def test_numbers(value, text):
    assert numbers.number(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0%"),
        (0.001, "<1%"),
        (0.624, "62%"),
        (0.9975, ">99%"),
        (1.0, "100%"),
        (None, "unknown"),
    ],
)
def test_a_small_share_is_not_nothing_and_a_large_one_not_all(value, text):
    assert numbers.share(value) == text


def test_units_are_left_out_where_there_is_no_number():
    assert numbers.ms(2.7234) == "2.72 ms"
    assert numbers.ms(None) == "unknown"
    assert numbers.times(None) == "unknown"
    assert numbers.times(10.62) == "10.6x"
    assert numbers.between(2.31, 3.4) == "2.31 to 3.40"
    assert numbers.between(None, 3.4) == ""


def test_counts_are_whole_where_they_can_be():
    assert numbers.count(108) == "108"
    assert numbers.count(108.0) == "108"
    assert numbers.count(1.5) == "1.50"
    assert numbers.count(None) == "unknown"
