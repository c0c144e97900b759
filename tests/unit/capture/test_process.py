"""Around the program: its environment, its command, its surroundings, its tracebacks."""

import json
import shutil
import signal
import subprocess
import sys
import warnings
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from boundby.capture import launch
from boundby.capture.environment import cpu_quota, debugger, surroundings, threads_of
from boundby.capture.frames import OWN, Stacks, stack_of
from boundby.capture.launch import SITE, environment_of, free_folder, target_of
from boundby.capture.loader import LoaderWatch
from boundby.capture.notices import notices
from boundby.capture.plan import PARENT, PLAN, SWITCH, Plan, decode, plan_of
from boundby.capture.sampling import LoopFinder, SignalSampler, ThreadSampler, sampler
from boundby.capture.syncs import KIND_OF, SyncFinder, _masks, _moves
from boundby.capture.tape import RunFolder
from boundby.capture.tracebacks import cleanse, without_own
from boundby.errors import UsageError
from boundby.prescribe.case import Live
from boundby.read.capture_folder import Row, read_capture


def test_a_plan_travels_in_the_environment(tmp_path):
    plan = Plan(skip=3, steps=9, passes=("clean",), stop=True)
    variables = environment_of(plan, tmp_path)

    assert plan_of(variables) == plan
    assert variables["PYTHONPATH"].startswith(str(SITE))


def test_observation_is_off_by_default():
    assert plan_of({}) is None
    assert plan_of({SWITCH: "0"}) is None
    assert plan_of({SWITCH: "1"}) == Plan()
    assert decode("no json") == Plan()
    assert decode('{"steps": 4, "of_another_version": 1}').steps == 4


def test_what_runs_a_script_a_module_or_a_launcher(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("train.py").write_text("")

    assert target_of("train.py", ["-x"], module=False).command[-2:] == ("train.py", "-x")
    assert target_of("a.train", [], module=True).command[-2:] == ("-m", "a.train")
    assert target_of("sh", ["-c"], module=False).command[1:] == ("-c",)
    with pytest.raises(UsageError):
        target_of("nowhere.py", [], module=False)


def test_a_folder_with_the_name_of_a_launcher_is_no_script(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("sh").mkdir()

    assert target_of("sh", [], module=False).command == (shutil.which("sh"),)
    Path("sh/__main__.py").write_text("")
    assert target_of("sh", [], module=False).command[-1] == "sh"


@pytest.mark.parametrize(("code", "sent"), [(0, 1), (-1, 1), (128, 0)])
def test_a_signal_from_another_container_is_passed_on_and_one_of_the_terminal_is_not(
    monkeypatch, code, sent
):
    # A process outside of the own container has no id in it: 0, as the terminal has.
    came = SimpleNamespace(si_signo=signal.SIGTERM, si_pid=0, si_code=code)
    passed = []
    process = SimpleNamespace(
        poll=iter([None, 0]).__next__, send_signal=passed.append, returncode=0
    )
    watch = SimpleNamespace(look=lambda: None, wait_s=lambda: 0.0)
    monkeypatch.setattr(signal, "sigtimedwait", lambda *_: came)
    launch._wait(process, watch, lambda: None)

    assert passed == [signal.SIGTERM] * sent


def test_every_run_has_a_folder_of_its_own(tmp_path):
    names = [free_folder(tmp_path / "runs", "train").name for _ in range(3)]

    assert names == ["train-1", "train-2", "train-3"]


def test_the_site_folder_leaves_no_trace_in_the_path():
    code = "import sys; print([p for p in sys.path if 'capture' in p], 'boundby' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": str(SITE)},
    )

    assert done.stdout == "[] False\n"
    assert done.stderr == ""


def test_quota_and_threads(tmp_path):
    file = tmp_path / "cpu.max"
    file.write_text("150000 100000\n")

    assert cpu_quota(file) == 1.5
    file.write_text("max 100000\n")
    assert cpu_quota(file) is None
    assert cpu_quota(tmp_path / "missing") is None
    assert threads_of(1 << 30) == 0


def test_surroundings_name_switches_and_nobody(monkeypatch):
    monkeypatch.setenv("CUDA_LAUNCH_BLOCKING", "1")
    seen = surroundings(LoaderWatch(lambda _source: None))

    assert seen["switches"] == ["CUDA_LAUNCH_BLOCKING"]
    assert seen["anomaly"] is False
    assert seen["workers"] == 0


def test_a_debugger_is_seen(monkeypatch):
    assert debugger() is None
    monkeypatch.setitem(sys.modules, "debugpy", sys)
    assert debugger() == "debugpy"


