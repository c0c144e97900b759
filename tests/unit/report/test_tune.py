"""The report of a tuning run: the same values as text, JSON and Markdown."""

import json
import shlex
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

from boundby.cli.tune import command
from boundby.experiment.ending import read_outcome
from boundby.experiment.values import Diagnosed, Gate, Trial
from boundby.report import tune, tune_markdown
from boundby.report.layout import LABEL_WIDTH, Space, plain
from boundby.report.page.render import render as render_page
from boundby.report.page.tune import tune_page
from boundby.report.terminal import Look
from boundby.report.tune_document import encode, schema
from boundby.report.tune_path import picture, size
from tuning import FakeLab, run

WRONG = Gate(passed=False, tensors=9, worst="grad of 0.weight", error=1.4, limit=0.01)


@pytest.fixture
def outcome(tmp_path):
    """A larger batch and fused attention kept, a wrong kernel and a crash on the way."""
    lab = FakeLab(
        {"sdpa": 1.2, "fused-optimizer": 0.98},
        {"sdpa=default": WRONG, "compile-model=default": "crash"},
        batches={16: 0.5, 32: 0.4, 64: None},
        diagnoses={0: Diagnosed("launch-bound", predicted={"larger-batch": 16.0})},
    )
    names = ("larger-batch", "sdpa", "fused-optimizer", "compile-model")
    return run(lab, tmp_path, only=names, allow=("batch",))


@pytest.fixture
def nothing(tmp_path):
    return run(FakeLab(), tmp_path, only=("sdpa",))


def test_the_schema_is_itself_valid():
    jsonschema.Draft202012Validator.check_schema(schema())


@pytest.mark.parametrize("which", ["outcome", "nothing"])
def test_every_document_follows_the_schema(request, which):
    document = json.loads(encode(request.getfixturevalue(which)))

    jsonschema.Draft202012Validator(schema()).validate(document)
    assert document["schema_version"] == 1


def test_every_line_of_the_journal_follows_the_schema(outcome, tmp_path):
    record = {"$ref": "#/$defs/record", "$defs": schema()["$defs"]}
    lines = (tmp_path / "journal.jsonl").read_text("ascii").splitlines()[2:-1]

    assert lines
    for each in lines:
        jsonschema.Draft202012Validator(record).validate(json.loads(each))


def test_the_text_says_what_was_gained_and_how(outcome):
    text = tune.render(outcome, Look())

    assert text.startswith("tune       3.00x the throughput: 250 samples/s -> 750 samples/s")
    assert "peak memory 2.00 GiB -> 8.00 GiB" in text
    assert "larger-batch 32" in text
    assert "sdpa default: rejected: grad of 0.weight: error 1.4e+00" in text
    assert "compile-model default: failed: it crashed: as planned" in text
    assert "batch_size = 32" in text
    assert "y = OneLayout.apply(F.scaled_dot_product_attention(q, k, v))" in text
    assert "\x1b" not in text
    assert max(map(len, text.splitlines())) <= 100


def test_all_trials_are_on_the_path_with_time_and_memory(outcome):
    text = tune.render(outcome, Look())
    rows = text[text.index("\npath ") + 1 : text.index("\nwhy ")].splitlines()
    baseline = next(row for row in rows if "baseline" in row)

    assert "peak memory" in rows[0]
    assert "32.0 ms" in baseline
    assert "2.00 GiB" in baseline
    assert len([row for row in rows[1:] if row.strip()]) == len(outcome.story)


def test_throughput_stands_beside_the_step_where_the_batch_changed(outcome, nothing):
    text = tune.render(outcome, Look())
    row = next(row for row in text.splitlines() if row.strip().startswith("larger-batch 32"))

    assert " ".join(row.replace("#", "").split()) == "larger-batch 32 kept 51.2 ms 625 8.00 GiB"
    assert "samples/s   peak" not in tune.render(nothing, Look())


def test_predictions_are_for_the_samples_of_the_step_before(outcome):
    said = tune.predictions(outcome)

    assert said[0] == "larger-batch 32: 16.0 ms by replay, measured 12.8 ms"


def test_five_questions_for_every_change_that_was_kept(outcome):
    text = tune.render(outcome, Look())

    for word in ("saves", "more memory?", "numerics?", "some shapes?", "start-up?"):
        assert text.count(f"  {word}") == 2
    assert "more memory? measured 6144 MiB more; yes: activations grow with the batch" in text


def test_markdown_holds_the_same_numbers(outcome):
    text = tune_markdown.render(outcome)

    assert text.startswith("# 3.00x the throughput: 250 samples/s -> 750 samples/s\n")
    assert "\nPeak memory 2.00 GiB -> 8.00 GiB.\n" in text
    assert "| larger-batch 32 | kept | 51.2 ms | 625 | 8.00 GiB |" in text
    assert "batch_size = 32" in text


