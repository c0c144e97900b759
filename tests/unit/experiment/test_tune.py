"""The loop: what is tried, in which order, what is kept, when it ends."""

import json
from dataclasses import replace

import pytest

from boundby.errors import CannotTellError
from boundby.experiment.outcome import path_points
from boundby.experiment.questions import questions
from boundby.experiment.values import Diagnosed, Gate, Trial
from boundby.report.tune import gate_findings, predictions
from tuning import BASELINE_MS, CUDA, WRONG, FakeLab, run, trials

BOTH = ("batch", "numerics")


def test_a_faster_change_is_kept_and_a_slower_one_taken_back(tmp_path):
    lab = FakeLab({"sdpa": 1.2, "fused-optimizer": 0.9})
    outcome = run(lab, tmp_path, only=("sdpa", "fused-optimizer"))
    found = dict(trials(outcome))

    assert found["sdpa=default"] == "kept"
    assert found["fused-optimizer=true"] == "reverted"
    assert outcome.configuration == (("sdpa", "default"),)
    assert outcome.gain == pytest.approx(1.2)
    assert outcome.best["step_ms"] == pytest.approx(BASELINE_MS / 1.2)
    assert outcome.ended == "nothing left is predicted to gain 2%"
    assert lab.closed


def test_each_trial_has_one_change_more_than_the_best_so_far(tmp_path):
    lab = FakeLab({"sdpa": 1.2, "fused-optimizer": 1.1, "compile-model": 1.3})
    run(lab, tmp_path, only=("sdpa", "fused-optimizer", "compile-model"))
    best = ()
    for asked in lab.asked[1:]:
        kept = asked[:1] == ("kept",)
        configuration = asked[1:] if kept else asked
        assert len(set(configuration) - set(best)) == 1
        best = configuration if kept else best


def test_nothing_is_tried_that_was_not_allowed(tmp_path):
    lab = FakeLab({"tf32": 3.0, "bf16": 3.0})
    tried = {name.partition("=")[0] for name, _ in trials(run(lab, tmp_path))}

    assert tried.isdisjoint({"larger-batch", "tf32", "bf16", "fp16", "bf16-params"})
    assert "compile-model" in tried
    assert lab.probed == []


def test_the_best_predicted_gain_per_risk_comes_first(tmp_path):
    said = Diagnosed("launch-bound", predicted={"sdpa": 31.0, "fused-optimizer": 20.0})
    lab = FakeLab(diagnoses={0: said})
    found = trials(run(lab, tmp_path, only=("sdpa", "fused-optimizer")))

    assert [name for name, _ in found] == ["fused-optimizer=true", "sdpa=default"]
    record = run(FakeLab(diagnoses={0: said}), tmp_path / "b", only=("fused-optimizer",)).records[1]
    assert (record["predicted_ms"], record["predicted_by"]) == (pytest.approx(20.0), "replay")


def test_a_prediction_is_kept_with_its_range_also_where_it_counts_less(tmp_path):
    """What was no faster before is chosen later, not predicted otherwise."""
    said = Diagnosed("launch-bound", predicted={"sdpa": 31.0, "fused-optimizer": 20.0},
                     ranges={"sdpa": (29.0, 33.0), "fused-optimizer": (18.0, 24.0)})  # fmt: skip
    lab = FakeLab({"sdpa": 1.2, "fused-optimizer": 0.9}, diagnoses={0: said, 1: said})
    outcome = run(lab, tmp_path, only=("sdpa", "fused-optimizer"))
    tried = [each for each in outcome.records if each["change"] == "fused-optimizer"]

    assert [each["predicted_ms"] for each in tried] == pytest.approx([20.0, 20.0])
    assert [each["predicted_range_ms"] for each in tried] == [(18.0, 24.0)] * 2
    assert predictions(outcome)[0].startswith("fused-optimizer: 20.0 ms (18.0 to 24.0 ms) by")


def test_what_the_replay_calls_idle_is_not_tried(tmp_path):
    said = Diagnosed("compute-bound", idle=("fused-optimizer",))
    found = trials(run(FakeLab(diagnoses={0: said}), tmp_path, only=("fused-optimizer", "sdpa")))

    assert [name for name, _ in found][:1] == ["sdpa=default"]
    assert "fused-optimizer=true" not in dict(found)


