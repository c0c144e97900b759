"""``check``: right candidates pass, wrong ones fail, and the numbers say why."""

import copy

import pytest
import torch
import torch.nn.functional as F  # noqa: N812 -- its usual name

import boundby
from boundby.bench.correctness import check
from boundby.bench.layouts import grad_layouts, laid_out, redrawn
from boundby.bench.losscurve import check_training, compare_curves
from boundby.bench.tolerance import limit
from boundby.errors import CannotTellError, UsageError
from boundby.report.bench_check import render
from boundby.report.terminal import Look

A, B = torch.randn(32, 64), torch.randn(64, 16)
X = torch.randn(8, 128)
Z = torch.randn(8, 6, dtype=torch.complex64, generator=torch.Generator().manual_seed(3))
QKV = [torch.randn(2, 4, 16, 8) for _ in range(3)]


def formula(q, k, v):
    return ((q @ k.transpose(-1, -2)) / 8**0.5).softmax(-1) @ v


def split_matmul(a, b):
    return a[:, :32] @ b[:32] + a[:, 32:] @ b[32:]


class WrongBackward(torch.autograd.Function):
    @staticmethod
    def forward(_ctx, x):
        return x * 2

    @staticmethod
    def backward(_ctx, grad):
        return grad * 2 * 1.01


class WrongForTransposed(torch.autograd.Function):
    """Right gradients for contiguous grad_output alone, as cuDNN attention had them."""

    @staticmethod
    def forward(_ctx, x):
        return x * 2

    @staticmethod
    def backward(_ctx, grad):
        return grad * 2 if grad.is_contiguous() else grad.contiguous().flip(0) * 2


@pytest.mark.parametrize(
    ("new", "ref", "inputs"),
    [
        pytest.param(torch.mm, torch.mm, (A, B), id="the same"),
        pytest.param(split_matmul, torch.mm, (A, B), id="another order of the sum"),
        pytest.param(lambda a, b: a.bfloat16() @ b.bfloat16(), torch.mm, (A, B), id="bfloat16"),
        pytest.param(lambda a, b: (a.half() @ b.half()).float(), torch.mm, (A, B), id="float16"),
        pytest.param(F.scaled_dot_product_attention, formula, QKV, id="attention"),
        pytest.param(lambda x: x.argmax(1), lambda x: x.max(1).indices, (X,), id="integers"),
        pytest.param(lambda x: x.log(), torch.log, (X,), id="NaN in both"),
        pytest.param(lambda z: z.conj() * z, lambda z: z * z.conj(), (Z,), id="complex"),
        pytest.param(lambda z: z.abs(), lambda z: (z * z.conj()).real.sqrt(), (Z,), id="modulus"),
    ],
)
def test_right_candidates_pass(new, ref, inputs):
    found = check(new, ref, *inputs)

    assert found, str(found)
    assert str(found).startswith("pass")


@pytest.mark.parametrize(
    ("new", "ref", "inputs", "where"),
    [
        pytest.param(lambda a, b: a @ b + 1e-2, torch.mm, (A, B), "output", id="bias"),
        pytest.param(
            lambda a, b: a.bfloat16() @ b.bfloat16() + 5e-1, torch.mm, (A, B), "output", id="bf16"
        ),
        pytest.param(WrongBackward.apply, lambda x: x * 2, (X,), "grad", id="gradient"),
        pytest.param(WrongForTransposed.apply, lambda x: x * 2, (X,), "grad", id="layout"),
        pytest.param(lambda a, b: a @ b.detach(), torch.mm, (A, B), "grad", id="no gradient"),
        pytest.param(lambda z: z * 1.001, lambda z: z * 1, (Z,), "output", id="complex"),
        pytest.param(
            lambda z: z.detach() * z, lambda z: z * z, (Z,), "grad", id="complex gradient"
        ),
        pytest.param(lambda x: x.argmin(1), lambda x: x.argmax(1), (X,), "output", id="integers"),
        pytest.param(lambda x: x.abs().log(), torch.log, (X,), "output", id="NaN elsewhere"),
        pytest.param(lambda x: x[:, :4], lambda x: x, (X,), "output", id="shape"),
        pytest.param(
            lambda x: x if len(x) > 3 else x + 1, lambda x: x * 1.0, (X,), "output", id="batch"
        ),
        pytest.param(
            lambda x: x if x.is_contiguous() else x + 1, lambda x: x * 1.0, (X,), "output",
            id="strides",
        ),
    ],
)  # fmt: skip
def test_wrong_candidates_fail(new, ref, inputs, where):
    found = check(new, ref, *inputs)
    failed = [each.name for case in found.cases for each in case.agreements if not each.passed]

    assert not found
    assert any(name.startswith(where) for name in failed)
    assert str(found).startswith("fail")


