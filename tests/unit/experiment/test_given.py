"""What methods of a workload give: compared whatever its form, or refused by the method's name."""

import math
import sys
import warnings
from pathlib import Path

import pytest
import torch

from boundby.bench.runs import cast
from boundby.errors import UsageError
from boundby.experiment import gates
from boundby.experiment.changes import BY_ID
from boundby.experiment.child import failed
from boundby.experiment.program import gradients, make_program
from boundby.experiment.reference import make_reference, named, relative, scalar, usual_size
from boundby.experiment.session import WorkloadSession
from boundby.experiment.values import Facts
from boundby.experiment.wire import Request
from boundby.experiment.workload import make_workload

FILE = Path(__file__).with_name("odd_workloads.py")
STEPS = 3


@pytest.fixture(autouse=True)
def beside(monkeypatch):
    """As a child process has it: the file imports its neighbour."""
    monkeypatch.syspath_prepend(str(FILE.parent))


def workload(name):
    return make_workload(f"{FILE}:{name}")


def session(name, *changes):
    return WorkloadSession(Request(f"{FILE}:{name}", "", changes=changes), 0.0)


def gives(made, monkeypatch):
    """Have the workloads of the file that was loaded give something."""
    module = sys.modules[type(made).__module__]
    return lambda given: monkeypatch.setitem(module.GIVEN, "loss", given)


def judged(name, folder, change):
    """The gate of a program whose outputs, gradients and loss a function changes."""
    make_reference(workload(name), None, folder, [], STEPS, 2)
    found = change(named(gradients(make_program(workload(name), (), None))))
    return gates.judge_tensors(found, gates.load_reference(str(folder)), "float32")


@pytest.mark.parametrize(
    ("name", "elements", "tensors"),
    [("Complex", 4 * 8 * 16, 1 + 1 + 3), ("ComplexInference", 4 * 16, 2)],
)
def test_complex_tensors_are_held_against_twice_their_bits(tmp_path, name, elements, tensors):
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # torch warns where an imaginary part is lost
        made = make_reference(workload(name), None, tmp_path, [], STEPS, 2)
    kept = gates.load_reference(str(tmp_path))
    gate = session(name).gate(str(tmp_path), "float32", STEPS)["gate"]

    assert made["where"] == "float64"
    assert len(kept["exact"]["output 0"]) == 2 * elements
    assert 1e-9 < kept["errors"]["float32"]["output 0"] < 1e-5
    assert gate["passed"]
    assert gate["tensors"] == tensors


@pytest.mark.parametrize("tensor", ["output 0", "grad of turn"])
def test_a_wrong_complex_tensor_fails(tmp_path, tensor):
    def turned(found):
        pairs = found[tensor].reshape(-1, 2)
        return {**found, tensor: (pairs * torch.tensor([1.0, -1.0])).reshape(-1)}

    assert judged("Complex", tmp_path, dict)["passed"]
    fields = judged("Complex", tmp_path, turned)

    assert (fields["passed"], fields["worst"]) == (False, tensor)


def test_bf16_parameters_are_not_tried_where_some_are_complex():
    facts = session("Complex").facts()
    casts = (("bf16", "autocast"),)

    assert "complex64" in facts["dtypes"]
    assert BY_ID["bf16-params"].values(Facts(**facts), casts) == ()
    assert BY_ID["bf16-params"].values(Facts(), casts) == ("fp32-masters",)


def test_a_value_of_compilation_that_is_unknown_now_takes_the_usual_time():
    """A journal of another version may hold one."""
    assert BY_ID["compile-model"].extra_s("default") > BY_ID["compile-model"].extra_s("gone") == 0


def test_a_cast_module_keeps_what_is_complex():
    model = workload("Complex").model()
    wide, narrow = cast(model, torch.float64), cast(model, torch.bfloat16)

    assert [each.dtype for each in wide.parameters()] == [torch.complex128, *[torch.float64] * 2]
    assert narrow.turn.dtype == torch.complex64
    assert narrow.into.weight.dtype == torch.bfloat16
    assert model.turn.dtype == torch.complex64


