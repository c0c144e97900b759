"""Snapshots of every era read to the same columns; what is missing is unknown, never wrong."""

import pickle
import subprocess
import sys

import pytest

from boundby.errors import UnreadableError
from boundby.read.memory_snapshot import read_snapshot
from boundby.read.recording import NONE
from boundby.read.snapshot_types import Action, BlockState

MIB = 1 << 20


def test_a_missing_file_says_how_to_record_one(tmp_path):
    with pytest.raises(UnreadableError) as caught:
        read_snapshot(tmp_path / "none.pickle")
    assert "_record_memory_history" in caught.value.hint


def test_gzip_reads_as_plain(world, write, stack):
    world.alloc(4, stack["user"](3))

    plain, packed = write(world), write(world, name="memory.pickle.gz")
    assert read_snapshot(plain).source.events == read_snapshot(packed).source.events == 2


def test_up_to_torch_1_a_snapshot_is_a_list_of_segments(read):
    found = read(
        [
            {"device": 1, "address": 4096, "total_size": 3 * MIB, "blocks": [
                {"size": MIB, "state": "active_allocated",
                 "history": [{"addr": 4096, "real_size": 7, "frames": [
                     {"filename": "a.py", "line": 3, "name": "f"}]}]},
                {"size": 2 * MIB, "state": "active_awaiting_free"}]},
        ]
    )  # fmt: skip

    assert found.devices == [1]
    assert found.blocks.address.tolist() == [4096, 4096 + MIB]
    assert found.blocks.requested.tolist() == [7, NONE]
    assert found.blocks.state.tolist() == [BlockState.ACTIVE, BlockState.PENDING_FREE]
    assert found.frames[0] == ("a.py", 3, "f")


def test_before_2_1_entries_have_no_time(read):
    found = read({"device_traces": [[{"action": "alloc", "addr": 512, "size": 9, "stream": 0}]]})

    assert found.histories[0].time.tolist() == [NONE]
    assert found.histories[0].stack.tolist() == [NONE]


@pytest.mark.parametrize("pool", [(0, 3), [0, 3], 3])
def test_a_private_pool_is_a_pair_or_a_number(read, pool):
    found = read(
        {"segments": [{"address": 1, "total_size": 1, "segment_pool_id": pool, "blocks": []}]}
    )

    assert found.segments.pool.tolist() == [1]


def test_the_default_pool_is_number_0(read):
    segments = [
        {"address": 1, "total_size": 1, "segment_pool_id": p, "blocks": []} for p in ((0, 0), 0)
    ]

    assert read({"segments": segments}).segments.pool.tolist() == [0, 0]


def test_unknown_keys_and_actions_are_told(read):
    found = read({"device_traces": [[{"action": "dream", "addr": 1}]], "new_in_3": 1})

    assert found.unknown == ("new_in_3",)
    assert found.histories[0].action.tolist() == [Action.OTHER]
    assert [finding.id for finding in found.quality] == ["unreadable-entries"]


def test_what_was_left_out_is_counted_in_words(read):
    events = [{"action": "dream", "addr": 1, "size": 1}] * 3

    assert read({"device_traces": [events]}).quality[0].message.startswith("3 entries of")


def test_settings_marks_and_notes_are_kept(read):
    found = read(
        {
            "device_traces": [[{"action": "alloc", "addr": 1, "size": 1, "user_metadata": "fw"}]],
            "allocator_settings": {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True",
                                   "expandable_segments": True, "max_split_size": -1},
            "external_annotations": [
                {"stage": "START", "name": "ProfilerStep#1", "device": 0, "time_us": 5}],
        }
    )  # fmt: skip

    assert found.settings.expandable is True
    assert not found.settings.limits_splitting
    assert found.names[found.histories[0].note[0]] == "fw"
    assert found.names[found.marks.name[0]] == "ProfilerStep#1"
    assert found.marks.time.tolist() == [5000]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_300_000_events_take_less_than_400_mib(tmp_path):
    path = tmp_path / "large.pickle"
    frames = [[{"filename": f"m{n}.py", "line": n, "name": "f"}] * 20 for n in range(500)]
    entry = {"stream": 0, "compile_context": "N/A", "user_metadata": ""}
    events = [
        entry | {"action": ("alloc", "free_requested", "free_completed")[n % 3],
                 "addr": 512 * (n // 3), "size": 700, "time_us": 10**15 + n,
                 "frames": frames[n % 500]}
        for n in range(300_000)
    ]  # fmt: skip
    path.write_bytes(pickle.dumps({"segments": [], "device_traces": [events]}, protocol=4))
    del events
    code = (
        "import resource, sys\nfrom pathlib import Path\n"
        "from boundby.read.memory_snapshot import read_snapshot\n"
        "found = read_snapshot(Path(sys.argv[1]))\n"
        "assert found.source.events == 300_000\n"
        "own = Path('/proc/self/status').read_text().split('VmHWM:')[1].split()[0]\n"
        "print(int(own) // 1024)\n"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True
    )

    assert max(map(int, done.stdout.split())) < 400