@pytest.mark.parametrize(
    ("live", "name"),
    [
        (Live(switches=("CUDA_LAUNCH_BLOCKING",)), "debug-switches"),
        (Live(debugger="debugpy"), "detach-debugger"),
        (Live(other_processes=2), "free-device"),
        (Live(clock_share=0.5, clock_reasons=("heat",)), "full-clocks"),
        (Live(unscaled_fp16=True), "grad-scaler"),
        (Live(cores=4, threads=4, workers=4), "thread-limit"),
        (Live(cores=4, threads=1, workers=2, worker_threads=8), "thread-limit"),
        (Live(collections=1.0, collection_ms=2.0), "gc-schedule"),
    ],
)
def test_what_is_wrong_around_the_program_is_said_without_a_verdict(live, name):
    (notice,) = notices(live, 10.0)

    assert notice.id == name
    assert notice.text.endswith(".")


def test_nothing_wrong_is_no_notice():
    assert notices(Live(cores=8, threads=2, workers=0, other_processes=0), 10.0) == ()


def raised():
    namespace = {}
    exec(compile("def ours(f): f()", f"{OWN}/made_up.py", "exec"), namespace)  # noqa: S102

    def users():
        raise ValueError("mine")

    try:
        namespace["ours"](users)
    except ValueError as error:
        return error
    raise AssertionError


def files_of(trace):
    found = []
    while trace is not None:
        found.append(trace.tb_frame.f_code.co_filename)
        trace = trace.tb_next
    return found


def test_our_frames_are_cut_out_of_a_traceback():
    error = raised()
    assert any(file.startswith(OWN) for file in files_of(error.__traceback__))
    kept = without_own(error.__traceback__)
    assert files_of(kept) == [__file__, __file__]

    outer = RuntimeError("outer")
    outer.__cause__ = raised()
    cleanse(outer)
    assert files_of(outer.__cause__.__traceback__) == [__file__, __file__]


def test_a_stack_is_numbered_once_and_starts_here(tmp_path):
    folder = RunFolder(tmp_path)
    folder.describe({"version": 1})
    stacks = Stacks(folder)
    keys = [stack_of(sys._getframe()) for _ in range(2)]

    assert [stacks.number(key) for key in keys] == [0, 0]
    assert read_capture(tmp_path).stacks[0][0].file == __file__


@pytest.mark.parametrize("make", [SignalSampler, ThreadSampler])
def test_a_sampler_sees_where_time_goes_and_goes_away(make):
    one = make(0.001)
    one.start()
    total = 0
    for index in range(3_000_000):
        total += index
    one.stop()
    seen = len(one.samples)
    names = {key[0][0].co_name for key, _, _ in one.samples if key}

    assert seen > 5
    assert "test_a_sampler_sees_where_time_goes_and_goes_away" in names
    assert SignalSampler.is_possible()
    assert isinstance(sampler(0.001), SignalSampler)


@pytest.mark.parametrize("make", [SignalSampler, ThreadSampler])
def test_samples_of_the_observation_itself_are_left_out(make, monkeypatch):
    """What runs at the marks is ours; here this file stands for it."""
    monkeypatch.setattr("boundby.capture.frames.OBSERVER", __file__)
    one = make(0.001)
    one.start()
    for index in range(3_000_000):
        if index % 100 == 0:
            json.dumps(index)
    one.stop()

    assert one.samples == []


def test_the_loop_is_the_innermost_function_that_outlives_a_step():
    finder, found = LoopFinder(), []

    def step():
        found.append(finder.look())

    def loop():
        for _ in range(2):
            step()

    loop()

    assert found[0] is None
    assert found[1].f_code.co_name == "loop"


def test_the_finder_counts_waits_of_the_users_own_and_leaves_tensors_as_they_were(tmp_path):
    folder = RunFolder(tmp_path)
    folder.describe({"version": 1})
    methods = {name: torch.Tensor.__dict__.get(name) for name in KIND_OF}
    finder = SyncFinder(folder.tape, Stacks(folder))
    shown = warnings.showwarning
    finder.install()
    x = torch.arange(4.0)
    float(x[0]), x[x > 1], x.nonzero(), x[1], f"{x[2]:.1f}", x.to(torch.float64)
    finder.remove()
    float(x[0])

    assert len(read_capture(tmp_path).of(Row.WAIT)) == 4
    assert {name: torch.Tensor.__dict__.get(name) for name in KIND_OF} == methods
    assert warnings.showwarning is shown


def test_masks_and_moves():
    x = torch.arange(4.0)

    assert _masks(x, x > 1)
    assert _masks(x, (slice(None), x > 1))
    assert not _masks(x, 1)
    assert _moves(x, "cuda:0")
    assert _moves(x, device=torch.device("cuda"))
    assert not _moves(x, torch.float64)
    assert not _moves(x, "cpu")


def test_the_parent_is_told_in_the_environment(tmp_path):
    variables = environment_of(Plan(), tmp_path)

    assert variables[PARENT].isdigit()
    assert PLAN in variables