@pytest.mark.parametrize(
    ("elements", "size"),
    [
        ([], 0.0),
        ([0.0, 0.0], 0.0),
        ([1e200, -1e200], 1e200),
        ([3e-200, 4e-200], 12.5**0.5 * 1e-200),
        ([5e-324, 5e-324], 5e-324),
        ([1.7e308] * 4, 1.7e308),
        ([3.0, 4.0], 12.5**0.5),
        ([1.0, math.inf], math.inf),
        ([1.0, math.nan], math.nan),
    ],
)
def test_the_size_of_outputs_is_theirs_however_large(elements, size):
    outputs = torch.tensor(elements, dtype=torch.float64)

    assert scalar(outputs) == pytest.approx(size, rel=1e-12, nan_ok=True)
    assert scalar([outputs, {"more": outputs}]) == pytest.approx(size, rel=1e-12, nan_ok=True)


def test_the_size_of_complex_and_whole_outputs():
    assert scalar(torch.tensor([3 + 4j])) == pytest.approx(12.5**0.5)
    assert scalar(torch.tensor([True, True])) == 1.0
    assert scalar((torch.tensor([3]), torch.tensor([4]))) == pytest.approx(12.5**0.5)


@pytest.mark.parametrize("unit", [1e200, 1.0, 1e-200])
def test_distances_are_relative_to_any_size(unit):
    exact = torch.tensor([3.0, 4.0], dtype=torch.float64) * unit
    found = torch.tensor([3.0, 4.5], dtype=torch.float64) * unit

    assert relative(found, exact, 0.0) == pytest.approx(0.1)
    assert relative(found, exact, 20 * unit / 2**0.5) == pytest.approx(0.5 / 20)
    assert usual_size({"grad of it": exact}) == pytest.approx(12.5**0.5 * unit)


def test_finite_outputs_whose_squares_are_not_are_judged(tmp_path):
    made = make_reference(workload("Huge"), None, tmp_path, [], STEPS, 2)
    gate = session("Huge").gate(str(tmp_path), "float32", STEPS)["gate"]

    assert all(1e198 < each < 1e201 for curve in made["losses"] for each in curve)
    assert gate["passed"]


def test_outputs_are_compared_tensor_by_tensor_in_the_form_they_have(tmp_path):
    make_reference(workload("Structured"), None, tmp_path, [], STEPS, 2)
    gate = session("Structured").gate(str(tmp_path), "float32", STEPS)["gate"]
    kept = gates.load_reference(str(tmp_path))

    assert list(kept["exact"]) == ["loss 0", "loss 1", "loss 2", "output 0"]
    assert (gate["passed"], gate["tensors"]) == (True, 4)
    assert session("Structured").warm()["step_ns"] > 0


@pytest.mark.parametrize("tensor", ["loss 0", "loss 1", "loss 2"])
def test_a_wrong_tensor_among_outputs_is_named(tmp_path, tensor):
    def wrong(found):
        changed = found[tensor].clone()
        changed[0] = changed[0] + 1 if tensor != "loss 2" else 1 - changed[0]
        return {**found, tensor: changed}

    fields = judged("Structured", tmp_path, wrong)

    assert (fields["passed"], fields["worst"]) == (False, tensor)


def test_no_precision_may_change_a_class_id(tmp_path):
    """Of floating-point outputs bf16 may move each a little, of class ids none."""
    make_reference(workload("Labels"), None, tmp_path, [], STEPS, 2)
    kept = gates.load_reference(str(tmp_path))
    own = kept["exact"]["loss"]
    assert own.dtype == torch.int64
    found = {**kept["exact"], "loss": own + torch.eye(len(own), dtype=torch.int64)[0]}
    kept["errors"]["bfloat16"] = {"loss": 1.0}
    fields = gates.judge_tensors(found, kept, "bfloat16")

    assert not fields["passed"]
    assert fields["worst"] == "loss"
    assert fields["error"] == 1 / len(own)
    assert gates.judge_tensors(kept["exact"], kept, "bfloat16")["passed"]


def test_an_output_without_elements_beside_others_differs_in_nothing(tmp_path):
    assert judged("Partly", tmp_path, dict)["passed"]


def test_a_sparse_gradient_is_compared_as_a_dense_one(tmp_path):
    make_reference(workload("Sparse"), None, tmp_path, [], STEPS, 2)

    assert "grad of 0.weight" in gates.load_reference(str(tmp_path))["exact"]


def always(value):
    """A function that gives one value whatever it is asked."""
    return lambda *_: value


