"""The folder: what is written survives its writer, and what is torn is dropped."""

import errno
import json
import os
import threading

import pytest

from boundby.capture import tape
from boundby.capture.tape import FIRST_ROWS, RunFolder
from boundby.errors import UnreadableError
from boundby.read.capture_folder import (
    NOTES,
    TAPE,
    TRACE,
    Row,
    captures_in,
    is_capture,
    read_capture,
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
