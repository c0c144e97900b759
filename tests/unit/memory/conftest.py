"""A small caching allocator that writes the snapshots under test, a few readable calls a world."""

import gzip
import pickle

import pytest

from boundby.memory.diagnose import diagnose
from boundby.memory.history import History
from boundby.read.memory_snapshot import read_snapshot

MIB = 1 << 20
LARGE_SEGMENT = 20 * MIB
TORCH = "/opt/venv/lib/python3.12/site-packages/torch"
BACKWARD = [{"filename": "??", "line": 0, "name": "torch::autograd::Engine::thread_init(int)"}]


def user(line, function="train", file="/work/train.py"):
    """Return a frame of the user's code."""
    return {"filename": file, "line": line, "name": function}


def library(path, line, function):
    """Return a frame of torch."""
    return {"filename": f"{TORCH}/{path}", "line": line, "name": function}


def forward(line):
    """Return the stack of a layer called on a line of the user's code."""
    inner = library("nn/modules/linear.py", 134, "forward")
    return [inner, library("nn/modules/module.py", 1790, "_call_impl"), user(line)]


def optimizer(line):
    """Return the stack of an optimizer step called on a line of the user's code."""
    return [library("optim/adam.py", 178, "_init_group"), user(line)]


def built(line):
    """Return the stack of a parameter that is moved to the device."""
    return [library("nn/modules/module.py", 1097, "_apply"), user(line)]


class World:
    """An allocator with first fit in segments of 20 MiB; what it does becomes a history."""

    def __init__(self, device=0):
        self.device = device
        self.events = []
        self.segments = {}  # address -> size
        self.blocks = {}  # address -> (size, frames)
        self.next = 0x7F0000000000
        self.time = 1_000_000

    def alloc(self, mib, frames, stream=0):
        size = int(mib * MIB)
        address = self._place(size, stream)
        self._record("alloc", address, size, frames, stream)
        self.blocks[address] = (size, frames)
        return address

    def free(self, *addresses):
        for address in addresses:
            size, frames = self.blocks.pop(address)
            self._record("free_requested", address, size, frames)
            self._record("free_completed", address, size, frames)

    def refuse(self, mib, device_free_mib=0):
        self.events.append(
            {"action": "oom", "device_free": int(device_free_mib * MIB), "size": int(mib * MIB),
             "stream": 0, "time_us": self.time, "frames": [user(99)]}
        )  # fmt: skip

    def forget(self, count):
        """Lose the oldest entries, as a ring buffer that overran."""
        del self.events[:count]

    def snapshot(self, **more):
        segments = [
            {"device": self.device, "address": address, "total_size": size, "stream": 0,
             "segment_type": "large", "segment_pool_id": (0, 0), "is_expandable": False,
             "frames": [], "blocks": self._blocks_in(address, size)}
            for address, size in self.segments.items()
        ]  # fmt: skip
        traces = [[] for _ in range(self.device)] + [self.events]
        return {"segments": segments, "device_traces": traces} | more

    def _place(self, size, stream):
        for start, length in self.segments.items():
            at = start
            for address, (taken, _) in sorted(self.blocks.items()):
                if start <= address < start + length:
                    if address - at >= size:
                        return at
                    at = address + taken
            if start + length - at >= size:
                return at
        length = max(LARGE_SEGMENT, -(-size // (2 * MIB)) * 2 * MIB)
        start, self.next = self.next, self.next + length + LARGE_SEGMENT
        self.segments[start] = length
        self._record("segment_alloc", start, length, [], stream)
        return start

    def _record(self, action, address, size, frames, stream=0):
        self.time += 10
        self.events.append(
            {"action": action, "addr": address, "size": size, "stream": stream,
             "time_us": self.time, "frames": frames}
        )  # fmt: skip

    def _blocks_in(self, start, length):
        inside = sorted((a, b) for a, b in self.blocks.items() if start <= a < start + length)
        rows, at = [], start
        for address, (size, frames) in inside:
            if address > at:
                rows.append(
                    {"address": at, "size": address - at, "state": "inactive", "frames": []}
                )
            rows.append(
                {"address": address, "size": size, "requested_size": size,
                 "state": "active_allocated", "frames": frames}
            )  # fmt: skip
            at = address + size
        if at < start + length:
            rows.append(
                {"address": at, "size": start + length - at, "state": "inactive", "frames": []}
            )
        return rows


@pytest.fixture
def world():
    return World()


@pytest.fixture
def new_world():
    return World


@pytest.fixture
def stack():
    """Return builders of stacks by name."""
    return {"forward": forward, "optimizer": optimizer, "built": built, "user": lambda n: [user(n)],
            "backward": BACKWARD, "frame": user}  # fmt: skip


@pytest.fixture
def write(tmp_path):
    """Write a snapshot (a World, values or raw bytes) and return its path."""

    def to_file(what, name="memory.pickle", **more):
        values = what.snapshot(**more) if isinstance(what, World) else what
        raw = values if isinstance(values, bytes) else pickle.dumps(values, protocol=4)
        path = tmp_path / name
        path.write_bytes(gzip.compress(raw) if name.endswith(".gz") else raw)
        return path

    return to_file


@pytest.fixture
def read(write):
    return lambda what, **more: read_snapshot(write(what, **more))


@pytest.fixture
def history(read):
    return lambda what, device=0, **more: History(read(what, **more), device)


@pytest.fixture
def judged(read):
    return lambda what, **options: diagnose(read(what), **options)