def test_complex_numbers_have_a_reference_of_twice_their_bits():
    single = check(torch.mul, torch.mul, Z, Z)
    double = check(lambda z: z * (1 + 1e-9), lambda z: z * 1, Z.to(torch.complex128))

    assert single.cases[0].agreements[0].error > 0
    assert {each.name for each in single.cases[0].agreements} >= {"grad of input 1"}
    assert (double.precision, double.passed) == ("float64", False)


def test_a_module_with_complex_parameters_has_a_reference_of_twice_their_bits():
    own = torch.nn.Linear(6, 6, dtype=torch.complex64)
    found = check(own, copy.deepcopy(own), Z)  # warnings are errors: nothing complex is made real

    assert found.passed
    assert found.cases[0].agreements[0].error > 0


def test_a_wrong_layout_is_told_from_the_right_ones():
    found = check(WrongForTransposed.apply, lambda x: x * 2, X)
    as_given = {case.layout: case.passed for case in found.cases if case.inputs == "as given"}

    assert as_given == {
        "contiguous": True, "transposed 0 1": False, "expanded": True, "contiguous again": True,
    }  # fmt: skip


def test_the_candidate_is_held_to_the_lowest_precision_that_it_is_seen_in():
    assert check(lambda a, b: (a.bfloat16() @ b.bfloat16()).float(), torch.mm, A, B).precision == (
        "bfloat16"
    )
    strict = check(lambda a, b: a.bfloat16() @ b.bfloat16(), torch.mm, A, B, precision="float32")
    assert not strict


def test_lower_precision_than_the_baseline_is_told():
    note, _ = check(lambda a, b: a.bfloat16() @ b.bfloat16(), torch.mm, A, B).notes

    assert note == "the candidate computes in bfloat16, the baseline in float32: held to bfloat16"


@pytest.mark.parametrize(
    ("new", "notes"),
    [
        (lambda a, b: (a @ b).double(), ("float64, of the baseline float32",)),
        (lambda a, b: (a @ b).bfloat16().float(), ()),
        (torch.mm, ()),
    ],
)
def test_another_type_of_an_output_is_told(new, notes):
    said = check(new, torch.mm, A, B, precision="bfloat16").notes

    assert tuple(each for each in said if each.startswith("output")) == tuple(
        f"output 0: {each}; values are compared, types are not" for each in notes
    )


def test_tolerances_of_elements_replace_the_rule():
    def biased(a, b):
        return a @ b + 1e-3

    assert not check(biased, torch.mm, A, B)
    assert check(biased, torch.mm, A, B, atol=1e-2, rtol=0.0)
    assert not check(biased, torch.mm, A, B, atol=1e-4, rtol=0.0)


def test_modules_are_compared_with_the_same_parameters():
    new, ref = torch.nn.Linear(4, 3), torch.nn.Linear(4, 3)
    before = new.weight.clone()
    found = check(new, ref, torch.randn(5, 4))
    names = {each.name for each in found.cases[0].agreements}

    assert found
    assert names == {"output 0", "grad of input 0", "grad of weight", "grad of bias"}
    assert torch.equal(new.weight, before)


def test_inputs_are_left_as_they_were():
    x = torch.ones(4, 4)
    check(lambda x: x.mul_(2) if not x.requires_grad else x * 2, lambda x: x * 2, x, grads=False)

    assert torch.equal(x, torch.ones(4, 4))
    assert not x.requires_grad


