"""Comparing results, functions measured in turns, commits and diagnoses."""

import copy
import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from boundby.bench.caliber import Caliber
from boundby.bench.commits import compare_commits
from boundby.bench.compare import Thresholds, compare_results
from boundby.bench.diagnoses import compare_diagnoses, is_diagnosis, read_document
from boundby.bench.live import compare_live
from boundby.bench.result import Clock, Labels, Result
from boundby.bench.warmup import FirstCost, WarmUp
from boundby.errors import CannotTellError, UnreadableError, UsageError
from boundby.read.recording import Quality
from boundby.report.compare import encode, markdown, render, render_diagnoses, write
from boundby.report.document import document
from boundby.report.terminal import Look
from diagnoses import launch_bound
from fakes_of_bench import FakeMachine


def result(median=1e6, scatter=0.005, n=100, seed=0, **changes):
    samples = np.random.default_rng(seed).normal(median, scatter * median, n)
    clock = Clock(tuple(map(float, samples)))
    warm = WarmUp(10, 1e6, True, (FirstCost("compile", 2e9, "torch.compile"),))
    made = Result(Labels("title"), clock, clock, None, warm, Caliber())
    return replace(made, **changes)


@pytest.mark.parametrize(
    ("new", "effect"),
    [
        (result(seed=1), "same"),
        (result(1.05e6, seed=1), "slower"),
        (result(0.95e6, seed=1), "faster"),
        (result(1.05e6, scatter=0.4, seed=1), "too-noisy"),
    ],
)
def test_two_results(new, effect):
    found = compare_results(result(), new)

    assert found.effect == effect
    assert found.is_regression is (effect == "slower")


def test_another_caliber_is_no_comparison_unless_it_is_the_question():
    new = result(caliber=Caliber(dtype="bfloat16"))

    with pytest.raises(CannotTellError, match="different caliber: dtype is unknown") as error:
        compare_results(result(), new)
    assert error.value.hint == "measure both alike, or --across dtype"
    (across,) = compare_results(result(), new, across=["dtype"]).across
    assert (across.name, across.new) == ("dtype", "bfloat16")


def test_the_commit_is_what_is_tested():
    new = result(caliber=Caliber(git_commit="b", is_dirty=True), seed=1)

    assert compare_results(result(), new).effect == "same"


def test_an_impossible_result_is_compared_with_nothing():
    void = result(trust=(Quality("above-roofline", "fatal", 1, "impossible"),))

    with pytest.raises(CannotTellError, match="impossible"):
        compare_results(result(), void)
    with pytest.raises(CannotTellError, match="cold cache"):
        compare_results(result(), result(is_cold=True))


def test_memory_and_compile_time_stand_beside_the_speed():
    old = result(peak_bytes=100 << 20)
    found = compare_results(old, result(peak_bytes=150 << 20, seed=1))
    text = render(found, Look())

    assert "needs 50 MiB more memory" in " ".join(text.split())
    assert "100 MiB -> 150 MiB" in " ".join(text.split())
    assert "compile" in text
    assert "2.00 s" in text


def noisy(machine, generator, factor=1.0):
    """A call of 100 us, more or less."""
    return lambda: machine.work(1_000, 1e5 * factor * np.exp(generator.normal(0, 0.01)))


@pytest.mark.parametrize(("factor", "effect"), [(1.0, "same"), (1.03, "slower"), (0.97, "faster")])
def test_functions_measured_in_turns(factor, effect):
    machine, generator = FakeMachine(), np.random.default_rng(0)
    new, old = noisy(machine, generator, factor), noisy(machine, generator)
    found = compare_live(new, old, machine)

    assert found.effect == effect
    assert found.clocks[0].ratio.estimate == pytest.approx(factor, abs=0.005)
    assert found.clocks[0].ratio.pairs >= 30


def test_sampling_in_turns_stops_when_the_time_is_up():
    machine, generator = FakeMachine(), np.random.default_rng(0)

    def wild():
        machine.work(0, 1e7 * np.exp(generator.normal(0, 1)))

    found = compare_live(wild, wild, machine, budget_s=1.0)

    assert found.effect == "too-noisy"
    assert machine.time < 3e9


