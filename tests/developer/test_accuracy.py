import json
import math
import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from boundby.verdict.decision import Verdict
from tools.accuracy import journals, tables
from tools.accuracy.__main__ import CANNOT_TELL, PAGE
from tools.accuracy.glances import Compared, Glance, agreement, agrees, in_words, load_glances
from tools.accuracy.markdown import estimate, interval, percent, table
from tools.accuracy.measure import CrashError, Result, measure, twins_of
from tools.accuracy.operations import CASES, Case, exact, rows
from tools.accuracy.page import Section, page
from tools.accuracy.questions import answers, busy_error, device_class
from tools.accuracy.roofs import made_up, rates
from tools.accuracy.scoring import distance, meets, percentile, width
from tools.accuracy.truth import Truth, TruthSet, load_set

TRUTH = {
    "file": "h200/loop.json.gz",
    "device": "NVIDIA H200",
    "torch": "2.11",
    "step_ms": [9.0, 11.0],
    "profiled_ms": 20.0,
    "gpu_ms": 2.0,
    "cured_ms": {"no_launch": 2.0, "bf16": [0.9, 1.1]},
    "truth_class": "launch-bound",
    "accept": ["launch-bound", "python-bound"],
    "unknown_key": 1,
}

DOCUMENT = {
    "steps": {"drained_ms": 20.2, "unprofiled_ms": {"estimate": 12.1, "low": 10.5, "high": 14.0}},
    "device": {"busy_share_unprofiled": 0.17, "ms_per_step": 2.0},
    "verdict": {"class": "python-bound", "cause": None, "strength": "strong"},
    "waterfall": [
        {"part": "submission", "ms": 10.0, "share": 0.826},
        {"part": "sync", "ms": 0.05, "share": 0.004},
        {"part": "device-memory", "ms": 2.05, "share": 0.17},
    ],
    "what_if": [{"id": "no_submit_cost", "step_ms": 2.5, "low": 2.2, "high": 2.8}],
}

SILENT = {
    **DOCUMENT,
    "steps": {"drained_ms": None, "unprofiled_ms": None},
    "device": {"busy_share_unprofiled": None, "ms_per_step": None},
    "verdict": {"class": "undecided", "cause": None, "strength": None},
    "waterfall": [],
    "what_if": [],
}


def result(document=DOCUMENT, **truth) -> Result:
    return Result(msgspec.convert(TRUTH | truth, Truth), document, document)


def by_question(results) -> dict:
    return {answer.question: answer for answer in answers(results)}


@pytest.mark.parametrize(
    ("value", "error"),
    [(9.0, 0.0), (10.0, 0.0), (11.0, 0.0), (4.5, 0.5), (22.0, 1.0), (None, math.inf)],
)
def test_distance_is_zero_inside_and_relative_to_the_nearer_end_outside(value, error):
    assert distance(value, (9.0, 11.0)) == pytest.approx(error)


def test_distance_to_a_single_value_is_the_relative_error():
    assert distance(2.5, (2.0, 2.0)) == pytest.approx(0.25)
    assert distance(1.5, (2.0, 2.0)) == pytest.approx(0.25)


@pytest.mark.parametrize(
    ("said", "met"),
    [((8.0, 9.0), True), ((10.0, 10.1), True), ((1.0, 8.9), False), ((11.1, 20.0), False)],
)
def test_a_range_meets_the_measured_interval_where_they_share_a_point(said, met):
    assert meets(said, (9.0, 11.0)) is met


def test_no_range_meets_nothing():
    assert not meets(None, (9.0, 11.0))


def test_width_is_relative_to_the_estimate():
    assert width(4.0, (3.0, 5.0)) == pytest.approx(0.5)


def test_percentiles_are_interpolated_between_the_two_nearest():
    assert percentile([0.0, 10.0, 20.0, 30.0], 50) == pytest.approx(15.0)
    assert percentile([3.0, 1.0, 2.0], 100) == pytest.approx(3.0)
    assert percentile([7.0], 90) == pytest.approx(7.0)


def test_silence_reaches_a_percentile_as_infinity():
    assert percentile([0.0, math.inf], 90) == math.inf
    assert percentile([0.1, math.inf, math.inf], 90) == math.inf


def test_a_truth_knows_its_name_its_middle_and_whether_the_host_decides():
    truth = msgspec.convert(TRUTH, Truth)

    assert (truth.name, truth.middle_ms, truth.device_share) == ("loop", 10.0, 0.2)
    assert truth.is_host_sensitive
    assert not msgspec.convert(TRUTH | {"gpu_ms": 9.0}, Truth).is_host_sensitive
    assert truth.twins == {"no_launch": (2.0, 2.0), "bf16": (0.9, 1.1)}


