"""Three significant digits, and a word where nothing is known."""

import math

import pytest

from boundby.report import numbers


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (0.000012, "<0.001"),
        (-0.000012, "-<0.001"),
        (0.0012, "0.0012"),
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
        (0.9975, "100%"),
        (1.0, "100%"),
        (None, "unknown"),
    ],
)
def test_a_small_share_is_not_nothing(value, text):
    assert numbers.share(value) == text


def test_units_are_left_out_where_there_is_no_number():
    assert numbers.ms(2.7234) == "2.72 ms"
    assert numbers.ms(None) == "unknown"
    assert numbers.times(None) == "unknown"
    assert numbers.times(10.62) == "10.6x"
    assert numbers.between(None, 3.4) == ""


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0 ms"),
        (0.000001, "0.001 us"),
        (0.00568, "5.68 us"),
        (0.362, "362 us"),
        (0.99951, "1.00 ms"),
        (999.4, "999 ms"),
        (999.6, "1.00 s"),
        (21_500.0, "21.5 s"),
    ],
)
def test_a_time_has_the_unit_that_its_size_asks_for(value, text):
    assert numbers.ms(value) == text


def test_a_column_has_one_unit():
    assert numbers.ms(0.362, like=3.84) == "0.362 ms"
    assert numbers.ms(0.00036, like=0.24) == "0.360 us"


def test_two_times_share_a_unit_where_they_can():
    assert numbers.between(2.31, 3.4) == "2.31 to 3.40 ms"
    assert numbers.between(0.95, 1.2) == "950 us to 1.20 ms"
    assert numbers.change(4.02, 2.66) == "4.02 -> 2.66 ms"
    assert numbers.change(3.84, 0.362) == "3.84 ms -> 362 us"
    assert numbers.change(None, 0.362) == "362 us"
    assert numbers.change(3.84, None) == "unknown"


@pytest.mark.parametrize(
    ("raw", "told"),
    [
        ("with 0.00568 ms of work queued", "with 5.68 us of work queued"),
        ("the median kernel runs 2.15e+04 us", "the median kernel runs 21.5 ms"),
        ("a step takes 43424 ms (99% within 19 us)", "a step takes 43.4 s (99% within 19 us)"),
        ("0.2 of 0.5 ms", "200 of 500 us"),
        ("1.2e+04 of 3e+04 ms", "12.0 of 30.0 s"),
        ("0.54 of 2.11 ms stays", "0.54 of 2.11 ms stays"),
        ("7.4 ms, 0 ms and 2.5 s stay", "7.4 ms, 0 ms and 2.5 s stay"),
        (
            "2000 samples, 12 of 1500 steps, v1.0.5 msec",
            "2000 samples, 12 of 1500 steps, v1.0.5 msec",
        ),
        ("the host waits 0.333 times a step", "the host waits once in 3 steps"),
        ("the host waits 2.5 times a step", "the host waits 2.5 times a step"),
    ],
)
def test_sentences_are_retold_in_fitting_units(raw, told):
    assert numbers.in_words(raw) == told


def test_counts_are_whole_where_they_can_be():
    assert numbers.count(108) == "108"
    assert numbers.count(108.0) == "108"
    assert numbers.count(1.5) == "1.50"
    assert numbers.count(None) == "unknown"
