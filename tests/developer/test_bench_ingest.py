import json

from tools.bench_ingest import OPS_PER_STEP, synthetic_trace


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