def test_small_changes_of_small_calls_do_not_matter():
    machine = FakeMachine()
    found = compare_live(
        lambda: machine.work(0, 1_050), lambda: machine.work(0, 1_000), machine,
        limits=Thresholds(floor_ns=200),
    )  # fmt: skip

    assert found.effect == "same"


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """Two commits of a file whose value a benchmark reads."""
    monkeypatch.chdir(tmp_path)

    def git(*arguments):
        subprocess.run(["git", *arguments], check=True, capture_output=True)  # noqa: S607

    git("init", "-q")
    git("config", "user.email", "a@b")
    git("config", "user.name", "a")
    for value in ("1.0", "1.5"):
        (tmp_path / "value.py").write_text(f"value = {value}")
        git("add", "-A")
        git("commit", "-qm", value)
    return tmp_path


BENCH = """
import os, sys
sys.path.insert(0, os.getcwd())
from value import value
from boundby.bench.result import *
from boundby.bench.caliber import Caliber
from boundby.bench.warmup import WarmUp
clock = Clock((1e6 * value,) * 12)
Result(Labels("x"), clock, clock, None, WarmUp(1, 1.0, True, ()), Caliber()).save(
    os.environ["BOUNDBY_RESULT"])
"""


def test_two_commits_with_a_command(repository):
    command = [sys.executable, "-c", BENCH]
    found = compare_commits(["HEAD~1", "HEAD"], command, rounds=6)

    assert found.effect == "slower"
    assert found.clocks[0].ratio.estimate == pytest.approx(1.5)
    assert compare_commits(["HEAD", "HEAD"], command, rounds=6).effect == "same"
    command = ["git", "worktree", "list"]
    left = subprocess.run(command, capture_output=True, text=True, check=True)
    assert len(left.stdout.splitlines()) == 1


def test_changes_that_are_not_committed_are_told_and_left_alone(repository):
    command = [sys.executable, "-c", BENCH]
    value = repository / "value.py"
    (repository / "untracked.py").write_text("")
    clean = compare_commits(["HEAD", "HEAD"], command, rounds=6)
    value.write_text("value = 9.0")
    found = compare_commits(["HEAD", "HEAD"], command, rounds=6)

    assert (clean.notes, len(found.notes)) == ((), 1)
    assert "not committed were not measured" in found.notes[0]
    assert found.effect == "same"
    assert value.read_text() == "value = 9.0"


FAIL = "import sys; print({!r}, file=sys.stderr); sys.exit(3)"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Traceback\n  File\nboom", "boom$"),
        ("f.py: no 'f'\n\nhint: name it module:function", "f.py: no 'f'$"),
        ("hint: try again", "no message$"),
        ("", "no message$"),
    ],
)
def test_a_command_that_fails_is_told_with_its_commit(repository, text, said):
    with pytest.raises(CannotTellError, match=f"failed on HEAD with 3: {said}"):
        compare_commits(["HEAD", "HEAD"], [sys.executable, "-c", FAIL.format(text)])


@pytest.mark.parametrize("commit", ["nonsense", "--", "HEAD~9", "HEAD:value.py"])
def test_what_is_no_commit(repository, commit):
    for commits in ([commit, "HEAD"], ["HEAD", commit]):
        with pytest.raises((CannotTellError, UsageError), match=f"^{commit}: no commit"):
            compare_commits(commits, ["true"])


LEAVES = f"""
import os, pathlib
from value import value
if value == 1.5: exec({BENCH!r})
"""


def test_a_result_and_the_time_of_a_whole_command_are_not_compared(repository):
    with pytest.raises(CannotTellError, match=r"a result in \$BOUNDBY_RESULT on HEAD and none on"):
        compare_commits(["HEAD~1", "HEAD"], [sys.executable, "-c", LEAVES], rounds=6)


def test_results_of_two_calibers_are_not_compared_unless_it_is_the_question(repository):
    bench = BENCH.replace("Caliber()", "Caliber(batch=int(2 * value))")
    command = [sys.executable, "-c", bench]

    with pytest.raises(CannotTellError, match="batch is 2 in the old and 3 in the new"):
        compare_commits(["HEAD~1", "HEAD"], command, rounds=6)
    found = compare_commits(["HEAD~1", "HEAD"], command, rounds=6, across=["batch"])
    assert [each.name for each in found.across] == ["batch"]


