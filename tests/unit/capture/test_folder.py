"""The folder: what is written survives its writer, and what is torn is dropped."""

import errno
import json
import os
import threading

import pytest

from boundby.capture import tape
from boundby.capture.findings import read_run
from boundby.capture.host_memory import read_host_memory
from boundby.capture.tape import FIRST_ROWS, RunFolder
from boundby.errors import BoundbyError, UnreadableError
from boundby.read.capture_folder import (
    HEADER,
    HOST,
    NOTES,
    TAPE,
    TRACE,
    Row,
    captures_in,
    is_capture,
    read_capture,
    read_so_far,
)


def written(place, steps=3, rank=None):
    folder = RunFolder(place)
    folder.describe({"version": 1, "script": "train.py", "rank": rank})
    folder.note("pass", id=1, name="clean", steps=steps)
    folder.tape.put(Row.PASS, 1000, 1, 0)
    for step in range(1, steps + 1):
        folder.tape.put(Row.STEP, 1000 + 10 * step, step, 1)
    return folder


def test_rows_are_there_at_once_and_a_pass_without_its_end_is_told(tmp_path):
    written(tmp_path)  # never closed, as after a kill
    capture = read_capture(tmp_path)

    assert capture.of(Row.STEP).tolist() == [[1010, 1, 1], [1020, 2, 1], [1030, 3, 1]]
    (clean,) = capture.passes
    assert (clean.name, clean.complete, clean.end) == ("clean", False, 1030)
    assert clean.intervals.tolist() == [10, 10, 10]


def test_a_tape_grows(tmp_path):
    folder = written(tmp_path, steps=FIRST_ROWS + 5)

    assert len(read_capture(tmp_path).of(Row.STEP)) == FIRST_ROWS + 5
    assert folder.path == tmp_path


def test_all_of_a_tape_has_its_room_on_the_disk(tmp_path):
    # A map of a file that finds no room when it is written to kills the program (SIGBUS).
    RunFolder(tmp_path)
    status = (tmp_path / TAPE).stat()

    assert status.st_blocks * 512 >= status.st_size


def test_a_tape_that_was_cut_is_left(tmp_path):
    folder = written(tmp_path)
    assert not folder.tape.guard()
    os.truncate(tmp_path / TAPE, 100)

    assert [folder.tape.guard(), folder.tape.guard()] == [True, False]
    folder.tape.put(Row.STEP, 2000, 4, 1)  # would kill this process


def test_another_run_into_the_same_folder_cuts_nothing(tmp_path):
    before = written(tmp_path)
    RunFolder(tmp_path)

    assert not before.tape.guard()
    before.tape.put(Row.STEP, 2000, 4, 1)


def test_a_program_that_opens_its_own_file_under_our_number_is_not_looked_at(tmp_path):
    folder = written(tmp_path)
    own = os.open(tmp_path / "own", os.O_RDWR | os.O_CREAT)
    os.dup2(own, folder.tape._file)
    os.close(own)

    assert not folder.tape.guard()


