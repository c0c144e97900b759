"""``boundby check``: 0 for right, 1 for wrong, 125 where it cannot tell."""

import json
import re
from pathlib import Path

import pytest

PROGRAMS = f"{Path(__file__).with_name('programs_under_test.py')}::"
INPUTS = ("--inputs", f"{PROGRAMS}inputs")


@pytest.mark.parametrize(("new", "code", "word"), [("plain", 0, "pass"), ("shifted", 1, "fail")])
def test_a_candidate_against_its_baseline(boundby, new, code, word):
    done = boundby("check", f"{PROGRAMS}{new}", f"{PROGRAMS}plain", *INPUTS)

    assert done.returncode == code, done.stderr
    assert done.stdout.startswith(f"check      {word}: ")
    assert "reference  float64" in done.stdout


def test_forms(boundby, tmp_path):
    arguments = ("check", f"{PROGRAMS}shifted", f"{PROGRAMS}plain", *INPUTS)
    document = json.loads(boundby(*arguments, "--json").stdout)
    boundby(*arguments, "-o", tmp_path / "a.md")

    assert (document["kind"], document["passed"]) == ("boundby-check", False)
    assert "| as given | contiguous | output 0 |" in (tmp_path / "a.md").read_text("utf-8")


def test_tolerances_can_be_given(boundby):
    names = (f"{PROGRAMS}shifted", f"{PROGRAMS}plain")

    assert boundby("check", *names, *INPUTS, "--atol", "0.1").returncode == 0


@pytest.mark.parametrize(("new", "code"), [("make_step", 0), ("wrong_step", 1)])
def test_training_steps(boundby, new, code):
    done = boundby("check", "--training", f"{PROGRAMS}{new}", f"{PROGRAMS}make_step",
                   "--steps", "12")  # fmt: skip

    assert done.returncode == code, done.stderr
    assert "spread of seeds" in " ".join(done.stdout.split())


def test_lossy_lines_are_a_failed_gate(boundby, tmp_path):
    path = tmp_path / "model.py"
    path.write_text("loss = torch.log(torch.softmax(x, -1))\n")
    done = boundby("check", "--lint", path)

    assert done.returncode == 1
    assert done.stdout.startswith(f"{path}:1: log-softmax: ")
    path.write_text("loss = torch.log_softmax(x, -1)\n")
    assert boundby("check", "--lint", path).stdout == "nothing found\n"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [((), 2), (("--lint",), 2), (("--streams",), 2), ((f"{PROGRAMS}plain",), 2)],
)
def test_what_is_missing_is_said(boundby, arguments, code):
    assert boundby("check", *arguments).returncode == code


def test_exceptions_of_the_user(boundby):
    done = boundby("check", f"{PROGRAMS}fails", f"{PROGRAMS}fails")

    assert done.returncode == 125
    assert "raised ValueError: no such luck" in done.stderr


@pytest.mark.parametrize(
    "command",
    [
        ("check", "{}::leaves", "{}::leaves"),
        ("bench", "{}::leaves", "--cpu"),
        ("compare", "--live", "{}::leaves", "{}::leaves"),
        ("loader", "{}::leaves"),
        ("memory", "--model", "leaving:leaves"),
    ],
)
@pytest.mark.parametrize("source", ["def leaves(*batch):\n    sys.exit(0)\n", "sys.exit()\n"])
def test_a_target_that_ends_the_program_passes_no_gate(boundby, tmp_path, command, source):
    path = tmp_path / "leaving.py"
    path.write_text(f"import sys\n{source}", "utf-8")
    done = boundby(*(each.format(path) for each in command), cwd=tmp_path)

    assert (done.returncode, done.stdout) == (125, "")
    message, _, hint = done.stderr.partition("\n")
    assert re.match(r".*leaving(\.py:)?:leaves ended the program \(code 0\)", message)
    assert "hint: " in hint


def test_nan_on_both_sides_is_no_pass(boundby):
    arguments = ("check", f"{PROGRAMS}nan", f"{PROGRAMS}nan", *INPUTS)
    done, document = boundby(*arguments), boundby(*arguments, "--json")

    assert (done.returncode, document.returncode) == (125, 125)
    assert done.stdout.startswith("check      cannot tell: ")
    assert "no value of the reference is finite" in done.stderr
    found = json.loads(document.stdout)
    assert found["passed"] is None
    assert all(each["is_blind"] for case in found["cases"] for each in case["agreements"])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--lint", "--streams", "a.py"), "--lint and --streams do not go together"),
        (("--training", "--lint", "a.py"), "--training and --lint do not go together"),
        (("--lint", "a.py", "--rtol", "1"), "--lint takes no --rtol"),
        (("--training", "a:b", "a:b", "--inputs", "a:c"), "--training takes no --inputs"),
        (("a:b", "a:b", "--batch", "0"), "Invalid value for '--batch'"),
        ((f"{PROGRAMS}plain", f"{PROGRAMS}plain", *INPUTS, "--precision", "x"), "'x' is unknown"),
        ((f"{PROGRAMS}plain", f"{PROGRAMS}plain", *INPUTS, "-k", "2", "--atol", "1"), "give one"),
        ((f"{PROGRAMS}generates", f"{PROGRAMS}plain", *INPUTS), "a generator function"),
    ],
)
def test_options_that_do_not_go_together_are_refused(boundby, arguments, words):
    done = boundby("check", *arguments)

    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr.splitlines()[0]
    assert len(done.stderr.splitlines()) in (1, 3)


@pytest.mark.parametrize("order", [("plain", "refuses"), ("refuses", "plain")])
def test_the_function_that_failed_is_the_one_that_is_named(boundby, order):
    done = boundby("check", *(f"{PROGRAMS}{each}" for each in order), *INPUTS)

    assert (done.returncode, done.stdout) == (125, "")
    assert done.stderr.startswith(f"{PROGRAMS}refuses raised RuntimeError: no kernel for this")


def test_findings_survive_a_file_that_cannot_be_read(boundby, tmp_path):
    (tmp_path / "good.py").write_text("y = x.half().sum()\n")
    (tmp_path / "bad.py").write_text("def f(:\n")
    files = (tmp_path / "good.py", tmp_path / "bad.py", tmp_path / "none.py")
    done, document = (
        boundby("check", "--lint", *files),
        boundby("check", "--lint", *files, "--json"),
    )
    found = json.loads(document.stdout)

    assert (done.returncode, document.returncode) == (125, 125)
    assert done.stdout.startswith(f"{tmp_path / 'good.py'}:1: low-precision-reduction")
    assert done.stderr.startswith(f"{tmp_path / 'bad.py'}:1: no Python source: ")
    assert "(and 1 more)" in done.stderr
    assert list(found)[:2] == ["schema_version", "kind"]
    assert [len(found[name]) for name in ("findings", "unread")] == [1, 2]


def test_reports_without_markdown_of_their_own_are_fenced(boundby, tmp_path):
    (tmp_path / "model.py").write_text("y = x.half().sum()\n")
    boundby("check", "--lint", "model.py", "-o", "lint.md", cwd=tmp_path)
    boundby("check", "--training", f"{PROGRAMS}make_step", f"{PROGRAMS}make_step", "--steps", "3",
            "-o", "steps.md", cwd=tmp_path)  # fmt: skip

    for name in ("lint.md", "steps.md"):
        text = (tmp_path / name).read_text("utf-8")
        assert text.startswith("# boundby check")
        assert text.count("```") == 2