def test_a_result_that_cannot_be_is_refused_with_its_commit(repository):
    void = BENCH.replace("Caliber())", 'Caliber(), trust=(Quality("x", "fatal", 1, "too fast"),))')
    void = f"from boundby.read.recording import Quality\n{void}"
    write = "import os; open(os.environ['BOUNDBY_RESULT'], 'w').write('no')"

    with pytest.raises(CannotTellError, match="too fast"):
        compare_commits(["HEAD", "HEAD"], [sys.executable, "-c", void])
    with pytest.raises(CannotTellError, match=r"left on HEAD: no JSON"):
        compare_commits(["HEAD", "HEAD"], [sys.executable, "-c", write])


def test_a_command_without_an_end_is_told(repository, monkeypatch):
    monkeypatch.setattr("boundby.bench.commits.TIMEOUT_S", 0.2)

    with pytest.raises(CannotTellError, match="on HEAD without an end"):
        compare_commits(["HEAD", "HEAD"], [sys.executable, "-c", "import time; time.sleep(9)"])


def test_the_time_of_a_whole_command_is_called_so(repository):
    found = compare_commits(["HEAD", "HEAD"], ["true"], rounds=6)

    assert found.notes[0].startswith("the time is that of the whole command")


@pytest.fixture
def diagnosis():
    return json.loads(json.dumps(document(launch_bound())))


def test_two_diagnoses_that_are_one(diagnosis):
    found = compare_diagnoses(diagnosis, copy.deepcopy(diagnosis))

    assert is_diagnosis(diagnosis)
    assert found.effect == "same"
    assert found.old_ms == found.new_ms
    assert found.appeared == found.vanished == found.moved == ()
    assert {each.change_ms for each in found.parts} == {0.0}
    assert "no part moved" in render_diagnoses(found, Look())


def test_a_part_that_moved_and_operators_that_came_and_went(diagnosis):
    new = copy.deepcopy(diagnosis)
    new["waterfall"][0]["ms"] += 5.0
    for end in new["steps"]["unprofiled_ms"]:
        new["steps"]["unprofiled_ms"][end] += 50.0
    gone = new["ops"].pop(0)
    new["ops"].append({**gone, "name": "aten::new_one"})
    new["verdict"]["class"] = "sync-bound"
    found = compare_diagnoses(diagnosis, new)

    assert found.effect == "slower"
    assert found.parts[0].part == diagnosis["waterfall"][0]["part"]
    assert found.parts[0].change_ms == pytest.approx(5.0)
    assert [each.name for each in found.appeared] == ["aten::new_one"]
    assert [each.name for each in found.vanished] == [gone["name"]]
    text = render_diagnoses(found, Look())
    assert "launch-bound -> sync-bound" in text
    assert json.loads(encode(found))["kind"] == "boundby-compare-diagnoses"


def test_diagnoses_of_other_devices_are_not_compared(diagnosis):
    new = copy.deepcopy(diagnosis)
    new["caliber"]["device"] = "another"

    with pytest.raises(CannotTellError, match="device is"):
        compare_diagnoses(diagnosis, new)
    assert compare_diagnoses(diagnosis, new, across=["device"]).effect in ("same", "too-noisy")
    new["steps"]["unprofiled_ms"] = None
    with pytest.raises(CannotTellError, match="undecided"):
        compare_diagnoses(diagnosis, new, across=["device"])


def test_what_is_no_document(tmp_path):
    (tmp_path / "a.json").write_text("[]")
    for path in ("missing.json", tmp_path / "a.json"):
        with pytest.raises(UnreadableError):
            read_document(path)


def test_forms_of_a_comparison_agree():
    found = compare_results(result(), result(1.05e6, seed=1))

    assert markdown(found).startswith("# slower: title against title")
    assert json.loads(encode(found))["effect"] == "slower"
    assert render(found, Look()).startswith("verdict    slower: +5")


@pytest.mark.parametrize(("n", "effect"), [(1, "too-noisy"), (5, "too-noisy"), (6, "slower")])
def test_a_few_samples_make_no_interval(n, effect):
    few = replace(result(), wall=Clock((1.5e6,) * n))
    found = compare_results(result(), few)

    assert found.effect == effect
    assert any("too few for an interval" in note for note in found.notes) is (n < 6)


