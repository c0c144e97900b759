"""``boundby kernel`` as a process: forms, exit codes, and one line where a file is no use."""

import ast
import json
import subprocess
import sys

import jsonschema
import pytest

from boundby.kernels.analyse import analyse
from boundby.read.nsight_compute import read_kernels
from boundby.report.kernel_document import document, schema
from ncu_pages import details_page, kernel, raw_page
from recordings import REAL

RAW = REAL / "nsight" / "ncu_raw.csv.gz"
DETAILS = REAL / "nsight" / "ncu_details.csv.gz"
validator = jsonschema.Draft202012Validator(schema())


@pytest.fixture
def page(tmp_path):
    def _page(text, name="kernels.csv"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return _page


@pytest.mark.parametrize("path", [RAW, DETAILS])
def test_the_verdict_comes_first_and_the_next_command_last(boundby, path):
    done = boundby("kernel", path)
    lines = done.stdout.splitlines()

    assert done.returncode == 0
    assert done.stderr == ""
    assert lines[0].startswith("verdict    at-limit (compute), 9")
    assert "look next  idle-tensor-cores: 9" in done.stdout
    assert f"boundby kernel {path} --verbose" in lines[-2:][0] + lines[-1]
    assert done.stdout.isascii()
    assert max(map(len, lines)) <= 100


def test_every_figure_is_shown_when_asked_for(boundby):
    brief, full = boundby("kernel", RAW).stdout, boundby("kernel", RAW, "--verbose").stdout

    assert "sectors a load request" in full
    assert "limited by registers" in full
    assert "long_scoreboard 85%" in full
    assert len(full.splitlines()) > 2 * len(brief.splitlines())


@pytest.mark.parametrize("path", [RAW, DETAILS])
def test_json_follows_the_schema_and_holds_the_same_values(boundby, path):
    done = boundby("kernel", path, "--json")
    found = json.loads(done.stdout)

    validator.validate(found)
    assert found == json.loads(json.dumps(document(analyse(read_kernels(str(path))))))
    assert found["verdict"]["class"] == "at-limit"
    assert sum(each["share"] for each in found["verdict"]["shares"]) == pytest.approx(1)
    assert sum(each["share"] for each in found["kernels"]) == pytest.approx(1)


def test_json_of_kernels_of_which_little_is_known(page, boundby):
    bare = {"us": None, "compute": None, "dram": None, "occupancy": None, "theoretical": None}
    found = json.loads(boundby("kernel", page(raw_page([kernel(**bare)])), "--json").stdout)

    validator.validate(found)
    assert found["total_ms"] is None
    assert found["kernels"][0]["throughput"]["compute"] is None
    assert found["verdict"]["undecided_reason"]


def test_the_host_of_the_file_is_not_told(boundby):
    for form in ((), ("--json",), ("-v",)):
        assert "127.0.0.1" not in boundby("kernel", RAW, *form).stdout
        assert "python3" not in boundby("kernel", RAW, *form).stdout


def test_several_files(page, boundby):
    other = page(details_page([kernel(memory=90, dram=90)]), "other.csv")
    text = boundby("kernel", RAW, other)
    lines = boundby("kernel", RAW, other, "--json").stdout.splitlines()

    assert f"== {other} ==\nverdict    at-limit (memory)" in text.stdout
    assert [json.loads(line)["verdict"]["side"] for line in lines] == ["compute", "memory"]


def test_of_several_files_one_bad_one_does_not_stop_the_others(page, boundby):
    done = boundby("kernel", page("hello\n"), RAW)

    assert done.returncode == 125
    assert "verdict    at-limit" in done.stdout
    assert "holds no table of ncu" in done.stderr


@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("k.json", '{\n  "schema_version": 1,'),
        ("k.md", "# at-limit (compute), 95% of the kernel time\n"),
        ("k.txt", "verdict    at-limit (compute)"),
    ],
)
def test_a_file_gets_the_format_of_its_extension(boundby, tmp_path, name, start):
    done = boundby("kernel", RAW, "-o", tmp_path / name)

    assert done.returncode == 0
    assert done.stdout == ""
    assert done.stderr == f"wrote {tmp_path / name}\n"
    assert (tmp_path / name).read_text("utf-8").startswith(start)


