"""Predictions: from the replay of a real recording, else a guess that only orders trials."""

from dataclasses import replace

import pytest

from boundby.experiment.changes import BY_ID
from boundby.experiment.choose import PAYS
from boundby.experiment.diagnosing import diagnose_trace
from boundby.experiment.predict import OFF_THE_POINT, predict
from boundby.experiment.turns import block, precision_of
from boundby.experiment.values import Diagnosed
from boundby.experiment.workload import thread_limit
from recordings import REAL
from tuning import CUDA

HOST_BOUND = Diagnosed("launch-bound")
DEVICE_BOUND = Diagnosed("compute-bound")


def gain(change, value, now, step_ms=10.0):
    found = predict(BY_ID[change], value, CUDA, now, step_ms)
    return None if found is None else (pytest.approx(found.gain), found.by)


def test_the_replay_of_a_recording_predicts_or_rules_out():
    now = diagnose_trace(str(REAL / "gnn_like_many_small.json.gz"), 5.0, 4.9)

    assert now.verdict == "launch-bound"
    assert now.predicted or now.idle
    assert not set(now.predicted) & set(now.idle)


@pytest.mark.parametrize(
    ("limit", "tried"),
    [(None, ("8", "4", "1")), (4, ("4", "1")), (2, ("1",)), (64, ("8", "4", "1"))],
)
def test_no_more_threads_are_tried_than_the_user_allows(limit, tried):
    facts = replace(CUDA, device="cpu", threads=2, processors=8, thread_limit=limit)

    assert BY_ID["thread-limit"].values(facts, ()) == tried


@pytest.mark.parametrize(
    ("set_to", "found"), [("3", 3), ("4,2", 4), ("", None), ("many", None), ("0", None)]
)
def test_the_threads_that_the_user_allows(monkeypatch, set_to, found):
    monkeypatch.setenv("OMP_NUM_THREADS", set_to)

    assert thread_limit() == found


def test_a_replayed_step_is_a_gain():
    now = Diagnosed("launch-bound", predicted={"sdpa": 8.0})

    assert gain("sdpa", "default", now) == (0.2, "replay")


def test_a_replayed_step_is_a_share_of_the_step_it_was_recorded_from():
    """Another process, another speed of the host: 8 of 16 ms is a half, whatever a trial took."""
    now = Diagnosed(
        "launch-bound", predicted={"sdpa": 8.0}, ranges={"sdpa": (6.0, 12.0)}, step_ms=16.0
    )
    found = predict(BY_ID["sdpa"], "default", CUDA, now, 10.0)

    assert found.gain == pytest.approx(0.5)
    assert found.reach == pytest.approx((3.75, 7.5))


def test_a_stand_in_gains_what_the_change_gains_that_it_stands_in_for():
    said = Diagnosed("compute-bound", predicted={"bf16": 6.0})
    own = Diagnosed("compute-bound", predicted={"bf16": 6.0, "fp16": 7.0})

    assert gain("fp16", "autocast", said) == (0.4, "replay")
    assert gain("fp16", "autocast", own) == (0.3, "replay")
    assert gain("fp16", "autocast", Diagnosed("launch-bound", idle=("bf16",))) is None


def test_a_diagnosis_tells_the_step_that_it_predicts_from():
    now = diagnose_trace(str(REAL / "gnn_like_many_small.json.gz"), 5.0, 4.9)

    assert now.step_ms == pytest.approx(5.0)


@pytest.mark.parametrize(
    ("processors", "now", "values"),
    [
        (16, None, ("4",)),
        (16, "4", ("8",)),
        (16, "8", ("15",)),
        (16, "15", ()),
        (5, "4", ()),
        (3, None, ("2",)),
        (1, None, ()),
    ],
)
def test_workers_are_doubled_while_processors_are_left(processors, now, values):
    facts = replace(CUDA, offers=("loader",), processors=processors)
    configuration = (("loader-workers", now),) if now else ()

    assert BY_ID["loader-workers"].values(facts, configuration) == values


def test_more_workers_are_tried_only_where_these_come_late():
    late = Diagnosed("sync-bound", predicted={"loader-workers": 5.0})
    early = Diagnosed("launch-bound")

    assert gain("loader-workers", "8", late) == (0.5, "replay")
    assert predict(BY_ID["loader-workers"], "8", CUDA, early, 10.0).gain < PAYS
    assert predict(BY_ID["loader-workers"], "4", CUDA, early, 10.0).gain >= PAYS


@pytest.mark.parametrize(("own", "values"), [(1, ("4",)), (4, ("8",)), (15, ())])
def test_workers_that_the_program_has_are_doubled(own, values):
    facts = replace(CUDA, offers=("loader",), processors=16, loader_workers=own)

    assert BY_ID["loader-workers"].values(facts, ()) == values


def test_what_the_replay_calls_idle_has_no_prediction():
    assert gain("sdpa", "default", Diagnosed("launch-bound", idle=("sdpa",))) is None