@pytest.mark.parametrize("failure", ["oom", "hang", "crash", "compile", "recompiles"])
def test_a_failed_trial_is_a_result_and_the_loop_goes_on(tmp_path, failure):
    lab = FakeLab({"fused-optimizer": 1.2}, {"compile-model=default": failure})
    outcome = run(lab, tmp_path, only=("compile-model", "fused-optimizer"))
    record = next(each for each in outcome.records if each["change"] == "compile-model")

    assert (record["decision"], record["failure"]) == ("failed", failure)
    assert record["step_ms"] is None
    assert record["correct"] is None
    assert dict(trials(outcome))["fused-optimizer=true"] == "kept"


def test_after_a_wrong_kernel_the_next_one_is_tried(tmp_path):
    wrong = Gate(passed=False, layouts="fail: grad of input 0", error=1e-7, limit=1e-5)
    lab = FakeLab({"sdpa": 1.2}, {"sdpa=default": wrong})
    outcome = run(lab, tmp_path, only=("sdpa",))
    first = outcome.records[1]

    assert trials(outcome)[:2] == [("sdpa=default", "rejected"), ("sdpa=one-layout", "kept")]
    assert first["why"] == "attention alone: fail: grad of input 0"
    assert first["correct"] is False


def test_attention_that_is_wrong_under_bf16_alone_gives_way_to_the_next(tmp_path):
    class Lab(FakeLab):
        def trial(self, configuration, best):
            pairs = dict(configuration)
            if "bf16" in pairs and pairs["sdpa"] == "default":
                return Trial(gate=replace(WRONG, layouts="fail: grad of input 0"))
            if pairs.get("sdpa") == "one-layout":
                return Trial("crash", "no such kernel")
            return super().trial(configuration, best)

    lab = Lab({"sdpa": 1.2, "bf16": 1.5}, diagnoses={0: Diagnosed("x", predicted={"sdpa": 9.0})})
    outcome = run(lab, tmp_path, only=("sdpa", "bf16"), allow=BOTH)

    assert trials(outcome)[:4] == [
        ("sdpa=default", "kept"),
        ("bf16=autocast", "rejected"),
        ("bf16=autocast", "failed"),
        ("bf16=autocast", "kept"),
    ]
    assert outcome.configuration == (("sdpa", "flash"), ("bf16", "autocast"))


def test_a_module_whose_gradient_fails_in_bf16_is_tried_in_float32(tmp_path):
    lab = FakeLab({"bf16": 1.5}, {"bf16=autocast": WRONG})
    outcome = run(lab, tmp_path, only=("bf16", "sdpa"), allow=BOTH)

    assert trials(outcome)[:2] == [
        ("bf16=autocast", "rejected"),
        ("bf16=autocast,fp32=head", "kept"),
    ]


@pytest.mark.parametrize(
    ("only", "then"),
    [
        (("bf16", "fp16"), [("bf16=autocast,fp32=head", "kept")]),
        (("fp16",), [("fp16=autocast", "reverted")]),
    ],
)
def test_a_repair_that_was_due_when_a_run_ended_is_tried_first(tmp_path, only, then):
    made = {"bf16=autocast,fp32=head": 2.0}, {"bf16=autocast": WRONG}
    run(FakeLab(*made), tmp_path, only=("bf16", "fp16"), trials=1, allow=("numerics",))
    run(FakeLab(*made), tmp_path, only=("bf16", "fp16"), trials=0, allow=("numerics",))
    outcome = run(FakeLab(*made), tmp_path, only=only, allow=("numerics",))

    assert trials(outcome) == [("bf16=autocast", "rejected"), *then]


@pytest.mark.parametrize("repaired", ["rejected", "kept"])
def test_fp16_stands_in_where_bf16_is_not_right(tmp_path, repaired):
    outcomes = {"bf16=autocast": WRONG}
    if repaired == "rejected":
        outcomes["bf16=autocast,fp32=head"] = WRONG
    lab = FakeLab({"bf16": 1.5, "fp16": 1.5}, outcomes)
    found = trials(run(lab, tmp_path, only=("bf16", "fp16"), allow=BOTH))
    by_bf16 = [("bf16=autocast", "rejected"), ("bf16=autocast,fp32=head", repaired)]

    assert found[:2] == by_bf16
    assert found[2:] == ([("fp16=autocast", "kept")] if repaired == "rejected" else [])