def test_without_a_float64_path_a_formula_gives_the_reference():
    def kernel(x):
        if x.dtype == torch.float64:
            raise RuntimeError("not implemented for 'Double'")
        return x * 2

    plain = check(lambda x: x + x, kernel, X)
    formula_given = check(lambda x: x + x, kernel, X, formula=lambda x: x * 2)

    assert {case.reference for case in plain.cases} == {"the baseline itself"}
    assert {case.reference for case in formula_given.cases} == {"float64 by formula"}
    assert plain
    assert formula_given


def test_a_function_without_tensors_cannot_be_checked():
    with pytest.raises(CannotTellError):
        check(lambda _: None, lambda _: None, X)


def test_inputs_that_cannot_be_cut_are_told():
    square = torch.randn(8, 8)
    found = check(lambda x: x @ square, lambda x: x @ square, square)

    assert found
    assert found.notes == ()
    uncut = check(torch.linalg.det, torch.linalg.det, square)
    assert uncut.notes == tuple(
        f"batch {size} was not tried: the baseline does not take it" for size in (1, 3)
    )


def test_a_refusal_is_told_and_is_no_failure():
    def picky(x):
        if not x.is_contiguous():
            raise RuntimeError("contiguous inputs only")
        return x * 2

    found = check(picky, lambda x: x * 2, X)

    assert found
    assert found.notes == ("transposed: the candidate refuses it: contiguous inputs only",)


def test_the_public_name():
    assert boundby.check is check


@pytest.mark.parametrize(
    ("shape", "layouts"),
    [
        ((), ("contiguous",)),
        ((4,), ("contiguous", "expanded", "contiguous again")),
        ((4, 3), ("contiguous", "transposed 0 1", "expanded", "contiguous again")),
        (
            (2, 8, 5, 4),
            ("contiguous", "transposed 2 3", "transposed 1 2", "transposed 0 1", "expanded",
             "contiguous again"),
        ),
        ((1, 3), ("contiguous",)),
    ],
)  # fmt: skip
def test_layouts_of_a_shape(shape, layouts):
    assert grad_layouts(shape) == layouts


def test_a_layout_keeps_the_values():
    values = torch.randn(2, 3, 4)
    transposed = laid_out(values, "transposed 1 2")

    assert torch.equal(values, transposed)
    assert not transposed.is_contiguous()
    assert laid_out(values, "expanded").stride()[0] == 0


def test_fresh_values_keep_type_place_and_range():
    x, index = torch.randn(1000) * 3 + 5, torch.tensor([0, 7, 2])
    fresh, order, word = redrawn([x, index, "sum"], seed=1)

    assert not torch.equal(fresh, x)
    assert float(fresh.mean()) == pytest.approx(5, abs=0.5)
    assert sorted(order.tolist()) == [0, 2, 7]
    assert word == "sum"


def test_fresh_values_leave_a_mask_a_mask():
    mask = torch.zeros(8, 8).masked_fill(torch.ones(8, 8).triu(1).bool(), float("-inf"))
    values = X.clone()
    values[0] = float("nan")
    fresh_mask, fresh = redrawn([mask, values], seed=1)

    assert torch.equal(fresh_mask, mask)
    assert torch.equal(fresh.isnan(), values.isnan())
    assert not torch.equal(fresh[1:], values[1:])
    assert redrawn([torch.full((3,), float("nan"))], seed=1)[0].isnan().all()


def test_limits_grow_with_the_error_of_the_baseline_and_never_vanish():
    assert limit("float32", 10_000, 1e-4) == 2e-4
    assert limit("bfloat16", 10_000, 4e-3) == pytest.approx(1.2e-2)
    assert limit("float32", 10_000, 0.0) == 1e-5
    assert limit("float32", 10_000, 1e-4, k=5) == pytest.approx(5e-4)


# Losses of the case study on an H200, torch 2.11, 20 steps (boundby's own measurement).
# fmt: off
FP32 = [1.53767, 2.63386, 3.23188, 2.87703, 2.26214, 2.2342, 1.91835, 1.38603, 1.1287, 0.93256,
        0.84053, 0.76644, 0.6947, 0.64944, 0.609, 0.57333, 0.54088, 0.51159, 0.48967, 0.51135]