ODD = [None, True, -1, 0, 1.5, float("nan"), 1 << 70, "x", "", [], [1], {}, {"a": 1}, [[1]]]
WHOLE = {
    "stack": {"id": 0, "frames": [["a.py", 1, "f", 1]]},
    "pass": {"id": 1, "name": "clean", "steps": 3},
    "source": {"source": "optimizer"},
    "problem": {"text": "a problem"},
    "warm-up": {"steps": 2, "settled": True},
    "sampler": {"bias": "some"},
    "loop": {"frame": ["a.py", 1, "f", 1]},
    "loader": {"id": 0, "num_workers": 2, "pin_memory": True, "samples": 9, "prefetch_factor": 2},
    "batch": {"id": 0, "bytes": 4096, "samples": 4},
    "history": {"kept": True, "ratio": 1.1},
    "memory": {
        "step": 1,
        "allocated_bytes_current": 1,
        "allocated_bytes_peak": 2,
        "reserved_bytes_current": 3,
        "reserved_bytes_peak": 4,
        "capacity": 5,
        "retries": 0,
    },
    "memory-sign": {"sign": "grows"},
    "mixed-precision": {"unscaled": False},
    "oracle": {"possible": False},
    "oom": {"device": 0, "asked": 1, "allowed": 2, "free": 3, "capacity": 4},
    "end": {"exception": "ValueError", "message": "no"},
    "surroundings": {
        "cores": 2,
        "quota": 1.5,
        "threads": 2,
        "workers": 0,
        "worker_threads": None,
        "switches": [],
        "anomaly": False,
        "cudnn_benchmark": False,
        "debugger": None,
        "traced": False,
        "clock_mhz": 1000,
        "most_mhz": 2000,
        "reasons": [],
        "others": 0,
    },
    "done": {"steps": 3},
}
HEADER_VALUES = {
    "version": 1,
    "script": "train.py",
    "directory": "/w",
    "libraries": ["/lib"],
    "pid": 7,
    "began": 5,
    "began_s": 0.5,
    "torch": "2.11.0",
    "rank": 0,
    "device": None,
}
READINGS = {
    "total": 1 << 40,
    "available_least": 1 << 39,
    "parents": {"7": 1, "8": 7},
    "samples": [[0.5, 7, 1 << 20, None], [0.9, 8, 1 << 20, 1 << 19]],
}


def filled(place):
    folder = written(place)
    folder.describe(HEADER_VALUES)
    for kind, values in WHOLE.items():
        folder.note(kind, **values)
    (place / HOST).write_text(json.dumps(READINGS), "utf-8")
    return folder


def test_a_whole_folder_is_read_whole(tmp_path):
    filled(tmp_path)
    run, capture = read_run(tmp_path)

    assert {note["note"] for note in capture.notes} == set(WHOLE)
    assert (run.script, run.source, run.finished, run.memory.capacity) == (
        "train.py",
        "optimizer",
        True,
        5,
    )
    host = read_host_memory(capture, 1.0)
    assert (host.total, host.main_peak, host.workers) == (1 << 40, 1 << 20, 1)


@pytest.mark.parametrize("odd", ODD, ids=repr)
def test_any_odd_value_in_any_note_is_left_out_or_read(tmp_path, odd):
    for kind, values in WHOLE.items():
        for key in values:
            folder = filled(tmp_path)
            folder.note(kind, **{**values, key: odd})
            folder.note(kind, **{name: each for name, each in values.items() if name != key})
            read_whole(tmp_path)


@pytest.mark.parametrize("odd", ODD, ids=repr)
def test_any_odd_value_in_header_or_readings_is_one_error_or_none(tmp_path, odd):
    filled(tmp_path)
    for key in HEADER_VALUES:
        (tmp_path / HEADER).write_text(json.dumps({**HEADER_VALUES, key: odd}), "utf-8")
        read_whole(tmp_path)
    (tmp_path / HEADER).write_text(json.dumps(HEADER_VALUES), "utf-8")
    for key in READINGS:
        (tmp_path / HOST).write_text(json.dumps({**READINGS, key: odd}), "utf-8")
        read_whole(tmp_path)


@pytest.mark.parametrize("name", [HEADER, HOST, NOTES])
@pytest.mark.parametrize("raw", [b"", b"NaN", b"[" * 100_000, b"\xff", b"[1]", b"null"])
def test_a_file_that_holds_something_else_is_one_error_or_none(tmp_path, name, raw):
    filled(tmp_path)
    (tmp_path / name).write_bytes(raw)
    read_whole(tmp_path)


def read_whole(place):
    """All that is read of a folder; a damaged one may be refused, in one line."""
    captures_in(place)
    read_so_far(place)
    try:
        run, capture = read_run(place)
    except BoundbyError:
        return
    read_host_memory(capture, run.clocks.step)


def test_names_of_files_that_are_no_text_are_kept(tmp_path):
    folder = written(tmp_path)
    folder.note("stack", id=4, frames=[["/w/\udcff.py", 1, "f", 1]])

    assert read_capture(tmp_path).stacks[4][0].file == "/w/\udcff.py"


