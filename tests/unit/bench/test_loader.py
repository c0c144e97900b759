"""Loaders: stages, workers, restart, and what other settings would give."""

import os
import signal
import time
from dataclasses import replace

import pytest
import torch
from torch.utils.data import BatchSampler, DataLoader, Dataset, IterableDataset, get_worker_info

from boundby.bench.loader import (
    candidates,
    measure_loader,
    rebuilt,
    run_pass,
    settings_of,
)
from boundby.bench.loader_values import LoaderResult, Pass, Settings
from boundby.errors import CannotTellError
from boundby.report.loader import encode, markdown, render
from boundby.report.terminal import Look


def slowly(sample):
    time.sleep(0.002)
    return sample * 2


class Numbers(Dataset):
    def __init__(self, count=40):
        self.count = count
        self.transform = slowly

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        return self.transform(torch.full((256,), float(index)))


class Stream(IterableDataset):
    def __iter__(self):
        return (torch.full((4,), float(at)) for at in range(20))


def collate(samples):
    time.sleep(0.004)
    return torch.stack(samples)


@pytest.mark.parametrize("workers", [0, 1])
def test_a_pass_tells_stages_where_they_run(workers):
    loader = DataLoader(Numbers(), batch_size=5, num_workers=workers, collate_fn=collate)
    found = run_pass(loader, budget_s=10)
    stages = found.stages

    assert found.is_whole
    assert len(found.batch_ns) == 7
    assert found.samples == 35
    assert stages.transform >= 5 * 2e6
    assert 4e6 <= stages.collate < stages.transform
    assert stages.fetch < stages.transform
    assert found.batch_bytes == 5 * 256 * 4
    assert (found.worker_busy is None) is (workers == 0)
    assert loader.dataset.transform is slowly


def test_a_pass_ends_when_its_time_is_up():
    found = run_pass(DataLoader(Numbers(4000), batch_size=1), budget_s=0.1)

    assert not found.is_whole
    assert 5 <= len(found.batch_ns) < 500


@pytest.mark.skipif(not os.path.exists("/proc/self/smaps_rollup"), reason="needs Linux")  # noqa: PTH110
def test_memory_of_a_worker_is_its_own():
    found = run_pass(DataLoader(Numbers(20), batch_size=5, num_workers=1), budget_s=10)

    assert found.private_bytes > 0
    assert found.growth_bytes is not None


@pytest.mark.parametrize(
    "loader",
    [
        DataLoader(Stream(), batch_size=4),
        DataLoader(Numbers(20), batch_sampler=[[0, 1], [2, 3], [4, 5]]),
        DataLoader(Numbers(20), batch_size=4, shuffle=True, drop_last=True),
    ],
    ids=["stream", "batch sampler", "shuffled"],
)
def test_every_kind_of_loader_is_rebuilt_as_it_was(loader):
    again = rebuilt(loader, settings_of(loader))

    assert len(list(again)) == len(list(loader))
    assert len(run_pass(loader, 5).batch_ns) == len(list(loader)) - 1


def test_anything_that_can_be_iterated_is_measured():
    found = measure_loader([torch.ones(4, 2)] * 8, step_ms=10.0)

    assert found.measured.samples == 28
    assert found.sweep == ()
    assert found.answer == "enough"
    assert found.notes[0].startswith("no DataLoader")


def test_a_loader_is_measured_twice_and_then_with_other_settings(monkeypatch):
    monkeypatch.setattr("boundby.bench.loader._available_cpus", lambda: 1)
    loader = DataLoader(Numbers(12), batch_size=2)
    found = measure_loader(loader, step_ms=1.0, budget_s=3)

    assert [each.settings.workers for each in found.sweep] == [1, 1]
    assert found.answer == "bottleneck"
    assert found.restart_ns > 0
    for text in (render(found, Look()), markdown(found)):
        assert "the bottleneck" in text
        assert "best" in text.lower()
    assert '"answer": "bottleneck"' in encode(found)


def test_settings_worth_a_try():
    now = Settings(0, None, pin=False, persistent=False)
    counts = [each.workers for each in candidates(now, cpus=6)]

    assert counts == [1, 2, 4, 6, 6]
    assert now not in candidates(now, cpus=6)


