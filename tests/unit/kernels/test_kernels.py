"""What bounds a kernel and a file, and what to look at, with the figures in sight."""

from dataclasses import replace

import pytest

from boundby.kernels.analyse import analyse
from boundby.kernels.findings import QUESTIONS, find
from boundby.kernels.group import group
from boundby.kernels.verdict import judge
from boundby.read.nsight_compute import read_kernels
from boundby.read.nsight_compute_values import KernelLaunch, KernelProfile, Metrics, Pipe
from boundby.topics import find as find_topic
from ncu_pages import details_page, kernel, raw_page
from recordings import REAL

H200 = {
    "multiprocessors": 132.0,
    "limit_registers": 16.0,
    "limit_shared": 32.0,
    "limit_warps": 16.0,
    "limit_blocks": 32.0,
}


def launch(name="k", grid=(13200, 1, 1), pipe=None, stalls=None, **metrics):
    """A launch on an H200 that takes 100 us and is latency-bound unless said otherwise."""
    values = {"duration_ns": 100_000.0, "compute": 0.1, "memory": 0.2, "occupancy_limit": 1.0}
    return KernelLaunch(
        name=name,
        grid=grid,
        block=(128, 1, 1),
        launches=1,
        metrics=Metrics(**{**H200, **values, **metrics}),
        stalls=stalls or {},
        pipe=pipe,
    )


def profile(*launches):
    return KernelProfile("k.csv", "nsight-compute-raw", 1, None, "9.0", launches)


def only(one):
    return group([one])[0]


def found(one):
    return [each.id for each in find(only(one))]


# --- The class of a kernel ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("compute", "memory", "name", "side"),
    [
        (0.10, 0.20, "latency-bound", "memory"),
        (0.59, 0.59, "latency-bound", "compute"),
        (0.60, 0.20, "compute-bound", "compute"),
        (0.20, 0.60, "memory-bound", "memory"),
        (0.79, 0.60, "compute-bound", "compute"),
        (0.80, 0.10, "at-limit", "compute"),
        (0.79, 0.80, "at-limit", "memory"),
        (0.95, 0.96, "at-limit", "memory"),
    ],
)
def test_bands(compute, memory, name, side):
    verdict = judge(Metrics(compute=compute, memory=memory), None)

    assert (verdict.name, verdict.side) == (name, side)


@pytest.mark.parametrize(("compute", "balanced"), [(0.71, False), (0.73, True), (0.81, True)])
def test_sides_that_are_both_busy_are_balanced(compute, balanced):
    assert judge(Metrics(compute=compute, memory=0.82), None).is_balanced is balanced


@pytest.mark.parametrize("missing", ["compute", "memory"])
def test_without_both_sides_there_is_no_class(missing):
    verdict = judge(replace(Metrics(compute=0.9, memory=0.9), **{missing: None}), None)

    assert verdict.name == "undecided"
    assert "ncu --set full" in verdict.undecided_reason


@pytest.mark.parametrize(
    ("metrics", "unit"),
    [
        ({"dram": 0.85, "l2": 0.91, "l1": 0.3}, "DRAM"),
        ({"dram": 0.33, "l2": 0.85, "l1": 0.6}, "L2"),
        ({"dram": 0.10, "l2": 0.20, "l1": 0.86}, "L1"),
        ({"dram": 0.10, "l2": 0.20}, None),
        ({}, None),
    ],
)
def test_the_unit_of_memory_is_the_one_with_the_figure_of_its_side(metrics, unit):
    assert judge(Metrics(compute=0.1, memory=0.85, **metrics), None).unit == unit


@pytest.mark.parametrize(
    ("pipe", "issue", "unit"),
    [
        (Pipe("Tensor", 0.9), 0.11, "Tensor"),
        (Pipe("FMA", 0.76), 0.86, "FMA"),
        (Pipe("ALU", 0.46), 0.75, "issue"),
        (None, 0.75, "issue"),
        (None, None, None),
    ],
)
def test_the_unit_of_compute(pipe, issue, unit):
    assert judge(Metrics(compute=0.9, memory=0.1, issue=issue), pipe).unit == unit


# --- Launches of one kernel -----------------------------------------------------------------------


