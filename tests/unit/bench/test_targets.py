"""Targets, functions compared live, and reports of checks, within this process."""

import json
import os
import time

import pytest
import torch

from boundby.bench.correctness import check
from boundby.bench.live import compare_functions
from boundby.bench.targets import find_target, inputs_of, load_target, said_by, users_own
from boundby.errors import CannotTellError, UsageError
from boundby.report.bench_check import encode, markdown, render, render_races
from boundby.report.terminal import Look
from fakes_of_bench import FakeMachine


def test_functions_of_modules_and_files(tmp_path):
    path = tmp_path / "one_target.py"
    path.write_text("class A:\n    @staticmethod\n    def f(seed):\n        return seed\n")
    found = find_target(f"{path}::A.f")

    assert found.fn(7) == 7
    assert found.file == str(path)
    assert find_target(f"{path}::A.f").fn is found.fn
    assert find_target("os.path:join").fn is os.path.join


@pytest.mark.parametrize(
    "text", ["os", ":f", "os:", "no.such:f", "os.path:nothing", "os:sep", "x.py::f"]
)
def test_what_is_no_target(text):
    with pytest.raises(UsageError):
        find_target(text)


def test_inputs_get_what_they_ask_for(tmp_path):
    path = tmp_path / "inputs_of_target.py"
    path.write_text("def one(batch):\n    return batch\ndef two(seed):\n    return seed, 1\n")

    assert inputs_of(find_target(f"{path}::one"), batch=3, seed=5) == (3,)
    assert inputs_of(find_target(f"{path}::two"), batch=3, seed=5) == (5, 1)
    assert inputs_of(None) == ()


def test_an_exception_of_the_user_keeps_its_place():
    def fails():
        raise KeyError("a\nb")

    said = r"^x raised KeyError: 'a\\nb' \(.* in fails\)$"
    with pytest.raises(CannotTellError, match=said), users_own("x"):
        fails()
    with pytest.raises(UsageError), users_own("x"):
        raise UsageError("of our own")


def test_live_comparison_checks_before_it_measures():
    x = torch.randn(8, 8)
    machine = FakeMachine(has_device=False)

    def plain(x):
        machine.work(1e5, 0)
        return x * 2

    def wrong(x):
        machine.work(0.5e5, 0)
        return x * 2 + 1

    def silent(_):
        machine.work(1e5, 0)

    better = compare_functions(wrong, plain, (x,), machine=machine)
    same = compare_functions(plain, plain, (x,), machine=machine)
    unknown = compare_functions(silent, silent, (x,), machine=machine)

    assert better.effect == "faster"
    assert better.notes[0].startswith("the new one is not correct: fail: output 0")
    assert (better.is_correct, same.is_correct, unknown.is_correct) == (False, True, None)
    assert (same.effect, same.notes) == ("same", ())
    assert {each.name for each in same.beside} >= {"first call", "error"}
    assert unknown.notes[0].startswith("not checked for correctness: no output holds a tensor")


@pytest.mark.alone
def test_a_live_comparison_gives_real_times():
    found = compare_functions(lambda: time.sleep(0.004), lambda: time.sleep(0.002), budget_s=0.5)

    assert found.effect == "slower"
    assert found.clocks[0].ratio.estimate > 1.5


def test_reports_of_a_check_say_the_same():
    x = torch.randn(8, 8)
    found = check(lambda x: x * 2 + 1, lambda x: x * 2, x)
    brief, full = render(found, Look()), render(found, Look(detail=True))
    document = json.loads(encode(found))

    assert brief.startswith("check      fail: ")
    assert "and " in brief
    assert len(full) > len(brief)
    assert not document["passed"]
    assert "| fail |" in markdown(found)
    shape = check(lambda x: x[:2], lambda x: x, x)
    assert json.loads(encode(shape))["cases"][0]["agreements"][0]["error"] is None


def test_no_race_is_told_with_what_cannot_be_seen():
    assert render_races((), Look()).splitlines()[0] == "no race seen"
    assert "record_stream" in render_races((), Look())


