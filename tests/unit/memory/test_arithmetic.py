"""Recipes, trends, checkpointing advice, host memory: numbers with known answers."""

import numpy as np
import pytest

from boundby.memory.checkpointing import advise
from boundby.memory.facts import size_text
from boundby.memory.pace import Pace
from boundby.memory.recipes import BY_ID, RECIPES, KeyValueCache, sharded, training_bytes
from boundby.memory.remedies import EVERY
from boundby.memory.shapes import elements, score_shape, square
from boundby.memory.trend import trend

GB, GIB, MIB = 10**9, 1 << 30, 1 << 20


def test_7_billion_parameters_at_16_bytes_are_112_gb():
    assert training_bytes(7 * GB, BY_ID["mixed-bf16"]) == 112 * GB


@pytest.mark.parametrize(
    ("recipe", "total"),
    [("fp32-adam", 16), ("autocast-adam", 16), ("megatron-bf16", 18), ("mixed-bf16", 16),
     ("bf16-adam", 8), ("fp32-momentum", 12), ("fp32-sgd", 8), ("adam-8bit", 10),
     ("inference-bf16", 2)],
)  # fmt: skip
def test_bytes_of_a_parameter(recipe, total):
    assert BY_ID[recipe].total == total


@pytest.mark.parametrize(("stage", "expected"), [(0, 16), (1, 5.5), (2, 3.75), (3, 2)])
def test_zero_divides_states_then_gradients_then_weights(stage, expected):
    assert sharded(BY_ID["mixed-bf16"], 8, stage) == expected


def test_there_is_no_stage_4():
    with pytest.raises(ValueError, match="stage 4"):
        sharded(RECIPES[0], 8, 4)


def test_a_7b_cache_takes_half_a_mib_a_token():
    cache = KeyValueCache(layers=32, key_value_heads=32, head=128)

    assert cache.bytes_per_token == MIB // 2
    assert cache.tokens(10 * GIB) == 20480


def test_a_steady_rise_is_told_from_noise():
    rise, noise = np.arange(12) * MIB, np.array([5, 3, 6, 4, 5, 6, 3, 4, 6, 5, 3, 4])

    assert trend(rise).rises
    assert trend(rise).slope == MIB
    assert not trend(noise).rises
    assert not trend(rise[:4]).rises
    assert not trend(np.full(20, 7)).rises


def test_five_steps_that_all_rise_are_enough():
    assert trend(np.arange(5)).rises


def test_a_sawtooth_is_told():
    teeth = np.array([0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5, 0, 1, 2]) * MIB

    assert trend(teeth).is_sawtooth
    assert not trend(np.arange(15)).is_sawtooth


def test_long_series_keep_their_slope():
    assert trend(np.arange(1000)).slope == pytest.approx(1.0)


def test_checkpointing_pays_where_nothing_else_fits():
    assert advise(fits=False, pace=None).pays is True


def test_checkpointing_is_a_loss_on_a_busy_device():
    found = advise(fits=True, pace=Pace("compute-bound", 0.97), grows=2.0)

    assert found.pays is False
    assert found.gain == pytest.approx(-0.23, abs=0.01)


def test_checkpointing_pays_where_a_larger_batch_is_free():
    found = advise(fits=True, pace=Pace("launch-bound", 0.1), grows=4.0)

    assert found.pays is True
    assert found.gain == pytest.approx(3.0)
    assert "the device is the limit then" not in found.reason


def test_checkpointing_that_moves_the_class_says_so():
    found = advise(fits=True, pace=Pace("launch-bound", 0.4), grows=4.0)

    assert found.pays is True
    assert "the device is the limit then" in found.reason


def test_a_larger_batch_that_fits_without_recomputation_is_the_better_one():
    """The device is the limit at 2.5 times the batch, and three times fit as it is."""
    found = advise(fits=True, pace=Pace("launch-bound", 0.4), grows=12.0, grows_anyway=3.0)

    assert found.pays is False
    assert found.gain == pytest.approx(1 / 1.3 - 1, abs=0.01)


def test_without_the_time_or_the_device_nobody_knows():
    assert advise(fits=True, pace=None, grows=4.0).pays is None
    assert advise(fits=True, pace=Pace("launch-bound", 0.1)).pays is None
    assert advise(fits=True, pace=Pace("launch-bound"), grows=4.0).pays is None


def test_the_case_study_at_batch_64_does_not_pay():
    """On an H200: 2195 samples per second without, 2045 at twice the batch with checkpointing."""
    found = advise(fits=True, pace=Pace("launch-bound", 0.97), grows=2.0, price=0.19)

    assert found.pays is False


@pytest.mark.parametrize("remedy", EVERY, ids=lambda remedy: remedy.id)
def test_every_remedy_states_its_price_in_time(remedy):
    assert remedy.costs.time


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 bytes"),
        (512, "512 bytes"),
        (2048, "2.00 KiB"),
        (20 * MIB, "20.0 MiB"),
        (-3 * GIB, "-3.00 GiB"),
    ],
)
def test_sizes_as_text(size, text):
    assert size_text(size) == text


def test_scores_are_told_by_queries_beside_them():
    scores, queries = 4 * 64 * 4096 * 4096, 4 * 64 * 4096 * 64

    assert score_shape(scores, [queries, 17]) == (64, 4096, 4096, 64)
    assert score_shape(scores, [17]) is None
    assert square(4 * 81) == 9
    assert square(4 * 80) is None
    assert elements(8) == "2 fp32 or 4 bf16 or fp16 values"
