"""What a process of a workload judges, in this process: right passes, wrong does not."""

import re
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path

import msgspec
import pytest

from boundby.capture.compiled import compiled_frames
from boundby.errors import BoundbyError, UsageError
from boundby.experiment import gates
from boundby.experiment.changes import BY_ID, CHANGES
from boundby.experiment.changes.bf16_params import NARROW
from boundby.experiment.changes.sdpa import core_of, one_layout
from boundby.experiment.child import kind_of
from boundby.experiment.program import gradients, make_program
from boundby.experiment.reference import curve, make_reference, named, scalar
from boundby.experiment.session import WorkloadSession
from boundby.experiment.values import Facts
from boundby.experiment.wire import Request
from boundby.experiment.workload import make_workload
from tuning import CUDA

FILE = Path(__file__).with_name("workloads.py")
STEPS = 4


@pytest.fixture(autouse=True)
def global_switches():
    """Changes may set switches of torch; here they share a process."""
    import torch

    before = torch.get_num_threads(), torch.get_float32_matmul_precision()
    yield
    torch.set_num_threads(before[0])
    torch.set_float32_matmul_precision(before[1])


def workload(name="Small"):
    return make_workload(f"{FILE}:{name}")


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reference")
    make_reference(workload(), None, folder, ["bfloat16", "bf16 parameters"], STEPS, 2)
    return folder


def session(name, *changes):
    return WorkloadSession(Request(f"{FILE}:{name}", "", changes=changes), 0.0)


def gated(name, reference, *changes, precision="float32"):
    return session(name, *changes).gate(str(reference), precision, STEPS)["gate"]


def test_the_program_passes_against_itself(reference):
    gate = gated("Small", reference)

    assert gate["passed"]
    assert gate["tensors"] == 2 + 8
    assert gate["loss"].startswith("pass")


def test_a_program_that_does_not_fit_is_judged_checkpointed(tmp_path):
    made = make_reference(workload("Large"), None, tmp_path, ["bfloat16"], STEPS, 2)
    plain = make_reference(workload(), None, tmp_path.parent, [], STEPS, 2)

    assert made["where"] == "float64; the program checkpointed, since it does not fit"
    assert made["losses"] == plain["losses"]
    assert gated("Large", tmp_path, ("checkpointing", "blocks"))["passed"]


@pytest.mark.parametrize(
    ("changes", "precision"),
    [
        ((("sdpa", "default"),), "float32"),
        ((("fused-optimizer", "true"),), "float32"),
        ((("foreach-optimizer", "true"),), "float32"),
        ((("checkpointing", "blocks"),), "float32"),
        ((("checkpointing", "selective"),), "float32"),
        ((("bf16", "autocast"),), "bfloat16"),
        ((("bf16", "autocast,fp32=1.out"),), "bfloat16"),
        ((("bf16-params", "fp32-masters"),), "bf16 parameters"),
        ((("bf16-params", "fp32-masters"), ("sdpa", "default")), "bf16 parameters"),
    ],
)
def test_right_changes_pass(reference, changes, precision):
    gate = gated("Small", reference, *changes, precision=precision)

    assert gate["passed"], gate


def test_a_model_of_a_library_changes_its_attention_itself(reference):
    asked = session("Library", ("sdpa", "set_attn_implementation"))
    offers = session("Library").facts()["offers"]

    assert "set_attn_implementation" in offers
    assert asked.gate(str(reference), "float32", STEPS)["gate"]["passed"]
    assert asked._program.model.chosen == "sdpa"
    assert asked.layouts() == {"layouts": ""}


def test_a_wrong_first_gradient_is_named(reference):
    gate = gated("Wrong", reference, ("sdpa", "own:unscaled"))

    assert not gate["passed"]
    assert gate["error"] > 100 * gate["limit"]
    assert gate["worst"]


def test_bf16_does_not_pass_as_float32(reference):
    assert not gated("Small", reference, ("bf16", "autocast"))["passed"]


def test_a_program_in_bf16_is_offered_no_autocast_and_bf16_parameters():
    facts = msgspec.convert(session("InBf16").facts(), Facts)

    assert facts.computes == "bfloat16"
    assert BY_ID["bf16"].values(facts, ()) == ()
    assert BY_ID["bf16-params"].values(facts, ()) == ("fp32-masters",)
    assert BY_ID["bf16-params"].values(facts, (("bf16-params", "fp32-masters"),)) == ()


def test_a_program_in_bf16_is_held_to_bf16(tmp_path):
    made = make_reference(workload("InBf16"), None, tmp_path, [], STEPS, 2)
    gate = gated("InBf16", tmp_path, ("sdpa", "default"))

    assert made["where"] == "float64"
    assert gate["passed"], gate
    assert gate["limit"] >= 2**-8


