"""The peak of a step on tensors without data, against numbers measured on an H200 (eager)."""

import sys

import pytest

from boundby.errors import CannotTellError, UsageError
from boundby.memory.predict import WORKSPACE, _measure, plan_of, predict

MIB = 1 << 20
MODEL = '''
import math
import torch
import torch.nn as nn
import torch.nn.functional as F


class Block(nn.Module):
    """A pre-norm block of the case study: width 512, 8 heads."""

    def __init__(self, sdpa, d=512):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.qkv, self.proj = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.fc1, self.fc2, self.sdpa = nn.Linear(d, 4 * d), nn.Linear(4 * d, d), sdpa

    def attend(self, x):
        b, t, d = x.shape
        q, k, v = (y.view(b, t, 8, -1).transpose(1, 2) for y in self.qkv(x).split(d, dim=-1))
        if self.sdpa:
            y = F.scaled_dot_product_attention(q, k, v)
        else:
            y = ((q @ k.transpose(-2, -1)) / math.sqrt(q.size(-1))).softmax(dim=-1) @ v
        return self.proj(y.transpose(1, 2).reshape(b, t, d))

    def forward(self, x):
        x = x + self.attend(self.ln1(x))
        return x + self.fc2(F.gelu(self.fc1(self.ln2(x))))


class Net(nn.Module):
    def __init__(self, sdpa=False, layers=12):
        super().__init__()
        self.blocks = nn.ModuleList(Block(sdpa) for _ in range(layers))

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x


def case(sdpa=False, autocast=None):
    def build(batch):
        x = torch.randn(batch, 512, 512, device="cuda")
        return {"model": Net(sdpa).cuda(), "inputs": (x,), "autocast": autocast}

    return build


fp32, bf16, fused = case(), case(autocast="bf16"), case(sdpa=True, autocast="bf16")


def small(batch):
    return nn.Linear(1024, 1024, bias=False), (torch.randn(batch, 1024),)


def reads_values(batch):
    class Reader(nn.Module):
        def forward(self, x):
            return x * float(x.sum().item())

    return Reader(), (torch.randn(batch, 4, requires_grad=True),)


not_callable = 3


def wrong(batch):
    return 1, 2, 3, 4, 5, 6, 7
'''


@pytest.fixture
def model(tmp_path, monkeypatch):
    pytest.importorskip("torch")
    (tmp_path / "study.py").write_text(MODEL)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "study", raising=False)
    import study

    return study


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("name", "batch", "measured"),
    [("fp32", 8, 2945), ("fp32", 64, 19910), ("bf16", 64, 17740), ("fused", 64, 8183)],
)
def test_the_case_study_is_met_within_5_percent(model, name, batch, measured):
    step = _measure(getattr(model, name), batch)[0]

    assert step.peak / MIB == pytest.approx(measured, rel=0.05)
    assert sum(step.parts.values()) == step.peak


@pytest.mark.filterwarnings("ignore")
def test_the_parts_of_a_layer_are_what_arithmetic_says(model):
    step, parameters, _ = _measure(model.small, 1)

    assert parameters == 1 << 20
    assert step.parts["parameters"] == step.parts["gradients"] == 4 * MIB
    assert step.parts["optimizer"] == pytest.approx(8 * MIB, rel=0.01)
    assert step.peak >= WORKSPACE + 16 * MIB


@pytest.mark.filterwarnings("ignore")
def test_it_says_where_it_stops_fitting_and_what_recomputing_saves(model):
    found = predict("study:fp32", 8, capacity=24 << 30)
    every = found.checkpointed[0]

    assert found.largest[0] == ("24 GiB", pytest.approx(77, abs=4))
    assert (every.every, every.blocks) == (1, 12)
    assert every.peak < found.step.peak / 2
    assert every.time_share == pytest.approx(1 / 3)
    assert found.compiled_low < found.compiled_high == found.step.peak


@pytest.mark.filterwarnings("ignore")
def test_a_model_that_reads_values_cannot_be_predicted(model):
    with pytest.raises(CannotTellError, match="on shapes alone"):
        predict("study:reads_values", 2)


@pytest.mark.parametrize(
    "target", ["study", "study:", ":fp32", "nowhere:x", "study:nothing", "study:not_callable"]
)
def test_a_target_that_is_none_is_a_mistake_of_usage(model, target):
    with pytest.raises(UsageError):
        predict(target, 1)


def test_what_a_factory_may_return():
    assert plan_of(("m", 3)).inputs == (3,)
    assert plan_of({"model": "m", "inputs": [1, 2]}).inputs == (1, 2)
    with pytest.raises(UsageError, match="returns neither"):
        plan_of((1,) * 9)