def test_a_twin_without_an_edit_is_listed_and_not_dropped():
    predicted, missing = twins_of(result())

    assert (predicted.edit, predicted.predicted, predicted.range) == (
        "no_submit_cost",
        2.5,
        (2.2, 2.8),
    )
    assert (missing.change, missing.edit, missing.predicted) == ("bf16", "bf16", None)
    assert "no estimate" in tables.twins([result()])[-1]


def test_one_recording_answers_every_question_it_can():
    found = by_question([result()])

    assert found["recorded step, replayed unedited"].measured == "1 of 1; worst 1.0% (loop)"
    assert found["unprofiled step, host-sensitive recordings: median error"].measured == "10.0%"
    assert found["verdict accepted, from the recording alone"].met
    assert found["cured twins that have an estimate"].measured == "1 of 2"
    assert found["predicted step of a twin: median error"].measured == "25.0%"
    assert not found["predicted step of a twin: median error"].met
    assert "compute or memory, where the device sets the step" not in found


def test_silence_meets_no_target_but_is_never_a_strong_mistake():
    found = by_question([result(SILENT)])

    targets = {question: answer.met for question, answer in found.items() if answer.met is not None}
    strong = {question for question in targets if question.startswith("wrong and strong")}
    assert len(strong) == 2
    assert {question for question, met in targets.items() if met} == strong


def test_a_wrong_and_strong_verdict_is_named():
    found = by_question([result(accept=["sync-bound"])])

    assert found["verdict accepted, with the measured step told"].measured == "0 of 1; others: loop"
    assert found["wrong and strong, from the recording alone"].measured == "1: loop"
    assert not found["wrong and strong, from the recording alone"].met


def test_device_work_beyond_the_step_is_a_full_device():
    assert busy_error(result(gpu_ms=12.0)) == pytest.approx(0.83)


def test_the_device_class_is_the_larger_of_two_parts():
    assert device_class(DOCUMENT) == "memory-bound"
    assert device_class(SILENT) is None


def test_a_table_keeps_its_columns_whatever_its_cells_hold():
    assert table(("a", "b"), [("x|y", "two\nlines")]) == [
        "| a | b |",
        "| --- | --- |",
        "| x\\|y | two lines |",
    ]


def test_numbers_are_written_with_what_they_are_worth():
    assert [percent(0.0124), percent(0.5), percent(math.inf)] == ["1.2%", "50.0%", "not said"]
    assert [interval((1.0, 1.0)), interval((9.5, 123.4))] == ["1.00", "9.50 to 123"]
    assert estimate(12.1, (10.5, 14.0)) == "12.1 [10.5, 14.0]"
    assert estimate(None, None) == "not said"


def test_small_parts_are_left_out_of_the_waterfall():
    assert tables.waterfall(DOCUMENT) == "submission 83, device-memory 17"
    assert tables.waterfall(SILENT) == "none"


def verdict(name, cause=None, reason=None) -> Verdict:
    return Verdict(name, cause, None if reason else "weak", (), None, reason)


def test_an_accepted_cause_must_be_the_one_named():
    loading = verdict("sync-bound", "data-loading")

    assert agrees(loading, ("sync-bound: data-loading",))
    assert agrees(loading, ("sync-bound",))
    assert not agrees(verdict("sync-bound", "item"), ("sync-bound: data-loading",))


def test_a_verdict_in_words_leaves_the_advice_out():
    assert in_words(verdict("sync-bound", "item")) == "sync-bound (item), weak"
    assert in_words(verdict("undecided", reason="Too little; record more.")) == (
        "undecided: Too little"
    )


def test_a_disagreement_needs_a_reason():
    silent = Compared(Glance("a", "busy", ("compute-bound",)), "launch-bound, weak", agrees=False)
    told = Compared(Glance("a", "busy", ("compute-bound",), "why"), "launch-bound", agrees=False)

    assert not agreement([silent]).met
    assert agreement([told]).met
    assert tables.glances([told])[-1].endswith("| no: why |")


def test_every_glance_is_of_another_recording():
    files = [glance.file for glance in load_glances()]

    assert len(files) == len(set(files))
    assert all(glance.accept for glance in load_glances())


LIVE = "# Live\n\nWords.\n\n## Twins\n\n| a |\n| --- |\n| 1 |\n\nWords.\n\n## Notes\n\nWords.\n"


def test_the_page_has_a_section_for_an_extra_set_and_ends_with_the_notes():
    section = Section(TruthSet("traces", Path(), (result().truth,)), [result()])
    extra = Section(TruthSet("tests/real", Path(), (result().truth,)), [result()])

    text = page(section, [extra], [], LIVE, "## Notes\n\nWhy.\n")

    assert "NVIDIA H200, torch 2.11" in text
    assert "## Also measured: tests/real" in text
    assert text.endswith("\n\n## Notes\n\nWhy.\n")
    assert text == page(section, [extra], [], LIVE, "## Notes\n\nWhy.\n")
    assert "## Live runs" in text
    assert "### Twins\n\n| a |\n| --- |\n| 1 |\n" in text
    assert "Words" not in text