def test_limits_that_hold_nothing_are_counted(reference):
    kept = gates.load_reference(str(reference))
    known = dict.fromkeys(kept["exact"], 0.0) | {"grad of 0.out.weight": 0.9}
    kept["errors"]["bfloat16"] = known
    fields = gates.judge_tensors(dict(kept["exact"]), kept, "bfloat16")

    assert (fields["passed"], fields["wide"]) == (True, 1)


def test_a_gradient_that_is_missing_fails(reference):
    found = named(gradients(make_program(workload(), (), None)))
    found.pop("grad of 0.out.weight")
    fields = gates.judge_tensors(found, gates.load_reference(str(reference)), "float32")

    assert (fields["passed"], fields["worst"]) == (False, "grad of 0.out.weight")


def test_outputs_whose_mean_is_nothing_are_compared_by_their_size():
    """After a norm the mean is rounding alone: any other rounding is thousands of times as much."""
    import torch

    exact = torch.nn.functional.layer_norm(torch.randn(4, 64, dtype=torch.float64), (64,))
    rounded = exact.to(torch.bfloat16)

    assert abs(rounded.double().mean() / exact.mean()) > 100
    assert scalar(rounded) == pytest.approx(scalar(exact), rel=1e-3)
    assert scalar(torch.tensor(-0.5)) == -0.5


@pytest.mark.filterwarnings("ignore:.*torch.jit.script_method:DeprecationWarning")
@pytest.mark.parametrize("name", ["Plain", "Small"])
def test_a_model_of_torchs_own_containers_is_compiled_too(monkeypatch, name):
    import torch

    monkeypatch.setattr(torch, "compile", partial(torch.compile, backend="eager"))  # at once
    before = compiled_frames()
    eager = curve(make_program(workload(name), (), None), 2)
    program = make_program(workload(name), ((BY_ID["compile-model"], "default"),), None)

    assert curve(program, 2) == pytest.approx(eager, rel=1e-5)
    assert compiled_frames() == before + 1


@pytest.mark.parametrize(("core", "word"), [("own:planted", "fail"), ("default", "pass")])
def test_attention_is_checked_over_layouts_in_one_process(core, word):
    asked = session("Small", ("sdpa", core))
    asked.warm()

    assert asked.layouts()["layouts"].startswith(word)


def test_one_layout_mends_a_kernel_that_takes_the_first_layout_for_the_next(monkeypatch):
    import torch

    planted = workload().cores["planted"]
    monkeypatch.setattr(torch.nn.functional, "scaled_dot_product_attention", planted)
    seen = [torch.randn(2, 3, 8, 4).transpose(1, 2).requires_grad_() for _ in range(3)]

    for value, word in (("default", "fail"), ("one-layout", "pass")):
        planted.__self__.first = None
        assert gates.judge_attention(core_of(None, value), seen).startswith(word)


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (0, 2, 1, 3), (3, 2, 0, 1), (1, 0, 3, 2)])
def test_a_gradient_of_any_layout_comes_in_one(order):
    import torch

    back = sorted(range(4), key=order.__getitem__)
    sent = torch.randn(2, 3, 5, 7).permute(order).contiguous().permute(back)
    given, seen = torch.randn(2, 3, 5, 7, requires_grad=True), []
    between = given * 1
    between.register_hook(seen.append)
    one_layout().apply(between).backward(sent)

    assert seen[0].stride() == torch.empty(2, 5, 3, 7).transpose(1, 2).stride()
    assert torch.equal(given.grad, sent)


def test_attention_too_large_for_its_formula_is_not_called_wrong():
    import torch

    def hungry(q, k, v):
        raise RuntimeError("CUDA out of memory. Tried to allocate 500 GiB.")

    assert gates.judge_attention(hungry, [torch.randn(4, 2, 8, 8)] * 3) == gates.TOO_LARGE


@pytest.mark.parametrize(
    ("name", "said"),
    [("Restless", "the same seed gives two losses"), ("Diverging", "not finite")],
)
def test_a_program_that_cannot_be_judged(tmp_path, name, said):
    with pytest.raises(BoundbyError, match=said) as caught:
        make_reference(workload(name), None, tmp_path, [], STEPS, 2)
    assert caught.value.hint


@pytest.mark.parametrize(
    ("name", "said"),
    [("WithoutLoss", "no method 'loss'"), ("Sizeless", "batch_size is None"), ("Nobody", "no ")],
)
def test_a_class_that_is_no_workload(name, said):
    with pytest.raises(UsageError, match=said):
        workload(name)


