"""A pickle is a program. None of these runs, crashes us, or takes the machine's memory."""

import os
import pickle
import struct
import time
import zipfile
import zlib

import pytest

from boundby.errors import UnreadableError
from boundby.read.memory_snapshot import read_snapshot


class Evil:
    def __init__(self, function, *arguments):
        self.parts = function, arguments

    def __reduce__(self):
        return self.parts


def nested_lists(depth, width):
    """Fold a list into lists: a few hundred bytes that unfold to ``width ** depth`` entries."""
    value = []
    for _ in range(depth):
        value = [value] * width
    return value


CYCLE = []
CYCLE.append(CYCLE)
ENTRY = {"action": "alloc", "addr": 1, "size": 1}
SHARED = [ENTRY] * 3000

PICKLES = {
    "reduce": pickle.dumps({"segments": Evil(os.system, "echo hacked > hacked")}),
    "global": b"cos\nsystem\n(S'echo hacked > hacked'\ntR.",
    "inst": b"(S'echo hacked > hacked'\nios\nsystem\n.",
    "stack-global": b"\x80\x04\x8c\x08builtins\x8c\x04eval\x93\x8c\x011\x85R.",
    "ordered-dict": b"\x80\x02ccollections\nOrderedDict\n)R.",
    "extension": b"\x80\x02\x82\x01.",
    "persistent-id": b"\x80\x02\x8c\x01xQ.",
    "new-object": b"\x80\x02}}\x81.",
    "build": b"\x80\x02}}b.",
    "bytes-of-a-terabyte": b"\x80\x04\x8e" + struct.pack("<Q", 1 << 40) + b"x.",
    "long-of-a-gigabyte": b"\x80\x02\x8b" + struct.pack("<i", 1 << 30) + b"x.",
    "memo-bomb": b"\x80\x02Nr\xff\xff\xff\x3f.",
    "nested-tuple-key": b"\x80\x02}K\x01" + b"\x85" * 3_000_000 + b"K\x01s.",
    "nothing-but-depth": b"\x80\x02" + b"]" * 100_000 + b"a" * 99_999 + b".",
    "truncated": pickle.dumps({"segments": [], "device_traces": [[]]})[:-9],
    "list-in-itself": pickle.dumps(CYCLE),
    "one-trace-for-all-devices": pickle.dumps({"device_traces": [SHARED] * 1000}),
    "one-list-for-all-segments": pickle.dumps(
        {"segments": [{"blocks": SHARED} for _ in range(1000)]}
    ),
    "a-number": pickle.dumps(17),
    "a-list-of-something-else": pickle.dumps([{"loss": 0.5}] * 20),
    "empty-dicts": b"\x80\x02(" + b"}" * 3_000_000 + b"l.",
    "no-snapshot": pickle.dumps({"a": 1}),
    "text": b"hello",
    "empty": b"",
}


@pytest.mark.parametrize("name", PICKLES)
def test_it_is_refused_and_nothing_runs(name, write, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = write(PICKLES[name])
    start = time.monotonic()

    with pytest.raises(UnreadableError) as caught:
        read_snapshot(path)
    assert str(path) in caught.value.message
    assert caught.value.hint
    assert not (tmp_path / "hacked").exists()
    assert time.monotonic() - start < 30


def test_lists_folded_into_lists_are_no_entries(read):
    found = read({"device_traces": nested_lists(30, 10)})

    assert sum(map(len, found.histories.values())) == 0


def test_wrong_types_everywhere_are_left_out_not_walked(read):
    deep = nested_lists(30, 10)
    found = read(
        {
            "segments": [
                {"address": deep, "total_size": "x", "device": -5, "blocks": [deep, 3, None]}
            ],
            "device_traces": [
                [
                    {"action": deep, "addr": 1 << 80, "size": float("nan"), "time_us": deep},
                    {
                        "action": "alloc",
                        "addr": "x",
                        "frames": [deep, {"filename": 3, "line": "x"}],
                    },
                    "no entry",
                ],
                17,
            ],
            "external_annotations": {"a": deep},
            "allocator_settings": [deep],
        }
    )

    assert found.quality[0].id == "unreadable-entries"
    assert not len(found.histories[0])
    assert found.segments.size.tolist() == [0]
    assert found.segments.device.tolist() == [0]


def test_a_small_file_that_unpacks_to_a_large_one_is_refused(tmp_path):
    path = tmp_path / "bomb.pickle.gz"
    pack = zlib.compressobj(9, zlib.DEFLATED, 31)
    zeros = bytes(1 << 20)
    path.write_bytes(b"".join(pack.compress(zeros) for _ in range(200)) + pack.flush())

    with pytest.raises(UnreadableError, match="unpacks to more than") as caught:
        read_snapshot(path)
    assert "--max-gib" in caught.value.hint


def test_the_largest_size_can_be_set(write):
    path = write({"segments": [], "device_traces": [[ENTRY | {"x": i} for i in range(200)]]})

    with pytest.raises(UnreadableError, match="larger than"):
        read_snapshot(path, max_bytes=1000)
    assert read_snapshot(path, max_bytes=1 << 20).source.events == 200


def test_a_zip_with_one_pickle_is_opened(tmp_path):
    path = tmp_path / "memory.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(
            "memory.pickle", pickle.dumps({"segments": [], "device_traces": [[ENTRY]]})
        )

    assert read_snapshot(path).source.events == 1


def test_a_zip_with_anything_else_is_refused(tmp_path):
    path = tmp_path / "memory.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("readme.txt", "hello")

    with pytest.raises(UnreadableError, match="0 pickles"):
        read_snapshot(path)
