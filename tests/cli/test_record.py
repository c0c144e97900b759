"""``boundby record`` around stand-ins for nsys and ncu: flags, exit codes, what is kept."""

import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import time

import pytest

from ncu_pages import kernel, raw_page
from nsight_exports import nsys_training_steps

HELP = "usage: nsys profile --pytorch=<value> --trace=<value>"
NSYS = """#!/bin/sh
trap : INT
echo "$@" >> "{log}"
case "$1 $2" in "profile --help") echo "{help}"; exit 0;; esac
if [ "$1" = export ]; then
    for each in "$@"; do case "$each" in --output=*) target="${{each#--output=}}";; esac; done
    {export}
    exit
fi
while [ "$1" != /bin/sh ]; do
    case "$1" in --output=*) base="${{1#--output=}}";; esac
    shift
done
echo "Collecting data..."
"$@"
code=$?
{report}
exit {code}
"""
NCU = """#!/bin/sh
echo "$@" >> "{log}"
while [ "$1" != /bin/sh ]; do
    [ "$1" = --log-file ] && target="$2"
    shift
done
echo "==PROF== Connected"
"$@"
code=$?
{write}
exit {code}
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    """An empty folder to work in, and one for executables in front of PATH."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}/usr/bin{os.pathsep}/bin")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


def install(place, name, text):
    path = place / "bin" / name
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


@pytest.fixture
def nsys(place):
    def _nsys(export="steps", help_text=HELP, report='touch "$base.nsys-rep"', code='"$code"'):
        if export == "steps":
            path = nsys_training_steps(20).write(place / "prepared.sqlite")
            export = f'cp "{path}" "$target"'
        log = place / "nsys.log"
        how = {"log": log, "help": help_text, "export": export, "report": report, "code": code}
        install(place, "nsys", NSYS.format(**how))
        return log

    return _nsys


@pytest.fixture
def ncu(place):
    def _ncu(write=None, code='"$code"'):
        (place / "prepared.csv").write_text(raw_page([kernel(memory=90, dram=90)]))
        write = write or f'cp "{place / "prepared.csv"}" "$target"'
        log = place / "ncu.log"
        install(place, "ncu", NCU.format(log=log, write=write, code=code))
        return log

    return _ncu


SCRIPT = ["--", sys.executable, "-c", "import sys; print('loss 0.5'); sys.exit(int(sys.argv[1]))"]


# --- Nsight Systems -------------------------------------------------------------------------------


def test_nsys_records_exports_and_reports(place, nsys, boundby):
    log = nsys()
    done = boundby("record", "--nsys", *SCRIPT, "0")

    assert done.returncode == 0
    assert done.stdout.startswith("verdict    ")
    assert "loss 0.5" not in done.stdout
    assert "loss 0.5" in done.stderr
    assert "Collecting data" in done.stderr
    kept = next((place / "work").glob("*-nsys.sqlite"))
    assert f"wrote {kept}" in done.stderr
    assert boundby("trace", kept).stdout.startswith("verdict    ")
    _, profile, export = log.read_text().splitlines()
    assert profile.startswith("profile --trace=cuda,nvtx,osrt --sample=none --cpuctxsw=none ")
    assert "--pytorch=autograd-shapes-nvtx" in profile
    assert "--cuda-graph-trace=node" in profile
    assert "--duration=30 --kill=none" in profile
    assert export.startswith("export --type=sqlite --force-overwrite=true --output=")


@pytest.mark.parametrize(
    ("options", "flags"),
    [
        (["--delay", "20", "--seconds", "2.5"], ["--delay=20", "--duration=2.5", "--kill=none"]),
        (["--stop"], ["--kill=sigterm"]),
        (["--range", "api"], ["--capture-range=cudaProfilerApi", "--capture-range-end=stop"]),
        (
            ["--range", "step"],
            [
                *("--capture-range=nvtx", "--nvtx-capture=step", "--capture-range-end=stop"),
                "--env-var=NSYS_NVTX_PROFILER_REGISTER_ONLY=0",
            ],
        ),
    ],
)
def test_the_window(place, nsys, boundby, options, flags):
    log = nsys()
    boundby("record", "--nsys", *options, *SCRIPT, "0")
    profile = log.read_text().splitlines()[1].split()

    assert [flag for flag in flags if flag not in profile] == []


