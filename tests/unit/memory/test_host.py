"""Memory of the host: who grows and why, what a loader locks, whether the data fit."""

import os
import subprocess
import sys
from types import SimpleNamespace

import pytest

from boundby.memory import processes
from boundby.memory.host import (
    HostMemory,
    Loading,
    Sample,
    dataset_fact,
    find_growing,
    growth_fact,
    host_use,
    offload_limit,
    pinned_fact,
)
from boundby.memory.processes import (
    descendants,
    host_memory,
    limited,
    parents_of,
    read_process,
    read_processes,
)

GB, GIB, MIB = 10**9, 1 << 30, 1 << 20
HOST = HostMemory(total=16 * GIB, available=8 * GIB)
LEVEL = [100, 180, 240, 280, 300, 305, 306, 307]
RISING = range(100, 900, 100)
needs_proc = pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs Linux")  # noqa: PTH110


def samples(own, resident=None, *, is_worker=True, pid=7):
    whole = own if resident is None else resident
    return [
        Sample(pid, at, each * MIB, size * MIB, is_worker)
        for at, (size, each) in enumerate(zip(own, whole, strict=True))
    ]


@pytest.mark.parametrize(
    ("own", "resident", "kind"),
    [
        (LEVEL, [320] * 8, "copy-on-write"),
        (RISING, [900] * 8, "copy-on-write"),
        ([100, 200, 200], [320] * 3, "copy-on-write"),
        (LEVEL, LEVEL, "levels-off"),
        (RISING, RISING, "leak"),
    ],
    ids=["levels", "still-copying", "three-readings", "own-data", "leak"],
)
def test_why_a_worker_grows(own, resident, kind):
    (found,) = find_growing(samples(own, resident))

    assert found.kind == kind
    assert growth_fact(found).id == "host-worker-growth"


@pytest.mark.parametrize(
    ("own", "resident"),
    [
        ([100] * 8, [300] * 8),
        ([17, 22, 24, 55, 81, 81, 81], [237] * 7),
        ([100, 300, 100, 300, 100, 300, 140], [300] * 7),
        ([100, 200], [300] * 2),
    ],
    ids=["level", "the-interpreter", "up-and-down", "two-readings"],
)
def test_what_is_no_growth(own, resident):
    assert list(find_growing(samples(own, resident))) == []


def test_a_program_that_starts_does_not_leak():
    rising = samples(RISING, is_worker=False)

    assert host_use(rising, HOST, settled_s=None).growing == ()
    assert host_use(rising, HOST, settled_s=6.0).growing == ()
    (found,) = host_use(rising, HOST, settled_s=0.0).growing
    assert (found.kind, growth_fact(found).id) == ("leak", "host-growth")


def test_what_a_loader_locks_grows_with_its_queue():
    loading = Loading(batch=GIB, workers=4, prefetch=4, pins=True)
    use = host_use([], HOST, loading)

    assert "too much" in pinned_fact(GIB, prefetch=4, workers=4, host=HOST).text
    assert "too much" not in pinned_fact(MIB, prefetch=4, workers=4, host=HOST).text
    assert [fact.value for fact in use.facts] == [17 * GIB]
    assert [remedy.id for remedy in use.prescriptions] == ["shallower-queue"]
    assert host_use([], HOST, Loading(GIB, 4, 4, pins=False)).facts == ()


def test_whether_the_data_fit():
    small = Loading(batch=GIB, workers=0, prefetch=0, pins=False, samples=80, in_batch=20)
    large = Loading(batch=GIB, workers=0, prefetch=0, pins=False, samples=120, in_batch=20)

    assert "fits in memory" in dataset_fact(small.dataset, HOST).text
    assert "does not fit" in dataset_fact(large.dataset, HOST).text
    assert host_use([], HOST, small).prescriptions == ()
    assert [each.id for each in host_use([], HOST, large).prescriptions] == ["map-dataset"]
    assert Loading(None, 0, 0, pins=False, samples=3, in_batch=1).dataset is None


def test_lists_that_are_copied_should_be_arrays():
    workers = [*samples(LEVEL, [320] * 8, pid=1), *samples(LEVEL, [320] * 8, pid=2)]
    use = host_use(workers, HOST)
    (remedy,) = use.prescriptions

    assert (remedy.id, remedy.saves) == ("arrays-for-lists", 2 * 207 * MIB)
    assert (use.workers, use.worker_peak) == (2, 307 * MIB)


def test_what_could_go_to_the_host_within_a_step():
    use = host_use(samples([1] * 8), HOST, step_s=0.1)

    assert offload_limit(0.1, 40 * GB, HOST) == 2 * GB
    assert offload_limit(10, 40 * GB, HOST) == 8 * GIB
    assert {fact.id: fact.value for fact in use.facts} == {"host-offload": GB}


def test_a_host_with_little_left_is_told():
    use = host_use(samples([1] * 8), HostMemory(16 * GIB, GIB))

    assert [fact.id for fact in use.facts] == ["host-left"]


def test_nothing_is_known_of_nothing():
    assert host_use([], HOST) is None


def test_a_container_has_what_it_is_allowed(tmp_path):
    for name, text in (("memory.max", "4294967296"), ("memory.current", "3221225472"),
                       ("memory.stat", "anon 5\ninactive_file 1073741824\n")):  # fmt: skip
        (tmp_path / name).write_text(text)

    assert limited(HOST, tmp_path) == HostMemory(4 * GIB, 2 * GIB)
    (tmp_path / "memory.max").write_text("max")
    assert limited(HOST, tmp_path) == HOST
    assert limited(HOST, tmp_path / "missing") == HOST


@pytest.fixture(params=["psutil", "proc"])
def source(request, monkeypatch):
    """Both ways to read: by psutil, where it is installed, and by /proc."""
    module = pytest.importorskip("psutil") if request.param == "psutil" else None
    monkeypatch.setattr(processes, "psutil", lambda: module)
    return request.param


MANY = 1000
"""More children than this process has: other tests keep some."""


@needs_proc
def test_a_process_and_its_child_are_read(source):
    code = "import sys; held = bytearray(64 << 20); print('there', flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        child.stdout.readline()
        seen = {sample.pid: sample for sample in read_processes(os.getpid(), own_of=MANY)}
        parents = parents_of([child.pid])
        found = seen[child.pid]
        child.stdin.close()

    assert found.is_worker
    assert found.resident >= found.unique >= 64 * MIB
    assert not seen[os.getpid()].is_worker
    assert parents == {child.pid: os.getpid()}
    assert read_process(child.pid, is_worker=True) is None
    assert child.pid not in descendants(os.getpid())
    assert parents_of([child.pid]) == {}


@needs_proc
def test_the_host_has_more_than_it_has_left(source):
    host = host_memory()

    assert host.total > host.available > 0


def test_where_nothing_can_be_read_nothing_is_measured(monkeypatch):
    monkeypatch.setattr(processes, "is_known", lambda: False)

    assert host_memory() is None
    assert read_processes(1) == []


def test_a_child_that_vanishes_while_psutil_looks_is_no_error(monkeypatch):
    class Gone(Exception):  # noqa: N818 -- stands for psutil.NoSuchProcess
        pass

    def process(_pid):
        raise Gone

    monkeypatch.setattr(processes, "psutil", lambda: SimpleNamespace(Error=Gone, Process=process))

    assert read_processes(1) == []
    assert parents_of([1]) == {}