def test_launches_of_one_name_and_shape_are_one_kernel_by_time():
    first = launch(duration_ns=10_000.0, memory=0.9)
    second = launch(duration_ns=30_000.0, memory=0.5)
    other = launch(grid=(8, 1, 1), duration_ns=5_000.0)
    kernels = group([first, other, second])

    assert [(k.launches, k.total_ns) for k in kernels] == [(2, 40_000.0), (1, 5_000.0)]
    assert kernels[0].metrics.memory == pytest.approx(0.6)
    assert kernels[0].metrics.duration_ns == 20_000
    assert [k.share for k in kernels] == pytest.approx([40 / 45, 5 / 45])


def test_a_mean_needs_every_launch():
    kernels = group([launch(), launch(duration_ns=None, l2=0.5)])

    assert kernels[0].total_ns is None
    assert kernels[0].share is None
    assert kernels[0].metrics.l2 is None
    assert kernels[0].metrics.memory == pytest.approx(0.2)


def test_summed_launches_count_as_many():
    kernels = group([replace(launch(), launches=3)])

    assert (kernels[0].launches, kernels[0].total_ns) == (3, 300_000.0)


@pytest.mark.parametrize(
    ("metrics", "limiters"),
    [
        ({"limit_registers": 5.0}, ("registers",)),
        ({"limit_registers": 1.0, "limit_shared": 1.0}, ("registers", "shared memory")),
        ({"limit_warps": 8.0}, ("warps",)),
        ({"limit_registers": None, "limit_shared": None, "limit_warps": None}, ("blocks",)),
        ({"limit_registers": 5.0, "occupancy_limit": 1.0}, ()),
    ],
)
def test_what_limits_the_occupancy(metrics, limiters):
    assert only(launch(**{"occupancy_limit": 0.5, **metrics})).limiters == limiters


@pytest.mark.parametrize(
    ("blocks", "waves", "tail"),
    [(8, 8 / 2112, 1 - 8 / 2112), (2112, 1.0, 0.0), (3168, 1.5, 0.25), (21120, 10.0, 0.0)],
)
def test_waves_follow_from_the_launch(blocks, waves, tail):
    one = only(launch(grid=(blocks, 1, 1)))

    assert one.waves == pytest.approx(waves)
    assert one.tail == pytest.approx(tail)


def test_waves_as_printed_where_the_launch_is_not_known():
    one = only(launch(grid=None, waves=2.5))

    assert (one.waves, one.tail) == (2.5, pytest.approx(1 / 6))


def test_sectors_per_request():
    access = only(launch(load_sectors=72.0, load_requests=4.0, store_requests=0.0)).access

    assert access.load_sectors == 18
    assert access.store_sectors is None


# --- The file -------------------------------------------------------------------------------------


def test_the_class_of_most_of_the_time_is_that_of_the_file():
    kernels = [
        launch("a", memory=0.9, duration_ns=60_000.0),
        launch("b", compute=0.9, duration_ns=30_000.0),
        launch("c", duration_ns=10_000.0),
    ]
    verdict = analyse(profile(*kernels)).verdict

    assert (verdict.name, verdict.side, verdict.share) == ("at-limit", "memory", 0.6)
    assert [(s.name, s.side, s.share) for s in verdict.shares] == [
        ("at-limit", "memory", 0.6),
        ("at-limit", "compute", 0.3),
        ("latency-bound", None, 0.1),
    ]
    assert verdict.at_limit_ns == pytest.approx(60_000 + 30_000 + 10_000 * 0.2 / 0.8)


def test_a_file_without_durations_has_no_class():
    analysis = analyse(profile(launch(duration_ns=None)))

    assert analysis.verdict.name == "undecided"
    assert "duration" in analysis.verdict.undecided_reason
    assert analysis.total_ns is None
    assert analysis.kernels[0].verdict.name == "latency-bound"


def test_a_file_without_throughput_says_what_it_lacks():
    analysis = analyse(profile(launch(compute=None), launch("b", duration_ns=1000.0)))

    assert analysis.verdict.name == "undecided"
    assert analysis.verdict.at_limit_ns is None
    assert [(q.id, q.count) for q in analysis.quality] == [("metrics-missing", 1)]


