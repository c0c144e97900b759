import json

from boundby.read.memory_snapshot import read_snapshot
from tools.bench_ingest import DEEP, OPS_PER_STEP, synthetic_trace, write_snapshot


def test_the_synthetic_trace_is_json_of_the_size_asked_for():
    text = "".join(synthetic_trace(1_000_000))

    events = json.loads(text)["traceEvents"]

    assert len(text) >= 1_000_000
    steps = sum(event["name"].startswith("ProfilerStep#") for event in events)
    launches = {e["args"]["correlation"] for e in events if e.get("cat") == "cuda_runtime"}
    kernels = {e["args"]["correlation"] for e in events if e.get("cat") == "kernel"}
    assert steps > 1
    assert launches == kernels
    assert len(kernels) == steps * OPS_PER_STEP


def test_the_synthetic_snapshot_has_the_events_asked_for_each_with_its_stack(tmp_path):
    write_snapshot(tmp_path / "made.pickle", 500)

    found = read_snapshot(tmp_path / "made.pickle")

    assert found.source.events == 500
    assert {len(stack) for stack in found.stacks} == {DEEP}
