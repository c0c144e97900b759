"""``boundby compare``: 0 faster or same, 1 slower, 125 cannot tell, as git bisect wants it."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from boundby.bench.caliber import Caliber
from boundby.bench.result import Clock, Labels, Result
from boundby.bench.warmup import WarmUp
from boundby.report.document import encode
from diagnoses import launch_bound, sync_bound

PROGRAMS = f"{Path(__file__).with_name('programs_under_test.py')}::"


def result(times, caliber=Caliber()):  # noqa: B008 -- a frozen value
    clock = Clock(tuple(float(each) for each in times))
    return Result(Labels("x"), clock, clock, None, WarmUp(1, 1.0, True, ()), caliber)


@pytest.fixture
def saved(tmp_path):
    """Write named results, give their paths."""
    wide = [1e6, 2e6, 0.5e6, 3e6] * 5

    def write(name):
        made = {
            "base": result([1e6] * 20),
            "same": result([1.001e6] * 20),
            "slow": result([1.1e6] * 20),
            "fast": result([0.9e6] * 20),
            "noisy": result(wide),
            "bf16": result([0.5e6] * 20, Caliber(dtype="bfloat16")),
        }[name]
        made.save(tmp_path / f"{name}.json")
        return tmp_path / f"{name}.json"

    return write


@pytest.mark.parametrize(
    ("new", "code", "word"),
    [
        ("same", 0, "same"),
        ("fast", 0, "faster"),
        ("slow", 1, "slower"),
        ("noisy", 125, "too noisy"),
    ],
)
def test_two_results(boundby, saved, new, code, word):
    done = boundby("compare", saved("base"), saved(new))

    assert done.returncode == code, done.stderr
    assert done.stdout.startswith(f"verdict    {word}")


def test_other_calibers_are_not_compared(boundby, saved):
    refused = boundby("compare", saved("base"), saved("bf16"))
    asked = boundby("compare", saved("base"), saved("bf16"), "--across", "dtype")

    assert refused.returncode == 125
    assert refused.stderr.startswith("different caliber: dtype is unknown in the old and bfloat16")
    assert "hint: measure both alike, or --across dtype" in refused.stderr
    assert asked.returncode == 0
    assert "across     dtype: unknown -> bfloat16" in asked.stdout


def test_what_matters_can_be_said(boundby, saved):
    arguments = ("compare", saved("base"), saved("slow"))

    assert boundby(*arguments, "--practical", "20").returncode == 0
    assert boundby(*arguments, "--floor-us", "500").returncode == 0


@pytest.mark.alone
def test_two_functions_in_turns(boundby):
    done = boundby("compare", "--live", f"{PROGRAMS}slow", f"{PROGRAMS}quick", "--budget", "1")

    assert done.returncode == 1, done.stdout
    assert "not checked for correctness: no output holds a tensor" in " ".join(done.stdout.split())


def test_a_faster_one_that_is_not_correct_fails(boundby):
    names = (f"{PROGRAMS}shifted", f"{PROGRAMS}plain", "--inputs", f"{PROGRAMS}inputs")
    done = boundby("compare", "--live", *names, "--budget", "0.5")

    assert done.returncode == 1
    assert "the new one is not correct" in " ".join(done.stdout.split())


def test_two_diagnoses(boundby, tmp_path):
    for name, make in (("a", launch_bound), ("b", sync_bound)):
        made = make()
        alike = replace(made, caliber=launch_bound().caliber)
        (tmp_path / f"{name}.json").write_text(encode(alike))
    same = boundby("compare", tmp_path / "a.json", tmp_path / "a.json")
    other = boundby("compare", tmp_path / "a.json", tmp_path / "b.json", "--json")

    assert same.stdout.splitlines()[1].strip().startswith("launch-bound -> launch-bound")
    assert json.loads(other.stdout)["new_class"] == "sync-bound"


@pytest.mark.parametrize("arguments", [(), ("a.json",), ("--commits", "a", "b")])
def test_what_is_missing_is_said(boundby, arguments):
    assert boundby("compare", *arguments).returncode == 2


def test_missing_files_cannot_be_compared(boundby, saved):
    assert boundby("compare", saved("base"), "missing.json").returncode == 125


def test_a_result_and_a_diagnosis_do_not_go_together(boundby, saved, tmp_path):
    (tmp_path / "d.json").write_text(encode(launch_bound()))

    assert boundby("compare", saved("base"), tmp_path / "d.json").returncode == 2


def test_what_is_compared_is_never_written_over(boundby, tmp_path):
    old, new = tmp_path / "old.json", tmp_path / "new.json"
    for path in (old, new):
        path.write_text("{}")
    done = boundby("compare", old, new, "-o", old, "--force")

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"{old}: is what the report is made from\n\nhint: ")
    assert old.read_text() == "{}"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("steps", None),
        ("steps", []),
        ("steps", {"unprofiled_ms": True}),
        ("steps", {"unprofiled_ms": {"estimate": 0, "low": 0, "high": 0}}),
        ("steps", {"unprofiled_ms": {"estimate": -1.0, "low": -1.0, "high": -1.0}}),
        ("waterfall", {"part": "x"}),
        ("ops", [3]),
        ("caliber", "x"),
        ("verdict", 1),
    ],
)
def test_a_damaged_diagnosis_is_one_line(boundby, tmp_path, field, value):
    good = json.loads(encode(launch_bound()))
    (tmp_path / "old.json").write_text(json.dumps(good))
    (tmp_path / "new.json").write_text(json.dumps({**good, field: value}))
    done = boundby("compare", tmp_path / "old.json", tmp_path / "new.json")

    assert (done.returncode, done.stdout) == (125, "")
    assert done.stderr.startswith("the new diagnosis is damaged: ")
    assert len(done.stderr.splitlines()) == 3


def test_json_too_deep_to_read_is_one_line(boundby, tmp_path):
    path = tmp_path / "deep.json"
    path.write_text("[" * 100_000 + "]" * 100_000)
    done = boundby("compare", path, path)

    assert done.returncode == 125
    assert done.stderr.startswith(f"{path}: no JSON\n\nhint: ")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--live", "--commits", "a", "b", "c"), "--live and --commits do not go together"),
        (("a.json", "b.json", "--inputs", "a:b"), "--inputs goes with --live"),
        (("--live", "a:b", "a:b", "--across", "dtype"), "--across goes with results"),
        (("--commits", "HEAD", "--", "true"), "--: no commit"),
        (("--live", f"{PROGRAMS}generates", f"{PROGRAMS}quick"), "a generator function"),
    ],
)
def test_options_that_do_not_go_together_are_refused(boundby, arguments, words):
    done = boundby("compare", *arguments)

    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr.splitlines()[0]


@pytest.mark.parametrize("samples", [[], [0.0], [-1.0], [1e300]])
def test_samples_that_no_clock_shows_are_one_line(boundby, saved, samples):
    path = saved("base")
    document = json.loads(path.read_text())
    document["wall"]["ns"] = samples
    path.write_text(json.dumps(document))

    for order in ((path, saved("same")), (saved("same"), path)):
        done = boundby("compare", *order)
        assert (done.returncode, done.stdout) == (125, "")
        assert done.stderr.startswith(f"{path}: damaged result: ")
        assert len(done.stderr.splitlines()) == 3


def test_markdown_of_two_diagnoses(boundby, tmp_path):
    (tmp_path / "a.json").write_text(encode(launch_bound()))
    boundby("compare", "a.json", "a.json", "-o", "c.md", cwd=tmp_path)
    text = (tmp_path / "c.md").read_text("utf-8")

    assert text.startswith("# ")
    assert "```text" in text
