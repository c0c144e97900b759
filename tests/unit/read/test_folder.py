"""Of a folder of traces the one that speaks for it is read, and the others are named."""

import pytest

from boundby.errors import UnreadableError
from boundby.read import read_recording
from builders import training_steps


def write(folder, name, *, rank=None, kernels=True):
    trace = training_steps(2, 5)
    if rank is not None:
        trace.metadata["distributedInfo"] = {"rank": rank, "world_size": 8}
    if not kernels:
        trace.events = [event for event in trace.events if event["cat"] != "kernel"]
    folder.mkdir(exist_ok=True)
    return trace.write(folder / name)


def told(recording):
    return next((q.message for q in recording.quality if q.id == "several-ranks"), None)


def test_the_only_trace_is_read(tmp_path):
    path = write(tmp_path, "trace.json.gz")
    (tmp_path / "config.json").write_text('{"lr": 0.1}')
    (tmp_path / "notes.txt").write_text("notes")

    recording = read_recording(tmp_path)

    assert recording.source.path == str(path)
    assert told(recording) is None


def test_the_lowest_rank_is_read_and_the_others_are_named(tmp_path):
    for rank in (10, 2, 1):
        write(tmp_path, f"rank-{rank}.json")

    recording = read_recording(tmp_path)

    assert recording.caliber.rank == 1
    assert told(recording) == (
        "The folder holds 2 other traces (rank 2, rank 10); rank 1 (rank-1.json) was taken."
    )


def test_the_rank_inside_a_file_counts_more_than_its_name(tmp_path):
    write(tmp_path, "a.json", rank=3)
    write(tmp_path, "b.json", rank=0)

    assert read_recording(tmp_path).caliber.rank == 0


def test_a_rank_without_kernels_does_not_speak_for_the_folder(tmp_path):
    write(tmp_path, "rank0.json", kernels=False)
    write(tmp_path, "rank1.json")

    recording = read_recording(tmp_path)

    assert recording.caliber.rank == 1
    assert "rank 0" in told(recording)


def test_with_kernels_nowhere_the_lowest_rank_is_read(tmp_path):
    write(tmp_path, "rank1.json", kernels=False)
    write(tmp_path, "rank0.json", kernels=False)

    assert read_recording(tmp_path).caliber.rank == 0


def test_of_several_traces_of_one_rank_the_latest_is_read(tmp_path):
    write(tmp_path, "worker0_step_12.json")
    latest = write(tmp_path, "worker0_step_24.json")

    recording = read_recording(tmp_path)

    assert recording.source.path == str(latest)
    assert "1 other trace " in told(recording)


def test_many_others_are_not_all_named(tmp_path):
    for rank in range(12):
        write(tmp_path, f"rank{rank}.json")

    assert told(read_recording(tmp_path)).count("rank") < 12


def test_traces_may_lie_one_level_below(tmp_path):
    write(tmp_path / "run1", "trace.json")

    assert len(read_recording(tmp_path).device) == 10


def test_a_folder_without_traces_is_refused(tmp_path):
    (tmp_path / "config.json").write_text("{}")

    with pytest.raises(UnreadableError, match="holds no trace"):
        read_recording(tmp_path)


def test_a_folder_whose_traces_cannot_be_read_says_why(tmp_path):
    (tmp_path / "a.json").write_text('{"traceEvents": []}')

    with pytest.raises(UnreadableError, match="holds no events"):
        read_recording(tmp_path)


def test_an_unreadable_trace_is_passed_over(tmp_path):
    (tmp_path / "rank0.json").write_text('{"traceEvents": []}')
    write(tmp_path, "rank1.json")

    assert read_recording(tmp_path).caliber.rank == 1


def lost(recording):
    return next((q.message for q in recording.quality if q.id == "lost-ranks"), "")


def test_a_folder_whose_only_trace_cannot_be_read_says_why(tmp_path):
    (tmp_path / "rank0.json").write_bytes(b"PK")

    with pytest.raises(UnreadableError, match=r"rank0\.json is (no|not|of no)"):
        read_recording(tmp_path)


def test_a_rank_that_cannot_be_read_is_named(tmp_path):
    write(tmp_path, "rank1.json")
    (tmp_path / "rank0.json").write_bytes(b"")
    recording = read_recording(tmp_path)

    assert recording.caliber.rank == 1
    assert "rank0.json cannot be read" in lost(recording)


def test_a_broken_rank_behind_the_one_that_is_taken_is_named(tmp_path):
    write(tmp_path, "rank0.json")
    (tmp_path / "rank1.json").write_bytes(b"")

    assert "rank1.json cannot be read" in lost(read_recording(tmp_path))


def test_a_rank_that_is_missing_between_others_is_named(tmp_path):
    for rank in (0, 1, 3):
        write(tmp_path, f"rank{rank}.json")

    assert "no trace of rank 2" in lost(read_recording(tmp_path))


def test_ranks_that_the_world_size_promises_are_named(tmp_path):
    for rank in range(6):
        write(tmp_path, f"{rank}.json", rank=rank)

    assert "no trace of rank 6, no trace of rank 7" in lost(read_recording(tmp_path))


def test_one_trace_of_many_ranks_is_no_loss(tmp_path):
    write(tmp_path, "trace.json", rank=3)

    assert lost(read_recording(tmp_path)) == ""
