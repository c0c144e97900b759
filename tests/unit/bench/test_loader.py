"""Loaders: stages, workers, restart, and what other settings would give."""

import os
import time

import pytest
import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset

from boundby.bench.loader import (
    LoaderResult,
    Pass,
    Settings,
    candidates,
    measure_loader,
    rebuilt,
    run_pass,
    settings_of,
)
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
        assert "num_workers=1, prefetch_factor=4" in text
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