def test_a_file_system_that_reserves_nothing_is_written_to_all_the_same(tmp_path, monkeypatch):
    monkeypatch.setattr(tape.os, "posix_fallocate", failing(errno.EOPNOTSUPP), raising=False)

    assert written(tmp_path).tape is not None
    assert len(read_capture(tmp_path).of(Row.STEP)) == 3


def test_a_disk_without_room_for_a_tape_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(tape.os, "posix_fallocate", failing(errno.ENOSPC), raising=False)

    with pytest.raises(OSError, match="No space left"):
        RunFolder(tmp_path)


def test_a_disk_that_fills_up_later_costs_what_comes_later(tmp_path, monkeypatch):
    folder = written(tmp_path)
    monkeypatch.setattr(tape.os, "posix_fallocate", failing(errno.ENOSPC), raising=False)
    monkeypatch.setattr(tape.os, "write", failing(errno.ENOSPC))
    for step in range(FIRST_ROWS):
        folder.tape.put(Row.STEP, step, step, 1)
    folder.note("warm-up")

    assert folder.tape.is_full
    assert len(read_capture(tmp_path).rows) == FIRST_ROWS


def test_threads_take_rows_of_their_own_also_while_the_tape_grows(tmp_path):
    folder, each = RunFolder(tmp_path), FIRST_ROWS
    folder.describe({})

    def write(number):
        for row in range(each):
            folder.tape.put(Row.STEP, row, number, 1)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    rows = read_capture(tmp_path).of(Row.STEP)

    for number in range(3):
        assert rows[rows[:, 1] == number, 0].tolist() == list(range(each))


def failing(number):
    def fail(*_arguments):
        raise OSError(number, os.strerror(number))

    return fail


def test_a_folder_that_was_left_takes_nothing_more(tmp_path):
    folder = written(tmp_path)
    folder.leave()
    folder.tape.put(Row.STEP, 2000, 4, 1)
    folder.note("warm-up")
    capture = read_capture(tmp_path)

    assert len(capture.of(Row.STEP)) == 3
    assert [note["note"] for note in capture.notes] == ["pass"]


def test_what_an_earlier_process_left_in_a_folder_is_not_mixed_with_the_new(tmp_path):
    written(tmp_path).note("done")
    (tmp_path / TRACE).write_text("{}")
    written(tmp_path, steps=2)
    capture = read_capture(tmp_path)

    assert [note["note"] for note in capture.notes] == ["pass"]
    assert capture.trace is None


def test_a_torn_note_is_dropped(tmp_path):
    written(tmp_path)
    with (tmp_path / NOTES).open("a") as file:
        file.write('{"note": "warm-up", "st')

    assert [note["note"] for note in read_capture(tmp_path).notes] == ["pass"]


def test_stacks_are_read_back(tmp_path):
    written(tmp_path).note("stack", id=4, frames=[("train.py", 7, "main", 1)])

    (frame,) = read_capture(tmp_path).stacks[4]
    assert (frame.file, frame.line, frame.function, frame.first_line) == ("train.py", 7, "main", 1)


def test_the_lowest_rank_comes_first_then_who_has_most_steps(tmp_path):
    written(tmp_path / "rank-1", rank=1)
    written(tmp_path / "rank-0", rank=0)
    written(tmp_path / "process-7", steps=9)

    assert [folder.name for folder in captures_in(tmp_path)] == ["process-7", "rank-0", "rank-1"]


def test_a_folder_without_a_tape_is_no_run(tmp_path):
    (tmp_path / "run.json").write_text("{}")

    assert not is_capture(tmp_path)
    (tmp_path / TAPE).write_bytes(b"something else")
    with pytest.raises(UnreadableError):
        read_capture(tmp_path)


def test_the_header_is_whole_or_absent(tmp_path):
    folder = RunFolder(tmp_path)

    assert not is_capture(tmp_path)
    folder.describe({"version": 1})
    assert json.loads((tmp_path / "run.json").read_text()) == {"version": 1}
