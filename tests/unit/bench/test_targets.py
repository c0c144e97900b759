"""Targets, functions compared live, and reports of checks, within this process."""

import json
import os
import time

import pytest
import torch

from boundby.bench.correctness import check
from boundby.bench.live import compare_functions
from boundby.bench.targets import find_target, inputs_of, users_own
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