SOURCE = """
def new(x):
    return x
def old(x):
    raise ValueError("no kernel")
def needs(x, y):
    return x
def talks():
    print("hello")
    return 1
def draws():
    import random, numpy, torch
    return random.random(), float(numpy.random.rand()), float(torch.rand(1))
import os
def leaves():
    os.sys.exit(3)
"""


@pytest.fixture
def targets(tmp_path):
    """Functions of a file of their own."""
    path = tmp_path / f"targets_{abs(hash(tmp_path))}.py"
    path.write_text(SOURCE)
    return lambda name: find_target(f"{path}::{name}")


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("old", (1,), "raised ValueError: no kernel"),
        ("needs", (1,), "raised TypeError: needs"),
        ("leaves", (), "ended the program"),
    ],
)
def test_the_target_that_failed_is_named_among_several(targets, name, arguments, words):
    target, other = targets(name), targets("new")

    for names in ((target.name, other.name), (other.name, target.name)):
        with pytest.raises(CannotTellError) as error, users_own(*names):
            target.fn(*arguments)
        assert error.value.message.startswith(f"{target.name} {words}")


def test_where_no_target_shows_all_are_named():
    with (
        pytest.raises(CannotTellError, match=r"^m:a or m:b raised KeyError"),
        users_own("m:a", "m:b"),
    ):
        raise KeyError("x")


def test_what_targets_print_goes_to_stderr(targets, capsys):
    with users_own("x"):
        targets("talks").fn()
    print("the result")
    out, err = capsys.readouterr()

    assert (out, err) == ("the result\n", "hello\n")


def test_inputs_are_drawn_from_the_same_numbers_each_time(targets):
    first, second = (inputs_of(targets("draws"), seed=3) for _ in range(2))

    assert first == second
    assert first != inputs_of(targets("draws"), seed=4)


def test_inputs_that_fail_are_named(targets):
    with pytest.raises(CannotTellError, match=r"::needs raised TypeError: needs"):
        inputs_of(targets("needs"))


WORKER = """Caught ValueError in DataLoader worker process 1.
Original Traceback (most recent call last):
  File "/opt/site-packages/torch/utils/data/_utils/worker.py", line 300, in _worker_loop
    data = fetcher.fetch(index)
  File "/home/user/data.py", line 7, in __getitem__
    raise ValueError("broken sample 40")
ValueError: broken sample 40
"""


def test_what_a_worker_raised_is_told_as_it_was_there():
    assert said_by(ValueError(WORKER)) == (
        "ValueError: broken sample 40 (/home/user/data.py:7 in __getitem__) in a worker of the "
        "loader"
    )


def test_a_worker_that_died_has_a_hint_of_its_own():
    with pytest.raises(CannotTellError) as error, users_own("x"):
        raise RuntimeError("DataLoader worker (pid 3) exited unexpectedly")

    assert error.value.hint == "num_workers=0 shows what the worker did"


def test_a_package_that_is_missing_inside_of_a_module_is_no_missing_module(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "module_that_needs.py").write_text("import module_that_needs_more\n")
    (tmp_path / "package_that_needs").mkdir()
    (tmp_path / "package_that_needs" / "__init__.py").write_text("import package_that_needs.more\n")

    for name in ("module_that_needs", "package_that_needs"):
        with pytest.raises(ModuleNotFoundError):
            find_target(f"{name}:f")
    with pytest.raises(UsageError, match="no module"):
        find_target("package_that_is_missing.sub:f")


def test_source_that_is_none_has_no_place_in_the_interpreter(tmp_path):
    (tmp_path / "broken_target.py").write_text("def f(:\n")

    with pytest.raises(CannotTellError) as error:
        load_target(f"{tmp_path / 'broken_target.py'}::f")
    assert error.value.message.endswith(
        "raised SyntaxError: invalid syntax (broken_target.py, line 1)"
    )
