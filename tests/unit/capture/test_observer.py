"""The observer inside a process: steps found, passes in order, nothing left behind."""

import importlib
import random
import threading

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, Dataset, TensorDataset

from boundby.capture.observer import Observer
from boundby.capture.plan import PASSES, Plan
from boundby.capture.profilers import program_profiles
from boundby.capture.sources import OptimizerSteps, hook_call
from boundby.capture.tape import RunFolder
from boundby.read.capture_folder import Row, read_capture

QUICK = Plan(steps=4, warm_up=3)


def optimizer_module():
    return importlib.import_module("torch.optim.optimizer")


def observed(place, plan=QUICK):
    observer = Observer(plan, lambda: RunFolder(place))
    observer.install()
    return observer


@pytest.fixture
def train(tmp_path):
    """Train some steps under an observer; the capture, the losses, and the observer."""
    observers = []

    def run(steps, plan=QUICK, loader=None):
        torch.manual_seed(0)
        model = torch.nn.Linear(4, 4)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        observer = observed(tmp_path, plan) if plan else None
        observers.append(observer)
        batches = iter(loader) if loader else None
        losses = []
        for _ in range(steps):
            x = next(batches)[0] if batches else torch.randn(2, 4)
            loss = model(x).square().mean()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            losses.append(loss.item())
        if observer is not None:
            observer.close()
            observer.folder.describe({"version": 1})
        return (read_capture(tmp_path) if observer else None), losses, observer

    yield run
    for observer in filter(None, observers):
        observer.close()


def names(capture):
    return [each.name for each in capture.passes]


def test_passes_run_in_order_and_nothing_is_left(train):
    before = torch.Tensor.item, torch.utils.data.dataloader._BaseDataLoaderIter.__next__
    capture, _, observer = train(4000)

    assert names(capture) == ["clean", "drained", "trace", "after", "stacks", "syncs", "memory"]
    assert all(each.complete for each in capture.passes)
    assert observer.is_over
    after = torch.Tensor.item, torch.utils.data.dataloader._BaseDataLoaderIter.__next__
    assert after == before
    assert not optimizer_module()._global_optimizer_post_hooks
    assert threading.active_count() < 10


def test_losses_are_the_same_bit_for_bit(train):
    _, observed_losses, _ = train(600)
    _, losses, _ = train(600, plan=None)

    assert observed_losses == losses


def test_a_wait_has_its_exact_line(train):
    capture, _, _ = train(4000)
    places = {capture.stacks[a][0].function for _, a, _ in capture.of(Row.WAIT).tolist()}

    assert len(capture.of(Row.WAIT)) == 3
    assert places == {"train.<locals>.run"}


def test_a_wait_has_its_exact_line_beside_compiled_code(train):
    torch.compile(torch.sin, backend="eager")(torch.ones(1))
    capture, _, _ = train(4000)
    places = {capture.stacks[a][0].function for _, a, _ in capture.of(Row.WAIT).tolist()}

    assert places == {"train.<locals>.run"}


def test_only_the_chosen_passes_run(train):
    capture, _, _ = train(200, plan=Plan(steps=4, warm_up=3, passes=("clean", "syncs")))

    assert names(capture) == ["clean", "drained", "syncs"]


def test_skipped_steps_come_before_warm_up(train):
    capture, _, _ = train(60, plan=Plan(skip=40, steps=3, warm_up=3, passes=("clean",)))

    assert capture.last("warm-up")["steps"] >= 43


def test_the_program_is_stopped_when_all_is_done(train):
    with pytest.raises(SystemExit) as ended:
        train(10_000, plan=Plan(steps=4, warm_up=3, passes=("clean",), stop=True))

    assert ended.value.code == 0


def test_an_error_of_our_own_ends_the_observation_and_not_the_program(train, monkeypatch):
    def fail(*_arguments):
        raise RuntimeError("broken")

    monkeypatch.setattr("boundby.capture.observer.planned", fail)
    capture, losses, _ = train(50)

    assert len(losses) == 50
    assert "broken" in capture.last("problem")["text"]


def test_a_folder_that_cannot_be_made_ends_the_observation_and_not_the_program():
    def fail():
        raise PermissionError("no way")

    observer = Observer(QUICK, fail)
    observer.mark("boundby.step")

    assert observer.is_over
    assert "no way" in observer.failure