def made(workers, ms, **changes):
    settings = Settings(workers, 2 if workers else None, pin=False, persistent=False)
    fields = {"first_ns": 1e6, "batch_ns": (ms * 1e6,) * 10, "span_ns": ms * 1e7, "samples": 100}
    rest = dict.fromkeys(("stages", "worker_busy", "private_bytes", "growth_bytes"))
    return Pass(settings, **{**fields, **rest, "batch_bytes": 1, "is_whole": True, **changes})


@pytest.mark.parametrize(
    ("step", "answer"), [(20.0, "enough"), (5.0, "bottleneck"), (10.1, "near"), (None, "unknown")]
)
def test_a_loader_against_a_step(step, answer):
    assert LoaderResult(made(0, 10.0), 1.0, (), step, 0).answer == answer


def test_the_best_settings_waste_no_workers():
    passes = (made(2, 5.0), made(4, 4.9), made(8, 5.2))

    assert LoaderResult(made(0, 10.0), 1.0, passes, None, 0).best.settings.workers == 2
    assert LoaderResult(made(0, 4.9), 1.0, passes, None, 0).best.settings.workers == 0


@pytest.mark.parametrize("width", [60, 80, 100, 120])
def test_the_report_fits_its_width(width):
    wide = replace(made(16, 4.9), settings=Settings(16, 4, pin=True, persistent=True))
    passes = (made(2, 5.0), wide)
    found = LoaderResult(made(0, 10.0), 1e6, passes, 5.0, 0, ("a note " * 30,))
    text = render(found, Look(width=width))

    assert max(map(len, text.splitlines())) <= width
    assert ["16", "4"] in [row.split()[:2] for row in text.splitlines()]


class MainOnly(Numbers):
    """As a data set that touches a device: it cannot be read in a worker."""

    def __getitem__(self, index):
        if get_worker_info() is not None:
            raise RuntimeError("cannot initialise in a worker")
        return torch.ones(3)


def test_settings_that_fail_cost_nothing_that_was_measured(monkeypatch, capfd):
    monkeypatch.setattr("boundby.bench.loader._available_cpus", lambda: 1)
    found = measure_loader(DataLoader(MainOnly(), batch_size=4), budget_s=30)
    place = f"{__file__}:{MainOnly.__getitem__.__code__.co_firstlineno + 2} in __getitem__"
    said = f"RuntimeError: cannot initialise in a worker ({place}) in a worker of the loader"

    assert len(found.measured.batch_ns) == 9
    assert found.sweep == ()
    assert [note.split(" was ")[1] for note in found.notes] == [f"not measured: {said}"] * 2
    assert "Exception ignored" not in capfd.readouterr().err


class Slow(Dataset):
    def __len__(self):
        return 1000

    def __getitem__(self, index):
        time.sleep(0.3)
        return torch.ones(3)


def test_slow_batches_keep_to_the_time_and_what_was_not_tried_is_told(monkeypatch):
    monkeypatch.setattr("boundby.bench.loader._available_cpus", lambda: 1)
    begin = time.monotonic()
    found = measure_loader(DataLoader(Slow(), batch_size=1), step_ms=1.0, budget_s=0.5)

    assert time.monotonic() - begin < 3
    assert found.answer == "bottleneck"
    assert found.sweep == ()
    assert "no time was left for num_workers=1" in found.notes[-1]
    assert "only 1 batch came after the first" in found.notes[0]


class Stuck(Numbers):
    """Its twelfth item never comes, in a worker or anywhere; the others do."""

    def __init__(self, *, only_in_workers=False):
        super().__init__()
        self.only_in_workers = only_in_workers

    def __getitem__(self, index):
        if index == 12 and (get_worker_info() is not None or not self.only_in_workers):
            time.sleep(600)
        return torch.ones(3)


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr("boundby.bench.loader.LEAST_PATIENCE_S", 0.8)
    monkeypatch.setattr("boundby.bench.loader.PATIENCE", 0.01)
    monkeypatch.setattr("boundby.bench.loader._available_cpus", lambda: 1)
    monkeypatch.setattr("torch.utils.data._utils.MP_STATUS_CHECK_INTERVAL", 0.2)  # ends workers


