"""The history of allocations: when it is on, when a snapshot is written, and who holds what."""

import json
from pathlib import Path

import pytest
import torch

from boundby.capture import history as module
from boundby.capture.history import ENTRIES, History
from boundby.capture.holdings import holdings
from boundby.capture.observer import Observer
from boundby.capture.plan import Plan
from boundby.capture.reserves import RISES, sign
from boundby.capture.tape import RunFolder
from boundby.memory.pointers import read_pointers, write_rows
from boundby.read.capture_folder import POINTERS, SNAPSHOT, read_capture

MIB, GIB = 1 << 20, 1 << 30


@pytest.fixture
def allocator(monkeypatch):
    """An allocator that says what it was told to do, in place of the one of a device."""
    told = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "_lazy_call", lambda begin: begin())
    monkeypatch.setattr(torch.cuda.memory, "_record_memory_history", lambda **how: told.append(how))
    monkeypatch.setattr(
        torch._C,
        "_cuda_attach_out_of_memory_observer",
        told.append,
        raising=False,
    )

    def dump(file):
        Path(file).write_bytes(b"a snapshot")

    monkeypatch.setattr(torch.cuda.memory, "_dump_snapshot", dump)
    monkeypatch.setattr(module, "_capacity", lambda _device: 24 * GIB)
    return told


@pytest.fixture
def folder(tmp_path):
    made = RunFolder(tmp_path)
    made.describe({"version": 1})
    return made


def test_it_is_bounded_and_has_python_stacks(allocator):
    History(wanted=True).install()

    assert allocator[0] == {
        "enabled": "all", "context": "alloc", "stacks": "python", "max_entries": ENTRIES
    }  # fmt: skip
    assert ENTRIES <= 100_000


def test_it_is_off_where_nobody_wants_it(allocator):
    History(wanted=False).install()

    assert allocator == []


def test_running_out_before_the_first_step_makes_a_folder(allocator, tmp_path):
    observer = Observer(Plan(), lambda: RunFolder(tmp_path))
    observer._history.install()
    ran_out = allocator[1]
    ran_out(0, 128 * MIB, 4 * GIB, GIB)
    observer.folder.describe({"version": 1})
    note = read_capture(tmp_path).last("oom")

    assert (note["asked"], note["allowed"], note["free"]) == (128 * MIB, 4 * GIB, GIB)
    assert note["capacity"] == 24 * GIB
    assert (tmp_path / SNAPSHOT).read_bytes() == b"a snapshot"
    assert (tmp_path / POINTERS).is_file()


def test_a_program_that_tries_again_and_again_fills_no_disk(allocator, folder, monkeypatch):
    history = History(wanted=True)
    history.write_to(folder)
    history.install()
    for _ in range(5):
        allocator[1](0, MIB, GIB, 0)

    assert len(list(read_capture(folder.path).noted("oom"))) == 1


def test_a_snapshot_that_fails_is_told_and_the_programs_error_stays_its_own(
    allocator, folder, monkeypatch
):
    def fail(_file):
        raise RuntimeError("no room")

    monkeypatch.setattr(torch.cuda.memory, "_dump_snapshot", fail)
    history = History(wanted=True)
    history.write_to(folder)
    history.install()
    allocator[1](0, MIB, GIB, 0)

    assert "no room" in read_capture(folder.path).last("problem")["text"]


@pytest.mark.parametrize(
    ("clean", "recorded", "asked", "kept"),
    [
        (100.0, 104.0, False, True),
        (100.0, 120.0, False, False),
        (100.0, 120.0, True, True),
        (None, None, False, True),
    ],
    ids=["cheap", "costly", "costly-but-asked-for", "not-measured"],
)
def test_it_stays_on_for_the_rest_where_it_is_cheap(
    allocator, folder, clean, recorded, asked, kept
):
    history = History(wanted=True)
    history.write_to(folder)
    history.install()
    history.pause()
    history.clean_ns, history.recorded_ns = clean, recorded
    history.stay(asked=asked)

    assert (allocator[-1]["enabled"] == "all") is kept
    assert read_capture(folder.path).last("history")["kept"] is kept


def readings(used, *, peak=None, reserved=None, capacity=24 * GIB, retries=0):
    return [
        {
            "allocated_bytes_current": each,
            "allocated_bytes_peak": peak or max(used),
            "reserved_bytes_current": reserved or max(used),
            "reserved_bytes_peak": reserved or max(used),
            "capacity": capacity,
            "retries": retries,
        }
        for each in used
    ]


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (readings([GIB + at * 8 * MIB for at in range(12)]), "grows"),
        (readings([GIB] * 12), None),
        (readings([GIB + at * 8 * MIB for at in range(RISES)]), None),
        (readings([GIB + at for at in range(12)]), None),
        (readings([GIB, 2 * GIB] * 6), None),
        (readings([2 * GIB] * 12, reserved=5 * GIB), "fragments"),
        (readings([21 * GIB] * 12), "full"),
        (readings([2 * GIB] * 12, peak=6 * GIB, reserved=6 * GIB), "peaks"),
        (readings([GIB] * 12, retries=3), "retries"),
        ([], None),
    ],
)
def test_what_calls_for_a_snapshot_that_nobody_asked_for(row, expected):
    assert sign(row) == expected


class FakeStorage:
    def __init__(self, address):
        self.address = address

    def data_ptr(self):
        return self.address


class OnDevice:
    """A tensor as the side file sees it: a device and a storage."""

    def __init__(self, address, grad=None):
        self.device = torch.device("cuda", 0)
        self.address, self.grad = address, grad

    def untyped_storage(self):
        return FakeStorage(self.address)

    data_ptr = None


def test_parameters_gradients_and_states_are_named_by_storage(monkeypatch, tmp_path):
    model = torch.nn.Sequential(torch.nn.Linear(2, 2))
    weight = OnDevice(0x1000, grad=OnDevice(0x2000))
    monkeypatch.setattr(
        torch.nn.Module, "named_parameters", lambda _self: iter([("0.weight", weight)])
    )
    monkeypatch.setattr(
        torch.nn.Module, "named_buffers", lambda _self: iter([("m", OnDevice(0x3))])
    )
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))])
    optimizer.param_groups = [{"params": [weight, OnDevice(0x5000)]}]
    optimizer.state = {weight: {"exp_avg": OnDevice(0x4000), "step": 3}}
    write_rows(tmp_path / POINTERS, holdings())
    rows = json.loads((tmp_path / POINTERS).read_text())["pointers"]

    assert sorted(row[1:] for row in rows) == [
        [0x3, "parameters", "m"],
        [0x1000, "parameters", "0.weight"],
        [0x2000, "gradients", "0.weight"],
        [0x4000, "optimizer", "0.weight.exp_avg"],
        [0x5000, "parameters", "?"],
    ]
    assert read_pointers(tmp_path / POINTERS)[0][0x4000] == "optimizer"
    assert model is not None


def test_what_lies_on_the_host_is_no_device_memory(tmp_path):
    model = torch.nn.Linear(3, 3)
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.zeros(1, 3)).sum().backward()
    optimizer.step()
    write_rows(tmp_path / POINTERS, holdings())

    assert read_pointers(tmp_path / POINTERS) == {}


def test_an_object_that_does_not_answer_is_left_out(monkeypatch):
    class Broken(torch.nn.Module):
        def named_parameters(self, *_args, **_kwargs):
            raise RuntimeError("lazy")

    broken = Broken()

    assert list(holdings()) is not None
    assert broken is not None
