"""``boundby run`` of programs without a device, of short ones and of those that are interrupted."""

import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import jsonschema
import pytest

import boundby as package

SCHEMA = json.loads((Path(package.__file__).parent / "data" / "schema-v1.json").read_text())
OURS = str(Path(package.__file__).parent)
TRAIN = """\
import torch
from torch.utils.data import DataLoader, Dataset

class Slow(Dataset):
    def __len__(self):
        return 1200
    def __getitem__(self, index):
        return torch.tensor([sum(range(4000)) % 7.0] * 4)

model = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for batch in DataLoader(Slow(), batch_size=4):
    model(batch).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
"""


@pytest.fixture
def kept(tmp_path, boundby):
    """A recording of a program on the CPU that loads its own batches."""
    (tmp_path / "train.py").write_text(TRAIN)
    done = boundby("run", "--folder", "kept", "--steps", "6", "train.py", cwd=tmp_path)
    assert done.returncode == 0
    return done.stdout


def test_a_program_without_a_gpu_is_told_its_step_and_its_host(kept, boundby, tmp_path):
    found = boundby("run", "--read", "kept", "--json", cwd=tmp_path).stdout
    document = json.loads(found)
    step, live = document["steps"]["unprofiled_ms"], document["live"]

    jsonschema.validate(document, SCHEMA)
    assert document["verdict"]["class"] == "undecided"
    assert "uses no GPU" in document["verdict"]["undecided_reason"]
    assert "ProfilerActivity" not in found + kept
    assert step["estimate"] == pytest.approx(live["clocks"]["wall"])
    assert document["calibration"]["source"] == "clean-pass"
    assert not document["what_if"] + document["waterfall"] + document["prescriptions"]
    assert live["loader"]["share"] >= 0.1
    assert [each["command"] for each in document["next"]] == [
        "boundby loader FILE::FUNCTION",
        "boundby explain cpu-only",
    ]
    assert "without the profiler" in kept
    assert "measured in a clean pass" in kept
    assert "unknown without the profiler" not in kept
    assert kept.index("host time  ") < kept.index("top line   ") < kept.index("step       ")


def test_a_recording_of_the_cpu_keeps_its_own_advice(kept, boundby, tmp_path):
    trace = next((tmp_path / "kept").glob("*/trace.json"))
    done = boundby("trace", trace, "--step-ms", "5", cwd=tmp_path)

    assert kept
    assert "record with ProfilerActivity.CUDA" in done.stdout
    assert "5.00 ms without the profiler (4.90 to 5.10 ms), set by --step-ms" in done.stdout


def test_a_loop_too_short_to_be_found_is_told_how_long_it_should_run(boundby, tmp_path):
    (tmp_path / "infer.py").write_text(
        "import torch\nmodel = torch.nn.Linear(4, 4)\n"
        "for _ in range(600): model(torch.zeros(2, 4))\n"
    )
    done = boundby("run", "--folder", "kept", "infer.py", cwd=tmp_path)

    assert "no steps were seen: the program ended after " in done.stderr
    assert "or let it run for 10 s or more" in done.stderr
    assert "often enough" not in done.stderr


def test_an_interrupt_before_any_step_is_no_want_of_steps(boundby, tmp_path):
    (tmp_path / "train.py").write_text(
        "import os, signal, torch\nos.kill(os.getpid(), signal.SIGINT)\n"
    )
    done = boundby("run", "--folder", "kept", "train.py", cwd=tmp_path)

    assert done.returncode == 130
    assert "interrupted before a step was seen" in done.stderr
    assert "no steps were seen" not in done.stderr


def test_a_program_may_ask_for_torch_before_it_imports_it(boundby, tmp_path):
    asking = "import importlib.util\nassert importlib.util.find_spec('torch')\n"
    (tmp_path / "train.py").write_text(asking + TRAIN)
    done = boundby("run", "--folder", "kept", "--steps", "3", "train.py", cwd=tmp_path)

    assert "steps seen by optimizer" in done.stdout


def test_an_interrupt_in_the_import_of_torch_is_the_users_own(boundby, tmp_path):
    """Nothing is imported on the way out: here as where numpy was half imported by torch."""
    (tmp_path / "torch.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")
    (tmp_path / "numpy.py").write_text("raise ImportError('half imported')\n")
    (tmp_path / "train.py").write_text("def main():\n    import torch\nmain()\n")
    plain = subprocess.run(
        [sys.executable, "train.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    done = boundby("run", "--folder", "kept", "train.py", cwd=tmp_path)

    assert plain.returncode == -signal.SIGINT
    assert done.returncode == 130
    assert done.stderr.startswith(plain.stderr)


def test_control_c_on_a_terminal_while_torch_is_imported(tmp_path):
    (tmp_path / "train.py").write_text("print('begins', flush=True)\nimport torch\n")
    command = [sys.executable, "-m", "boundby", "run", "--folder", str(tmp_path / "kept")]
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(tmp_path)
        os.execv(sys.executable, [*command, "train.py"])  # noqa: S606 -- a terminal of its own
    said = read_until(terminal, "begins")
    time.sleep(0.2)
    os.write(terminal, b"\x03")
    said += read_until(terminal, None)
    _, status = os.waitpid(process, 0)

    assert os.waitstatus_to_exitcode(status) == 130
    assert "KeyboardInterrupt" in said
    assert "During handling" not in said
    assert OURS not in said
    assert "interrupted before a step was seen" in said


def read_until(terminal, word):
    """What a terminal shows, up to a word or to its end."""
    said = ""
    while word is None or word not in said:
        try:
            part = os.read(terminal, 65536)
        except OSError:  # Linux ends a terminal so
            break
        if not part:
            break
        said += part.decode()
    return said