@pytest.mark.parametrize(
    ("name", "size", "said"),
    [
        ("Fixed", 8, "batch(8) does not give 8 samples but 4"),
        ("Few", 32, "loader(32) does not give 32 samples but 16"),
        ("PackedFixed", 8, "batch(8) does not give 8 samples"),
    ],
)
def test_a_batch_without_its_samples_is_not_measured(name, size, said):
    with pytest.raises(UsageError, match=re.escape(said)):
        WorkloadSession(Request(f"{FILE}:{name}", "", size=size), 0.0).warm()

    assert session(name).warm()["samples"] == 4


@pytest.mark.parametrize(
    ("name", "size"), [("Small", 8), ("Few", 16), ("Packed", 8), ("PackedByChance", 8)]
)
def test_a_batch_with_its_samples_is_measured(name, size):
    asked = Request(f"{FILE}:{name}", "", size=size)

    assert WorkloadSession(asked, 0.0).warm()["samples"] == size


def test_a_session_answers_everything(tmp_path):
    asked = WorkloadSession(Request(f"{FILE}:Small", str(tmp_path)), 0.0)
    facts, warm, block = asked.facts(), asked.warm(), asked.measure(3)
    traced = asked.trace()

    assert (facts["optimizer"], facts["batch"], facts["offers"]) == ("AdamW", 4, ("attention",))
    assert facts["cores"] == ("planted",)
    assert facts["flops"] > 0
    assert warm["samples"] == 4
    assert warm["memory"]["peak"] > 1 << 20
    assert block["ns"] > 0
    assert block["recompiled"] == 0
    assert Path(traced["trace"]).stat().st_size > 1000


class Stream:
    def wait_stream(self, other):
        """There is one queue on a CPU."""


def test_a_captured_step_starts_where_the_program_starts(monkeypatch):
    import torch

    class Graph:
        def replay(self):
            program._replayed = program._step()

    monkeypatch.setattr(torch.cuda, "Stream", Stream)
    monkeypatch.setattr(torch.cuda, "CUDAGraph", Graph)
    monkeypatch.setattr(torch.cuda, "current_stream", Stream)
    monkeypatch.setattr(torch.cuda, "stream", lambda _: nullcontext())
    monkeypatch.setattr(torch.cuda, "graph", lambda _: nullcontext())
    cases = [
        ("Small", ()),
        ("Small", (("bf16-params", "fp32-masters"), ("fused-optimizer", "true"))),
        ("Inference", (("inference-mode", "true"),)),
    ]
    for name, changes in cases:
        applied = tuple((BY_ID[change], value) for change, value in changes)
        eager = curve(make_program(workload(name), applied, None), STEPS)
        program = make_program(workload(name), applied, None)
        program.capture()

        assert curve(program, STEPS) == pytest.approx(eager, rel=1e-5)


def test_inference_has_no_gradients(tmp_path):
    made = make_reference(workload("Inference"), None, tmp_path, [], STEPS, 2)
    gate = gated("Inference", tmp_path, ("inference-mode", "true"))

    assert made["where"] == "float64"
    assert gate["passed"]
    assert gate["tensors"] == 2


def test_inference_in_bf16_weights_has_no_masters(tmp_path):
    make_reference(workload("Inference"), None, tmp_path, ["bf16 parameters"], STEPS, 2)
    asked = session("Inference", ("bf16-weights", "true"))
    gate = asked.gate(str(tmp_path), "bf16 parameters", STEPS)["gate"]

    assert gate["passed"], gate
    assert gate["limit"] >= 2**-8
    assert asked._program.masters == []
    assert {str(each.dtype) for each in asked._program.model.parameters()} == {"torch.bfloat16"}


def test_norms_with_running_statistics_keep_float32(tmp_path):
    make_reference(workload("Images"), None, tmp_path, ["bf16 parameters"], STEPS, 2)
    asked = session("Images", ("bf16-params", "fp32-masters"))
    gate = asked.gate(str(tmp_path), "bf16 parameters", STEPS)["gate"]
    dtypes = {name: str(p.dtype) for name, p in asked._program.model.named_parameters()}

    assert gate["passed"], gate
    assert dtypes["1.weight"] == "torch.float32"
    assert dtypes["2.weight"] == "torch.bfloat16"


