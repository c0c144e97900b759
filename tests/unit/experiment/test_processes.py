"""Real processes: what they answer, and how they end. Slow to start, so as few as will do."""

import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from boundby.experiment.gates import APART
from boundby.experiment.journal import Journal
from boundby.experiment.lab import ProcessLab
from boundby.experiment.process import Process, TrialError
from boundby.experiment.settings import Settings
from boundby.experiment.values import Diagnosed
from boundby.experiment.wire import Request

FILE = Path(__file__).with_name("workloads.py")
ENDINGS = Path(__file__).with_name("endings.py")
SCRIPT = Path(__file__).with_name("script.py")
OF_PARTS = Path(__file__).with_name("script_of_parts.py")
ENOUGH_S = 120.0
ONE = {"OMP_NUM_THREADS": "1"}


def opened(target, folder, **asked):
    return Process(Request(str(target), str(folder), **asked), ONE)


def test_a_process_that_is_killed_says_by_what(tmp_path):
    process = opened(f"{ENDINGS}:Killed", tmp_path)
    with pytest.raises(TrialError, match="SIGKILL") as caught:
        process.ask("warm", ENOUGH_S)

    process.end()
    assert caught.value.kind == "oom"
    assert process.is_over


def test_a_process_that_hangs_is_ended(tmp_path):
    process = opened(f"{ENDINGS}:Hanging", tmp_path)
    with pytest.raises(TrialError) as caught:
        process.ask("warm", 0.5)

    assert caught.value.kind == "hang"
    assert process.is_over