NO_LOSS = {
    "nothing": (always(None), "None"),
    "a number": (lambda loss: float(loss.detach()), "a float"),
    "a tuple": (lambda loss: (loss, loss), "a tuple"),
    "a dict": (lambda loss: {"loss": loss}, "a dict"),
    "several": (lambda loss: loss.expand(3), "a tensor of 3 float32"),
    "no element": (lambda loss: loss.expand(0), "a tensor of 0 float32"),
    "detached": (lambda loss: loss.detach(), "one float32 number without a gradient"),
    "whole": (lambda loss: loss.long(), "one int64 number without a gradient"),
    "complex": (lambda loss: loss + 0j, "one complex64 number"),
    "sparse": (lambda loss: loss.reshape(1).to_sparse(), "a sparse or nested tensor of float32"),
}


@pytest.mark.parametrize(("given", "said"), NO_LOSS.values(), ids=NO_LOSS)
def test_what_is_no_loss_is_refused_by_its_name(monkeypatch, given, said):
    asked = session("Training")
    gives(asked._workload, monkeypatch)(given)
    with pytest.raises(UsageError) as caught:
        asked.facts()

    wanted = "no single floating-point number that takes a gradient"
    assert caught.value.message == f"loss() gave {said}, {wanted}"
    assert failed(caught.value)["failure"] == "input"
    assert failed(caught.value)["exit_code"] == 2


NO_OUTPUT = {
    "nothing": (always(None), "None, nothing that can be compared"),
    "an empty list": (always([]), "a list, nothing that can be compared"),
    "no element": (lambda out: out[:0], "a tensor of 0x16 float32, nothing that can be compared"),
    "a number": (always(1.5), "a float, not dense tensors alone"),
    "an array": (lambda out: out.numpy(), "a ndarray, not dense tensors alone"),
    "words": (lambda out: [out, "x"], "a list with a str in it, not dense tensors alone"),
    "an object": (always({"a": {1}}), "a dict with a set in it, not dense tensors alone"),
    "sparse": (
        lambda out: out.to_sparse(),
        "a sparse or nested tensor of float32, not dense tensors alone",
    ),
    "sparse inside": (
        lambda out: (out, out.to_sparse()),
        "a tuple with a sparse or nested tensor of float32 in it, not dense tensors alone",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("given", "said"), NO_OUTPUT.values(), ids=NO_OUTPUT)
def test_what_is_no_output_is_refused_by_its_name(monkeypatch, given, said):
    asked = session("Giving")
    gives(asked._workload, monkeypatch)(given)
    with pytest.raises(UsageError) as caught:
        asked.facts()

    assert caught.value.message == f"loss() gave {said}"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("NoBlocks", "blocks() gave None, no modules"),
        ("NamedBlocks", "blocks() gave a list with a str in it, no modules"),
        ("NoLoader", "loader() gave None, nothing to take batches from"),
        ("EmptyLoader", "loader() gave None, no batch"),
        ("NoBatch", "batch() gave None, no batch"),
        ("NoOptimizer", "optimizer() gave None, no optimizer"),
        ("NoModel", "model() gave None, no module"),
    ],
)
def test_what_a_method_must_not_give_is_told_with_its_name(name, said):
    with pytest.raises(UsageError) as caught:
        session(name).facts()

    assert caught.value.message == said
    assert "explain workload" in caught.value.hint


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("DeafLoader", "loader() has num_workers=0 where 2 was asked for"),
        ("EndlessLoader", "the loader is of an IterableDataset, of which each worker may give all"),
    ],
)
def test_a_loader_that_is_not_what_was_asked_for_is_refused(name, said):
    session(name).facts()
    with pytest.raises(UsageError) as caught:
        session(name, ("loader-workers", "2")).warm()

    assert caught.value.message.startswith(said)


def test_a_batch_that_is_no_tuple_is_told_of_the_users_model():
    with pytest.raises(TypeError) as caught:
        session("OneBatch").facts()

    assert "Entry" not in str(caught.value)
    assert "Sequential(...)" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("NoCores", "cores is None, no functions by name"),
        ("CoresAlone", "cores is a list, no functions by name"),
        ("NamedCores", "cores holds 'mine': a str, no function"),
        ("Yes", "batch_size is True, no number of samples"),
        ("NoMethod", "loader is a tuple, no method"),
    ],
)
def test_a_member_that_is_not_what_its_name_says_is_refused(name, said):
    with pytest.raises(UsageError) as caught:
        workload(name)

    assert caught.value.message == f"{FILE}:{name}: {said}"
