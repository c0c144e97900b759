"""The files that the commands of the documentation name, small and real."""

import gzip
import json
import shutil
from pathlib import Path

from boundby.cli.demos import DEFAULT, demo_file
from nsight_exports import nsys_training_steps

REPOSITORY = Path(__file__).parent.parent
REAL = REPOSITORY / "tests" / "real"
SNAPSHOT = REAL / "memory" / "fragmentation_oom.pickle.gz"
KERNELS = REAL / "nsight" / "ncu_raw.csv.gz"

USERS = ("mine", "new", "old", "train")
"""Modules of the user, which commands import into this process."""

MINE = """\
import torch
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
WEIGHT, X = torch.randn(64, 64), torch.randn(64, 64)


def step():
    return torch.tanh(X @ WEIGHT).sum()


def make_loader():
    return DataLoader(TensorDataset(torch.randn(32, 4)), batch_size=4)
"""
TRAIN = """\
import torch
from torch import nn


def build(batch):
    model = nn.Sequential(*(nn.Linear(512, 512) for _ in range(8))).cuda()
    return {"model": model, "inputs": (torch.randn(batch, 512, device="cuda"),)}
"""
SOFTMAX = """\
import torch

torch.manual_seed(0)
X = torch.randn(64, 64)


def f():
    return torch.softmax(X, -1)
"""
REFUSED = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 700.00 MiB. GPU 0 has a total "
    "capacity of 139.80 GiB of which 136.27 GiB is free. Including non-PyTorch memory, this "
    "process has 3.52 GiB memory in use. 2.90 GiB allowed; Of the allocated memory 765.00 MiB is "
    "allocated by PyTorch, and 2.05 GiB is reserved by PyTorch but unallocated. If reserved but "
    "unallocated memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to "
    "avoid fragmentation.\n"
)


def place(folder):
    """Put every file that a page may name into a folder."""
    shutil.copy(demo_file(DEFAULT), folder / "trace.json.gz")
    (folder / "runs").mkdir()
    shutil.copy(demo_file(DEFAULT), folder / "runs" / "rank0.json.gz")
    for name in ("memory.pickle", "snapshot.pickle"):
        (folder / name).write_bytes(gzip.decompress(SNAPSHOT.read_bytes()))
    for name in ("ncu.csv", "kernels.csv"):
        (folder / name).write_bytes(gzip.decompress(KERNELS.read_bytes()))
    for name in ("nsys.sqlite", "report.sqlite"):
        nsys_training_steps().write(folder / name)
    (folder / "train.log").write_text(REFUSED)
    (folder / "mine.py").write_text(MINE)
    (folder / "train.py").write_text(TRAIN)
    for name in ("new.py", "old.py"):
        (folder / name).write_text(SOFTMAX)


def results(folder, measured):
    """Results of a benchmark, made from a real one with calm samples."""
    kinds = {"a": (100, None), "b": (100, None), "fp32": (100, "float32"), "bf16": (60, "bfloat16")}
    for name, (us, dtype) in kinds.items():
        result = json.loads(measured)
        result["wall"]["ns"] = [us * 1e3 + n % 5 for n in range(40)]
        result["submit"]["ns"] = [us * 5e2 + n % 5 for n in range(40)]
        if dtype:
            result["caliber"]["dtype"] = dtype
        (folder / f"{name}.json").write_text(json.dumps(result))