def test_the_whole_program(nsys, boundby):
    log = nsys()
    boundby("record", "--nsys", "--seconds", "0", *SCRIPT, "0")

    assert "--duration" not in log.read_text()


def test_an_older_nsys_marks_no_operators(nsys, boundby):
    log = nsys(help_text="usage: nsys profile --trace=<value>")
    done = boundby("record", "--nsys", *SCRIPT, "0")

    assert done.returncode == 0
    assert "--pytorch" not in log.read_text()
    assert "this nsys marks no PyTorch operators" in done.stderr


@pytest.mark.parametrize("code", ["1", "3", "42"])
@pytest.mark.parametrize("tool_code", ['"$code"', "0", "1"])
def test_the_exit_code_of_the_script_is_passed_on(nsys, boundby, code, tool_code):
    nsys(code=tool_code)
    done = boundby("record", "--nsys", *SCRIPT, code)

    assert done.returncode == int(code)
    assert done.stdout.startswith("verdict    ")


def test_a_script_that_fails_without_cuda_keeps_its_code(place, nsys, boundby):
    other = place / "other.sqlite"
    other.write_bytes(b"SQLite format 3\x00" + bytes(90))
    nsys(export=f'cp "{other}" "$target"')
    done = boundby("record", "--nsys", *SCRIPT, "7")

    assert done.returncode == 7
    assert done.stdout == ""
    assert "damaged export" in done.stderr


def test_a_recording_without_cuda_cannot_tell(place, nsys, boundby):
    export = nsys_training_steps()
    export.rows = {"NVTX_EVENTS": export.rows["NVTX_EVENTS"]}
    path = export.write(place / "other.sqlite")
    nsys(export=f'cp "{path}" "$target"')
    done = boundby("record", "--nsys", *SCRIPT, "0")

    assert done.returncode == 125
    assert "No CUDA activity recorded" in done.stderr


@pytest.mark.parametrize(
    ("options", "hint"),
    [
        ([], "see its messages"),
        (["--delay", "9"], "longer than --delay"),
        (["--range", "api"], "torch.cuda.profiler.start()"),
        (["--range", "step"], "torch.cuda.nvtx.range('step')"),
    ],
)
def test_nothing_was_recorded(nsys, boundby, options, hint):
    nsys(report="")
    done = boundby("record", "--nsys", *options, *SCRIPT, "0")

    assert done.returncode == 125
    assert "nsys recorded nothing (it ended with 0)" in done.stderr
    assert hint in done.stderr.splitlines()[-1]


def test_an_export_that_fails(nsys, boundby):
    nsys(export="exit 1")
    done = boundby("record", "--nsys", *SCRIPT, "0")

    assert done.returncode == 125
    assert "nsys could not export" in done.stderr


def test_reports_of_older_versions_are_exported(nsys, boundby):
    nsys(report='touch "$base.qdrep"')

    assert boundby("record", "--nsys", *SCRIPT, "0").returncode == 0


# --- Nsight Compute -------------------------------------------------------------------------------


def test_ncu_measures_and_reports(place, ncu, boundby):
    log = ncu()
    done = boundby("record", "--ncu", "gemm|softmax", "--count", "5", "--skip", "2", *SCRIPT, "0")

    assert done.returncode == 0
    assert done.stdout.startswith("verdict    at-limit (memory), 100% of the kernel time")
    assert "loss 0.5" in done.stderr
    flags = log.read_text()
    assert "--clock-control none" in flags
    assert "--kernel-name regex:gemm|softmax --launch-count 5 --launch-skip 2" in flags
    assert "--csv --page raw --print-units base --log-file" in flags
    assert "--target-processes all" in flags
    assert "--section SpeedOfLight" in flags


@pytest.mark.parametrize("code", ["0", "3"])
def test_no_kernel_has_such_a_name(ncu, boundby, code):
    ncu(write='echo "==WARNING== No kernels were profiled." > "$target"')
    done = boundby("record", "--ncu", "nothing", *SCRIPT, code)

    assert done.returncode == (int(code) or 125)
    assert "ncu profiled none" in done.stderr


