"""The five answers: what was measured and what the rule says do not contradict each other."""

import pytest

from boundby.experiment.questions import questions
from boundby.report.tune_document import document
from tuning import FakeLab, run

MIB = 1 << 20


def record(change, *, decision="kept", peak=100 * MIB, first_s=10.0, gate=None):
    return {
        "change": change, "value": "true", "decision": decision, "peak_bytes": peak,
        "first_s": first_s, "gate": gate,
    }  # fmt: skip


def answers(change, **after):
    (found,) = questions([record("baseline", decision="baseline"), record(change, **after)])
    return found


@pytest.mark.parametrize(
    ("change", "first_s", "said"),
    [
        ("tf32", 11.5, "no: first step after 11.5 s (10.0 s before)"),
        ("tf32", 20.6, "first step after 20.6 s (10.0 s before)"),
        ("compile-model", 22.0, "first step after 22.0 s (10.0 s before); yes: compilation"),
        ("compile-model", 9.0, "first step after 9.0 s (10.0 s before); usually yes: compilation"),
        ("tf32", None, "no"),
    ],
)
def test_a_later_first_step_is_not_called_none(change, first_s, said):
    assert answers(change, first_s=first_s).startup == said


@pytest.mark.parametrize(
    ("change", "peak", "said"),
    [
        ("tf32", 100, "no: measured the same"),
        ("tf32", 160, "measured 60 MiB more"),
        ("tf32", 40, "no: measured 60 MiB less"),
        ("bf16", 40, "measured 60 MiB less; less: activations halve"),
        ("bf16", 100, "measured the same; usually less: activations halve"),
        ("larger-batch", 160, "measured 60 MiB more; yes: activations grow with the batch"),
        ("cudnn-benchmark", 160, "measured 60 MiB more; workspaces of the algorithms tried"),
    ],
)
def test_memory_is_what_was_measured_beside_what_is_usual(change, peak, said):
    assert answers(change, peak=peak * MIB).memory == said


def test_a_gate_of_losses_alone_says_so():
    gate = {"error": None, "tensors": 0, "loss": "pass: loss over 12 steps"}
    said = answers("compile-model", gate=gate).numerics

    assert said == "rounding only; its losses alone were compared, since it draws random numbers"


OFF = "bf16 itself puts {} so far off, so only the losses hold {}"


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ({"limit": 0.4}, "4.0e-01 allowed"),
        ({"limit": 1.04}, f"1.0e+00 allowed; {OFF.format('that tensor', 'it')}"),
        ({"limit": 0.4, "wide": 3}, f"4.0e-01 allowed; {OFF.format('3 of 9 tensors', 'them')}"),
    ],
)
def test_a_limit_that_holds_nothing_is_told(limits, said):
    gate = {"error": 0.1, "precision": "bfloat16", "tensors": 9, **limits}

    assert answers("cuda-graph", gate=gate).numerics == f"no: error 1.0e-01 of {said}"


def test_what_is_kept_after_another_run_is_held_against_the_best_of_its_own(tmp_path):
    """The batch that the first run kept is taken back by the second, on a machine of its own."""
    allow = "batch", "numerics"
    run(FakeLab(batches={16: 0.5, 32: None}), tmp_path, allow=allow, only=("larger-batch",))
    slow = FakeLab({"tf32": 1.5}, batches={16: 2.0, 32: None})
    found = document(run(slow, tmp_path, allow=allow, only=("tf32",)))

    memory = {each["change"]: each["memory"] for each in found["questions"]}
    assert memory["larger-batch"].startswith("measured 2048 MiB more")
    assert memory["tf32"] == "no: measured the same"
