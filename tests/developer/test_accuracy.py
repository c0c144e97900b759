import pytest

from tools.accuracy import Score, distance, score, spread, table

TRUTH = {
    "file": "loop.json.gz",
    "accept": ["launch-bound", "python-bound"],
    "step_ms": [9.0, 11.0],
    "profiled_ms": 20.0,
    "cured_ms": {"no_launch": 2.0, "bf16": 1.0},
}

DOCUMENT = {
    "steps": {"drained_ms": 20.4, "unprofiled_ms": {"estimate": 12.1, "low": 10.5, "high": 14.0}},
    "verdict": {"class": "python-bound"},
    "what_if": [{"id": "no_submit_cost", "step_ms": 2.5}, {"id": "no_sync", "step_ms": 9.0}],
}


def test_a_document_is_scored_against_its_truth():
    result = score(TRUTH, DOCUMENT)

    assert result.is_accepted
    assert result.drained_error == pytest.approx(0.02)
    assert result.step_error == pytest.approx(0.10)
    assert result.range_holds_step
    assert dict(result.what_if_error) == {"no_submit_cost": pytest.approx(0.25)}


def test_a_recording_that_could_not_be_read_is_a_miss_and_not_an_absence():
    result = score(TRUTH, None)

    assert not result.is_accepted
    assert "| class counts as right | 0 of 1 |" in list(table([result]))
    assert list(table([result]))[-1] == (
        "\nloop.json.gz: failed, expected launch-bound or python-bound"
    )


@pytest.mark.parametrize(
    ("value", "expected"), [(9.0, 0.0), (10.0, 0.0), (11.0, 0.0), (4.5, 0.5), (22.0, 1.0)]
)
def test_distance_is_zero_inside_the_measured_range(value, expected):
    assert distance(value, 9.0, 11.0) == pytest.approx(expected)


def test_errors_that_were_not_said_are_left_out_of_the_spread():
    assert spread([0.1, None, 0.3]) == "median 20.0%, worst 30.0% (n = 2)"
    assert spread([None]) == "not said"


def test_an_undecided_verdict_does_not_count_as_right():
    assert not Score("a", ("sync-bound",), "undecided").is_accepted
