"""The journal: on disk before it is believed, taken up after a kill, never another program's."""

import errno
import json
import os
import shutil
import sys

import pytest

from boundby.errors import BoundbyError, UsageError
from boundby.experiment.journal import FILE, Journal, content_of
from boundby.experiment.outcome import record_of
from boundby.experiment.settings import Settings
from boundby.experiment.values import Trial

MINE = Settings("mine:Workload")


def record(**fields):
    made = record_of("trial", (("sdpa", "on"),), Trial(step_ms=3.0), "kept", "faster")
    return {**made, **fields}


def test_records_come_back_in_order(tmp_path):
    journal = Journal(tmp_path / "new", MINE)
    journal.append(record(change="sdpa"))
    journal.append(record(change="bf16"))
    again = Journal(tmp_path / "new", MINE)

    assert not journal.notes
    assert [each["change"] for each in again.records] == ["sdpa", "bf16"]
    assert again.is_resumed


@pytest.mark.skipif(sys.platform == "win32", reason="has no such locks")
def test_a_journal_that_another_run_writes_is_left_alone(tmp_path):
    import fcntl

    Journal(tmp_path, MINE).append(record(change="sdpa"))
    torn = (tmp_path / FILE).read_bytes() + b'{"kind": "trial", "chan'
    (tmp_path / FILE).write_bytes(torn)
    with (tmp_path / FILE).open("ab") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(UsageError, match="another run is writing this journal"):
            Journal(tmp_path, MINE)
        assert (tmp_path / FILE).read_bytes() == torn

    assert Journal(tmp_path, MINE).is_resumed


def test_what_is_no_number_is_null(tmp_path):
    Journal(tmp_path, MINE).append(record(gate={"error": float("nan")}))

    assert Journal(tmp_path, MINE).records[0]["gate"] == {"error": None}


def test_a_torn_last_line_is_told_and_dropped(tmp_path):
    Journal(tmp_path, MINE).append(record(change="sdpa"))
    with (tmp_path / FILE).open("ab") as file:
        file.write(b'{"kind": "trial", "chan')
    torn = Journal(tmp_path, MINE)
    torn.append(record(change="bf16"))

    assert "torn" in torn.notes[0]
    assert [each["change"] for each in Journal(tmp_path, MINE).records] == ["sdpa", "bf16"]


NO_RECORDS = {
    "text": b"no json",
    "kind alone": b'{"kind": "trial"}',
    "no step in a baseline": json.dumps(record(kind="baseline", step_ms=None)).encode(),
    "a null configuration": json.dumps(record(configuration=None)).encode(),
    "no number": json.dumps(record(step_ms=float("nan"))).encode(),
    "nested": b"[" * 100_000,
    "nested in a record": b'{"kind": "trial", "why": ' + b"[" * 100_000,
    "no text": b"\xff\xfe",
}


@pytest.mark.parametrize("line", NO_RECORDS.values(), ids=NO_RECORDS)
def test_a_line_that_is_no_record_is_told_and_left_out(tmp_path, line):
    journal = Journal(tmp_path, MINE)
    with (tmp_path / FILE).open("ab") as file:
        file.write(line + b"\n")
    journal.append(record(change="bf16"))
    again = Journal(tmp_path, MINE)

    assert again.notes == ["line 2 of the journal is no record of a trial: left out"]
    assert [each["change"] for each in again.records] == ["bf16"]


@pytest.mark.parametrize(
    "text",
    [
        b"my own notes",
        b'{"a": 1}\n{"b": 2}',
        b"\n\n",
        b'{"kind": "header"}\ntext',
        b'{"kind": "header", "version": 99}\ntext',
        b"[" * 100_000 + b"\ntext",
    ],
)
def test_a_file_that_is_no_journal_is_refused_and_left_as_it_is(tmp_path, text):
    (tmp_path / FILE).write_bytes(text)

    with pytest.raises(UsageError, match="journal") as caught:
        Journal(tmp_path, MINE)
    assert "another --journal" in caught.value.hint
    assert (tmp_path / FILE).read_bytes() == text


@pytest.mark.parametrize(
    ("other", "what"),
    [
        (Settings("other:Workload"), "target"),
        (Settings("mine:Workload", arguments=("--small",)), "arguments"),
        (Settings("mine:Workload", memory_cap=1), "memory cap"),
    ],
)
def test_the_journal_of_another_program_is_refused(tmp_path, other, what):
    Journal(tmp_path, MINE)

    with pytest.raises(UsageError, match=what):
        Journal(tmp_path, other)


def test_an_edited_program_is_another_program(tmp_path):
    file = tmp_path / "train.py"
    file.write_text("a = 1\n")
    settings = Settings(str(file))
    Journal(tmp_path / "j", settings)
    file.write_text("a = 2\n")

    with pytest.raises(UsageError, match="content of the file"):
        Journal(tmp_path / "j", settings)


def test_the_content_is_that_of_the_file_a_target_names(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text("a = 1\n")

    assert content_of(f"{file}:Workload") == content_of(str(file)) is not None
    assert content_of("mine:Workload") is None


def test_a_folder_that_cannot_be_written_ends_in_one_line(tmp_path):
    (tmp_path / "file").write_text("")

    with pytest.raises(BoundbyError, match="cannot keep a journal"):
        Journal(tmp_path / "file" / "journal", MINE)


def test_a_full_disk_ends_in_one_line_with_a_hint(tmp_path, monkeypatch):
    journal = Journal(tmp_path, MINE)

    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(BoundbyError, match="No space left") as caught:
        journal.append(record())
    assert "run the same command again" in caught.value.hint
    assert journal.records == []


def test_a_folder_that_was_removed_meanwhile_ends_in_one_line(tmp_path):
    journal = Journal(tmp_path / "runs", MINE)
    shutil.rmtree(journal.folder)

    with pytest.raises(BoundbyError, match="cannot write: No such file") as raised:
        journal.end("done", 1.0)
    assert "was removed meanwhile" in raised.value.hint


def test_each_process_has_a_folder_of_its_own(tmp_path):
    journal = Journal(tmp_path, MINE)
    first = journal.trial_folder("trial")
    first.mkdir(parents=True)

    assert first.name == "001-trial"
    assert journal.trial_folder("probe").name == "002-probe"