def test_a_pass_that_cannot_be_ended_costs_the_program_nothing(tmp_path, monkeypatch):
    def fail(_pass):
        raise RuntimeError("a broken device")

    monkeypatch.setattr("boundby.capture.passes.Clean.stop", fail)
    observer = observed(tmp_path)
    for _ in range(12):
        observer.mark("boundby.step")
    observer.close()
    observer.folder.describe({"version": 1})

    assert "a broken device" in read_capture(tmp_path).last("problem")["text"]
    assert not optimizer_module()._global_optimizer_post_hooks


def test_a_profiler_of_the_program_ends_our_window_and_is_served(tmp_path):
    profile = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU])
    observer = observed(tmp_path, Plan(warm_up=3, passes=("trace",)))
    while observer._pass is None:
        observer.mark("boundby.step")
    with profile:
        torch.zeros(4).sum()
    while not observer.is_over:
        observer.mark("boundby.step")
    observer.folder.describe({"version": 1})

    assert "aten::sum" in {event.name for event in profile.events()}
    assert "started a profiler" in read_capture(tmp_path).last("problem")["text"]
    assert not hasattr(torch.autograd.profiler.profile._prepare_trace, "__wrapped__")


def test_no_window_begins_while_a_profiler_of_the_program_warms_up(tmp_path):
    plan = torch.profiler.schedule(wait=0, warmup=1, active=1)
    observer = observed(tmp_path, Plan(warm_up=3, passes=("trace",)))
    with torch.profiler.profile(schedule=plan) as profile:
        assert program_profiles()
        while not observer.is_over:
            observer.mark("boundby.step")
        profile.step()
    observer.folder.describe({"version": 1})

    assert not program_profiles()
    assert "profiler of its own" in read_capture(tmp_path).last("problem")["text"]


def test_of_threads_that_train_side_by_side_one_is_followed():
    marks, ours, other = [], object(), object()
    steps = OptimizerSteps(marks.append)
    steps._after_step(ours, (), {})
    thread = threading.Thread(target=lambda: steps._after_step(other, (), {}))
    thread.start()
    thread.join()
    for _ in range(3):
        steps._after_step(ours, (), {})

    assert marks == ["optimizer"] * 4


def test_batches_are_loaded_ahead_in_their_order(train):
    rows = torch.arange(8000.0).reshape(-1, 4)
    loader = DataLoader(TensorDataset(rows), 2, shuffle=False)
    plan = Plan(steps=4, warm_up=3, oracle=True, passes=("clean", "loader"))
    capture, with_oracle, _ = train(900, plan=plan, loader=loader)
    _, alone, _ = train(900, plan=None, loader=loader)

    assert "oracle" in names(capture)
    assert not list(capture.noted("problem"))
    assert with_oracle == alone or np.array_equal(with_oracle, alone, equal_nan=True)


class Drawing(Dataset):
    """Draws random numbers while it loads."""

    def __len__(self):
        return 10_000

    def __getitem__(self, index):
        return (torch.full((4,), random.random()),)  # noqa: S311


def test_a_loader_that_draws_random_numbers_is_not_run_ahead(train):
    plan = Plan(steps=4, warm_up=3, oracle=True, passes=("clean", "loader"))
    capture, _, _ = train(200, plan=plan, loader=DataLoader(Drawing(), 2))

    assert any("random numbers" in note["text"] for note in capture.noted("problem"))


def test_waits_for_a_loader_are_written(train):
    rows = torch.zeros(400, 4)
    capture, _, _ = train(150, loader=DataLoader(TensorDataset(rows), 2))

    assert len(capture.of(Row.LOADER)) > 50
    assert capture.last("source")["source"] == "optimizer"


@pytest.mark.parametrize(
    ("order", "closing"),
    [("AB" * 6, "B"), ("A" * 6, "A"), ("AAAAAB" * 4, "B"), ("BAAA" * 4, "B")],
    ids=["two", "one", "critic-first", "generator-first"],
)
def test_the_optimizer_that_updates_least_closes_the_step(order, closing):
    optimizers = {name: object() for name in set(order)}
    marks = []
    steps = OptimizerSteps(lambda _source: marks.append(now[0]))
    now = [""]
    for now[0] in order:
        steps._after_step(optimizers[now[0]], (), {})

    assert marks[-1] == closing
    assert set(marks[-3:]) == {closing}


def test_a_module_compiled_in_place_is_marked_outside_its_compiled_call():
    module, calls = torch.nn.Linear(2, 2), []
    module.compile(backend="eager")
    compiled = module._compiled_call_impl
    undo = hook_call(module, lambda: calls.append(1))
    module(torch.zeros(1, 2))
    undo()

    assert calls == [1]
    assert module._compiled_call_impl is compiled


def test_all_passes_have_names():
    assert set(Plan().passes) == set(PASSES)