def test_without_a_gain_nothing_is_promised(nothing):
    text = tune.render(nothing, Look())

    assert text.startswith("tune       nothing that was tried is surely faster than 250 samples/s")
    assert "\npatch" not in text


def test_gates_of_no_trial_are_not_told_as_passed(tmp_path, nothing):
    untried = run(FakeLab(), tmp_path / "untried", only=("sdpa",), trials=0)

    assert "every trial that gave a number passed" in tune.render(nothing, Look())
    assert "every trial" not in tune.render(untried, Look())
    assert "nothing was tried" in tune.render(untried, Look())
    assert "Nothing was tried." in render_page(tune_page(untried))


def test_the_commands_that_verify_run_as_they_stand(outcome):
    arguments = ("--data", "a b")
    script = replace(outcome, target="train.py", arguments=arguments)
    script = replace(script, facts=replace(script.facts, kind="script"))

    assert tune.verify(script) == [
        "boundby run train.py --data 'a b'",
        "boundby tune --journal after train.py --data 'a b'",
    ]
    typed = shlex.split(tune.verify(script)[1])[2:]
    found = command.make_context("tune", typed).params
    assert (found["journal"], found["arguments"]) == (Path("after"), arguments)


@pytest.mark.parametrize(
    ("slower", "said", "between"),
    [
        (1.01, "1.50x the throughput", None),
        (1.024, "1.50 to 1.54x the throughput", [1.5, 1.536]),
        (1.5, "1.50 to 2.25x the throughput", [1.5, 2.25]),
    ],
)
def test_a_machine_that_changed_its_speed_makes_the_gain_a_range(tmp_path, slower, said, between):
    """By the turns 1.5, by the figures of first and last trial ``slower`` times as much."""
    found = run(FakeLab({"sdpa": 1.5}), tmp_path, only=("sdpa",))
    step = found.best["step_ms"] * 1.5 * slower
    found = replace(found, baseline={**found.baseline, "step_ms": step})

    assert tune.result(found).startswith(said)
    assert json.loads(encode(found))["gain_range"] == (between and pytest.approx(between))
    assert bool(found.drift) == (between is not None)
    assert (found.drift in tune.notes(found)) == (between is not None)


def test_a_memory_cap_is_told_and_verified_with(outcome):
    capped = replace(outcome, memory_cap=4 << 30)

    assert tune.where(capped).endswith("4.00 GiB for a step at most")
    typed = shlex.split(tune.verify(capped)[0])[2:]
    assert command.make_context("tune", typed).params["memory_cap"] == 4
    assert json.loads(encode(capped))["memory_cap_bytes"] == 4 << 30
    assert "cap" not in tune.verify(outcome)[0]
    assert tune.where(replace(outcome, memory_cap=0)).endswith("for a step at most")


def test_a_caliber_without_versions_names_the_device(outcome):
    """The inputs of a program may not be told; its device and its batch are."""
    facts = replace(outcome.facts, caliber={"batch": 8, "device": "NVIDIA H200"})

    assert tune.where(replace(outcome, facts=facts)) == "NVIDIA H200"


def test_a_journal_of_two_runs_is_one_path(tmp_path):
    names = ("sdpa", "fused-optimizer")
    speed = {"sdpa": 1.2, "fused-optimizer": 1.1}
    run(FakeLab(speed), tmp_path, only=names, trials=1)
    outcome = run(FakeLab(speed), tmp_path, only=names)
    text = tune.render(outcome, Look())

    assert [each["change"] for each in outcome.story] == ["baseline", "sdpa", "fused-optimizer"]
    assert text.startswith("tune       1.32x the throughput: 250 samples/s -> 330 samples/s")
    said = " ".join(text.split())
    assert "2 runs: baseline and best were measured again in the last" in said
    assert "1 trial in 1.5 minutes, in the last of 2 runs (2 trials in 2.5 minutes in all)" in said
    assert tune.spent(read_outcome(tmp_path)) == tune.spent(outcome)
    assert tune.spent(outcome) in tune_markdown.render(outcome)


def test_why_each_trial_was_kept_or_reverted(outcome):
    """What failed or was refused stands under ``gates`` alone."""
    said = tune.reasons(outcome)

    assert said[0] == (
        "larger-batch 32: kept, 2.50x the throughput (2.48 to 2.53); "
        "batch 64 leaves too little memory"
    )
    assert "sdpa one-layout: kept, 1.20x the throughput (1.19 to 1.21)" in said
    assert "fused-optimizer: reverted, slower: 0.98x the throughput (0.97 to 0.99)" in said
    assert not any("compile-model default" in each for each in said)
    assert "\nwhy        larger-batch 32: kept, 2.50x" in tune.render(outcome, Look())
    assert f"\n## Why\n\n- {said[0]}\n" in tune_markdown.render(outcome)


