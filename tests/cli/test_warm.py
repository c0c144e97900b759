"""Commands of these tests are forked; from nothing they do and say the same."""

from pathlib import Path

import pytest

from recordings import REAL

PROGRAMS = f"{Path(__file__).with_name('programs_under_test.py')}::"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ((), 2),
        (("--help",), 0),
        (("explain", "launch-bound"), 0),
        (("explain", "xyzzy"), 2),
        (("demo", "fp32-matmul", "--json"), 0),
        (("trace", "missing.json"), 125),
        (("trace", REAL / "bf16_ffn_train.json.gz", "--expect", "sync-bound"), 1),
        (("kernel", REAL / "nsight" / "ncu_raw.csv.gz"), 0),
        (("memory", "-", "--json"), 125),
        (("compare", "missing.json", "missing.json"), 125),
        (("bench", f"{PROGRAMS}fails"), 125),
        (("check", f"{PROGRAMS}shifted", f"{PROGRAMS}plain", "--inputs", f"{PROGRAMS}inputs"), 1),
        (("loader", "nonsense"), 2),
        (("record", "--ncu", ".", "--", "true"), 125),
        (("run", "missing.py"), 2),
        (("report", "missing.json"), 125),
    ],
    ids=lambda value: " ".join(map(str, value))[:20] if isinstance(value, tuple) else None,
)
def test_a_command_from_nothing_does_and_says_the_same(boundby, cold, arguments, code, tmp_path):
    forked, started = (start(*arguments, cwd=tmp_path) for start in (boundby, cold))

    assert forked.returncode == started.returncode == code
    assert forked.stdout == started.stdout
    assert forked.stderr == started.stderr


def test_what_goes_in_comes_out(boundby, cold, tmp_path):
    asked = {"input": "no error\n", "cwd": tmp_path, "env": {"COLUMNS": "60"}}
    forked, started = (start("memory", "-", **asked) for start in (boundby, cold))

    assert (forked.returncode, forked.stdout) == (started.returncode, started.stdout)
    assert forked.stderr == started.stderr != ""