def test_counters_that_may_not_be_read(ncu, boundby):
    ncu(write='echo "==ERROR== ERR_NVGPUCTRPERM - no permission" > "$target"', code="1")
    done = boundby("record", "--ncu", "gemm", *SCRIPT, "0")

    assert done.returncode == 125
    assert "may not read the counters" in done.stderr
    assert "as root" in done.stderr


def test_ncu_that_writes_nothing(ncu, boundby):
    ncu(write="true", code="9")
    done = boundby("record", "--ncu", "gemm", *SCRIPT, "0")

    assert done.returncode == 125
    assert "ncu wrote nothing (it ended with 9)" in done.stderr


# --- What is kept, and how it is asked for --------------------------------------------------------


def test_the_recording_is_named_after_the_script_and_never_overwritten(place, ncu, boundby):
    ncu()
    (place / "work" / "train.py").write_text("print('ok')")
    for _ in range(2):
        assert boundby("record", "--ncu", ".", "--", sys.executable, "train.py").returncode == 0

    kept = sorted(path.name for path in (place / "work").glob("*.csv"))
    assert kept == ["train-1-ncu.csv", "train-ncu.csv"]
    assert boundby("kernel", "train-ncu.csv").returncode == 0


def test_the_recording_is_kept_where_asked(place, ncu, boundby):
    ncu()
    target = place / "mine.csv"

    assert boundby("record", "--ncu", ".", "--save", target, *SCRIPT, "0").returncode == 0
    assert target.exists()
    again = boundby("record", "--ncu", ".", "--save", target, *SCRIPT, "0")
    assert again.returncode == 2
    assert again.stderr.startswith(f"{target}: exists already")
    assert "loss" not in again.stderr
    forced = boundby("record", "--ncu", ".", "--save", target, "--force", *SCRIPT, "0")
    assert forced.returncode == 0


def test_json_stands_alone_on_stdout(ncu, nsys, boundby):
    ncu()
    nsys()

    for tool in (["--ncu", "."], ["--nsys"]):
        document = json.loads(boundby("record", *tool, "--json", *SCRIPT, "0").stdout)
        assert document["schema_version"] == 1


@pytest.mark.parametrize(
    ("tool", "product"), [("--nsys", "Nsight Systems"), ("--ncu=x", "Nsight Compute")]
)
def test_a_missing_tool_is_one_line_and_how_to_get_it(place, boundby, tool, product):
    if shutil.which("nsys") or shutil.which("ncu"):
        pytest.skip("this machine has the tools")
    done = boundby("record", tool, "--", "python", "train.py")
    first, _, hint = done.stderr.splitlines()

    assert done.returncode == 125
    assert done.stdout == ""
    assert first.endswith(f"is not on PATH: it comes with {product}")
    assert "https://developer.nvidia.com/nsight-" in hint


@pytest.mark.parametrize("tools", [[], ["--nsys", "--ncu", "x"]])
def test_one_of_the_two_tools(boundby, tools):
    done = boundby("record", *tools, "--", "python", "train.py")

    assert done.returncode == 2
    assert done.stderr.startswith("give either --nsys or --ncu REGEX")


def test_options_after_the_command_are_its_own(place, ncu, boundby):
    log = ncu()
    shown = "import sys; print(sys.argv[1:], file=sys.stderr)"
    done = boundby("record", "--ncu", ".", sys.executable, "-c", shown, "--json", "--help")

    assert "['--json', '--help']" in done.stderr
    assert done.stdout.startswith("verdict")
    assert "--json" in log.read_text()


def test_an_interrupt_ends_the_program_and_what_was_recorded_is_read(nsys):
    nsys()
    program = "import time; print('up', flush=True); time.sleep(60)"
    command = ["record", "--nsys", "--", sys.executable, "-c", program]
    with subprocess.Popen(
        [sys.executable, "-m", "boundby", *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as child:
        while "up" not in child.stderr.readline():
            pass
        time.sleep(0.2)
        os.killpg(child.pid, signal.SIGINT)
        out, _ = child.communicate(timeout=30)

    assert out.startswith("verdict    ")
    assert child.returncode == 130
