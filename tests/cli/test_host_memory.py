"""Workers that copy what they should share: seen by `run` and by `loader`, with real pages."""

import json
import os

import pytest

pytestmark = pytest.mark.skipif(
    not os.path.exists("/proc/self/smaps_rollup"),  # noqa: PTH110
    reason="needs Linux",
)

DATA = """\
import time
import numpy as np, torch
from torch.utils.data import DataLoader, Dataset

class Rows(Dataset):
    def __init__(self, rows): self.rows = rows
    def __len__(self): return len(self.rows)
    def __getitem__(self, index): return torch.tensor([float(sum(self.rows[index]))])

def of_list():
    return loader([[at + part / 192 for part in range(192)] for at in range(25_000)])

def of_array():
    return loader(np.arange(4_800_000, dtype=np.float32).reshape(-1, 192))

def start_late(_worker):
    time.sleep(2)  # so that it is seen before it reads anything

def loader(rows):
    return DataLoader(Rows(rows), batch_size=125, num_workers=1, shuffle=True,
                      persistent_workers=True, multiprocessing_context="fork",
                      worker_init_fn=start_late)
"""
TRAIN = """\
from own_data import *

batches = of_{kind}()
model = torch.nn.Linear(1, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-12)
for x in batches:  # one epoch: every object is read once
    model(x).sum().backward(); optimizer.step(); optimizer.zero_grad()
time.sleep(2)  # and after it has read everything
"""


@pytest.fixture
def program(tmp_path):
    (tmp_path / "own_data.py").write_text(DATA)
    for kind in ("list", "array"):
        (tmp_path / f"train_{kind}.py").write_text(TRAIN.format(kind=kind))
    return tmp_path


@pytest.mark.parametrize("kind", ["list", "array"])
def test_a_run_tells_a_list_from_an_array(kind, program, boundby):
    place = program / "kept"
    done = boundby(
        "run", "--folder", place, "--json", "--steps", "5", f"train_{kind}.py", cwd=program
    )
    live = json.loads(done.stdout)["live"]
    found = live["host_memory"]
    growing = {(each["is_worker"], each["kind"]) for each in found["growing"]}

    assert done.returncode == 0, done.stderr
    assert found["workers"] == 1
    assert found["main_peak"] > 50 << 20
    assert (growing == {(True, "copy-on-write")}) is (kind == "list")
    advised = [each["id"] for each in found["prescriptions"]]
    assert advised == (["arrays-for-lists"] if kind == "list" else [])
    assert "host-dataset" in [each["id"] for each in found["facts"]]

    text = boundby("run", "--read", place).stdout
    assert ("pages copied on write" in text.replace("\n", " ")) is (kind == "list")
    assert "host mem   " in text


@pytest.mark.parametrize("kind", ["list", "array"])
def test_the_loader_command_tells_a_list_from_an_array(kind, program, boundby):
    target = f"own_data.py::of_{kind}"
    done = boundby("loader", target, "--no-sweep", "--budget", "30", "--json", cwd=program)
    document = json.loads(done.stdout)
    growing = {each["kind"] for each in document["host"]["growing"]}

    assert (growing == {"copy-on-write"}) is (kind == "list"), document["measured"]["readings"]
    assert document["host"]["workers"] == 1