def test_the_patch_for_bf16_weights_gives_what_was_judged():
    import torch

    model, x = workload("Images").model(), torch.randn(2, 3, 8, 8)
    applied = ((BY_ID["bf16-params"], "fp32-masters"),)
    judged = make_program(workload("Images"), applied, None).model
    scope = {"torch": torch, "model": model, "x": x}
    exec(NARROW, scope)  # noqa: S102 -- the code that users are given

    ours, theirs = ({name: p.dtype for name, p in m.named_parameters()} for m in (judged, model))
    assert ours == theirs
    assert {name: b.dtype for name, b in judged.named_buffers()} == {
        name: b.dtype for name, b in model.named_buffers()
    }
    assert scope["outputs"].dtype == torch.float32


def test_a_pass_that_draws_random_numbers_is_judged_by_its_losses(tmp_path):
    made = make_reference(workload("Random"), None, tmp_path, [], STEPS, 2)
    gate = gated("Random", tmp_path, ("fused-optimizer", "true"))

    assert len(made["losses"]) == 2
    assert (gate["passed"], gate["tensors"], gate["error"]) == (True, 0, None)
    assert list(gate["notes"]) == [gates.RANDOM]
    assert gate["loss"].startswith("pass")


def test_modules_of_dropout_are_off_while_gradients_are_compared(tmp_path):
    make_reference(workload("Dropping"), None, tmp_path, [], STEPS, 2)
    gate = gated("Dropping", tmp_path, ("sdpa", "default"))

    assert gate["tensors"] == 2 + 8
    assert gate["passed"], gate


def test_gradients_and_losses_of_a_loader_are_of_the_same_batches(tmp_path):
    make_reference(workload("Fed"), None, tmp_path, [], STEPS, 2)
    asked = session("Fed", ("sdpa", "default"))
    found = asked.gate(str(tmp_path), "float32", STEPS)
    kept = gates.load_reference(str(tmp_path))

    assert found["gate"]["passed"], found["gate"]
    assert found["losses"] == pytest.approx(kept["losses"][0], rel=1e-4)


def test_what_is_left_over_at_the_end_of_an_epoch_is_no_step():
    """It would count as a whole batch: samples a second that were never seen."""
    program = make_program(workload("FedShort"), (), None)
    sizes = [len(next(program.batches)[0]) for _ in range(7)]

    assert sizes == [4] * 7


def test_where_workers_draw_other_numbers_losses_alone_are_compared(tmp_path):
    make_reference(workload("FedAtRandom"), None, tmp_path, [], STEPS, 3)
    alike = gated("FedAtRandom", tmp_path)
    apart = gated("FedAtRandom", tmp_path, ("loader-workers", "1"))

    assert (alike["passed"], alike["tensors"]) == (True, 2 + 8)
    assert (apart["passed"], apart["tensors"], apart["notes"]) == (True, 0, (gates.APART,))
    assert apart["loss"].startswith("pass")


def test_what_is_off_after_the_same_random_numbers_is_rejected():
    off = {"passed": False, "precision": "float32", "tensors": 1}
    drawn, other, unseeded = {"torch": ("a", "b")}, {"torch": ("a", "c")}, {"torch": ("d", "c")}

    assert gates.where_drawn_alike(off, drawn, drawn) == off
    assert gates.where_drawn_alike(off, drawn, unseeded) == off
    assert gates.where_drawn_alike(off, drawn, other) == {"passed": True, "precision": "float32"}


def test_a_loader_feeds_and_losses_are_logged_seldom():
    asked = session("Fed", ("fewer-readbacks", "100"))
    asked.warm()

    assert asked._program.build.workload.logged == 0


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (RuntimeError("CUDA out of memory. Tried to allocate 5 GiB."), "oom"),
        (MemoryError(), "oom"),
        (type("Unsupported", (Exception,), {"__module__": "torch._dynamo.exc"})(), "compile"),
        (UsageError("no method"), "input"),
        (ValueError("no such luck"), "crash"),
    ],
)
def test_kinds_of_failure(error, kind):
    assert kind_of(error) == kind


@pytest.mark.parametrize("facts", [CUDA, Facts(trains=False, modules=("Conv2d",))])
def test_every_value_of_every_change_has_a_patch(facts):
    facts = replace(facts, offers=("attention", "loader", "log"), cores=("mine",))
    for change in CHANGES:
        for value in change.values(facts, ()):
            assert change.patch(value)
            assert 0 < change.prior(facts, value) < 1


def test_every_change_carries_out_a_prescription_and_answers_what_it_saves():
    from boundby.prescribe.catalogue import RULES

    known = {rule.id for rule in RULES}
    saved = {"compute", "traffic", "sync", "launch"}
    for change in CHANGES:
        assert change.prescription in known
        assert set(change.answers.saves) <= saved
        assert BY_ID[change.id] is change
        other = change.stands_in_for
        assert not other or BY_ID[other].prescription == other
