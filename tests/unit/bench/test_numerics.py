"""NaN finder, losses of low precision, and the lint of sources."""

import pytest
import torch

from boundby.bench.lint import lint, lint_file
from boundby.bench.nan import find_nan
from boundby.bench.numerics import half_step, numerics
from boundby.errors import UnreadableError


def test_the_first_operator_that_makes_a_nan_is_named_with_its_line():
    def model(x):
        y = x * 2
        z = torch.log(y)
        return z.exp().sum()

    found = find_nan(model, torch.tensor([1.0, -1.0]))

    assert (found.op, found.kind, found.phase, found.count) == (
        "aten.log.default", "nan", "forward", 1,
    )  # fmt: skip
    assert found.file == __file__
    assert found.function == "model"
    assert found.line == model.__code__.co_firstlineno + 2
    assert found.largest == 2.0


def test_an_overflow_is_found_where_it_happens():
    found = find_nan(lambda x: x.half() * 1000, torch.tensor([100.0, 1.0]))

    assert (found.kind, found.op) == ("overflow", "aten.mul.Tensor")
    assert "largest input 100" in str(found)


def test_the_backward_pass_is_searched_as_well():
    x = torch.tensor([0.0, 1.0], requires_grad=True)

    assert find_nan(lambda x: x.sqrt(), x).phase == "backward"
    assert find_nan(lambda x: x.sqrt(), x, backward=False) is None


def test_masks_with_infinities_are_no_finding():
    x = torch.tensor([[1.0, 2.0]])

    assert find_nan(lambda x: x.masked_fill(x > 1, float("-inf")).softmax(-1), x) is None


def test_gradients_that_float16_would_lose():
    weight = torch.nn.Parameter(torch.zeros(5))
    weight.grad = torch.tensor([1.0, 1e-5, 1e-9, 1e6, 0.0])
    found = numerics([("weight", weight)])

    assert (found.subnormal, found.vanished, found.overflowed) == (0.25, 0.25, 0.25)
    assert found.lost_updates is None


def test_half_a_step_of_bfloat16_is_where_an_addition_is_lost():
    values = torch.tensor([1.0, 1.5, 100.0, 0.01])
    for value, half in zip(values, half_step(values), strict=True):
        start = value.bfloat16()
        assert (start.float() + 0.9 * half).bfloat16() == start
        assert (start.float() + 1.1 * half).bfloat16() != start


def test_updates_that_bfloat16_would_lose():
    model = torch.nn.Linear(64, 64)
    model(torch.randn(4, 64)).sum().backward()
    before = model.weight.detach().clone()
    small = numerics(model.named_parameters(), torch.optim.SGD(model.parameters(), lr=1e-6))
    large = numerics(model.named_parameters(), torch.optim.SGD(model.parameters(), lr=1.0))

    assert small.lost_updates > 0.9
    assert large.lost_updates < 0.1
    assert torch.equal(model.weight, before)


LINES = [
    ("torch.log(torch.softmax(x, -1))", "log-softmax"),
    ("p = F.softmax(x, -1); l = p.log()", "log-softmax"),
    ("torch.exp(x) / torch.exp(x).sum(-1)", "exp-without-max"),
    ("e = x.exp(); p = e / e.sum()", "exp-without-max"),
    ("F.mse_loss(a.half(), b)", "low-precision-loss"),
    ("F.cross_entropy(x.to(torch.bfloat16), y)", "low-precision-loss"),
    ("x.bfloat16().sum()", "low-precision-reduction"),
    ("m = Net().half(); o = torch.optim.AdamW(m.parameters())", "low-precision-parameters"),
    ("m.bfloat16(); o = SGD(m.parameters())", "low-precision-parameters"),
]
FINE = [
    "torch.log_softmax(x, -1)",
    "torch.log(x)",
    "torch.exp(x - m) / torch.exp(x - m).sum(-1)",
    "e = torch.exp(x - x.max()); p = e / e.sum()",
    "F.mse_loss(a, b.float())",
    "x.bfloat16().sum(dtype=torch.float32)",
    "x.sum()",
    "m = Net(); o = torch.optim.AdamW(m.parameters())",
    "y = m(x).half(); o = SGD(m.parameters())",
]


@pytest.mark.parametrize(("text", "id_"), LINES)
def test_a_lossy_line_is_found(text, id_):
    assert [each.id for each in lint(text.replace("; ", "\n"))] == [id_]


@pytest.mark.parametrize("text", FINE)
def test_a_sound_line_is_left_alone(text):
    assert lint(text.replace("; ", "\n")) == ()


def test_files_that_hold_no_python(tmp_path):
    (tmp_path / "x.py").write_text("def")
    for path in (tmp_path / "x.py", tmp_path / "missing.py"):
        with pytest.raises(UnreadableError):
            lint_file(path)