OTHER_BATCH = [1.53929, 2.58233, 3.32027, 2.87144, 2.23288, 2.11797, 1.8994, 1.38147, 1.16692,
               0.91782, 0.82827, 0.7391, 0.67194, 0.6187, 0.58124, 0.54573, 0.51292, 0.48461,
               0.46666, 0.56824]
BF16 = [1.53786, 2.63833, 3.2287, 2.87629, 2.25622, 2.23323, 1.92491, 1.39225, 1.12752, 0.93189,
        0.84033, 0.76743, 0.69468, 0.64951, 0.60945, 0.57347, 0.54088, 0.51145, 0.48864, 0.50783]
LATE = [*BF16[:18], 0.48, 0.43]  # 2% off at one step, 16% at the next, where the loss turns
WRONG = [1.53786, 2.51246, 2.84935, 2.05022, 1.53763, 1.17756, 0.97144, 0.8196, 0.75027, 0.70569,
         0.63611, 0.57576, 0.54818, 0.49816, 0.46152, 0.47238, 0.57454, 0.56906, 0.59173, 0.52259]
# fmt: on


@pytest.mark.parametrize(("curve", "passed"), [(FP32, True), (BF16, True), (LATE, True)])
def test_correct_losses_of_the_case_study_pass(curve, passed):
    assert compare_curves(curve, [FP32, OTHER_BATCH]).passed is passed


def test_wrong_gradients_of_the_case_study_fail_and_are_dated():
    found = compare_curves(WRONG, [FP32, OTHER_BATCH])

    assert not found.passed
    assert found.leaves_at == 1
    assert "leaves at step 1" in str(found)


def test_a_loss_that_is_not_a_number_is_outside():
    assert not compare_curves([float("nan")] * 20, [FP32, OTHER_BATCH]).passed
    with pytest.raises(CannotTellError, match="not finite"):
        compare_curves(FP32, [[float("inf")] * 20, FP32])


