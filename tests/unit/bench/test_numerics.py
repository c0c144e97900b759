"""NaN finder, losses of low precision, and the lint of sources."""

import pytest
import torch
import torch.nn.functional as F  # noqa: N812 -- its usual name

from boundby.bench.lint import lint, lint_file, lint_files
from boundby.bench.nan import find_nan
from boundby.bench.numerics import half_step, numerics
from boundby.errors import UnreadableError, UsageError


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
    ("torch.log(torch.softmax(x, -1) + 1e-9)", "log-softmax"),
    ("p = softmax(x); l = (1e-9 + p).log()", "log-softmax"),
    ("nn.Softmax(-1)(x).log()", "log-softmax"),
    ("torch.log(torch.exp(x).sum())", "exp-without-max"),
    ("s = x.exp().sum(-1); l = s.log()", "exp-without-max"),
    ("nn.CrossEntropyLoss()(x.half(), y)", "low-precision-loss"),
    ("crit = nn.MSELoss(); l = crit(x.bfloat16(), y)", "low-precision-loss"),
    ("m = Net().half(); o = AdamW(params=m.parameters())", "low-precision-parameters"),
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
    "torch.log(torch.exp(x - m).sum()) + m",
    "torch.log(x + 1e-9)",
    "crit = nn.MSELoss(); l = crit(x, y)",
    "torch.logsumexp(x, -1)",
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


def softmax_of_nothing(x):
    return x.masked_fill(x > 0, float("-inf")).softmax(-1)


@pytest.mark.parametrize(
    ("fn", "inputs", "op"),
    [
        pytest.param(softmax_of_nothing, torch.ones(2), "aten._softmax.default", id="masked row"),
        pytest.param(
            lambda x: x * float("inf") - x * float("inf"), torch.ones(2), "aten.sub.Tensor",
            id="inf - inf",
        ),
        pytest.param(lambda x: x.log_(), torch.tensor([-4.0]), "aten.log_.default", id="in place"),
        pytest.param(
            lambda x: x / 0, torch.ones(3, dtype=torch.int64), "aten.div.Tensor", id="integers"
        ),
        pytest.param(
            lambda x: torch.fft.fft(x) / torch.zeros(4), torch.ones(4), "aten.div.Tensor",
            id="complex",
        ),
    ],
)  # fmt: skip
def test_what_is_not_finite_is_named_where_it_is_made(fn, inputs, op):
    assert find_nan(fn, inputs).op == op


@pytest.mark.parametrize(
    "fn",
    [
        lambda x: torch.full_like(x, float("-inf")),
        lambda x: x.new_full((3,), float("inf")),
        lambda x: torch.where(x > 1, x, float("-inf")).softmax(-1),
        lambda x: F.pad(x, (1, 1), value=float("-inf")).softmax(-1),
        lambda x: x.clamp(min=float("-inf")),
        lambda x: torch.empty_like(x).copy_(x),
        lambda x: x * float("nan"),
        lambda x: F.scaled_dot_product_attention(
            x.view(1, 3, 1), x.view(1, 3, 1), x.view(1, 3, 1),
            attn_mask=torch.full((3, 3), float("-inf")).triu(1),
        ),
    ],
)  # fmt: skip
def test_what_a_program_writes_itself_is_no_finding(fn):
    assert find_nan(fn, torch.tensor([1.0, 2.0, 3.0])) is None


def test_the_largest_input_is_that_before_an_operator_in_place():
    found = find_nan(lambda x: x.log_(), torch.tensor([-4.0, 2.0]))

    assert found.largest == 4.0
    assert "1 element," in str(found)


def test_gradients_are_left_as_they_were():
    model = torch.nn.Linear(3, 3)
    model.weight.grad = torch.ones(3, 3)

    assert find_nan(model, torch.ones(2, 3)) is None
    assert torch.equal(model.weight.grad, torch.ones(3, 3))
    assert model.bias.grad is None


def test_a_function_is_asked_for():
    with pytest.raises(UsageError):
        find_nan(3)


def test_shares_are_told_in_words():
    weight = torch.nn.Parameter(torch.zeros(4))
    weight.grad = torch.tensor([1.0, float("nan"), 1e-5, 1e6])
    text = str(numerics([("weight", weight)]))

    assert "gradients that are NaN: 25.0%" in text
    assert "updates that are lost in bfloat16: unknown" in text


def test_no_parameter_is_blamed_for_nothing():
    model = torch.nn.Linear(4, 4)
    model(torch.ones(2, 4)).sum().backward()
    found = numerics(model.named_parameters(), torch.optim.SGD(model.parameters(), lr=100.0))

    assert (found.lost_updates, found.worst) == (0.0, "")


def test_sparse_gradients_are_looked_at_as_well():
    table = torch.nn.Embedding(10, 4, sparse=True)
    (table(torch.tensor([1, 2])) * 1e-9).sum().backward()

    assert numerics(table.named_parameters()).vanished == 1.0


@pytest.mark.parametrize(
    ("parameters", "optimizer"),
    [
        (torch.nn.Linear(1, 1), None),
        (torch.nn.Linear(1, 1).parameters(), None),
        (None, None),
        ([("a", 3)], None),
        ([], 3),
    ],
)
def test_what_has_no_numerics(parameters, optimizer):
    with pytest.raises(UsageError):
        numerics(parameters, optimizer)


def test_source_in_the_encoding_that_it_declares(tmp_path):
    line = "y = torch.log(torch.softmax(x, -1))\n"
    (tmp_path / "bom.py").write_bytes(b"\xef\xbb\xbf" + line.encode())
    (tmp_path / "latin.py").write_bytes(b"# coding: latin-1\n# \xe9\n" + line.encode())

    assert [each.line for each in lint_file(tmp_path / "bom.py")] == [1]
    assert [each.line for each in lint_file(tmp_path / "latin.py")] == [3]


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (b"def f(:\n", "x.py:1: no Python source: invalid syntax"),
        (b"x = 1\0", "no Python source"),
        (b"\xff\xfe", "no Python source"),
        (b"x = " + b"-" * 100_000 + b"1", "nested too deeply"),
        (b"x = a" + b".b()" * 20_000, "nested too deeply"),
    ],
)
def test_source_that_cannot_be_read_is_one_line(tmp_path, source, words):
    (tmp_path / "x.py").write_bytes(source)

    with pytest.raises(UnreadableError, match=words) as error:
        lint_file(tmp_path / "x.py")
    assert len(error.value.message.splitlines()) == 1


def test_one_file_that_cannot_be_read_hides_no_other(tmp_path):
    (tmp_path / "bad.py").write_text("def")
    (tmp_path / "good.py").write_text("y = x.half().sum()")
    found, unread = lint_files([tmp_path / "bad.py", tmp_path / "good.py", tmp_path / "none.py"])

    assert [each.id for each in found] == ["low-precision-reduction"]
    assert len(unread) == 2
