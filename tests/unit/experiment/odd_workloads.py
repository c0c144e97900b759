"""Workloads whose methods give what they must not, or what takes some care."""

import torch
from torch import nn
from workloads import DIM, Inference, Plain, Small

LENGTH = 4


class Waves(nn.Module):
    """A product of complex numbers between two real ones."""

    def __init__(self):
        super().__init__()
        self.into = nn.Linear(DIM, DIM)
        self.turn = nn.Parameter(torch.randn(DIM, DIM, dtype=torch.complex64) / 4)

    def forward(self, x):
        return torch.complex(self.into(x), x) @ self.turn


class Complex(Plain):
    """Its outputs and some of its parameters are complex."""

    def model(self):
        return Waves()

    def loss(self, model, batch):
        return model(*batch).abs().square().mean()


class ComplexInference(Inference):
    def model(self):
        return Waves()


class Huge(Inference):
    """Finite outputs whose squares are not."""

    def loss(self, model, batch):
        return model(*batch).double() * 1e200


class Structured(Inference):
    """Outputs as a program gives them: named, nested, class ids and a mask among them."""

    def loss(self, model, batch):
        logits = model(*batch)
        more = (logits.argmax(-1), logits > 0)
        return {"logits": logits, "more": [*more, None]}


class Labels(Inference):
    """Gives class ids alone."""

    def loss(self, model, batch):
        return model(*batch).argmax(-1)


class Partly(Inference):
    """One of two outputs has no elements."""

    def loss(self, model, batch):
        found = model(*batch)
        return found, found[:0]


class Sparse(Small):
    """An embedding whose gradient is sparse."""

    def model(self):
        return nn.Sequential(nn.Embedding(8, DIM, sparse=True), nn.Linear(DIM, DIM))

    def optimizer(self, parameters, **options):
        return torch.optim.SGD(parameters, lr=1e-2, **options)

    def batch(self, size):
        return (torch.randint(8, (size, LENGTH)),)


GIVEN = {}
"""What ``loss`` of ``Training`` and ``Giving`` gives; a test puts it here."""


class Training(Plain):
    def loss(self, model, batch):
        return GIVEN["loss"](super().loss(model, batch))


class Giving(Inference):
    def loss(self, model, batch):
        return GIVEN["loss"](super().loss(model, batch))


def always(value):
    """A method that gives one value whatever it is asked."""
    return lambda *_, **__: value


class NoBlocks(Plain):
    blocks = always(None)


class NamedBlocks(Plain):
    blocks = always(["attention"])


class NoLoader(Plain):
    loader = always(None)


class EmptyLoader(Plain):
    loader = always([None])


class DeafLoader(Plain):
    def loader(self, size, **_options):
        data = torch.utils.data.TensorDataset(torch.randn(4 * size, DIM))
        return torch.utils.data.DataLoader(data, batch_size=size)


class Endless(torch.utils.data.IterableDataset):
    def __iter__(self):
        while True:
            yield (torch.randn(DIM),)


class EndlessLoader(Plain):
    def loader(self, size, **options):
        return torch.utils.data.DataLoader(Endless(), batch_size=size, **options)


class NoBatch(Plain):
    batch = always(None)


class OneBatch(Plain):
    """Its batch is no tuple."""

    batch = always(4)


class NoOptimizer(Plain):
    optimizer = always(None)


class NoModel(Plain):
    model = always(None)


class NoCores(Small):
    cores = None


class CoresAlone(Small):
    cores = [torch.softmax]  # noqa: RUF012 -- as a user writes it


class NamedCores(Small):
    cores = {"mine": "softmax"}  # noqa: RUF012 -- as a user writes it


class Yes(Small):
    batch_size = True


class NoMethod(Small):
    loader = ()