@pytest.mark.parametrize(
    ("facts", "asked", "tried"),
    [
        (CUDA, ("bf16", "fp16"), ["bf16=autocast"]),
        (CUDA, ("fp16",), ["fp16=autocast"]),
        (replace(CUDA, capability=7.5), ("bf16", "fp16"), ["fp16=autocast"]),
        (replace(CUDA, capability=6.0), ("bf16", "fp16"), []),
    ],
)
def test_bf16_goes_before_fp16_where_there_is_such(tmp_path, facts, asked, tried):
    found = trials(run(FakeLab(facts=facts), tmp_path, only=asked, allow=BOTH))

    assert [name for name, _ in found] == tried


def test_what_was_measured_is_the_step_before_times_what_both_took_in_turns(tmp_path):
    """The machine is slower in the trial: its step alone would hide the gain."""

    class Lab(FakeLab):
        def trial(self, configuration, best):
            found = super().trial(configuration, best)
            return replace(found, step_ms=found.step_ms * 3) if configuration else found

    outcome = run(Lab({"sdpa": 2.0}), tmp_path, only=("sdpa",))
    record = outcome.records[1]

    assert record["step_ms"] == pytest.approx(48.0)
    assert outcome.measured(record) == pytest.approx(16.0)
    assert predictions(outcome) == ["sdpa default: 27.2 ms by guess, measured 16.0 ms"]


def test_a_program_that_takes_no_other_size_is_told_with_the_reason(tmp_path):
    lab = FakeLab()
    lab.probe = lambda _: Trial("input", "batch(16) does not give 16 samples")
    found = run(lab, tmp_path, only=("larger-batch",), allow=("batch",))

    assert trials(found) == [("larger-batch=search", "failed")]
    (said,) = gate_findings(found)
    assert said.startswith("larger-batch search: failed: no size that was tried is faster: ")
    assert said.endswith("batch 16 fails: batch(16) does not give 16 samples")


def test_a_batch_is_searched_by_doubling_and_measured_once_more(tmp_path):
    lab = FakeLab(batches={16: 0.8, 32: 0.7, 64: 0.695})
    outcome = run(lab, tmp_path, only=("larger-batch",), allow=BOTH)
    probes = [each for each in outcome.records if each["kind"] == "probe"]

    assert lab.probed[:3] == [16, 32, 64]
    assert [each["samples"] for each in probes[:3]] == [16, 32, 64]
    assert trials(outcome)[0] == ("larger-batch=32", "kept")
    assert outcome.best["samples"] == 32
    assert outcome.gain == pytest.approx(1 / 0.7)


def test_checkpointing_waits_until_memory_ends_a_batch(tmp_path):
    names = ("larger-batch", "checkpointing")
    roomy = trials(run(FakeLab(), tmp_path / "a", only=names, allow=BOTH))
    tight = FakeLab({"checkpointing": 0.8}, batches={16: 0.5, 32: None})
    tight.with_room = {32: 0.4, 64: 0.25, 128: 0.25}
    outcome = run(tight, tmp_path / "b", only=names, allow=BOTH)
    found = trials(outcome)

    assert not any(name.startswith("checkpointing") for name, _ in roomy)
    assert found[:2] == [("larger-batch=16", "kept"), ("checkpointing=selective", "kept")]
    assert tight.probed[2:5] == [32, 64, 128]
    assert outcome.configuration == (("checkpointing", "selective"), ("larger-batch", "64"))


def test_whole_blocks_are_checkpointed_where_the_dear_parts_alone_do_not_pay(tmp_path):
    """Each keeps another share of the activations: the one says nothing of the other."""
    names = ("larger-batch", "checkpointing")
    said = Diagnosed("compute-bound")
    tight = FakeLab(
        {"checkpointing=selective": 0.2, "checkpointing=blocks": 0.8},
        batches={16: None},
        diagnoses={0: said, 1: said, 2: said},
    )
    tight.with_room = {16: 0.6, 32: 0.4, 64: 0.4}
    outcome = run(tight, tmp_path, only=names, allow=BOTH)

    tried = [each for each in trials(outcome) if each[0].startswith("checkpointing")]
    assert tried == [("checkpointing=selective", "reverted"), ("checkpointing=blocks", "kept")]
    assert outcome.configuration == (("checkpointing", "blocks"), ("larger-batch", "32"))