def test_what_a_trial_changed_beside_its_own_change_is_told(tmp_path):
    """A repair brings another attention kernel."""

    class Lab(FakeLab):
        def trial(self, configuration, best):
            pairs = dict(configuration)
            if "bf16" in pairs and pairs["sdpa"] == "default":
                return Trial(gate=replace(WRONG, layouts="fail: grad of input 0"))
            return super().trial(configuration, best)

    lab = Lab({"sdpa": 1.2, "bf16": 1.5}, diagnoses={0: Diagnosed("x", predicted={"sdpa": 9.0})})
    found = run(lab, tmp_path, only=("sdpa", "bf16"), allow=("numerics",), trials=3)

    assert [each.partition(":")[0] for each in tune.reasons(found)] == [
        "sdpa default",
        "bf16 autocast with sdpa one-layout",
    ]
    assert tune.gate_findings(found)[0].startswith("bf16 autocast: rejected: ")
    assert "bf16 autocast with sdpa one-layout" in render_page(tune_page(found))


def test_a_trial_that_the_minutes_cut_is_no_finding_of_a_gate(tmp_path):
    found = run(FakeLab(outcomes={"sdpa=default": "time"}), tmp_path, only=("sdpa",), trials=1)

    assert tune.gate_findings(found) == []
    (said,) = tune.reasons(found)
    assert said.startswith(
        "sdpa default: failed, the minutes ended in the middle of it: it is due again"
    )


def test_predictions_tell_their_samples_where_a_batch_changed(outcome, tmp_path):
    nothing = run(FakeLab(), tmp_path / "nothing", only=("sdpa",))
    said = "both for the samples that a step had before the change; measured in turns with it"

    assert f"\npredicted  {said}\n" in tune.render(outcome, Look(width=120))
    assert f"## Predicted and measured\n\n{said.capitalize()}.\n\n- larger-batch 32" in (
        tune_markdown.render(outcome)
    )
    alike = "measured in turns with the step before the change"
    assert f"\npredicted  {alike}\n           sdpa default" in tune.render(nothing, Look())


def test_a_best_that_took_another_time_by_then_is_told_beside_the_trial(outcome, tmp_path):
    """On a machine that became faster, a reverted trial looks faster than what was kept."""
    record = outcome.story[1]
    before = outcome.before(record)
    alike = {**record, "against_ms": before["step_ms"] * 1.01}
    drifted = {**record, "against_ms": before["step_ms"] / 2}
    whole = replace(outcome, records=tuple(drifted if e is record else e for e in outcome.records))
    said = f"{record['why']}: {record['step_ms']:.3g} ms beside 16.0 ms of the best"

    assert tune.reason(alike, replace(outcome, records=(before, alike))) == record["why"]
    assert f"{record['change']} {record['value']}: kept, {said}" in tune.reasons(whole)
    assert said in render_page(tune_page(whole))


@pytest.mark.parametrize("width", [60, 80, 90, 100, 120])
def test_the_path_fits_into_its_width(outcome, width):
    long = {**outcome.story[1], "change": "compile-model", "value": "reduce-overhead"}
    rows = picture([*outcome.story, long], Space(width - LABEL_WIDTH))

    assert max(len(plain(row)) for row in rows) <= width - LABEL_WIDTH
    assert "peak memory" in plain(rows[0])


def test_the_command_that_verifies_stands_alone_on_its_line(outcome):
    command = "boundby tune mine:Workload --trials 0"
    about = "# once applied: its baseline"

    assert f"verify     {about}\n           {command}\n" in tune.render(outcome, Look())
    assert f"{about}\n$ {command}\n```" in tune_markdown.render(outcome)
    assert json.loads(encode(outcome))["verify"] == [command]


def test_sizes():
    assert (size(None), size(1 << 20), size(3 << 29)) == ("-", "1.00 MiB", "1.50 GiB")


@pytest.mark.parametrize("which", ["outcome", "nothing"])
def test_the_page_shows_the_same_values(request, which):
    found = request.getfixturevalue(which)
    page = tune_page(found)
    shown = render_page(page)

    assert page.document == json.loads(encode(found))
    assert [panel.id for panel in page.panels] == [
        "verdict", "trials", "predicted", "questions", "patch", "notes",
    ]  # fmt: skip
    assert tune.rate(found.best) in shown
    assert len(page.charts["trial-steps"]["rows"]) == sum(
        each["step_ms"] is not None for each in found.story
    )
    for change, _code in found.patch:
        assert change in shown
    assert all(f">{each['decision']}<" in shown for each in found.story[1:])
    assert "dropped" not in shown
