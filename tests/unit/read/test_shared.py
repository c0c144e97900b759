"""The shared recordings, ours and public ones: all are read, and counted alike untyped."""

import gc
import gzip
import json
from collections import defaultdict

import msgspec
import pytest

from boundby.errors import UnreadableError
from boundby.read import read_recording
from boundby.read.categories import Categories, Group
from recordings import findings, recording_of

GROUPS = {
    "host": {Group.OP, Group.CALL, Group.RANGE, Group.OVERHEAD},
    "device": {Group.KERNEL, Group.COPY, Group.MEMSET},
    "python": {Group.PYTHON},
    "waits": {Group.WAIT},
}


def traces(shared):
    return sorted((shared / "traces").rglob("*.json.gz"))


def plain_totals(path):
    """Rows, summed duration and earliest start (ns) of each table, from untyped JSON."""
    groups = Categories()
    document = msgspec.json.decode(gzip.decompress(path.read_bytes()))
    durations = defaultdict(list)
    for event in document["traceEvents"]:
        if event.get("ph") == "X":
            durations[groups[event.get("cat", "")]].append(round(event.get("dur", 0) * 1000))
    mine = {
        table: [ns for group in wanted for ns in durations[group]]
        for table, wanted in GROUPS.items()
    }
    return {table: (len(each), sum(each)) for table, each in mine.items()}


def totals(recording):
    return {
        table: (len(rows := getattr(recording, table)), int(rows.dur.sum())) for table in GROUPS
    }


@pytest.fixture
def no_collections():
    """No search for cycles: half of the time that documents of plain dictionaries would take."""
    gc.disable()
    yield
    gc.enable()


def test_every_shared_trace_is_read_as_untyped_json_is(shared, no_collections):
    paths = traces(shared)
    refused = []
    for path in paths:
        try:
            recording = recording_of(path)
        except UnreadableError:
            refused.append(path.name)
            continue
        assert totals(recording) == plain_totals(path), path.name
        assert not {"truncated", "repaired", "unreadable-events"} & findings(recording).keys()
    assert len(paths) > 80
    assert refused == ["not_a_trace_list.json.gz"]


def test_no_recording_of_ours_is_void(shared):
    lines = (shared / "traces" / "truth.jsonl").read_text().splitlines()
    files = [json.loads(line)["file"] for line in lines]

    void = {
        file: grave
        for file in files
        if (
            grave := [
                q.id
                for q in recording_of(shared / "traces" / file).quality
                if q.severity == "fatal"
            ]
        )
    }

    assert void == {}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a100_cold_sync", "cold-start"),
        ("a100_no_kernels", "no-kernels"),
        ("a100_model_on_cpu", "device-unused"),
        ("cpu_course", "cpu-only"),
        ("cpu_tiny", "cpu-only"),
        ("hta_rank_non_gpu", "cpu-only"),
        ("hta_alexnet", "cold-start"),
        ("hta_et_simple_add", "too-little-device-work"),
        ("hta_event_sync", "too-little-device-work"),
        ("hta_mi250_minitoy", "cold-start"),
        ("kineto_before_fix", "too-little-device-work"),
        ("kineto_after_fix", "too-little-device-work"),
        ("tl_sglang_decode", "unrecorded-wait"),
        ("tl_vllm_piecewise", "late-device"),
    ],
)
def test_public_traces_that_allow_no_verdict(shared, name, expected):
    recording = recording_of(shared / "traces" / "public" / f"{name}.json.gz")

    assert findings(recording)[expected] == "fatal"


@pytest.mark.parametrize(
    "name",
    [
        *("a100_5_gemms", "h100_tiny_transformer", "hta_negqueue_rank0", "param_linear", "t4_amp"),
        *("kineto_v_old_w0", "kineto_v_old_w4", "t4_fp32", "tl_compile_triton", "tl_h100_qwen05b"),
        *("tl_h100_bertsmall", "tl_mi300_bertsmall", "tl_h100_falconsai", "tl_mi210_gpuonly"),
        *("tl_mi300_resnet_ckpt", "tl_xdit_sd35"),
    ],
)
def test_public_traces_that_allow_a_verdict(shared, name):
    recording = recording_of(shared / "traces" / "public" / f"{name}.json.gz")

    assert "fatal" not in findings(recording).values()


def test_a_folder_of_eight_ranks(shared):
    recording = read_recording(shared / "traces" / "public" / "dlrm_8ranks")

    assert (recording.caliber.rank, recording.caliber.world_size) == (0, 8)
    assert findings(recording)["several-ranks"] == "info"