def test_what_to_look_at_next_is_what_takes_time():
    kernels = [
        launch("long", memory=0.9, dram=0.9, duration_ns=900_000.0),
        launch("long too", memory=0.9, dram=0.9, duration_ns=800_000.0),
        launch("some", grid=(8, 1, 1), duration_ns=100_000.0),
        launch("short", grid=(4, 1, 1), duration_ns=100.0),
    ]
    analysis = analyse(profile(*kernels))

    assert [(look.id, look.kernel) for look in analysis.look_next] == [
        ("dram-limit", "long"),
        ("few-blocks", "some"),
    ]
    assert analysis.next[0].command == "boundby explain dram-limit"


# --- Findings -------------------------------------------------------------------------------------

GEMM = "sm80_xmma_gemm_f32f32_f32f32_f32_nn_n"


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        pytest.param(launch(), [], id="nothing"),
        pytest.param(launch(grid=(8, 1, 1)), ["few-blocks"], id="8 blocks"),
        pytest.param(launch(grid=(132, 1, 1)), [], id="a block each"),
        pytest.param(launch(grid=(8, 1, 1), memory=0.9), [], id="few blocks, busy"),
        pytest.param(launch(duration_ns=4_900.0), ["short-kernel"], id="short"),
        pytest.param(launch(duration_ns=5_000.0), [], id="not short"),
        pytest.param(launch(load_bytes=7.1), ["uncoalesced"], id="strided loads"),
        pytest.param(launch(store_bytes=16.0), ["uncoalesced"], id="strided stores"),
        pytest.param(launch(excess_share=0.3), ["uncoalesced"], id="excess"),
        pytest.param(launch(load_bytes=23.0, excess_share=0.16), [], id="nearly coalesced"),
        pytest.param(launch(load_bytes=7.0, excess_share=0.01), [], id="few narrow loads"),
        pytest.param(
            launch(compute=0.72, issue=0.72, memory=0.6, load_bytes=12.8, excess_share=0.54),
            ["issue-slots", "uncoalesced"],
            id="layer_norm with weights",
        ),
        pytest.param(
            launch(GEMM, compute=0.86, tensor=0.0, pipe=Pipe("FMA", 0.76)),
            ["idle-tensor-cores", "pipe-limit"],
            id="fp32 product",
        ),
        pytest.param(
            launch(GEMM, compute=0.9, tensor=0.9, pipe=Pipe("Tensor", 0.9)),
            ["pipe-limit"],
            id="bf16 product",
        ),
        pytest.param(launch(GEMM, compute=0.9, tensor=None), ["pipe-limit"], id="not known"),
        pytest.param(launch(GEMM, tensor=0.0), [], id="a product that waits"),
        pytest.param(launch("gelu", compute=0.7, tensor=0.0), [], id="no product"),
        pytest.param(launch(spills=5.0), ["register-spills"], id="spills"),
        pytest.param(launch(spills=0.0), [], id="no spills"),
        pytest.param(
            launch(occupancy_limit=0.25, limit_registers=4.0), ["low-occupancy"], id="registers"
        ),
        pytest.param(
            launch(occupancy_limit=0.25, limit_registers=4.0, memory=0.9), [], id="low but busy"
        ),
        pytest.param(launch(grid=(2640, 1, 1)), ["partial-wave"], id="1.25 waves"),
        pytest.param(launch(grid=(2112 * 6 + 10, 1, 1)), [], id="many waves"),
        pytest.param(launch(grid=(2112 * 2, 1, 1)), [], id="whole waves"),
        pytest.param(launch(compute=0.7, issue=0.7), ["issue-slots"], id="issue"),
        pytest.param(launch(memory=0.85, dram=0.85), ["dram-limit"], id="dram"),
        pytest.param(launch(memory=0.95, l2=0.95, dram=0.3), ["cache-limit"], id="cache"),
        pytest.param(launch(stalls={"long_scoreboard": 0.8}), ["stalled-warps"], id="stalls"),
        pytest.param(launch(stalls={"long_scoreboard": 0.2}), [], id="no leading stall"),
        pytest.param(launch(stalls={"other": 0.8}), [], id="unknown stall"),
        pytest.param(launch(memory=0.9, stalls={"barrier": 0.8}), [], id="stalls of a busy one"),
    ],
)
def test_findings(one, expected):
    assert found(one) == expected


def test_texts_carry_the_figures():
    loads = {"load_bytes": 7.1, "load_sectors": 72.0, "load_requests": 4.0}
    text = find(only(launch(excess_share=0.7, l1_hit=0.8, **loads)))[0].text

    assert "7.1 of the 32 bytes" in text
    assert "70% of the sectors" in text
    assert "18.0 sectors a load request" in text
    assert "L1 serves 80% of them" in text