def test_a_crash_is_told_with_the_recording_that_caused_it(tmp_path):
    (tmp_path / "truth.jsonl").write_text(json.dumps(TRUTH) + "\n")

    with pytest.raises(CrashError, match=r"^h200/loop\.json\.gz: UnreadableError: "):
        measure(load_set("traces", tmp_path))


def test_without_recordings_the_page_stays_as_it_is(tmp_path):
    before = PAGE.read_bytes() if PAGE.exists() else None

    done = subprocess.run(
        [sys.executable, "-m", "tools.accuracy"],
        cwd=PAGE.parents[1],
        env=os.environ | {"BOUNDBY_SHARED": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == CANNOT_TELL
    assert done.stdout == ""
    assert "no truth.jsonl" in done.stderr
    assert (PAGE.read_bytes() if PAGE.exists() else None) == before


# --- Roofline


def test_the_operations_of_at_least_forty_shapes_are_exact():
    assert len(CASES) >= 40
    assert [case for case in CASES if case not in exact()] == []


def test_a_wrong_or_missing_count_is_told():
    wrong = Case("mm", "8 x 4 x 2", [(8, 4), (4, 2)], 127)
    missing = Case("fancy", "8", [(8,)], 8)
    table = rows([wrong, missing])

    assert exact([wrong, missing]) == []
    assert table[2:] == [
        "| mm | 8 x 4 x 2 | 127 | 128 | no |",
        "| fancy | 8 | 8 | not counted | no |",
    ]


def test_what_needs_no_recording_is_met():
    operations, fusion = made_up()

    assert operations.met
    assert (fusion.measured, fusion.met) == ("20 N to 12 N bytes, 1.67x", True)


def chain(operators):
    said = {**DOCUMENT, "roofline": operators and {"operators": operators}}
    return result(said, file="h200/elementwise_chain.json.gz")


def test_rates_are_asked_of_the_recordings_that_have_them():
    gelu = {"name": "aten::gelu", "gbs": 4250.0}
    mul = {"name": "aten::mul", "gbs": 3900.0}
    found = rates([result(), chain([gelu, mul])])

    assert [(a.measured, a.met) for a in found] == [
        ("4.25 TB/s", True),
        ("3.90 TB/s", False),
        ("not said", False),
    ]
    assert {a.measured for a in rates([chain(None)])} == {"not said"}


def journal(folder, *trials):
    """A journal of one run, as tune writes it, with the fields that are read back."""
    common = {
        "kind": "trial", "value": "high", "configuration": [], "peak_bytes": 1, "correct": True,
        "failure": None, "why": "", "ratio": None, "diagnosis": None, "seconds": 1.0,
        "caliber": {"device": "NVIDIA H200", "torch": "2.11"}, "predicted_by": "replay",
        "gate": None, "first_s": 3.0,
    }  # fmt: skip
    first = {"kind": "baseline", "change": "baseline", "decision": "baseline", "predicted_ms": None}
    lines = [
        {"kind": "header", "version": 1, "target": "mine:Workload", "arguments": []},
        {**common, **first, "step_ms": 10.0, "samples": 8, "samples_per_s": 800.0},
        *({**common, **each} for each in trials),
    ]
    file = folder / "mine" / "h200" / "journal.jsonl"
    file.parent.mkdir(parents=True)
    file.write_text("".join(f"{json.dumps(each)}\n" for each in lines), "utf-8")
    return folder


def trial(change, predicted, step, samples=8, decision="kept"):
    rate = samples / step * 1e3 if step else None
    return {
        "change": change, "predicted_ms": predicted, "step_ms": step, "samples": samples,
        "samples_per_s": rate, "decision": decision,
    }  # fmt: skip


def test_what_tune_predicted_is_held_against_what_it_measured(tmp_path):
    trials = (
        trial("tf32", 6.0, 5.0),
        trial("larger-batch", 4.0, 20.0, samples=32),  # 5 ms for 8 samples
        trial("sdpa", 18.0, None, samples=32, decision="rejected"),
    )
    found = journals.tried(journal(tmp_path, *trials))

    assert [(each.change, each.predicted, each.measured) for each in found] == [
        ("tf32 high", 6.0, 5.0),
        ("larger-batch high", 4.0, 5.0),
    ]
    assert [each.error for each in found] == pytest.approx([0.2, 0.2])
    assert found[0].device == "NVIDIA H200, torch 2.11"
    assert "By replay: 2 trials, error 20.0% (median), 20.0% (worst)." in journals.section(found)


def test_the_journals_of_the_examples_are_told():
    assert {each.program for each in journals.tried()} >= {"transformer_block"}