@pytest.mark.parametrize(
    ("change", "value", "now", "share"),
    [
        ("tf32", "high", HOST_BOUND, OFF_THE_POINT),
        ("tf32", "high", Diagnosed(), 1.0),
        ("cuda-graph", "step", HOST_BOUND, 1.0),
        ("cuda-graph", "step", DEVICE_BOUND, OFF_THE_POINT),
        ("compile-model", "default", DEVICE_BOUND, 1.0),
        ("compile-model", "default", HOST_BOUND, 1.0),
        ("compile-model", "reduce-overhead", DEVICE_BOUND, OFF_THE_POINT),
        ("compile-model", "reduce-overhead", HOST_BOUND, 1.0),
        ("compile-model", "max-autotune-no-cudagraphs", DEVICE_BOUND, 1.0),
        ("compile-model", "max-autotune-no-cudagraphs", HOST_BOUND, OFF_THE_POINT),
        ("cuda-graph", "step", Diagnosed(), 1.0),
    ],
)
def test_a_guess_counts_less_where_it_saves_what_does_not_bind(change, value, now, share):
    whole = BY_ID[change].prior(CUDA, value)

    assert gain(change, value, now) == (whole * share, "guess")


def test_what_a_recording_would_have_shown_is_hardly_expected():
    """A convolution in TF32 already: its rule reads that off the names of the kernels."""
    tf32 = BY_ID["tf32"]

    assert gain("tf32", "high", DEVICE_BOUND) == (tf32.unseen, "guess")
    assert tf32.unseen < 0.02


@pytest.mark.parametrize(
    ("configuration", "precision"),
    [
        ((), "float32"),
        ((("sdpa", "default"),), "float32"),
        ((("tf32", "high"),), "tf32"),
        ((("tf32", "high"), ("bf16", "autocast")), "bfloat16"),
        ((("bf16-params", "fp32-masters"), ("tf32", "high")), "bf16 parameters"),
    ],
)
def test_a_configuration_is_held_to_its_coarsest_change(configuration, precision):
    assert precision_of(configuration) == precision


def test_a_block_lasts_a_quarter_of_a_second_or_a_step():
    assert (block(1e6), block(1e9), block(1.0)) == (250, 1, 500)


def test_a_graph_takes_the_graphs_out_of_compiled_code():
    change = BY_ID["cuda-graph"]
    before = (("compile-model", "reduce-overhead"), ("sdpa", "flash"))

    assert change.adjust(before) == (("compile-model", "default"), ("sdpa", "flash"))


@pytest.mark.parametrize(
    ("change", "configuration", "values"),
    [
        ("compile-model", (), ("default",)),
        (
            "compile-model",
            (("compile-model", "default"),),
            ("reduce-overhead", "max-autotune-no-cudagraphs"),
        ),
        (
            "compile-model",
            (("compile-model", "default"), ("cuda-graph", "step")),
            ("max-autotune-no-cudagraphs",),
        ),
        ("bf16-params", (), ()),
        ("bf16-weights", (("bf16", "autocast"),), ()),
        ("bf16-params", (("bf16", "autocast"),), ("fp32-masters",)),
        ("bf16", (("bf16-params", "fp32-masters"),), ()),
        ("fp16", (), ("autocast",)),
        ("fp16", (("bf16", "autocast,fp32=head"),), ()),
        ("foreach-optimizer", (), ()),
        ("fused-optimizer", (), ("true",)),
        ("thread-limit", (), ()),
        ("loader-workers", (), ()),
        ("channels-last", (), ()),
        ("sdpa", (), ("default", "one-layout", "flash", "efficient", "cudnn")),
        ("cuda-graph", (), ("step",)),
        ("cuda-graph", (("fp16", "autocast"),), ()),
    ],
)
def test_what_can_be_tried_on_a_transformer_on_cuda(change, configuration, values):
    assert BY_ID[change].values(CUDA, configuration) == values


@pytest.mark.parametrize(
    ("flags", "values"),
    [
        ({"matmul_precision": "highest"}, ("high",)),
        ({"matmul_precision": "high"}, ()),
        ({"matmul_precision": "medium"}, ()),
        ({}, ("high",)),
    ],
)
def test_tf32_is_not_tried_where_the_program_uses_it(flags, values):
    facts = replace(CUDA, caliber={"flags": flags})

    assert BY_ID["tf32"].values(facts, ()) == values


@pytest.mark.parametrize(
    ("change", "configuration", "values"),
    [
        ("cuda-graph", (), ("forward",)),
        ("bf16-params", (("bf16", "autocast"),), ()),
        ("bf16-weights", (), ()),
        ("bf16-weights", (("bf16", "autocast"),), ("true",)),
        ("bf16", (("bf16-weights", "true"),), ()),
        ("inference-mode", (), ("true",)),
        ("checkpointing", (), ()),
        ("fused-optimizer", (), ()),
    ],
)
def test_what_can_be_tried_on_inference_on_cuda(change, configuration, values):
    inference = replace(CUDA, trains=False, optimizer="", optimizer_forms=(), optimizer_form="")

    assert BY_ID[change].values(inference, configuration) == values