@pytest.mark.parametrize("workers", [0, 1])
def test_a_loader_that_hangs_ends_in_one_line(impatient, workers):
    loader = DataLoader(Stuck(), batch_size=4, num_workers=workers)

    with pytest.raises(CannotTellError, match=r"no batch came for 0.8 s, after 3 of them"):
        measure_loader(loader, budget_s=30)
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0


def test_settings_under_which_a_loader_hangs_cost_nothing_that_was_measured(impatient):
    found = measure_loader(DataLoader(Stuck(only_in_workers=True), batch_size=4), budget_s=30)

    assert len(found.measured.batch_ns) == 9
    assert found.sweep == ()
    assert "was not measured: no batch came for 0.8 s" in found.notes[0]


class OwnWay(DataLoader):
    def __iter__(self):
        for batch in super().__iter__():
            time.sleep(0.005)
            yield batch


def test_a_loader_that_iterates_in_its_own_way_is_measured_in_it():
    found = measure_loader(OwnWay(MainOnly(), batch_size=4), budget_s=2)

    assert found.measured.per_batch_ns > 5e6
    assert found.sweep == ()
    assert found.notes == (
        "OwnWay iterates in its own way: stages, workers and the sweep are unknown",
    )


def test_what_can_be_iterated_once_has_no_restart():
    found = measure_loader(torch.ones(3) for _ in range(20))

    assert found.restart_ns is None
    assert found.notes[-1] == "a second pass gave no batch: it can be iterated once"
    assert "again" not in render(found, Look())


def test_without_other_settings_none_are_called_best():
    found = measure_loader([torch.ones(3)] * 20)

    for text in (render(found, Look()), markdown(found)):
        assert "num_workers=0: as it is" not in text
        assert "no other settings were measured" in text


@pytest.mark.parametrize("made", [None, 5, torch.nn.Linear(1, 1)])
def test_what_cannot_be_iterated_is_no_loader(made):
    with pytest.raises(CannotTellError, match="no loader was made but"):
        measure_loader(made)


def test_reading_the_memory_is_not_the_loaders_time(monkeypatch):
    def slow_reading():
        time.sleep(0.05)
        return 1

    monkeypatch.setattr("boundby.bench.loader_probe.private_bytes", slow_reading)
    found = run_pass(DataLoader([torch.ones(2)] * 20, batch_size=2), budget_s=5)

    assert len(found.batch_ns) == 9
    assert found.first_ns < 4e7
    assert max(found.batch_ns) < 4e7


@pytest.mark.parametrize(
    ("loader", "samples"),
    [
        (DataLoader(Numbers(8), batch_size=None), 7),
        (DataLoader(Numbers(8), batch_size=2), 6),
        (DataLoader([torch.ones(4, 3)] * 8, batch_size=None), 7),
    ],
)
def test_samples_are_counted_as_the_loader_makes_them(loader, samples):
    assert run_pass(loader, 5).samples == samples


class ByLists(Numbers):
    def __getitem__(self, indices):
        return torch.ones(len(indices), 3)


def test_a_data_set_that_makes_its_own_batches():
    sampler = BatchSampler(range(12), batch_size=4, drop_last=False)
    found = run_pass(DataLoader(ByLists(12), batch_size=None, sampler=sampler), 5)

    assert found.samples == 8


def test_first_batches_of_all_workers_come_together_and_are_no_speed():
    loader = DataLoader(Slow(), batch_size=1, num_workers=2)
    found = run_pass(loader, budget_s=0.1, fewest=2)

    assert len(found.batch_ns) == 2
    assert found.per_batch_ns > 0.1e9  # 0.15 s with two workers


def test_without_a_device_nothing_is_page_locked():
    if torch.cuda.is_available():
        pytest.skip("there is a device")
    loader = DataLoader([torch.ones(100)] * 20, batch_size=2, pin_memory=True)
    found = measure_loader(loader, budget_s=1, sweep=False)

    assert found.pinned_bytes == 0
    assert found.notes == ("pin_memory=True does nothing here: there is no device",)
