"""Rules against an H200: no operator may have moved or computed more than the device can.

``h200_operators.jsonl.gz`` holds some 500 distinct calls with the kernels each launched (its first
line says how it was recorded). A rule that counts too much shows as a figure above a roof. The
labelled recordings are read from the shared folder.
"""

import gzip
import json
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pytest

from boundby.read.recording import NONE, Signature
from boundby.roofline.devices import match_device
from boundby.roofline.dtypes import kernel_dtype
from boundby.roofline.families import Family, classify_kernel
from boundby.roofline.kernels import Side, measure_kernels
from boundby.roofline.operators import cost_of
from boundby.roofline.patterns.precision import find_precision
from boundby.roofline.placement import place
from boundby.timeline.timeline import build_timeline
from recordings import recording_of

H200 = match_device("NVIDIA H200").ceilings
OPERATORS = Path(__file__).parent / "h200_operators.jsonl.gz"

ONE_TENSOR = {"aten::addcmul", "aten::ne", "aten::xlogy"}
"""Called with the same tensor twice, which a recording does not show."""
NO_SIZES = {"aten::index", "aten::arange", "aten::linspace"}
"""The recorder writes no sizes of their lists of indices, or no dtype."""
CARRIERS = (Family.MATMUL, Family.CONVOLUTION, Family.ATTENTION)


def operators():
    """Name, signature, main kernel, ns, of each recorded call."""
    lines = gzip.decompress(OPERATORS.read_bytes()).decode().splitlines()[1:]
    for line in map(json.loads, lines):
        raw = (json.dumps(line[k]).encode() for k in ("dims", "types", "strides", "concrete"))
        kernels = line["kernels"]
        carriers = [name for name in kernels if classify_kernel(name) in CARRIERS]
        main = max(carriers or kernels, key=kernels.get)
        yield line["op"], Signature(*raw), main, sum(kernels.values())


def placed():
    for name, signature, main, ns in operators():
        cost = cost_of(name, signature, kernel_dtype(main))
        yield name, cost, None if cost is None else place(cost, ns, H200, main)


def test_no_operator_did_more_than_the_device_can():
    suspects = {name for name, _, placement in placed() if placement and placement.is_suspect}

    assert suspects == set()


def test_the_only_doubts_are_operands_that_are_one_tensor_and_a_convolution_by_fft():
    doubts = {(name, p.doubt) for name, _, p in placed() if p and p.doubt not in ("", "cached")}

    shared = {(name, "shared-operand") for name in ONE_TENSOR}
    assert doubts == shared | {("aten::convolution_backward", "fewer-operations")}


def test_every_operator_is_counted_whose_sizes_are_recorded():
    uncounted = {name for name, cost, _ in placed() if cost is None}

    assert uncounted <= NO_SIZES


def test_plain_streaming_operators_reach_three_quarters_of_the_bandwidth():
    """What they are counted to move is what they moved: not less, either."""
    best = defaultdict(float)
    for name, _, placement in placed():
        if placement and placement.memory_share and not placement.doubt:
            best[name] = max(best[name], placement.memory_share)
    plain = "add sub mul div clamp sqrt exp tanh sigmoid gelu silu where lerp copy_ cat sum gt eq"
    backward = "silu_backward threshold_backward _softmax_backward_data"
    lists = "_foreach_add_ _foreach_lerp_ _fused_adamw_ _fused_sgd_"

    assert {n for n in plain.split() if best[f"aten::{n}"] < 0.75} == set()
    assert {n for n in backward.split() if best[f"aten::{n}"] < 0.75} == set()
    assert {n for n in lists.split() if best[f"aten::{n}"] < 0.65} == set()


def test_functions_slower_than_memory_are_named():
    limited = {(name, cost.dtype) for name, cost, p in placed() if p and p.limited_by == "special"}

    assert ("aten::gelu", "bfloat16") in limited
    assert ("aten::gelu", "float32") not in limited
    assert ("aten::add", "bfloat16") not in limited


# --- The labelled recordings ----------------------------------------------------------------------