ASKING = """
import sys
from boundby.experiment.process import Process
from boundby.experiment.wire import Request
process = Process(Request(sys.argv[1], sys.argv[2]), {})
print(process._process.pid, flush=True)
process.ask("warm", 600)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="asks the kernel of Linux")
def test_a_process_does_not_outlive_the_one_that_asks(tmp_path):
    command = [sys.executable, "-c", ASKING, f"{ENDINGS}:Hanging", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as asking:
        child = Path("/proc") / asking.stdout.readline().strip()
        until = time.monotonic() + ENOUGH_S
        while not (tmp_path / "stdout.txt").read_bytes() and time.monotonic() < until:
            time.sleep(0.05)
        assert child.exists()
        asking.kill()
    while child.exists() and time.monotonic() < until:
        time.sleep(0.05)

    assert not child.exists()


def test_a_script_is_changed_from_outside_and_measured_where_it_waits(tmp_path):
    plain = opened(SCRIPT, tmp_path / "plain")
    facts = plain.ask("facts", ENOUGH_S)
    kept = plain.ask("keep", ENOUGH_S, steps=4)
    plain.end()
    changes = (("bf16", "autocast"), ("fused-optimizer", "true"), ("gc-schedule", "5"))
    changed = opened(
        SCRIPT, tmp_path / "changed", changes=changes, arguments=("--steps", "40", "--loader")
    )
    loading = changed.ask("facts", ENOUGH_S)
    gate = changed.ask(
        "gate", ENOUGH_S, reference=str(tmp_path / "plain"), precision="bfloat16", steps=4,
        others=[[each * 1.2 for each in kept["losses"]]],
    )["gate"]  # fmt: skip
    block = changed.ask("measure", ENOUGH_S, steps=5)
    with pytest.raises(TrialError) as caught:
        changed.ask("measure", ENOUGH_S, steps=1000)

    assert "SystemExit" not in (tmp_path / "plain" / "stderr.txt").read_text("utf-8")
    assert (facts["kind"], facts["optimizer"], facts["batch"]) == ("script", "AdamW", None)
    assert facts["caliber"]["torch"]
    assert facts["thread_limit"] == 1
    assert (facts["offers"], loading["offers"]) == ([], ["loader"])
    assert len(kept["losses"]) == 4
    assert gate["passed"]
    assert gate["error"] > 0
    assert block["ns"] > 0
    assert caught.value.kind == "ended"
    found = re.fullmatch(
        r"the script ended after 40 steps, and (\d+) are needed at least", caught.value.message
    )
    assert found
    assert int(found[1]) > 1000
    assert caught.value.hint == "let the script make more steps: more epochs, or more data"


CHANGES = (("loader-workers", "2"), ("fused-optimizer", "true"))


def test_a_script_of_parts_with_two_optimizers_and_loaders_of_its_own(tmp_path):
    plain = opened(OF_PARTS, tmp_path / "plain")
    facts = plain.ask("facts", ENOUGH_S)
    kept = plain.ask("keep", ENOUGH_S, steps=4)
    plain.end()
    changed = opened(OF_PARTS, tmp_path / "changed", changes=CHANGES)
    gate = changed.ask(
        "gate", ENOUGH_S, reference=str(tmp_path / "plain"), precision="float32", steps=4,
        others=[[each * 1.2 for each in kept["losses"]]],
    )["gate"]  # fmt: skip
    changed.end()

    assert (facts["optimizer"], facts["modules"]) == ("AdamW", ["Linear", "Net"])
    assert (facts["offers"], facts["loader_workers"]) == (["loader"], 1)
    assert (gate["passed"], gate["tensors"], gate["notes"]) == (True, 0, [APART])
    printed = [(tmp_path / each / "stdout.txt").read_text("utf-8") for each in ("plain", "changed")]
    assert printed == ["[0, 1, 0] [None, None]\n", "[2, 2, 0] [True, True]\n"]


THREE_STEPS = f"""
import runpy, sys
sys.argv[1:] = ["--steps", "3"]
runpy.run_path({str(SCRIPT)!r}, run_name="__main__")
sys.exit()
"""


@pytest.mark.parametrize(
    ("written", "said", "hint"),
    [
        ("import torch", "no torch optimizer made a step in the script", "must use a torch optim"),
        (
            THREE_STEPS,
            "the script ended after 3 steps, and 12 are needed at least",
            "more steps",
        ),
    ],
)
def test_a_script_that_ends_too_early_says_what_it_lacks(tmp_path, written, said, hint):
    script = tmp_path / "short.py"
    script.write_text(f"{written}\n")
    process = opened(script, tmp_path / "process")
    with pytest.raises(TrialError) as caught:
        process.ask("keep", ENOUGH_S, steps=12)

    process.end()
    assert (caught.value.kind, caught.value.message) == ("ended", said)
    assert hint in caught.value.hint


def test_a_script_is_recorded_by_the_observer_of_run(tmp_path):
    settings = Settings(str(SCRIPT))
    lab = ProcessLab(settings, Journal(tmp_path, settings))
    found = lab.recorded((("gc-schedule", "5"),))

    assert found.verdict == "undecided"
    assert "launch" in found.reason or "device" in found.reason
    assert list(tmp_path.rglob("trace.json"))


class Held:
    """The process of the best: as long as it lives there is no memory for another."""

    def __init__(self, lab):
        self.lab = lab

    def end(self):
        self.lab.asked.append("parked")


class Full(ProcessLab):
    """A device with room for one process."""

    def __init__(self, settings, journal, kind):
        super().__init__(settings, journal)
        self.asked, self.kind = [], kind
        self._best = Held(self)

    def _recorded(self, configuration):
        self.asked.append("recorded")
        assert configuration == ()
        if self._best is not None:
            raise TrialError(self.kind, "no room")
        return Diagnosed("memory-bound")


@pytest.mark.parametrize(
    ("kind", "asked", "found"),
    [
        ("oom", ["recorded", "parked", "recorded"], Diagnosed("memory-bound")),
        ("crash", ["recorded"], Diagnosed(reason="no recording: no room")),
    ],
)
def test_a_recording_without_room_is_made_alone(tmp_path, kind, asked, found):
    settings = Settings(str(SCRIPT))
    lab = Full(settings, Journal(tmp_path, settings), kind)

    assert lab.recorded(()) == found
    assert lab.asked == asked
