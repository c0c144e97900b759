"""What a journal tells by itself, whatever became of the run that wrote it."""

import json
from dataclasses import replace

import pytest

from boundby.errors import CannotTellError, UsageError
from boundby.experiment.ending import UNENDED, mfu, read_outcome
from boundby.experiment.journal import FILE
from boundby.experiment.outcome import patch_of
from boundby.experiment.values import Facts
from tuning import FakeLab, run

BOTH = ("batch", "numerics")


@pytest.fixture
def finished(tmp_path):
    lab = FakeLab({"sdpa": 1.2, "tf32": 1.5}, batches={16: 0.8, 32: 0.7, 64: 0.695})
    return run(lab, tmp_path, only=("sdpa", "tf32", "larger-batch"), allow=BOTH)


def lines_of(folder):
    return [json.loads(each) for each in (folder / FILE).read_text("ascii").splitlines()]


def write(folder, records):
    (folder / FILE).write_text("".join(f"{json.dumps(each)}\n" for each in records), "ascii")


@pytest.mark.parametrize("place", ["", FILE])
def test_a_journal_tells_what_its_run_told(finished, tmp_path, place):
    found = read_outcome(tmp_path / place)
    known = replace(found.facts, memory_bytes=None, caliber={})

    assert (found.gain, found.mfu, found.ended) == (finished.gain, finished.mfu, finished.ended)
    assert json.loads(json.dumps(found.best)) == json.loads(json.dumps(finished.best))
    assert (found.configuration, found.patch) == (finished.configuration, finished.patch)
    assert len(found.story) == len(finished.story)
    assert (known.kind, known.device_name, known.batch) == ("workload", "NVIDIA H200", 8)


def test_a_run_that_was_killed_is_told_as_far_as_it_came(finished, tmp_path):
    write(tmp_path, lines_of(tmp_path)[:5])
    found = read_outcome(tmp_path)

    assert found.ended == UNENDED
    assert found.seconds == sum(each["seconds"] for each in found.records)
    assert len(found.records) == 3 < len(finished.records)


def test_a_run_that_ended_is_told_so_whatever_became_of_the_one_before(finished, tmp_path):
    header, *whole = lines_of(tmp_path)
    write(tmp_path, [header, *whole[:4], *whole])

    assert read_outcome(tmp_path).ended == finished.ended
    assert read_outcome(tmp_path).runs == 2


def test_a_change_that_is_unknown_now_has_no_code_and_no_share_of_the_peak(finished, tmp_path):
    records = lines_of(tmp_path)
    program = {**records[1], "flops": 1e12, "memory_bytes": 150_000_000_000}
    best = {**records[-2], "decision": "kept", "configuration": [["fp4", "on"], ["sdpa", "warp"]]}
    write(tmp_path, [records[0], program, *records[2:-1], best])
    found = read_outcome(tmp_path)

    assert finished.mfu is None  # no operations are known of it
    assert found.mfu is None
    assert [code for _, code in found.patch] == [
        "# this version does not know the change sdpa warp",
        "# this version does not know the change fp4 on",
    ]


@pytest.mark.parametrize(
    ("computes", "flags", "peak"),
    [
        ("bfloat16", {}, 989.5),
        ("float32", {}, 66.9),
        ("float32", {"matmul_precision": "high"}, 494.7),
        ("", {}, None),
    ],
)
def test_the_share_of_the_peak_is_that_of_what_the_program_computes_in(computes, flags, peak):
    facts = Facts(
        device_name="NVIDIA H200",
        memory_bytes=150_109_880_320,
        batch=8,
        flops=1e12,
        computes=computes,
        caliber={"flags": flags},
    )
    found = mfu(facts, (), {"samples_per_s": 400.0})

    assert found == (None if peak is None else pytest.approx(50.0 / peak, rel=0.01))


def test_more_than_the_peak_is_no_share():
    facts = Facts(device_name="NVIDIA H200", memory_bytes=150_109_880_320, batch=8, flops=1e12)

    assert mfu(facts, (), {"samples_per_s": 4000.0}) is None


@pytest.mark.parametrize(
    ("kept", "error", "said"),
    [
        (0, CannotTellError, "no baseline"),
        (1, CannotTellError, "no baseline"),
        (2, CannotTellError, "no baseline"),
    ],
)
def test_a_journal_without_a_baseline_tells_nothing(finished, tmp_path, kept, error, said):
    write(tmp_path, lines_of(tmp_path)[:kept])

    with pytest.raises(error, match=said):
        read_outcome(tmp_path)
    assert finished.records


def test_a_journal_of_another_version_is_left_to_it(finished, tmp_path):
    header, *rest = lines_of(tmp_path)
    write(tmp_path, [{**header, "version": 7}, *rest])

    with pytest.raises(CannotTellError, match="version 7"):
        read_outcome(tmp_path)
    assert finished.records


def test_another_file_is_no_journal(tmp_path):
    (tmp_path / FILE).write_text("{}\n", "ascii")

    with pytest.raises(UsageError, match="no journal"):
        read_outcome(tmp_path)


def test_a_patch_is_in_the_order_in_which_it_is_applied():
    """A graph that was captured before weights change their type goes on with the old ones."""
    found = (("cuda-graph", "forward"), ("compile-model", "default"), ("bf16-weights", "true"))

    names = [change for change, _ in patch_of((*found, ("larger-batch", "64")))]
    assert names == ["larger-batch", "bf16-weights", "compile-model", "cuda-graph"]