def test_every_finding_and_class_can_be_explained():
    ids = {ask.__name__.replace("_", "-") for ask in QUESTIONS} - {"narrow-accesses"}
    classes = {"latency-bound", "memory-bound", "compute-bound", "at-limit", "undecided"}

    assert [name for name in ids | classes if find_topic(name) is None] == []


# --- On an H200 -----------------------------------------------------------------------------------

TRUTH = {
    "CUDAFunctorOnSelf_add<float>, std::array<char *, 2>>(int, T2, T3) (65536, 1, 1)": (
        "at-limit", "memory", "DRAM", "dram-limit",
    ),
    "GeluCUDAKernelImpl": ("at-limit", "memory", "DRAM", "dram-limit"),
    "vectorized_layer_norm_kernel": ("compute-bound", "compute", "issue", "issue-slots"),
    "softmax_warp_forward": ("at-limit", "memory", "DRAM", "dram-limit"),
    "nvjet_sm90": ("at-limit", "compute", "Tensor", "pipe-limit"),
    "CUDAFunctorOnSelf_add<float>, std::array<char *, 2>>(int, T2, T3) (8, 1, 1)": (
        "latency-bound", "memory", "L2", "few-blocks",
    ),
    "gpu_kernel_impl_nocast<native::CUDAFunctor_add": ("at-limit", "memory", "L2", "uncoalesced"),
    "sm80_xmma_gemm_f32f32": ("at-limit", "compute", "FMA", "idle-tensor-cores"),
    "fill_reverse_indices_kernel": ("latency-bound", "memory", "L2", "few-blocks"),
    "DeviceRadixSortHistogramKernel": ("latency-bound", "compute", "issue", "short-kernel"),
    "DeviceRadixSortExclusiveSumKernel": ("latency-bound", "memory", "L2", "few-blocks"),
    "DeviceRadixSortOnesweepKernel": ("latency-bound", "memory", "L2", "few-blocks"),
}  # fmt: skip
"""Class, side, unit and first finding of the kernels that both files hold."""


@pytest.fixture(scope="module", params=["raw", "details"])
def measured(request):
    return analyse(read_kernels(REAL / "nsight" / f"ncu_{request.param}.csv.gz"))


@pytest.mark.parametrize("name", TRUTH)
def test_both_pages_give_the_same_verdict_of_the_same_kernel(measured, name):
    same = [one for one in measured.kernels if name in f"{one.name} {one.grid}"]

    assert len(same) == 1
    verdict = same[0].verdict
    told = (verdict.name, verdict.side, verdict.unit, same[0].findings[0].id)
    assert told == TRUTH[name]


def test_both_pages_give_the_same_verdict_of_the_file(measured):
    verdict = measured.verdict

    assert (verdict.name, verdict.side) == ("at-limit", "compute")
    assert verdict.share > 0.9
    assert measured.look_next[0].id == "idle-tensor-cores"
    assert measured.look_next[1].id == "uncoalesced"
    assert measured.multiprocessors == 132


def test_the_figures_are_those_of_the_device(measured):
    by_rate = {one.name[:60]: one.metrics.dram_bytes_per_s for one in measured.kernels}
    add = next(one for one in measured.kernels if "OnSelf_add" in one.name and one.grid[0] == 65536)

    assert by_rate
    assert 4.0e12 < add.metrics.dram_bytes_per_s < 4.2e12
    assert add.waves == pytest.approx(65536 / (16 * 132))


@pytest.mark.parametrize(
    "one",
    [
        kernel(compute=59, memory=79),
        kernel(compute=81, memory=79),
        kernel(compute=5, memory=10, grid=(4, 1, 1), us=2),
        kernel(compute=65, memory=20, occupancy=20, theoretical=25, limit_registers=4),
    ],
)
def test_both_pages_of_one_kernel(tmp_path, one):
    told = []
    for page in (raw_page, details_page):
        path = tmp_path / f"{page.__name__}.csv"
        path.write_text(page([one]))
        analysis = analyse(read_kernels(path))
        row = analysis.kernels[0]
        told.append((analysis.verdict, row.verdict, row.limiters, row.waves, row.findings))

    assert told[0] == told[1]