def make_step(scale=1.0):
    def make():
        model = torch.nn.Linear(8, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        x = torch.randn(32, 8)
        target = x.sum(1, keepdim=True)

        def step():
            loss = ((model(x) - target) ** 2).mean()
            optimizer.zero_grad()
            (loss * scale).backward()
            optimizer.step()
            return loss

        return step

    return make


def test_training_steps_are_compared_from_the_same_seed():
    assert check_training(make_step(), make_step(), steps=8).passed
    assert not check_training(make_step(3.0), make_step(), steps=12).passed
    with pytest.raises(UsageError, match="two seeds"):
        check_training(make_step(), make_step(), seeds=1)


def reasons(found):
    return {each.reason for case in found.cases for each in case.agreements if not each.passed}


@pytest.mark.parametrize(
    ("new", "ref", "reason"),
    [
        (lambda x: (x * 2, x.sum()), lambda x: x * 2, "the baseline gives none"),
        (lambda x: x * 2, lambda x: (x * 2, x.sum()), "the candidate gives none"),
        (lambda x: x.argmax(1).float(), lambda x: x.argmax(1), "float32 instead of int64"),
        (lambda x: x.round().long(), lambda x: x.round(), "int64 instead of float32"),
        (lambda x: x + 0j, lambda x: x * 1, "complex64 instead of float32"),
        (lambda x: x[:, 1:], lambda x: x * 1, "shape (8, 127) instead of (8, 128)"),
    ],
)
def test_what_is_of_another_kind_fails_with_its_reason(new, ref, reason):
    found = check(new, ref, X)

    assert not found
    assert reason in reasons(found)
    assert reason in render(found, Look())
    assert "error inf" not in render(found, Look())


def test_gradients_of_the_candidate_alone_are_told_and_not_judged():
    found = check(lambda x: x * 2, lambda x: x.detach() * 2, X)

    assert found
    assert found.notes == ("grad of input 0: the baseline gives none: nothing was compared",)


def test_a_baseline_without_tensors_cannot_be_compared_with():
    with pytest.raises(CannotTellError, match="the baseline gives no tensor"):
        check(lambda x: x * 2, lambda _: 3, X)


def naive(x):
    return x.exp() / x.exp().sum(-1, keepdim=True)


def stable(x):
    return torch.softmax(x, -1)


LARGE = torch.linspace(-300, 300, 64).view(4, 16)


@pytest.mark.parametrize(
    ("new", "ref", "inputs", "word"),
    [
        pytest.param(naive, stable, LARGE, "fail", id="NaN of the candidate alone"),
        pytest.param(naive, naive, LARGE, "cannot tell", id="the same NaN in both"),
        pytest.param(stable, naive, LARGE, "cannot tell", id="NaN of the baseline alone"),
        pytest.param(stable, stable, LARGE, "pass", id="no NaN"),
        pytest.param(stable, stable, torch.empty(0, 4), "cannot tell", id="no elements"),
        pytest.param(
            lambda x: x.half().exp().float(), torch.exp, LARGE / 10, "fail",
            id="overflow of lower precision",
        ),
    ],
)  # fmt: skip
def test_what_is_not_finite_is_held_against_the_candidate_alone(new, ref, inputs, word):
    found = check(new, ref, inputs)

    assert found.word == word, str(found)
    assert found.passed is (word == "pass")


def test_runs_in_which_nothing_was_compared_are_named():
    first_row = X.clone()
    first_row[0] = float("nan")
    nothing = torch.full_like(X, float("nan"))

    assert check(torch.exp, torch.exp, first_row, grads=False).notes == (
        "output 0, batch 1: no value of the reference is finite: nothing was compared",
    )
    assert check(torch.exp, torch.exp, nothing, grads=False).notes == (
        "output 0: no value of the reference is finite: nothing was compared",
    )


def test_inputs_inside_of_others_are_varied_and_differentiated():
    seen = []

    def plain(pair):
        seen.append(
            (pair["x"].shape[0], pair["x"].is_contiguous(), float(pair["x"].detach().sum()))
        )
        return pair["x"] * pair["y"][0]

    inputs = {"x": torch.randn(4, 3), "y": [torch.randn(4, 3)]}
    found = check(plain, plain, inputs)
    names = {each.name for each in found.cases[0].agreements}

    assert names == {"output 0", "grad of input 0.0", "grad of input 0.1"}
    assert {rows for rows, _, _ in seen} == {1, 3, 4}
    assert {contiguous for _, contiguous, _ in seen} == {True, False}
    assert len({total for rows, _, total in seen if rows == 4}) > 1


class ContiguousOnly(torch.autograd.Function):
    """As hand-written kernels are: the gradient must be contiguous."""

    @staticmethod
    def forward(_ctx, x):
        return x * 2

    @staticmethod
    def backward(_ctx, grad):
        assert grad.is_contiguous(), "contiguous gradients only"
        return grad * 2


@pytest.mark.parametrize(
    ("new", "ref", "note"),
    [
        (
            ContiguousOnly.apply, lambda x: x * 2,
            "grad_output {}: the candidate refuses it: contiguous gradients only",
        ),
        (
            lambda x: x * 2, ContiguousOnly.apply,
            "grad_output {} was not tried: the baseline does not take it",
        ),
    ],
)  # fmt: skip
def test_layouts_that_are_refused_backward_are_told(new, ref, note):
    found = check(new, ref, X)

    assert found
    assert found.notes == tuple(note.format(each) for each in ("transposed 0 1", "expanded"))
    assert {case.layout for case in found.cases} == {"contiguous", "contiguous again"}


def test_fresh_values_stay_in_the_range_that_the_baseline_takes():
    target = torch.rand(8, 16)

    def loss(p):
        if len(p) != 8:
            raise ValueError("eight rows")
        return F.binary_cross_entropy(p, target, reduction="none")

    found = check(loss, loss, torch.rand(8, 16).clamp(0.01, 0.99))

    assert "fresh values" in {case.inputs for case in found.cases}
    assert found


def test_a_formula_that_fails_is_told():
    def broken(_):
        raise RuntimeError("no such thing")

    with pytest.raises(RuntimeError, match="no such thing"):
        check(lambda x: x * 2, lambda x: x * 2, X, formula=broken)


def test_inputs_changed_in_place_are_told_with_a_way_out():
    with pytest.raises(CannotTellError, match="changed in place") as error:
        check(lambda x: x.mul_(2), lambda x: x * 2, X)

    assert "--no-grads" in error.value.hint
    assert check(lambda x: x.mul_(2), lambda x: x * 2, X, grads=False)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"precision": "bogus"}, "'bogus' is unknown"),
        ({"precision": "int64"}, "'int64' is unknown"),
        ({"batch_sizes": [0]}, "batch sizes"),
        ({"batch_sizes": [1.5]}, "batch sizes"),
        ({"k": 0}, "k must be positive"),
        ({"k": float("nan")}, "k must be positive"),
        ({"rtol": -1.0}, "rtol and atol"),
        ({"atol": float("inf")}, "rtol and atol"),
        ({"k": 2, "rtol": 1e-3}, "give one"),
    ],
)
def test_options_that_are_none(options, words):
    with pytest.raises(UsageError, match=words):
        check(lambda x: x, lambda x: x, X, **options)


