"""Workloads of the tests: small, and each with one thing to see."""

import sys
import time

import torch
from torch import nn

torch.set_num_threads(1)
DIM, HEADS, LENGTH = 16, 2, 8


def formula(q, k, v):
    return torch.softmax(q @ k.mT / q.shape[-1] ** 0.5, -1) @ v


class Planted(torch.autograd.Function):
    """Right for the first layout of the gradient that a process uses, wrong for the second.

    So does the attention of cuDNN in torch 2.11, whichever layout comes second.
    """

    first = None

    @staticmethod
    def forward(ctx, q, k, v):
        ctx.save_for_backward(q, k, v)
        return formula(q, k, v)

    @staticmethod
    def backward(ctx, grad):
        layout = tuple(grad.stride())
        Planted.first = Planted.first or layout
        with torch.enable_grad():
            inputs = [each.detach().requires_grad_() for each in ctx.saved_tensors]
            found = torch.autograd.grad(formula(*inputs), inputs, grad)
        wrong = layout != Planted.first
        return tuple(each.flip(0) * 2 if wrong else each for each in found)


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(DIM, 3 * DIM), nn.Linear(DIM, DIM)
        self.core = formula

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, -1)
        heads = [each.unflatten(-1, (HEADS, -1)).transpose(1, 2) for each in (q, k, v)]
        return x + self.out(self.core(*heads).transpose(1, 2).flatten(2))


class Small:
    """Two blocks of attention."""

    batch_size = 4
    cores = {"planted": Planted.apply}  # noqa: RUF012 -- as a user writes it

    def model(self):
        return nn.Sequential(Attention(), Attention())

    def optimizer(self, parameters, **options):
        return torch.optim.AdamW(parameters, lr=1e-2, **options)

    def batch(self, size):
        return (torch.randn(size, LENGTH, DIM),)

    def loss(self, model, batch):
        return model(*batch).square().mean()

    def attention(self, model, core):
        for each in model:
            each.core = core


class Plain(Small):
    """Nothing but containers and layers of torch."""

    def model(self):
        return nn.Sequential(nn.Linear(DIM, DIM), nn.GELU(), nn.Linear(DIM, DIM))


class Fixed(Small):
    """Passes over the size that it is asked for."""

    def batch(self, size):
        del size
        return (torch.randn(4, LENGTH, DIM),)


class Few(Small):
    """Its loader has 16 samples."""

    def loader(self, size, **options):
        data = torch.utils.data.TensorDataset(torch.randn(16, LENGTH, DIM))
        return torch.utils.data.DataLoader(data, batch_size=size, **options)


class Packed(Small):
    """Samples lie one behind the other: no dimension is the size."""

    def batch(self, size):
        return (torch.randn(1, size * LENGTH, DIM),)


class PackedByChance(Packed):
    """Another dimension is as large as the batch by chance."""

    def model(self):
        return nn.Linear(4, 4)

    def batch(self, size):
        return (torch.randn(1, size * LENGTH, 4),)


class PackedFixed(Small):
    """As ``Packed``, and passes over its size."""

    def batch(self, size):
        del size
        return (torch.randn(1, 4 * LENGTH, DIM),)


class Roomy(Attention):
    """Has no room for its activations: only where they are computed again."""

    def forward(self, x):
        frame = sys._getframe()
        while frame is not None and not frame.f_code.co_filename.endswith("utils/checkpoint.py"):
            frame = frame.f_back
        if frame is None:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 4.00 GiB.")
        return super().forward(x)


class Large(Small):
    """Fits only with its blocks checkpointed."""

    def model(self):
        return nn.Sequential(Roomy(), Roomy())


class InBf16(Small):
    """Computes in bfloat16 by itself."""

    def loss(self, model, batch):
        with torch.autocast("cpu", torch.bfloat16):
            return super().loss(model, batch)


class Wrong(Small):
    """What is called fused attention forgets the scale: the first gradient shows it."""

    cores = {"unscaled": lambda q, k, v: torch.softmax(q @ k.mT, -1) @ v}  # noqa: RUF012


class Restless(Small):
    """Draws from a clock: no two runs are alike."""

    def batch(self, size):
        return (torch.randn(size, LENGTH, DIM) * (1 + time.perf_counter() % 1),)


class Diverging(Small):
    """Its loss is no number from the start."""

    def loss(self, model, batch):
        return super().loss(model, batch) * float("inf")


class WithoutLoss:
    batch_size = 4

    def model(self):
        return nn.Linear(2, 2)

    def batch(self, size):
        return (torch.randn(size, 2),)


class Random(Small):
    """Drops outputs by a function, which no module shows."""

    def loss(self, model, batch):
        return torch.nn.functional.dropout(model(*batch), 0.5).square().mean()


class Dropping(Small):
    """Drops by a module."""

    def model(self):
        return nn.Sequential(Attention(), nn.Dropout(0.5), Attention())

    def attention(self, model, core):
        model[0].core = model[2].core = core


class Library:
    """As ``Small``, with a model that knows how to change its own attention."""

    batch_size = 4

    class Model(nn.Sequential):
        chosen = "eager"

        def set_attn_implementation(self, name):
            self.chosen = name
            for each in self:
                each.core = torch.nn.functional.scaled_dot_product_attention

    def model(self):
        return self.Model(Attention(), Attention())

    optimizer, batch, loss = Small.optimizer, Small.batch, Small.loss


class Sizeless(Small):
    batch_size = None


class Inference:
    """No optimizer: the loss gives the outputs."""

    batch_size = 4

    def model(self):
        return nn.Sequential(nn.Linear(DIM, DIM), nn.GELU())

    def batch(self, size):
        return (torch.randn(size, DIM),)

    def loss(self, model, batch):
        return model(*batch)


class Images(Small):
    """A norm with running statistics in front of a convolution."""

    def model(self):
        return nn.Sequential(
            nn.Conv2d(3, 4, 3),
            nn.BatchNorm2d(4),
            nn.Conv2d(4, 4, 3),
            nn.Flatten(),
            nn.Linear(64, 2),
        )

    def batch(self, size):
        return (torch.randn(size, 3, 8, 8),)


class Fed(Small):
    """Takes batches from a loader and reads each loss back."""

    def __init__(self):
        self.logged = 0

    def loader(self, size, **options):
        data = torch.utils.data.TensorDataset(torch.randn(4 * size, LENGTH, DIM))
        return torch.utils.data.DataLoader(data, batch_size=size, **options)

    def log(self, loss):
        self.logged += 1
        loss.item()


class Augmented(torch.utils.data.Dataset):
    """Samples with noise of the process that loads them."""

    def __len__(self):
        return 16

    def __getitem__(self, index):
        return (torch.full((LENGTH, DIM), index / 16) + torch.randn(LENGTH, DIM) / 50,)


class FedAtRandom(Small):
    """Its samples are augmented where they are loaded."""

    def loader(self, size, **options):
        return torch.utils.data.DataLoader(Augmented(), batch_size=size, **options)


class FedShort(Small):
    """Its last batch of an epoch is half as large."""

    def loader(self, size, **options):
        data = torch.utils.data.TensorDataset(torch.randn(5 * size // 2, LENGTH, DIM))
        return torch.utils.data.DataLoader(data, batch_size=size, **options)
