"""Recordings whose truth was measured: ten that ship with the tests, and all shared ones."""

import json

import pytest

from boundby.diagnose import Options, diagnose
from boundby.errors import UnreadableError
from boundby.prescribe.catalogue.loader_workers import TRAVEL_MS
from boundby.report.document import encode
from recordings import REAL, recording_of

MOST_BYTES = 1_000_000
DRAINED_ERROR = 0.02
DEVICE_ERROR = 0.01


def truths(folder):
    lines = (folder / "truth.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


OURS = {truth["file"]: truth for truth in truths(REAL)}


def drained_error(truth, diagnosis):
    return abs(diagnosis.steps.drained_ms / truth["profiled_ms"] - 1)


def device_error(truth, diagnosis):
    return abs(diagnosis.device.ms_per_step / truth["gpu_ms"] - 1)


# --- Ours -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def diagnoses():
    return {file: diagnose(recording_of(REAL / file)) for file in OURS}


def diagnose_with(file, **known):
    return diagnose(recording_of(REAL / file), Options(**known))


def test_a_batch_that_workers_had_ready_still_takes_about_a_millisecond_to_come():
    """What ``loader-workers`` adds to the step without the wait for data."""
    found = diagnose_with("unmeasured/workers_not_late.json.gz")
    waited = next(part.ms for part in found.waterfall if part.part == "data")

    assert waited == pytest.approx(TRAVEL_MS, rel=0.25)
    assert "loader-workers" not in {change.id for change in found.prescriptions}


@pytest.mark.parametrize("file", OURS)
def test_a_replay_without_edits_takes_as_long_as_the_profiled_step(diagnoses, file):
    assert drained_error(OURS[file], diagnoses[file]) <= DRAINED_ERROR


@pytest.mark.parametrize("file", OURS)
def test_device_time_is_that_of_the_work_the_steps_launched(diagnoses, file):
    assert device_error(OURS[file], diagnoses[file]) <= DEVICE_ERROR


@pytest.mark.parametrize("file", OURS)
def test_the_verdict_is_right(diagnoses, file):
    assert diagnoses[file].verdict.name in OURS[file]["accept"]


@pytest.mark.parametrize("file", OURS)
def test_the_measured_step_lies_in_the_range_or_close_to_it(diagnoses, file):
    low, high = OURS[file]["step_ms"]
    step = diagnoses[file].steps.unprofiled_ms

    assert step.low <= high * 1.15
    assert step.high >= low * 0.85


@pytest.mark.parametrize("file", OURS)
def test_a_measured_step_is_met(file):
    low, high = OURS[file]["step_ms"]
    step = diagnose_with(file, step_ms=(low + high) / 2).steps.unprofiled_ms

    assert step.low <= (low + high) / 2 <= step.high
    assert low * 0.98 <= step.estimate <= high * 1.02


@pytest.mark.parametrize(
    ("file", "edit", "cure"),
    [
        ("pair_hooks_with_json.json.gz", "no_python", "no_python"),
        ("pair_item_each_layer.stack.json.gz", "no_sync", "no_sync"),
    ],
)
def test_a_cure_is_predicted_as_its_twin_was_measured(file, edit, cure):
    truth = OURS[file]
    diagnosis = diagnose_with(file, step_ms=sum(truth["step_ms"]) / 2)
    predicted = next(asked for asked in diagnosis.what_if if asked.id == edit)

    assert predicted.step_ms == pytest.approx(truth["cured_ms"][cure], rel=0.35)
    assert predicted.step_ms < diagnosis.steps.unprofiled_ms.estimate


def test_the_readme_names_every_file_and_together_they_are_small():
    files = sorted(REAL.glob("*.json.gz"))
    readme = (REAL / "README.md").read_text("utf-8")

    assert sorted(OURS) == [file.name for file in files]
    assert [file.name for file in files if f"`{file.name}`" not in readme] == []
    assert sum(file.stat().st_size for file in files) <= MOST_BYTES


# --- All shared ones ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def shared_diagnoses(shared):
    """Truth and diagnosis of every labelled recording, by file."""
    folder = shared / "traces"
    return {
        truth["file"]: (truth, diagnose(recording_of(folder / truth["file"])))
        for truth in truths(folder)
    }


def test_every_drained_replay_takes_as_long_as_its_profiled_step(shared_diagnoses):
    errors = {file: drained_error(*pair) for file, pair in shared_diagnoses.items()}

    assert {file: error for file, error in errors.items() if error > DRAINED_ERROR} == {}


def test_every_device_time_is_that_of_the_work_the_steps_launched(shared_diagnoses):
    errors = {file: device_error(*pair) for file, pair in shared_diagnoses.items()}

    assert {file: error for file, error in errors.items() if error > DEVICE_ERROR} == {}


def test_nearly_every_verdict_is_right_and_no_strong_one_is_wrong(shared_diagnoses):
    wrong = {
        file: diagnosis.verdict.strength
        for file, (truth, diagnosis) in shared_diagnoses.items()
        if diagnosis.verdict.name not in truth["accept"]
    }

    assert "strong" not in wrong.values(), wrong
    assert len(wrong) <= 2, wrong


def test_the_busy_share_without_the_profiler_is_nearly_always_met(shared_diagnoses):
    off = {
        file: diagnosis.device.busy_share_unprofiled
        for file, (truth, diagnosis) in shared_diagnoses.items()
        if not truth["gpu_ms"] / truth["step_ms"][1] - 0.07
        <= diagnosis.device.busy_share_unprofiled
        <= truth["gpu_ms"] / truth["step_ms"][0] + 0.07
    }

    assert len(off) <= 0.1 * len(shared_diagnoses), off


def test_every_waterfall_sums_to_its_step(shared_diagnoses):
    for file, (_, diagnosis) in shared_diagnoses.items():
        step = diagnosis.steps.unprofiled_ms
        assert sum(p.ms for p in diagnosis.waterfall) == pytest.approx(step.estimate), file
        assert sum(p.share for p in diagnosis.waterfall) == pytest.approx(1, abs=1e-6), file
        assert min(p.ms for p in diagnosis.waterfall) >= 0, file
        assert step.low <= step.estimate <= step.high, file
        for asked in diagnosis.what_if:
            assert asked.low <= asked.step_ms <= asked.high, (file, asked.id)


@pytest.fixture(scope="module")
def public_diagnoses(shared):
    """Diagnosis of every public trace, None where it was refused, by name."""
    found = {}
    for path in sorted((shared / "traces" / "public").rglob("*.json.gz")):
        try:
            found[path.name] = diagnose(recording_of(path))
        except UnreadableError:
            found[path.name] = None
    return found


def test_every_public_trace_ends_in_a_document_or_in_one_line(public_diagnoses):
    refused = [name for name, diagnosis in public_diagnoses.items() if diagnosis is None]

    assert len(public_diagnoses) >= 35
    assert refused == ["not_a_trace_list.json.gz"]
    for name, diagnosis in public_diagnoses.items():
        if diagnosis is not None:
            verdict = json.loads(encode(diagnosis))["verdict"]
            assert verdict["class"] == diagnosis.verdict.name, name
            assert (verdict["class"] == "undecided") == bool(verdict["undecided_reason"]), name


@pytest.mark.parametrize(
    ("file", "accept"),
    [
        ("a100_5_gemms", {"compute-bound"}),
        ("a100_cold_sync", {"undecided"}),
        ("a100_no_kernels", {"undecided"}),
        ("cpu_course", {"undecided"}),
        ("h100_tiny_transformer", {"launch-bound", "python-bound"}),
        ("hta_et_simple_add", {"undecided"}),
        ("kineto_v_old_w4", {"compute-bound", "memory-bound"}),
        ("param_linear", {"launch-bound", "python-bound"}),
        ("t4_fp32", {"sync-bound"}),
        ("tl_compile_triton", {"compute-bound"}),
        ("tl_h100_bertsmall", {"launch-bound", "python-bound"}),
        ("tl_mi300_bertsmall", {"launch-bound", "python-bound"}),
        ("tl_h100_qwen05b", {"memory-bound"}),
        ("tl_mi300_resnet_ckpt", {"communication-bound"}),
    ],
)
def test_a_public_trace_is_seen_as_an_engineer_sees_it_at_a_glance(public_diagnoses, file, accept):
    assert public_diagnoses[f"{file}.json.gz"].verdict.name in accept
