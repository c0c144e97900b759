"""Functions that the command line measures and checks."""

import time

import torch
from torch.utils.data import DataLoader, Dataset

torch.set_num_threads(1)


def inputs(seed=0):
    torch.manual_seed(seed)
    return torch.randn(16, 64)


def plain(x):
    return torch.softmax(x, -1)


def shifted(x):
    return torch.softmax(x, -1) + 1e-2


def quick():
    time.sleep(0.001)


def slow():
    time.sleep(0.002)


def fails():
    raise ValueError("no such luck")


def make_step(scale=1.0):
    model = torch.nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    x = torch.randn(32, 8)

    def step():
        loss = ((model(x) - x.sum(1, keepdim=True)) ** 2).mean()
        optimizer.zero_grad()
        (loss * scale).backward()
        optimizer.step()
        return loss

    return step


def wrong_step():
    return make_step(3.0)


class Samples(Dataset):
    def __len__(self):
        return 30

    def __getitem__(self, index):
        time.sleep(0.001)
        return torch.full((8,), float(index))


def make_loader():
    return DataLoader(Samples(), batch_size=3)


def nan(x):
    return x * float("nan")


def refuses(x):
    raise RuntimeError("no kernel for this")


def generates(x=None):
    yield x


async def waits():
    return None


def talks(told=[]):  # noqa: B006 -- says it once
    if not told:
        told.append(print("hello"))