def trial(effect, seed):
    """Two programs in turns: drift, 2% scatter, 5% of the calls half as long again."""
    machine, generator = FakeMachine(), np.random.default_rng(seed)
    drift = [0.0]

    def program(factor):
        def call():
            drift[0] += generator.normal(0, 0.003)
            stall = 1.5 if generator.random() < 0.05 else 1.0
            scatter = np.exp(drift[0] + generator.normal(0, 0.02))
            machine.work(1_000, 1e7 * factor * stall * scatter)

        return call

    return compare_live(program(effect), program(1.0), machine).effect


@pytest.mark.parametrize(("factor", "effect"), [(1.0, "same"), (1.03, "slower"), (0.97, "faster")])
def test_of_a_hundred_comparisons_in_turns_95_are_right(factor, effect):
    """With the rule that ends the sampling, which must not favour a difference."""
    assert [trial(factor, seed) for seed in range(100)].count(effect) >= 95


def test_a_long_call_is_taken_in_six_pairs():
    machine, calls = FakeMachine(), []

    def call():
        calls.append(1)
        machine.work(0, 20e9)

    found = compare_live(call, call, machine, budget_s=10.0)

    assert found.clocks[0].ratio.pairs == 6
    assert len(calls) == 2 * (6 + 2)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("steps", "unprofiled_ms", "low"), 1e9),
        (("steps", "unprofiled_ms", "estimate"), 1e300),
        (("waterfall", 0, "ms"), -5.0),
        (("ops", 0, "self_device_ms"), -1.0),
    ],
)
def test_a_diagnosis_that_cannot_be_is_damaged(diagnosis, path, value):
    new = copy.deepcopy(diagnosis)
    place = new
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value

    with pytest.raises(CannotTellError, match="the new diagnosis is damaged"):
        compare_diagnoses(diagnosis, new)


def test_a_field_that_diagnoses_do_not_have(diagnosis):
    with pytest.raises(UsageError, match="no field 'colour'"):
        compare_diagnoses(diagnosis, diagnosis, across=["colour"])


def test_kernels_that_came_and_went(diagnosis):
    old, new = copy.deepcopy(diagnosis), copy.deepcopy(diagnosis)
    old["roofline"] = {"kernels": [{"name": "gemm", "calls": 2.0, "ms": 1.0}, KEPT]}
    new["roofline"] = {"kernels": [KEPT, {"name": "fused", "calls": 1.0, "ms": 3.0}]}
    found = compare_diagnoses(old, new)
    text = render_diagnoses(found, Look())

    assert [(each.name, each.old_calls, each.new_calls) for each in found.kernels] == [
        ("fused", None, 1.0),
        ("gemm", 2.0, None),
    ]
    assert text.index("kernels") < text.index("fused") < text.index("gemm")
    assert compare_diagnoses({**old, "roofline": None}, new).kernels == ()


KEPT = {"name": "copy", "calls": 1.0, "ms": 0.1}


@pytest.mark.parametrize("width", [60, 80, 100, 120])
def test_reports_fit_their_width(width, diagnosis):
    new = copy.deepcopy(diagnosis)
    new["ops"] = [{**each, "name": f"aten::{'long' * 30}{each['name']}"} for each in new["ops"]]
    old = result(peak_bytes=100 << 20)
    wide = result(1.5e6, scatter=0.4, seed=1, labels=Labels("a long title " * 9), peak_bytes=5)
    for text in (
        render(compare_results(old, wide), Look(width=width)),
        render_diagnoses(compare_diagnoses(diagnosis, new), Look(width=width)),
    ):
        assert max(map(len, text.splitlines())) <= width


def test_correctness_comes_before_speed_in_the_verdict():
    found = replace(compare_results(result(), result(0.9e6, seed=1)), is_correct=False)

    assert render(found, Look()).startswith("verdict    faster, but not correct: -10")
    assert markdown(found).startswith("# faster, but not correct: ")


def test_diagnoses_have_markdown_of_their_own(diagnosis):
    found = compare_diagnoses(diagnosis, copy.deepcopy(diagnosis))
    text = write(found, "markdown", Look())

    assert text.splitlines()[0].startswith("# ")
    assert text.count("```") == 2