def generates(x):
    yield x


@pytest.mark.parametrize("made", [3, None, generates])
def test_what_does_not_run_when_it_is_called_is_refused(made):
    for new, ref in ((made, torch.exp), (torch.exp, made)):
        with pytest.raises(UsageError):
            check(new, ref, X)
        with pytest.raises(UsageError):
            check_training(new, ref)


def test_every_tensor_that_failed_is_shown_once():
    found = check(lambda x: (x * 2 + 1, x * 3), lambda x: (x * 2, x * 4), X)
    rows = render(found, Look(width=120)).split("failed")[1].split("reference")[0]

    assert [rows.count(name) for name in ("output 0", "output 1", "grad of input 0")] == [1, 1, 1]
    assert f"and {len(found.failures) - 3} more" in rows


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("detail", [False, True])
def test_a_report_fits_its_width(width, detail):
    found = check(lambda x: x * 2 + 1, lambda x: x * 2, X)
    text = render(found, Look(width=width, detail=detail))

    assert max(map(len, text.splitlines())) <= width


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (lambda: None, "no step was made but NoneType"),
        (lambda: lambda: None, "a step gave NoneType and no loss"),
        (lambda: lambda: torch.ones(3), "a step gave Tensor and no loss"),
    ],
)
def test_steps_that_are_none(made, words):
    with pytest.raises(CannotTellError, match=words):
        check_training(made, make_step())


@pytest.mark.parametrize("options", [{"steps": 0}, {"steps": 1}, {"seeds": 1}])
def test_a_curve_takes_steps_and_a_spread_takes_seeds(options):
    with pytest.raises(UsageError, match="at least two"):
        check_training(make_step(), make_step(), **options)


def test_seeds_that_part_far_are_told():
    wide = compare_curves(FP32, [FP32, [2 * each for each in FP32]])
    narrow = compare_curves(FP32, [FP32, OTHER_BATCH])

    assert "a smaller difference would go unseen" in str(wide)
    assert "unseen" not in str(narrow)
    assert "not finite" in str(compare_curves([float("nan")] * 20, [FP32, OTHER_BATCH]))


@pytest.mark.parametrize("phase", ["forward", "backward"])
def test_a_device_that_breaks_is_no_refusal(phase):
    class Breaks(torch.autograd.Function):
        @staticmethod
        def forward(_ctx, x):
            if phase == "forward" and not x.is_contiguous():
                raise RuntimeError("CUDA error: an illegal memory access was encountered")
            return x * 2

        @staticmethod
        def backward(_ctx, grad):
            if phase == "backward" and not grad.is_contiguous():
                raise RuntimeError("CUDA error: an illegal memory access was encountered")
            return grad * 2

    for new, ref in ((Breaks.apply, lambda x: x * 2), (lambda x: x * 2, Breaks.apply)):
        with pytest.raises(RuntimeError, match="illegal memory access"):
            check(new, ref, X)
