"""Norms written out by hand are known by what they compute, whatever they are called."""

import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

from boundby.experiment.norms import norms_by_hand  # noqa: E402


class Written(nn.Module):
    """A norm with one vector of weights; subclasses write it out."""

    eps = 1e-6

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(16) + 0.5)


class OwnNorm(Written):
    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight


class RMSNorm(OwnNorm):
    """Called as torch's own."""


class CentredNorm(Written):
    def forward(self, x):
        apart = x - x.mean(-1, keepdim=True)
        return apart * torch.rsqrt(apart.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight


class ShiftedNorm(OwnNorm):
    """As in Gemma: the weights are what is added to one."""

    def forward(self, x):
        return super().forward(x) + x * 0.1


class BatchNorm(Written):
    """Counts its calls, and draws a number in each."""

    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x):
        self.calls += 1
        return x * torch.rand(())


class RaisingNorm(Written):
    def forward(self, x):
        raise KeyError(x)


@pytest.mark.parametrize("kind", [OwnNorm, RMSNorm, CentredNorm])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_a_norm_of_torch_takes_over_with_the_same_weights(kind, dtype):
    module = kind().to(dtype)
    [(found, norm)] = norms_by_hand(nn.Sequential(nn.Linear(16, 16), module))
    x = torch.randn(3, 5, 16).to(dtype)
    with torch.no_grad():
        module.weight *= 2

    assert found is module
    least = {torch.float64: 1e-9, torch.float32: 1e-5}.get(dtype, 3e-2)
    assert torch.allclose(norm(x).double(), module(x).double(), rtol=least, atol=least)


@pytest.mark.parametrize("module", [ShiftedNorm(), RaisingNorm(), nn.LayerNorm(16), nn.RMSNorm(16)])
def test_what_computes_otherwise_or_is_torchs_own_is_left_alone(module):
    assert norms_by_hand(nn.Sequential(module)) == []


def test_looking_at_a_module_changes_nothing():
    module = BatchNorm()
    torch.manual_seed(3)
    expected = torch.rand(())
    torch.manual_seed(3)

    assert norms_by_hand(module) == []
    assert (module.calls, torch.rand(())) == (0, expected)