def steps_of(path):
    """The rows that the recorded steps launched, under the roofs; and the step of each."""
    recording = recording_of(path)
    timeline = build_timeline(recording)
    device = recording.devices[0]
    match = match_device(device.name, device.memory_bytes, device.multiprocessors)
    inside = timeline.row_step != NONE
    rows, step = timeline.rows[inside], timeline.row_step[inside]
    return measure_kernels(recording, rows, match.ceilings), step


@pytest.fixture(scope="module")
def h200(shared):
    cache = {}

    def load(name):
        if name not in cache:
            cache[name] = steps_of(shared / "traces" / "h200" / f"{name}.json.gz")
        return cache[name]

    return load


def runs_of(roofs, *names):
    host, all_names = roofs.recording.host, roofs.recording.names
    return [r for r in roofs.runs if all_names[host.name[r.row]].removeprefix("aten::") in names]


def test_float32_products(h200):
    roofs, _ = h200("matmul_fp32")
    rates = [run.placement.tflops for run in runs_of(roofs, "mm")]

    assert rates
    assert all(48 <= rate <= 52 for rate in rates)


def test_elementwise_bandwidth(h200):
    roofs, _ = h200("elementwise_chain")
    rates = [run.placement.gbs for run in runs_of(roofs, "gelu", "mul")]

    assert rates
    assert all(4000 <= rate <= 4400 for rate in rates)


def test_layer_norm_bandwidth(h200):
    roofs, _ = h200("elementwise_chain")
    rates = [run.placement.gbs for run in runs_of(roofs, "native_layer_norm")]

    assert rates
    assert all(2600 <= rate <= 3000 for rate in rates)


def test_products_with_a_short_common_dimension_are_bound_by_memory(h200):
    roofs, _ = h200("autocast_small_k")

    assert {run.placement.nearer for run in runs_of(roofs, "addmm")} == {"memory"}


def device_bound(shared):
    for line in (shared / "traces" / "truth.jsonl").read_text().splitlines():
        truth = json.loads(line)
        if truth["truth_class"] in ("memory-bound", "compute-bound"):
            yield truth


def test_the_roof_that_most_time_stands_under_is_the_labelled_one(shared, h200):
    wrong, table = [], []
    for truth in device_bound(shared):
        name = Path(truth["file"]).name.removesuffix(".json.gz")
        roofs, _ = h200(name)
        time = roofs.time_by_side()
        compute, memory = time[Side.COMPUTE], time[Side.MEMORY]
        found = "compute-bound" if compute >= memory else "memory-bound"
        total = max(int(roofs.dur.sum()), 1)
        shares = f"compute {compute / total:.2f} memory {memory / total:.2f}"
        table.append(f"{name:36} {found:14} {shares}")
        if found not in truth["accept"]:
            wrong.append((name, found, truth["accept"]))
    print("\n".join(table))

    assert len(table) >= 25
    assert wrong == []


def test_nothing_in_the_labelled_recordings_is_above_its_roof(shared, h200):
    suspects = Counter()
    for truth in device_bound(shared):
        roofs, _ = h200(Path(truth["file"]).name.removesuffix(".json.gz"))
        suspects.update(
            run.main for run in roofs.runs if run.placement and run.placement.is_suspect
        )

    assert suspects == Counter()


def test_floors_never_exceed_the_time_measured(h200):
    for name in ("pair_bert_base_train_b16", "pair_resnet50_train_b32", "seed_block_batch8"):
        roofs, _ = h200(name)
        known = ~np.isnan(roofs.floor_ns)

        assert known.any()
        assert (roofs.floor_ns[known] <= roofs.dur[known] + 1).all()


# --- Precision against programs whose cured twin was measured -----------------------------------


def test_float32_products_would_run_as_fast_as_their_twins_did(h200):
    """Measured: 21.56 ms in float32, 3.18 ms in TF32, 1.66 ms in bfloat16."""
    roofs, step = h200("pair_big_fp32_matmul")
    found = find_precision(roofs)
    steps = len(np.unique(step))

    assert found.tf32_ns / steps / 1e6 == pytest.approx(3.18, rel=0.15)
    assert found.bfloat16_ns / steps / 1e6 == pytest.approx(1.66, rel=0.15)