def test_what_a_change_saves_is_told_by_its_value(tmp_path):
    """torch.compile saves traffic; its CUDA graphs save launches alone."""
    lab = FakeLab({"compile-model=default": 1.3, "compile-model=reduce-overhead": 1.6})
    outcome = run(lab, tmp_path, only=("compile-model",))

    saved = [(each.value, each.saves) for each in questions(outcome.run)]
    assert saved == [("default", "traffic, launch"), ("reduce-overhead", "launch")]


def test_a_trial_that_takes_longer_than_what_is_left_is_named(tmp_path):
    outcome = run(FakeLab(), tmp_path, only=("compile-model",), minutes=1.2)

    assert trials(outcome) == []
    assert outcome.ended == (
        "torch.compile (default) is next and takes longer than what is left of the 1.2 minutes"
    )


def test_what_was_no_faster_is_tried_again_after_something_was_kept(tmp_path):
    lab = FakeLab({"compile-model": 1.3})
    found = trials(run(lab, tmp_path, only=("compile-model", "sdpa", "fused-optimizer"), trials=9))

    assert [name for name, _ in found].count("fused-optimizer=true") <= 2


def test_trials_and_minutes_end_it(tmp_path):
    by_trials = run(FakeLab(), tmp_path / "a", trials=1)
    by_minutes = run(FakeLab(), tmp_path / "b", minutes=1.5)

    assert by_trials.ended == "no more trials than 1 were asked for"
    assert len(trials(by_trials)) == 1
    assert by_minutes.ended == "less than 20 s of the 1.5 minutes are left"
    assert len(trials(by_minutes)) <= 2


def test_records_are_plain_json_with_the_promised_keys(tmp_path):
    outcome = run(FakeLab({"sdpa": 1.2}), tmp_path, only=("sdpa",))
    keys = {"change", "predicted_ms", "step_ms", "samples_per_s", "peak_bytes", "correct"}
    keys |= {"decision", "caliber", "compile_s", "numerics", "why"}

    assert all(keys <= each.keys() for each in outcome.records)
    lines = (tmp_path / "journal.jsonl").read_text("ascii").splitlines()
    kept = [json.loads(each) for each in lines]
    assert [kept[at]["kind"] for at in (0, 1, -1)] == ["header", "program", "end"]
    assert kept[2:-1] == json.loads(json.dumps(outcome.records))
    points = path_points(outcome.run)
    assert [each["change"] for each in points] == ["baseline", "sdpa"]
    assert points[1]["decision"] == "kept"


def test_a_program_that_differs_from_itself_cannot_be_tuned(tmp_path):
    lab = FakeLab(outcomes={"": WRONG})

    with pytest.raises(CannotTellError, match="differs from itself"):
        run(lab, tmp_path)
    assert lab.closed


def test_processes_are_ended_when_the_user_interrupts(tmp_path):
    lab = FakeLab()

    def say(text):
        if text.startswith("trial"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(lab, tmp_path, say=say)
    assert lab.closed
    lines = (tmp_path / "journal.jsonl").read_text("ascii").splitlines()
    kinds = [json.loads(each)["kind"] for each in lines]
    assert kinds == ["header", "program", "baseline"]


def test_a_journal_is_taken_up_with_its_best_measured_again(tmp_path):
    names = ("sdpa", "fused-optimizer")
    speed = {"sdpa": 1.2, "fused-optimizer": 1.1}
    run(FakeLab(speed), tmp_path, only=names, trials=1)
    lab = FakeLab(speed)
    outcome = run(lab, tmp_path, only=names)
    kinds = [each["kind"] for each in outcome.records]

    assert kinds[:4] == ["baseline", "trial", "baseline", "again"]
    assert kinds.count("trial") == 2
    assert set(dict(outcome.configuration)) == set(names)
    assert outcome.gain == pytest.approx(1.32)


def test_what_no_longer_helps_on_another_machine_is_not_taken_up(tmp_path):
    run(FakeLab({"sdpa": 1.2}), tmp_path, only=("sdpa",))
    outcome = run(FakeLab({"sdpa": 0.8}), tmp_path, only=("sdpa",), trials=0)

    assert outcome.records[-1]["kind"] == "again"
    assert outcome.records[-1]["decision"] == "reverted"
    assert outcome.configuration == ()
    assert outcome.gain is None
