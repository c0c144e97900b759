"""``boundby run``: the program is the program, and the report follows."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import jsonschema
import pytest

import boundby as package
from boundby.capture.findings import read_run
from boundby.read.capture_folder import captures_in

SCHEMA = json.loads((Path(package.__file__).parent / "data" / "schema-v1.json").read_text())
OURS = str(Path(package.__file__).parent)

TRAIN = """\
import sys, torch
def step_of():
    torch.manual_seed(0)
    model = torch.nn.Linear(4, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    def step():
        loss = model(torch.randn(2, 4)).square().mean()
        loss.backward(); optimizer.step(); optimizer.zero_grad()
        return loss
    return step
"""


@pytest.fixture
def run(tmp_path, boundby):
    """Write a script and run it; what came out, and the recording."""

    def start(text, *arguments, options=("--steps", "3"), before=TRAIN, **settings):
        script = tmp_path / "train.py"
        script.write_text(before + text)
        settings.setdefault("cwd", tmp_path)
        done = boundby(
            "run", "--folder", tmp_path / "kept", *options, script, *arguments, **settings
        )
        found = captures_in(tmp_path / "kept")
        return done, read_run(found[0])[0] if found else None

    return start


def test_the_program_keeps_its_arguments_output_and_exit_code(run):
    done, live = run(
        "import atexit\natexit.register(lambda: print('at exit', STATE))\nSTATE = 7\n"
        "step = step_of()\nfor _ in range(30): step()\n"
        "print(__name__, sys.argv[1:])\nsys.exit(3)",
        "--help",
        "--",
        "-x",
    )

    assert done.returncode == 3
    assert done.stdout.startswith("__main__ ['--help', '--', '-x']\nat exit 7\nverdict ")
    assert live.source == "optimizer"
    assert "train.py: " in done.stdout


def test_a_traceback_is_the_users_own(run):
    done, live = run(
        "from torch.utils.data import DataLoader, Dataset\n"
        "class Bad(Dataset):\n"
        "    def __len__(self): return 40\n"
        "    def __getitem__(self, i):\n"
        "        if i > 20: raise ValueError('mine')\n"
        "        return torch.zeros(4)\n"
        "step = step_of()\n"
        "for _ in DataLoader(Bad()): step()\n"
    )

    assert done.returncode == 1
    assert "ValueError: mine" in done.stderr
    assert OURS not in done.stderr
    assert live.ending.exception == "ValueError"


@pytest.mark.parametrize(
    ("end", "code"),
    [("9", 137), ("signal.SIGTERM", 143), ("signal.SIGINT", 130)],
)
def test_what_was_recorded_outlives_the_process(run, end, code):
    done, live = run(
        "import os, signal\nstep = step_of()\nfor _ in range(60): step()\n"
        f"os.kill(os.getpid(), {end})"
    )

    assert done.returncode == code
    assert live.steps == 60
    assert "verdict " in done.stdout


def test_out_of_memory_is_reported_with_torchs_own_account(run):
    done, live = run(
        "step = step_of()\nfor _ in range(20): step()\n"
        "raise torch.OutOfMemoryError('CUDA out of memory. Tried to allocate 2.00 GiB.')"
    )

    assert live.ending.exception == "OutOfMemoryError"
    assert "Tried to allocate 2.00 GiB" in done.stdout


def test_a_module_with_relative_imports(tmp_path, boundby):
    package_folder = tmp_path / "pack"
    package_folder.mkdir()
    (package_folder / "__init__.py").write_text("")
    (package_folder / "parts.py").write_text(TRAIN)
    (package_folder / "main.py").write_text(
        "from .parts import step_of\nstep = step_of()\nfor _ in range(30): step()\nprint('done')"
    )
    done = boundby("run", "-m", "pack.main", cwd=tmp_path)

    assert (done.returncode, done.stdout.splitlines()[0]) == (0, "done")
    assert (tmp_path / "boundby_runs" / "main-1").is_dir()


@pytest.mark.parametrize("context", ["fork", "spawn"])
def test_loader_workers_start_and_are_seen(run, context):
    done, live = run(
        "from torch.utils.data import DataLoader, TensorDataset\n"
        "if __name__ == '__main__':\n"
        "    step = step_of()\n"
        "    rows = TensorDataset(torch.zeros(120, 4))\n"
        f"    loader = DataLoader(rows, 2, num_workers=1, multiprocessing_context={context!r})\n"
        "    for _ in loader: step()\n"
        "    print('done')"
    )

    assert (done.returncode, done.stderr.count("Traceback")) == (0, 0)
    assert done.stdout.startswith("done\n")
    assert live.loader.workers == 1


def test_json_is_one_document_and_the_programs_output_goes_aside(run):
    done, _ = run(
        "print('mine')\nstep = step_of()\nfor _ in range(4000): step()",
        options=("--json", "--steps", "3"),
    )
    document = json.loads(done.stdout)

    jsonschema.validate(document, SCHEMA)
    assert "mine\n" in done.stderr
    assert document["verdict"]["class"] == "undecided"  # no device here, so no verdict on one
    assert document["live"]["finished"]
    assert document["live"]["clocks"]["wall"] > 0
    assert "\x1b" not in done.stdout


def test_json_of_a_run_without_a_trace_has_every_key(run):
    done, live = run(
        "step = step_of()\nfor _ in range(12): step()", options=("--json", "--passes", "clean")
    )
    document = json.loads(done.stdout)

    jsonschema.validate(document, SCHEMA)
    assert set(SCHEMA["required"]) <= document.keys()
    assert document["verdict"]["class"] == "undecided"
    assert (document["source"], document["evidence"]) == (None, [])
    assert live.source == document["live"]["source"]


def test_stop_ends_the_program_when_all_is_measured_and_what_is_kept_is_reported_again(
    run, boundby, tmp_path
):
    done, live = run(
        "step = step_of()\nwhile True: step()", options=("--stop", "--steps", "3"), timeout=120
    )
    again = boundby("run", "--read", tmp_path / "kept")

    assert done.returncode == 0
    assert live.finished
    assert done.stdout.startswith("verdict ")
    assert again.stdout == done.stdout
    told = json.loads(boundby("run", "--read", tmp_path / "kept", "--json").stdout)
    assert told["caliber"]["torch"].startswith("2.")


def test_a_program_without_steps_ends_at_once_and_is_told_what_to_do(run):
    begin = time.monotonic()
    done, live = run("print('nothing')")

    assert time.monotonic() - begin < 60
    assert (done.returncode, done.stdout, live) == (0, "nothing\n", None)
    assert "hint: call boundby.step()" in done.stderr


def test_steps_that_the_program_marks_itself(run):
    _, live = run(
        "import boundby\nfor _ in range(30):\n    torch.zeros(9).sum()\n    boundby.step()"
    )

    assert live.source == "boundby.step"


def test_calls_of_the_outermost_module_are_steps_where_nothing_else_is(run):
    _, live = run(
        "import time\n"
        "model = torch.nn.Sequential(*[torch.nn.Linear(256, 256) for _ in range(40)])\n"
        "begin = time.monotonic()\n"
        "while not model._forward_hooks and time.monotonic() - begin < 60:\n"
        "    model(torch.zeros(64, 256))\n"
        "for _ in range(30): model(torch.zeros(64, 256))"
    )

    assert live.source == "module"


def test_an_alarm_of_the_program_is_left_alone(run):
    done, live = run(
        "import signal, time\nseen = []\n"
        "signal.signal(signal.SIGALRM, lambda *a: seen.append(1))\n"
        "signal.setitimer(signal.ITIMER_REAL, 0.5)\n"
        "step = step_of()\n"
        "for _ in range(3000): step()\ntime.sleep(0.6)\nprint(seen)",
    )

    assert done.stdout.startswith("[1]\n")
    assert "lock" in live.bias


def test_a_tracer_that_was_there_is_chained(tmp_path, run):
    (tmp_path / "sitecustomize.py").write_text("import builtins; builtins.WAS_HERE = True")
    done, _ = run(
        "import sys; print(WAS_HERE, sys.path[1:2])", before="", env={"PYTHONPATH": str(tmp_path)}
    )

    assert done.stdout.startswith(f"True ['{tmp_path}']\n")


def test_a_signal_sent_to_us_reaches_the_program(tmp_path):
    script = tmp_path / "wait.py"
    script.write_text(
        "import signal, sys, time\n"
        "signal.signal(signal.SIGTERM, lambda *a: sys.exit(5))\n"
        "print('ready', flush=True)\ntime.sleep(60)"
    )
    with subprocess.Popen(
        [sys.executable, "-m", "boundby", "run", str(script)], stdout=subprocess.PIPE, cwd=tmp_path
    ) as process:
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 5


def test_ranks_write_their_own_folders_and_the_lowest_is_reported(tmp_path, boundby):
    (tmp_path / "train.py").write_text(TRAIN + "step = step_of()\nfor _ in range(30): step()")
    (tmp_path / "elsewhere").mkdir()  # a file in the working folder is taken as a script
    launcher = tmp_path / "elsewhere" / "launch"
    launcher.write_text(f"#!/bin/sh\nfor i in 1 0; do RANK=$i {sys.executable} train.py; done")
    launcher.chmod(0o755)
    path = f"{launcher.parent}{os.pathsep}{os.environ['PATH']}"
    done = boundby("run", "--folder", tmp_path / "kept", "launch", cwd=tmp_path, env={"PATH": path})

    assert [each.name for each in captures_in(tmp_path / "kept")] == ["rank-0", "rank-1"]
    assert "train.py, rank 0:" in done.stdout


def test_the_environment_alone_observes_and_reports_to_stderr(tmp_path, boundby):
    exports = boundby("run", "--env", "--folder", tmp_path / "kept").stdout
    (tmp_path / "train.py").write_text(TRAIN + "step = step_of()\nfor _ in range(30): step()")
    command = f"{exports}\n{sys.executable} train.py"
    done = subprocess.run(
        ["/bin/sh", "-c", command], capture_output=True, text=True, check=True, cwd=tmp_path
    )

    assert done.stdout == ""
    assert "verdict " in done.stderr


def test_observing_a_block_from_inside(tmp_path):
    (tmp_path / "train.py").write_text(
        TRAIN + "import boundby\nstep = step_of()\n"
        "with boundby.observe(active=5) as observed:\n"
        "    for _ in range(40):\n        step(); observed.step()\n"
        "print(observed.folder)"
    )
    done = subprocess.run(
        [sys.executable, "train.py"], capture_output=True, text=True, check=True, cwd=tmp_path
    )

    assert done.stdout == "boundby_runs/observe-1\n"
    assert "40 steps seen by boundby.step" in done.stderr


def test_a_function_whose_calls_are_steps(tmp_path):
    (tmp_path / "train.py").write_text(
        TRAIN + "import boundby\nstep = boundby.observed(step_of())\n"
        "for _ in range(30): step()\nprint('end')"
    )
    done = subprocess.run(
        [sys.executable, "train.py"], capture_output=True, text=True, check=True, cwd=tmp_path
    )

    assert done.stdout == "end\n"
    assert "30 steps seen by boundby.step" in done.stderr


def observe_in(tmp_path, text):
    (tmp_path / "train.py").write_text(TRAIN + text)
    return subprocess.run(
        [sys.executable, "train.py"], capture_output=True, text=True, check=True, cwd=tmp_path
    )


def test_a_block_reports_where_the_program_reads_its_own_stderr(tmp_path):
    done = observe_in(
        tmp_path,
        "import boundby, contextlib, io\nstep, text = step_of(), io.StringIO()\n"
        "with contextlib.redirect_stderr(text), boundby.observe(active=5):\n"
        "    for _ in range(40): step()\n"
        "print(text.getvalue()[:8])",
    )

    assert done.stdout == "verdict \n"


def test_a_block_in_which_the_program_changes_its_folder(tmp_path):
    done = observe_in(
        tmp_path,
        "import boundby, os\nstep = step_of()\nwith boundby.observe(active=5):\n"
        "    os.mkdir('other'); os.chdir('other')\n"
        "    for _ in range(90): step()\n",
    )

    assert "train.py: 90 steps" in done.stderr
    assert "ended before a trace" not in done.stderr
    assert (tmp_path / "boundby_runs" / "observe-1" / "trace.json").is_file()


def test_a_block_in_a_program_that_is_observed_from_outside_marks_its_steps(run):
    done, live = run(
        "import boundby\nstep = step_of()\nwith boundby.observe() as observed:\n"
        "    for _ in range(40):\n        step(); observed.step()\n"
        "print('done')"
    )

    assert (done.returncode, done.stdout[:5], "verdict" in done.stderr) == (0, "done\n", False)
    assert (live.source, live.steps) == ("boundby.step", 40)


def test_a_program_that_deletes_its_own_folder(run):
    done, live = run(
        "import os, tempfile\nstep = step_of()\n"
        "place = tempfile.mkdtemp()\nos.chdir(place); os.rmdir(place)\n"
        "for _ in range(30): step()\nprint('done')"
    )

    assert (done.returncode, done.stdout[:5]) == (0, "done\n")
    assert live.steps == 30


def test_a_program_that_deletes_the_recording(run):
    done, live = run(
        "import os, shutil\nstep = step_of()\nfor _ in range(5): step()\n"
        "shutil.rmtree(os.environ['BOUNDBY_FOLDER'])\n"
        "for _ in range(90): step()\nprint('done')",
    )

    assert (done.returncode, done.stdout, live) == (0, "done\n", None)
    assert "the recording was deleted" in done.stderr


def test_a_program_that_cuts_the_recording_goes_on(run):
    """A write beyond the end of a file that is mapped kills: SIGBUS."""
    done, live = run(
        "import os, glob\nstep = step_of()\nfor _ in range(5): step()\n"
        "os.truncate(glob.glob(os.environ['BOUNDBY_FOLDER'] + '/*/tape.bin')[0], 8)\n"
        "for _ in range(90): step()\nprint('done')",
    )

    assert (done.returncode, done.stdout[:5], live.steps) == (0, "done\n", 0)
    assert live.problems == ("the program cut the tape: what came later is lost",)


def test_a_forked_child_that_trains_on_writes_nothing_into_the_recording(run):
    done, live = run(
        "import os\nfrom torch.utils.data import DataLoader, TensorDataset\nstep = step_of()\n"
        "def epoch():\n"
        "    for _ in DataLoader(TensorDataset(torch.zeros(30, 4)), 1): step()\n"
        "child = None\n"
        "for _ in DataLoader(TensorDataset(torch.zeros(30, 4)), 1):\n"
        "    step()\n"
        "    if child is None and not (child := os.fork()):\n"
        "        epoch(); epoch(); os._exit(0)\n"
        "os.waitpid(child, 0)",
    )

    assert done.returncode == 0
    assert (live.steps, live.loader.batches) == (30, 30)


def test_a_profiler_of_the_program_with_windows_of_its_own(run):
    # Two profilers at once kill the process.
    done, live = run(
        "from torch.profiler import profile, schedule\nstep, seen = step_of(), []\n"
        "with profile(schedule=schedule(wait=3, warmup=1, active=2),\n"
        "             on_trace_ready=lambda p: seen.append(len(p.events()) > 0)) as profiler:\n"
        "    for _ in range(120): step(); profiler.step()\n"
        "print(len(seen), all(seen))",
    )

    assert (done.returncode, done.stdout[:8]) == (0, "20 True\n")
    assert any("a profiler" in text for text in live.problems)


def test_a_folder_that_holds_a_recording_is_not_written_over(run, boundby, tmp_path):
    _, live = run("step = step_of()\nfor _ in range(30): step()")
    done, _ = run("print('started')", before="")

    assert (done.returncode, done.stdout) == (2, "")
    assert "holds a recording already" in done.stderr
    done, _ = run("print('started')", before="", options=("--force",))
    assert done.stdout.startswith("started\n")
    assert live.steps == 30


def test_all_passes_without_a_trace_say_what_is_missing(run):
    done, _ = run("step = step_of()\nfor _ in range(60): step()", options=("--passes", "clean"))

    assert "a verdict needs one" in done.stdout
    assert "the program ended" not in done.stdout


def test_a_folder_that_takes_no_recording_is_told_by_the_program(tmp_path, boundby):
    exports = boundby("run", "--env", "--folder", "/dev/null/kept").stdout
    (tmp_path / "train.py").write_text(TRAIN + "step = step_of()\nfor _ in range(9): step()")
    done = subprocess.run(
        ["/bin/sh", "-c", f"{exports}\n{sys.executable} train.py"],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )

    assert done.stderr.startswith("boundby: nothing was recorded: ")


def test_a_pass_that_does_not_exist(boundby):
    done = boundby("run", "--passes", "clean,fancy", "train.py")

    assert done.returncode == 2
    assert "no pass 'fancy'" in done.stderr


def test_a_script_that_does_not_exist(boundby):
    done = boundby("run", "missing.py")

    assert done.returncode == 2
    assert done.stderr.startswith("missing.py: no such file\n")


def test_a_compiled_program_is_compiled_as_often_as_alone(run):
    text = (
        "model = torch.compile(torch.nn.Linear(4, 4), backend='eager')\n"
        "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
        "for _ in range(2500):\n"
        "    loss = model(torch.zeros(2, 4)).sum(); loss.backward(); optimizer.step()\n"
        "    loss.item()\n"
        "print(dict(torch._dynamo.utils.counters['frames']))"
    )
    done, live = run(text)
    script = [sys.executable, "-c", TRAIN + text]
    alone = subprocess.run(script, capture_output=True, text=True, check=True)

    assert done.stdout.startswith(alone.stdout)
    assert live.finished
    assert sum(each.frames for each in live.passes) == 0
    assert live.void is None


@pytest.mark.parametrize("options", [("--folder", "file/x"), ()])
def test_a_folder_that_takes_no_recording_is_refused_before_the_start(boundby, tmp_path, options):
    (tmp_path / "file").write_text("")
    (tmp_path / "boundby_runs").write_text("")
    (tmp_path / "train.py").write_text("print('started')")
    done = boundby("run", *options, "train.py", cwd=tmp_path)

    assert (done.returncode, done.stdout) == (125, "")
    assert "cannot keep a recording: " in done.stderr.splitlines()[0]
    assert done.stderr.endswith("hint: name a folder with --folder\n")


@pytest.mark.parametrize("command", [("run", "--read"), ("report",)])
def test_an_empty_folder_holds_no_recording(boundby, tmp_path, command):
    done = boundby(*command, tmp_path)

    assert (done.returncode, done.stdout) == (125, "")
    assert str(tmp_path) in done.stderr
    assert "hint: " in done.stderr


def test_a_program_without_steps_keeps_its_exit_code(boundby, tmp_path):
    (tmp_path / "train.py").write_text("raise SystemExit(7)")
    done = boundby("run", "--folder", tmp_path / "kept", "train.py", cwd=tmp_path)

    assert (done.returncode, done.stdout) == (7, "")
    assert "no steps were seen" in done.stderr


@pytest.mark.parametrize("failure", ["raise ValueError('broken')", "import nothing_like_it", "1 +"])
def test_a_torch_that_fails_to_import_fails_as_ever(boundby, tmp_path, failure):
    (tmp_path / "torch.py").write_text(f"{failure}\n")
    (tmp_path / "train.py").write_text("def main():\n    import torch\nmain()\n")
    plain = subprocess.run(
        [sys.executable, "train.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    done = boundby("run", "--folder", tmp_path / "kept", "train.py", cwd=tmp_path)

    assert done.returncode == plain.returncode == 1
    assert done.stderr.startswith(plain.stderr)
    assert "no steps were seen" in done.stderr.removeprefix(plain.stderr)
