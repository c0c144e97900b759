"""Statistics of samples: medians, intervals, and a verdict that finds 3% and leaves 0% alone."""

import numpy as np
import pytest

from boundby.statistics import (
    Ratio,
    _rank_below,
    drift,
    judge,
    normal_quantile,
    paired_ratio,
    separate_ratio,
    summarize,
)

TRIALS = 100
PAIRS = 60
TIME_NS = 1e6


def turns(generator, effect, pairs=PAIRS):
    """Two programs in turns on a noisy machine: drift, 2% scatter, now and then a stall."""
    common = np.exp(np.cumsum(generator.normal(0, 0.005, pairs)))

    def side(factor):
        stalls = np.where(generator.random(pairs) < 0.05, 1.5, 1.0)
        return TIME_NS * factor * common * np.exp(generator.normal(0, 0.02, pairs)) * stalls

    return side(effect), side(1.0)


def verdicts(effect, seed=0):
    generator = np.random.default_rng(seed)
    trials = (turns(generator, effect) for _ in range(TRIALS))
    return [judge(paired_ratio(new, old), TIME_NS) for new, old in trials]


def test_a_planted_regression_of_3_percent_is_found():
    assert verdicts(1.03).count("slower") >= 95


def test_no_difference_is_no_finding():
    found = verdicts(1.0)

    assert found.count("slower") + found.count("faster") <= 5
    assert found.count("same") >= 90


def test_an_improvement_is_found_as_well():
    assert verdicts(0.97).count("faster") >= 95


def test_the_interval_holds_the_truth_as_often_as_it_says():
    generator = np.random.default_rng(1)
    ratios = [paired_ratio(*turns(generator, 1.05)) for _ in range(200)]

    assert 0.9 <= np.mean([r.low <= 1.05 <= r.high for r in ratios]) <= 0.99


@pytest.mark.parametrize(("n", "rank"), [(6, 0), (8, 3), (10, 8), (20, 52), (50, 434)])
def test_ranks_are_those_of_the_tables(n, rank):
    """Critical values of the signed-rank test, two-sided 5% (Wilcoxon's table)."""
    assert _rank_below(n, 0.95) == rank


def test_exact_and_approximate_ranks_meet():
    assert abs(_rank_below(51, 0.95) - _rank_below(50, 0.95)) < 30


def test_pairs_cancel_a_drift_that_separate_samples_do_not():
    ramp = np.linspace(1, 1.5, 60)
    generator = np.random.default_rng(2)
    new = ramp * generator.normal(1.03, 0.003, 60)
    old = ramp * generator.normal(1.0, 0.003, 60)

    assert paired_ratio(new, old).half_width < separate_ratio(new, old).half_width / 5
    assert paired_ratio(new, old).estimate == pytest.approx(1.03, abs=0.003)


def test_summary_of_known_samples():
    found = summarize([1.0, 2.0, 3.0, 4.0, 100.0])

    assert (found.n, found.median, found.q1, found.q3) == (5, 3.0, 2.0, 4.0)
    assert found.iqr == 2.0
    assert found.spread == pytest.approx(2 / 3)
    assert found.mean == 22.0
    assert found.skew == pytest.approx(22 / 3 - 1)
    assert found.most == 100.0


def test_no_samples_are_no_summary():
    with pytest.raises(ValueError, match="no samples"):
        summarize([])


@pytest.mark.parametrize(
    ("new", "old"), [([1.0] * 5, [1.0] * 5), ([1.0] * 6, [1.0] * 7), ([0.0] * 6, [1.0] * 6)]
)
def test_what_makes_no_pairs_is_refused(new, old):
    with pytest.raises(ValueError, match=r"pairs|positive"):
        paired_ratio(new, old)


@pytest.mark.parametrize(
    ("ratio", "old_ns", "effect"),
    [
        (Ratio(1.03, 1.02, 1.04), 1e6, "slower"),
        (Ratio(0.97, 0.96, 0.98), 1e6, "faster"),
        (Ratio(1.0, 0.99, 1.01), 1e6, "same"),
        (Ratio(1.03, 0.98, 1.08), 1e6, "too-noisy"),
        (Ratio(1.01, 1.005, 1.015), 1e6, "same"),  # significant and too small to matter
        (Ratio(1.019, 1.005, 1.033), 1e6, "too-noisy"),  # may matter, may not
        (Ratio(1.05, 1.04, 1.06), 1_000, "same"),  # 50 ns: below the floor
    ],
)
def test_a_change_must_be_sure_and_large(ratio, old_ns, effect):
    assert judge(ratio, old_ns) == effect


def test_separate_samples_of_one_program_do_not_differ():
    generator = np.random.default_rng(3)
    found = separate_ratio(generator.normal(100, 1, 200), generator.normal(100, 1, 200))

    assert found.low < 1 < found.high
    assert found.pairs == 0
    assert found.half_width < 0.01


def test_a_bootstrap_gives_the_same_interval_each_time():
    samples = list(np.random.default_rng(4).normal(100, 5, 50))

    assert separate_ratio(samples, samples) == separate_ratio(samples, samples)


def test_drift_compares_the_ends():
    assert drift([1.0] * 20 + [1.2] * 20) == pytest.approx(0.2)
    assert drift([1.0, 2.0]) == 0.0


def test_the_normal_quantile():
    assert normal_quantile(0.95) == pytest.approx(1.96, abs=1e-3)
