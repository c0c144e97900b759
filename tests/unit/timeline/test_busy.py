"""Busy is a union over streams; each instant has one owner, compute before all others."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from boundby.timeline.busy import is_communication
from boundby.timeline.measure import measure_device
from builders import Trace
from worlds import ALL_REDUCE, World, diagnosis_of, timeline_of


def shares(*rows, until=100):
    """Owner shares of ``[0, until)`` for device rows (what, at, dur, stream)."""
    trace = Trace()
    for what, at, dur, stream in rows:
        launch = trace.launch(at=0, dur=0)
        if what == "copy":
            trace.copy(at, dur, launch=launch, stream=stream)
        elif what == "memset":
            trace.memset(at, dur, launch=launch)
        else:
            trace.kernel(what, at, dur, launch=launch, stream=stream)
    found = timeline_of(trace).busy.shares(0, until * 1000)
    names = ("compute", "communication", "copy", "memset", "idle")
    return {name: pytest.approx(getattr(found, name)) for name in names if getattr(found, name)}


def test_idle_is_what_no_stream_covers():
    assert shares(("gemm", 0, 30, 7), ("gemm", 20, 30, 8)) == {"compute": 0.5, "idle": 0.5}


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        pytest.param(
            [("gemm", 0, 50, 7), (ALL_REDUCE, 0, 100, 8)],
            {"compute": 0.5, "communication": 0.5},
            id="communication behind compute is hidden",
        ),
        pytest.param(
            [(ALL_REDUCE, 0, 50, 7), ("copy", 0, 100, 8)],
            {"communication": 0.5, "copy": 0.5},
            id="a copy behind communication is hidden",
        ),
        pytest.param(
            [("copy", 0, 50, 8), ("memset", 0, 100, 7)],
            {"copy": 0.5, "memset": 0.5},
            id="a memset behind a copy is hidden",
        ),
        pytest.param(
            [("gemm", 25, 50, 7), ("copy", 0, 100, 8)],
            {"compute": 0.5, "copy": 0.5},
            id="a copy around compute keeps its ends",
        ),
    ],
)
def test_an_instant_belongs_to_its_first_owner(rows, expected):
    assert shares(*rows) == expected


def test_an_empty_window_has_no_shares():
    trace = Trace()
    trace.kernel("gemm", 0, 5, launch=trace.launch(at=0, dur=0))

    assert timeline_of(trace).busy.shares(10, 10) is None


@settings(max_examples=40, derandomize=True)
@given(
    rows=st.lists(
        st.tuples(
            st.sampled_from(["gemm", ALL_REDUCE, "copy", "memset"]),
            st.integers(0, 90),
            st.integers(1, 60),
            st.integers(7, 9),
        ),
        min_size=1,
        max_size=12,
    )
)
def test_shares_sum_to_one_and_none_is_negative(rows):
    trace = Trace()
    for number, (what, at, dur, stream) in enumerate(rows):
        launch = trace.launch(at=number, dur=1)
        category = {"copy": "gpu_memcpy", "memset": "gpu_memset"}.get(what, "kernel")
        trace.device_row(category, what, at, dur, launch=launch, stream=stream)
    found = timeline_of(trace).busy.shares(0, 150_000)
    parts = [found.compute, found.communication, found.copy, found.memset, found.idle]

    assert sum(parts) == pytest.approx(1, abs=1e-6)
    assert min(parts) >= -1e-12


NAMES = {
    True: [
        ALL_REDUCE,
        "ncclKernel_AllGather_RING_LL_Sum_int8_t(ncclWorkElem)",
        "void rccl_main_kernel",
        "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(vllm::RankData*)",
        "two_shot_all_reduce_kernel",
        "nvshmemi_put_kernel",
    ],
    False: [
        "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float>>",
        "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n",
        "void at::native::(anonymous namespace)::multi_tensor_apply_kernel",
        "splitKreduce_kernel",
        "Memcpy PtoP (Device -> Device)",
    ],
}


@pytest.mark.parametrize(
    ("name", "expected"), [(name, kind) for kind, names in NAMES.items() for name in names]
)
def test_collectives_are_known_by_name_with_and_without_nccl_in_it(name, expected):
    assert is_communication([name], [0]).tolist() == [expected]


def test_device_time_per_step_counts_overlapping_streams_once_and_earlier_work_not_at_all():
    trace = Trace()
    trace.step(1, at=0, dur=500)
    trace.step(2, at=500, dur=500)
    trace.kernel("of a step before", at=0, dur=400, launch=999)
    for at in (100, 600):
        first, second = trace.launch(at=at), trace.launch(at=at + 5)
        trace.kernel("gemm", at=at + 310, dur=100, launch=first, stream=7)
        trace.kernel("gemm", at=at + 360, dur=100, launch=second, stream=8)
    device = measure_device(timeline_of(trace))

    assert device.ms_per_step == pytest.approx(0.150)
    assert device.events_per_step == 2
    assert device.launches_per_step == 2
    assert device.median_kernel_us == 100
    assert device.busy_share_observed == pytest.approx((400 + 150 + 150) / 1060, abs=1e-3)


def test_waits_are_counted_between_the_first_and_the_last_launch_of_the_steps():
    world = World()
    world.sync()
    for _ in world.steps(2):
        for _ in range(4):
            world.op(20, kernel=5)
            world.sync("cudaStreamSynchronize")
        world.op(20, kernel=5)

    assert diagnosis_of(world.finish()).device.syncs_per_step == 4


def test_a_wait_that_ends_every_step_is_counted_in_the_last_one_too():
    world = World()
    for _ in world.steps(3):
        for _ in range(4):
            world.op(20, kernel=50)
        world.sync()

    assert diagnosis_of(world.finish(sync=False)).device.syncs_per_step == 1