def test_a_file_is_not_overwritten_unasked(boundby, page):
    target = page("mine", "k.md")

    assert boundby("kernel", RAW, "-o", target).returncode == 2
    assert target.read_text() == "mine"
    assert boundby("kernel", RAW, "-o", target, "--force").returncode == 0


def test_markdown_shows_the_same_values(boundby, tmp_path):
    boundby("kernel", RAW, "-o", tmp_path / "k.md")
    text = (tmp_path / "k.md").read_text("utf-8")

    assert "| at-limit (compute) | 21.7 ms | 95% |" in text
    assert "## Kernels\n\n| kernel | bound by |" in text
    assert "| `softmax_warp_forward` | at-limit (memory: DRAM) | 1 |" in text
    assert "sectors a load request" in text


@pytest.mark.parametrize(
    ("expected", "code"), [("at-limit", 0), ("memory-bound", 1), ("undecided", 1)]
)
def test_expect_is_a_gate(boundby, expected, code):
    done = boundby("kernel", RAW, "--expect", expected)

    assert done.returncode == code
    assert done.stdout.startswith("verdict")
    if code:
        assert done.stderr.startswith(f"expected {expected}: {RAW} is at-limit")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty"),
        (raw_page([kernel()]).replace("Kernel Name", "Kernelname"), "another language"),
        (details_page([kernel()])[:-60], "cut short"),
        ("SQLite format 3", "boundby trace"),
    ],
)
def test_a_file_of_no_use_is_one_line_and_a_hint(page, boundby, text, words):
    done = boundby("kernel", page(text))
    first, blank, hint = done.stderr.splitlines()

    assert done.returncode == 125
    assert done.stdout == ""
    assert words in done.stderr
    assert blank == ""
    assert hint.startswith("hint: ")
    assert first


def test_hostile_names_are_not_printed_raw(page, boundby):
    path = page(raw_page([kernel("evil\x1b[2J\u202e<script>/home/jane/x")]))
    target = path.with_suffix(".md")
    outputs = [boundby("kernel", path, *form).stdout for form in ((), ("-v",), ("--json",))]
    boundby("kernel", path, "-o", target)

    for text in (*outputs, target.read_text("utf-8")):
        assert "\x1b" not in text
        assert "\u202e" not in text
        assert "jane" not in text


def test_nothing_heavy_is_loaded():
    program = (
        "import sys; from boundby.cli import main; main(['kernel', sys.argv[1]]);"
        "print(sorted({name.partition('.')[0] for name in sys.modules}), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(RAW)], capture_output=True, text=True, check=True
    )
    loaded = set(ast.literal_eval(done.stderr.splitlines()[-1]))

    assert "boundby" in loaded
    assert loaded & {"torch", "pandas", "rich", "jinja2"} == set()


def test_the_profile_is_never_written_over(boundby, page):
    path = page(raw_page([kernel()]), "k.json")
    before = path.read_text()
    done = boundby("kernel", path, "-o", path, "--force")

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"{path}: is what the report is made from\n\nhint: ")
    assert path.read_text() == before


@pytest.mark.parametrize("text", ["1e400", "-5", "1e300"])
def test_figures_that_no_device_has_are_unknown(boundby, page, text):
    keys = ("us", "compute", "memory", "dram", "occupancy", "theoretical", "cores")
    limits = ("limit_registers", "limit_shared", "limit_warps")
    bad = kernel("bad", **dict.fromkeys((*keys, *limits), text))
    alone = boundby("kernel", page(raw_page([bad], str), "alone.csv"))
    beside = boundby("kernel", page(raw_page([bad, kernel()], str), "beside.csv"), "--json")

    assert (alone.returncode, alone.stdout) == (125, "")
    assert "no figure in it is possible" in alone.stderr
    assert len(alone.stderr.splitlines()) == 3
    found = json.loads(beside.stdout)
    validator.validate(found)
    assert beside.returncode == 0
    assert next((q["id"], q["count"]) for q in found["quality"]) == ("metrics-impossible", 10)
