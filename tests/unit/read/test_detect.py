"""What is given as a recording and is none is refused in one line, quickly and with a hint."""

import gzip
import json
import os
import sqlite3

import pytest

from boundby.errors import UnreadableError
from boundby.read import read_recording
from builders import training_steps

MANY = 20_000_000


def _sqlite(path):
    with sqlite3.connect(path) as connection:
        connection.execute("create table t (x)")


def _write(content):
    return lambda path: path.write_bytes(content)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        pytest.param(_write(b""), "is empty", id="empty"),
        pytest.param(_write(gzip.compress(b"")), "is empty", id="empty gzip"),
        pytest.param(_write(b" " * MANY), "is empty", id="spaces"),
        pytest.param(_write(gzip.compress(b" " * MANY)), "is empty", id="gzip of spaces"),
        pytest.param(_write(b"\0" * 4096), "is empty", id="zeros"),
        pytest.param(_write(b"PK\x03\x04rest"), "zip archive", id="zip"),
        pytest.param(_write(b"\x28\xb5\x2f\xfdrest"), "zstd", id="zstd"),
        pytest.param(_write(b"\xfd7zXZ\0rest"), "xz", id="xz"),
        pytest.param(_write(b"BZh91AY"), "bzip2", id="bzip2"),
        pytest.param(_write(b"\x80\x04\x95rest"), "pickle", id="pickle"),
        pytest.param(_write("{}".encode("utf-16")), "UTF-16", id="utf-16"),
        pytest.param(_sqlite, "SQLite", id="sqlite"),
        pytest.param(
            _write(b"\x7fELF\x02\x01\x01" + bytes(range(256))), "no known format", id="elf"
        ),
        pytest.param(_write(b"<html></html>"), "no known format", id="html"),
        pytest.param(_write(b'"a string"'), "no known format", id="string"),
        pytest.param(_write(b"{}"), "no list of trace events", id="no members"),
        pytest.param(_write(b'{"model": "resnet"}'), "no list of trace events", id="other json"),
        pytest.param(_write(b'{"a":' * 100_000), "no list of trace events", id="deep objects"),
        pytest.param(_write(b"[" * 100_000), "no list of trace events", id="deep lists"),
        pytest.param(_write(b'[{"a":' + b"[" * 100_000), "no events", id="deep in an event"),
        pytest.param(_write(b"[]"), "no events", id="no events"),
        pytest.param(_write(b'{"traceEvents": []}'), "no events", id="an empty list"),
        pytest.param(_write(b'{"traceEvents": ['), "no events", id="cut before the first event"),
        pytest.param(
            _write(json.dumps([{"id": 1, "timestamps": []}] * 9).encode()),
            "is no PyTorch profiler trace",
            id="a list of other things",
        ),
        pytest.param(
            _write(json.dumps({"traceEvents": [{"ph": "X", "cat": "v8", "ts": 1}]}).encode()),
            "is no PyTorch profiler trace",
            id="a trace of something else",
        ),
    ],
)
def test_refused(tmp_path, make, words):
    path = tmp_path / "given.json"
    make(path)

    with pytest.raises(UnreadableError) as refusal:
        read_recording(path)

    assert words in refusal.value.message
    assert str(path) in refusal.value.message
    assert "\n" not in refusal.value.message
    assert refusal.value.hint
    assert refusal.value.exit_code == 125


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("run.nsys-rep", "Nsight Systems"),
        ("run.ncu-rep", "Nsight Compute"),
        ("run.bin", "no known"),
    ],
)
def test_reports_of_other_profilers_are_known_by_name(tmp_path, name, words):
    path = tmp_path / name
    path.write_bytes(b"NVR\x01\x02\x03")

    with pytest.raises(UnreadableError, match=words):
        read_recording(path)


def test_a_missing_file(tmp_path):
    with pytest.raises(UnreadableError, match="does not exist"):
        read_recording(tmp_path / "missing.json")


def test_a_forbidden_file(tmp_path, monkeypatch):
    path = training_steps().write(tmp_path / "a.json")

    def refuse(*_args):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.open", refuse)

    with pytest.raises(UnreadableError, match="may not be read"):
        read_recording(path)


def test_a_broken_disk(tmp_path, monkeypatch):
    path = training_steps().write(tmp_path / "a.json")

    def fail(*_args):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("pathlib.Path.open", fail)

    with pytest.raises(UnreadableError, match="cannot be read: input/output error"):
        read_recording(path)


def test_half_a_gzip_is_read_as_far_as_it_goes(tmp_path):
    path = training_steps(50).write(tmp_path / "a.json.gz")
    whole = read_recording(path)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])

    half = read_recording(path)

    assert 0 < len(half.device) < len(whole.device)
    assert half.quality[0].id == "truncated"
    assert half.quality[0].severity == "fatal"


def test_a_file_cut_after_its_last_event_has_lost_nothing(tmp_path):
    path = training_steps().write(tmp_path / "a.json")
    whole = read_recording(path)
    text = path.read_text()
    path.write_text(text[: text.rindex("]")])

    recording = read_recording(path)

    assert len(recording.host) == len(whole.host)
    assert [(q.id, q.severity) for q in recording.quality] == [("truncated", "info")]


def test_a_path_may_be_text(tmp_path):
    assert len(read_recording(str(training_steps().write(tmp_path / "a.json"))).device) == 30


def test_two_traces_in_one_file_are_both_read(tmp_path):
    path = training_steps().write(tmp_path / "a.json")
    other = training_steps()
    for event in other.events:
        event["ts"] += 5000
    path.write_bytes(path.read_bytes() + other.write(tmp_path / "b.json").read_bytes())

    recording = read_recording(path)

    assert len(recording.device) == 60
    assert "unreadable-events" in {q.id for q in recording.quality}


def test_a_pipe_is_refused_with_what_to_do_instead(tmp_path):
    os.mkfifo(tmp_path / "pipe")

    with pytest.raises(UnreadableError, match="is a pipe") as refused:
        read_recording(tmp_path / "pipe")
    assert "> trace.json" in refused.value.hint


def test_stdin_is_refused_but_a_file_of_its_name_is_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UnreadableError, match="not read from stdin"):
        read_recording("-")

    training_steps().write(tmp_path / "-")
    assert len(read_recording("-").device) == 30
