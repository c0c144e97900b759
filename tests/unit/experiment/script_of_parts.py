"""A script with two optimizers, groups of parameters from parts of a model, and its own loaders."""

import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset, TensorDataset


class Endless(IterableDataset):
    """Gives all samples, whichever worker asks."""

    def __iter__(self):
        while True:
            yield torch.zeros(1)


class Noisy(TensorDataset):
    """Samples with noise of the process that loads them."""

    def __getitem__(self, index):
        return (super().__getitem__(index)[0] + torch.randn(16),)


class Net(nn.Module):
    """Two parts that learn at different rates."""

    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(16, 32), nn.Linear(32, 1)

    def forward(self, x):
        return self.head(self.body(x).relu())


def main():
    torch.manual_seed(3)
    net, judge = Net(), nn.Linear(1, 1)
    slow = [each for name, each in net.body.named_parameters() if "bias" not in name]
    fast = [net.body.bias, *net.head.parameters()]
    groups = [{"params": slow, "lr": 1e-4}, {"params": fast}]
    updates = torch.optim.AdamW(groups, lr=1e-3), torch.optim.SGD(judge.parameters(), lr=1e-3)
    samples = Noisy(torch.randn(64, 16))
    unasked = DataLoader(samples, 8, True, None, None, 0)
    asked = DataLoader(samples, batch_size=8, num_workers=1)
    endless = DataLoader(Endless(), batch_size=8)
    workers = [each.num_workers for each in (unasked, asked, endless)]
    print(workers, [each.param_groups[0]["fused"] for each in updates], flush=True)
    while True:
        for (x,) in unasked:
            for each in updates:
                each.zero_grad()
            judge(net(x).detach()).square().mean().backward()
            updates[1].step()
            judge(net(x)).square().mean().backward()
            updates[0].step()


if __name__ == "__main__":
    main()
