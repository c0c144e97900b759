"""The result goes to stdout or to a file, all else to stderr; in a pipe it is plain text."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

from boundby.report.schema import schema

STUBBED = Path(__file__).with_name("stubbed.py")
validator = jsonschema.Draft202012Validator(schema())


@pytest.mark.parametrize("arguments", [["trace", "launch.json"], ["explain"], ["explain", "item"]])
def test_a_pipe_gets_no_escape_byte(stubbed, arguments):
    done = stubbed(*arguments, text=False, encoding=None)

    assert done.returncode == 0
    assert b"\x1b" not in done.stdout
    assert done.stdout.isascii()


@pytest.mark.parametrize(
    ("environment", "styled"),
    [
        ({"FORCE_COLOR": "1"}, True),
        ({"NO_COLOR": "1"}, False),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, False),
    ],
)
def test_colour_variables(stubbed, environment, styled):
    done = stubbed("trace", "launch.json", env=environment)

    assert ("\x1b[" in done.stdout) is styled


@pytest.mark.parametrize(
    ("environment", "styled"), [({}, True), ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, False)]
)
def test_a_terminal_gets_styles_unless_refused(environment, styled):
    leader, follower = pty.openpty()
    environment = {"PATH": os.environ["PATH"], "TERM": "xterm", "COLUMNS": "80", **environment}
    if "PYTHONPATH" in os.environ:
        environment["PYTHONPATH"] = os.environ["PYTHONPATH"]
    child = [sys.executable, str(STUBBED), "explain", "drained"]
    subprocess.run(child, stdout=follower, env=environment, check=True)
    os.close(follower)
    seen = os.read(leader, 100_000)
    os.close(leader)

    assert b"drained" in seen
    assert (b"\x1b[" in seen) is styled


@pytest.mark.parametrize("name", ["launch", "sync", "device", "nothing"])
def test_json_follows_the_schema(stubbed, name):
    done = stubbed("trace", f"{name}.json", "--json")
    document = json.loads(done.stdout)

    validator.validate(document)
    assert document["source"]["path"] == f"{name}.json"
    assert done.stderr == ""


def test_several_documents_stand_one_a_line(stubbed):
    done = stubbed("trace", "launch.json", "sync.json", "--json")
    classes = [json.loads(line)["verdict"]["class"] for line in done.stdout.splitlines()]

    assert classes == ["launch-bound", "sync-bound"]


@pytest.mark.parametrize(
    "environment",
    [{"LC_ALL": "C"}, {"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "C", "PYTHONUTF8": "0"}],
)
def test_an_ascii_stdout_holds_everything(stubbed, environment):
    done = stubbed("trace", "训练/launch.json", "nothing.json", env=environment)

    assert done.returncode == 0
    assert "verdict    launch-bound" in done.stdout


def test_hostile_file_names_are_not_printed_raw(stubbed):
    done = stubbed("trace", "\x1b[2J\u202e/launch.json", "sync.json")

    assert done.returncode == 0
    assert "\x1b" not in done.stdout
    assert "\u202e" not in done.stdout


@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("report.json", '{\n  "schema_version": 1,'),
        ("report.md", "# launch-bound, strong\n"),
        ("report.txt", "verdict    launch-bound, strong"),
    ],
)
def test_a_file_gets_the_format_of_its_extension(stubbed, tmp_path, name, start):
    done = stubbed("trace", "launch.json", "-o", tmp_path / name)

    assert done.returncode == 0
    assert done.stdout == ""
    assert done.stderr == f"wrote {tmp_path / name}\n"
    assert (tmp_path / name).read_text("utf-8").startswith(start)


def test_a_file_never_gets_styles(stubbed, tmp_path):
    stubbed("trace", "launch.json", "-o", tmp_path / "a.txt", env={"FORCE_COLOR": "1"})

    assert "\x1b" not in (tmp_path / "a.txt").read_text("utf-8")


def test_several_reports_share_a_file(stubbed, tmp_path):
    stubbed("trace", "launch.json", "sync.json", "-o", tmp_path / "both.md")
    text = (tmp_path / "both.md").read_text("utf-8")

    assert text.index("# launch-bound") < text.index("# sync-bound")


def test_a_file_is_overwritten_only_by_force(stubbed, tmp_path):
    target = tmp_path / "report.txt"
    target.write_text("mine")

    refused = stubbed("trace", "launch.json", "-o", target)
    assert refused.returncode == 2
    assert refused.stderr == f"{target}: exists already\n\nhint: add --force to overwrite it\n"
    assert target.read_text() == "mine"

    forced = stubbed("trace", "launch.json", "-o", target, "--force", "--quiet")
    assert forced.returncode == 0
    assert forced.stderr == ""
    assert target.read_text().startswith("verdict")


def test_a_place_that_cannot_be_written_is_named(stubbed, tmp_path):
    done = stubbed("trace", "launch.json", "-o", tmp_path / "no" / "such" / "a.txt")

    assert done.returncode == 125
    assert "cannot write: No such file or directory" in done.stderr


def test_dash_is_stdout(stubbed):
    assert stubbed("trace", "launch.json", "-o", "-").stdout.startswith("verdict")


def test_a_closed_pipe_is_no_complaint():
    command = [sys.executable, str(STUBBED), "trace", *["launch.json"] * 200]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        child.stdout.readline()
        child.stdout.close()

        assert child.stderr.read() == b""
        assert child.wait() == 141


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_told(tmp_path):
    with open("/dev/full", "w", encoding="utf-8") as full:  # noqa: PTH123 -- a device
        done = subprocess.run(
            [sys.executable, str(STUBBED), "trace", "launch.json"],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )

    assert done.returncode == 125
    assert done.stderr == (
        b"stdout: cannot write: No space left on device\n\n"
        b"hint: write to a file with -o, or elsewhere\n"
    )


def test_what_the_user_measured_reaches_the_diagnosis(stubbed):
    assert (
        "9.99 ms without the profiler"
        in stubbed("trace", "launch.json", "--step-ms", "9.99").stdout
    )


def test_what_the_user_measured_is_part_of_the_next_command(stubbed):
    given = ("--step-ms", "3.95", "--submit-ms", "2")
    document = json.loads(stubbed("trace", "tables.json", *given, "--json").stdout)
    plain = json.loads(stubbed("trace", "tables.json", "--json").stdout)

    assert [each["command"] for each in document["next"]] == [
        "boundby explain launch-bound",
        "boundby trace tables.json --ops 15 --step-ms 3.95 --submit-ms 2",
    ]
    assert plain["next"][1]["command"] == "boundby trace tables.json --ops 15"


@pytest.mark.parametrize("columns", ["80", "120"])
def test_a_pipe_is_as_wide_as_columns_says(stubbed, columns):
    lines = stubbed("trace", "launch.json", env={"COLUMNS": columns}).stdout.splitlines()

    assert max(map(len, lines)) == int(columns)


def test_json_into_a_json_file(stubbed, tmp_path):
    done = stubbed("trace", "launch.json", "--json", "-o", tmp_path / "a.json")

    assert done.returncode == 0
    assert json.loads((tmp_path / "a.json").read_text("utf-8"))["schema_version"] == 1


def test_tables_are_printed_when_asked_for(stubbed):
    plain = stubbed("trace", "launch.json")
    tables = stubbed("trace", "launch.json", "--ops", "2", "--ranges")

    assert "aten::addmm" not in plain.stdout
    assert "aten::addmm" in tables.stdout
    assert "ranges, ms a step" in tables.stdout


FULL = Path("/dev/full")


@pytest.mark.skipif(not FULL.exists(), reason="no /dev/full here")
@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["explain", "item"]])
def test_a_full_stdout_is_said_in_one_line(arguments):
    child = [sys.executable, "-m", "boundby", *arguments]
    with FULL.open("w") as full:
        done = subprocess.run(child, stdout=full, stderr=subprocess.PIPE, text=True, check=False)

    assert done.returncode == 125
    assert done.stderr.startswith("stdout: cannot write: No space left")
    assert "internal error" not in done.stderr


@pytest.mark.parametrize("arguments", ["--help", "--version", "explain item", "trace --help"])
def test_a_closed_stdout_is_said_in_one_line(arguments):
    script = f"exec {sys.executable} -m boundby {arguments} >&-"
    done = subprocess.run(["/bin/sh", "-c", script], stderr=subprocess.PIPE, text=True, check=False)

    assert done.returncode == 125
    assert done.stderr.startswith("stdout: cannot write")
    assert "internal error" not in done.stderr


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["explain", "item"]])
def test_a_reader_that_goes_away_ends_help_as_it_ends_reports(arguments):
    reading, writing = os.pipe()
    os.close(reading)
    child = [sys.executable, "-m", "boundby", *arguments]
    done = subprocess.run(child, stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writing)

    assert (done.returncode, done.stderr) == (141, "")
