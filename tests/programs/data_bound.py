"""A small network trains on samples that are augmented in the same process."""

import numpy as np
import torch
from common import DEVICE, arguments, finish, lasting, mlp
from torch.utils.data import DataLoader, Dataset

WIDTH = 256


class Augmented(Dataset):
    def __init__(self):
        self.rows = np.random.default_rng(0).standard_normal((4096, WIDTH), dtype=np.float32)

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        row = self.rows[index]
        for _ in range(4):
            row = np.sort(np.fft.rfft(np.tile(row, 4)).real)[:WIDTH].astype(np.float32)  # planted
        return torch.from_numpy(row)


def endless(loader):
    while True:
        yield from loader


def build(cached: bool = False):
    model = mlp(WIDTH, 6, classes=10)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    target = torch.randint(0, 10, (64,), device=DEVICE)
    batches = endless(DataLoader(Augmented(), 64))
    kept = next(batches).to(DEVICE)

    def step():
        x = kept if cached else next(batches).to(DEVICE)
        loss = torch.nn.functional.cross_entropy(model(x), target)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    return step


if __name__ == "__main__":
    chosen = arguments(__doc__)
    step, goes_on = build(), lasting(chosen)
    while goes_on():
        step()
    finish(chosen, step, {"data": lambda: build(cached=True)})
