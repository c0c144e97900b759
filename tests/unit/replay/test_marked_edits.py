"""What-ifs that know what a launch does, on steps worked out by hand.

Numbers are those of the best estimate; that the slow end is no faster than it, and the fast end no
slower, is checked for all of them at once.
"""

from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from boundby.replay.calibrate import Calibrated
from boundby.replay.edits import device_only
from boundby.replay.engine import replay
from boundby.replay.marked_edits import (
    FUSED_TO_HALF,
    H200_BF16,
    H200_TF32,
    HALF_HOST,
    HALF_OTHER,
    HALF_PRODUCT,
    PINNED_GB_S,
    TF32_PRODUCT,
    TF32_TO_HALF,
    bf16,
    compile_fusion,
    contiguous,
    foreach_optimizer,
    fused_optimizer,
    kernels_at_roofline,
    larger_batch,
    no_allocator_calls,
    overlap_copies,
    pinned_copies,
    sdpa,
    tf32,
    vectorized,
)
from boundby.replay.marks import NO_GROUP, OF_DEVICE, Marks
from boundby.replay.program import NOTHING
from boundby.replay.steptime import drained_ns
from boundby.replay.values import Calibration, Estimate
from boundby.replay.whatif import MARKED, ask_marked
from boundby.timeline.hostline import LineKind
from strategies import programs
from worlds import Script

NAN = float("nan")
UNKNOWN = Calibration("prior", "", None)
GROUPS = {"attention", "chain"}
FLOATS = {"fill", "floor_ns", "memory_ns", "traffic", "fused_ns"}


def marks(count, *, update=None, tf32_rate=H200_TF32, bf16_rate=H200_BF16, **columns):
    """Marks of ``count`` launches on an H200, none marked unless a column says so."""
    usual = {"size": -1} | dict.fromkeys(GROUPS, NO_GROUP) | dict.fromkeys(FLOATS, NAN)
    found = {}
    for name in (f.name for f in fields(Marks) if f.name not in OF_DEVICE):
        value = usual.get(name, False)
        found[name] = np.array(columns.pop(name, [value] * count), dtype=type(value))
    assert not columns
    return Marks(update=update, tf32_rate=tf32_rate, bf16_rate=bf16_rate, **found)


def launches(*durs, host=10, **how):
    script = Script()
    for dur in durs:
        script.launch(host, dur, **how)
    return script.program()


def durations(edit, program, marked, bound=0):
    return edit(program, marked, bound).work.dur.tolist()


def host(program):
    """Host time before each launch."""
    return program.points.host.sum(axis=1).tolist()[: len(program.work)]


# --- Precision ------------------------------------------------------------------------------------


def test_only_products_in_full_precision_gain_from_tf32():
    program = launches(65_000, 1000, 65_000)
    marked = marks(3, product=[True, False, True], fp32=[True, False, False])

    assert durations(tf32, program, marked) == [65_000 * TF32_PRODUCT.best, 1000, 65_000]


@pytest.mark.parametrize(("edit", "rate"), [(tf32, "tf32_rate"), (bf16, "bf16_rate")])
def test_a_unit_that_is_no_faster_on_this_device_gains_nothing(edit, rate):
    marked = marks(2, product=[True] * 2, fp32=[True] * 2, convolution=[True, False], **{rate: 1.0})

    for bound in (-1, 0, 1):
        assert durations(edit, launches(65_000, 65_000), marked, bound) == [65_000, 65_000]


def test_what_products_gain_goes_with_the_units_of_the_device():
    """An A100 multiplies 8 times as fast in TF32, an A10 twice: 62.5 over 31.2 TFLOP/s."""
    took = [
        durations(tf32, launches(65_000), marks(1, product=[True], fp32=[True], tf32_rate=rate))[0]
        for rate in (8.0, H200_TF32, 2.0, 1.0)
    ]

    assert took == sorted(took)
    assert took[1] == 65_000 * TF32_PRODUCT.best
    assert 65_000 / 2 < took[2] < 65_000


@pytest.mark.parametrize("name", ["tf32", "bf16"])
def test_a_device_of_unknown_rate_is_asked_nothing(name):
    known = marks(1, product=[True], fp32=[True])
    unknown = marks(1, product=[True], fp32=[True], tf32_rate=None, bf16_rate=None)

    assert MARKED[name].applies(known)
    assert not MARKED[name].applies(unknown)


def test_a_product_is_no_faster_than_its_bytes():
    marked = marks(1, product=[True], fp32=[True], memory_ns=[50_000.0])

    assert durations(tf32, launches(65_000), marked) == [50_000]


def test_bf16_takes_over_from_tf32_with_twice_the_rate_and_half_the_bytes():
    program = launches(100_000, 100_000)
    marked = marks(2, product=[True] * 2, tf32=[True] * 2, memory_ns=[0.0, 160_000.0])

    assert durations(bf16, program, marked) == [round(100_000 * TF32_TO_HALF.best), 80_000]
    assert MARKED["bf16"].applies(marked)
    assert not MARKED["tf32"].applies(marked)


def test_bf16_takes_fused_attention_from_fp32_to_the_tensor_cores():
    marked = marks(2, fused_fp32=[True, False])

    found = durations(bf16, launches(90_000, 1000), marked)
    assert found == [round(90_000 * FUSED_TO_HALF.best), 1000 * HALF_OTHER.best]


@pytest.mark.parametrize("width", ["fp32", "tf32"])
def test_bf16_can_make_a_step_longer_where_the_host_sets_it(width):
    """Operands are cast by the host; nothing of it is gained on an idle device."""
    program = launches(10, 10, host=1000)
    marked = marks(2, product=[True] * 2, **{width: [True, False]})
    calibrated = Calibrated(program, program, program, Estimate(0.002, 0.002, 0.002), UNKNOWN)

    found = ask_marked(calibrated, "bf16", MARKED["bf16"], marked)
    assert found.speedup < 1
    assert found.step_ms == pytest.approx((1 + HALF_HOST.best) / 1000, rel=0.02)


def test_bf16_gains_on_products_and_on_the_bytes_of_the_rest_but_not_on_the_update():
    program = launches(110_000, 1000, 1000, 1000)
    marked = marks(
        4,
        product=[True, False, False, False],
        fp32=[True, False, False, False],
        optimizer=[False, False, True, False],
        upload=[False, False, False, True],
    )

    assert durations(bf16, program, marked) == [
        110_000 * HALF_PRODUCT.best,
        1000 * HALF_OTHER.best,
        1000,
        1000,
    ]


# --- Optimizer ------------------------------------------------------------------------------------


@pytest.mark.parametrize("edit", [fused_optimizer, foreach_optimizer], ids=lambda e: e.__name__)
def test_the_update_gets_cheaper_and_the_rest_does_not(edit):
    program = launches(500, 100, 100, host=1000)
    cured = edit(program, marks(3, update="loop", optimizer=[False, True, True]), 0)

    assert cured.work.dur[0] == 500
    assert (cured.work.dur[1:] < 100).all()
    assert host(cured)[0] == 1000
    assert max(host(cured)[1:]) < 200


def test_fusing_a_foreach_update_gains_less_than_fusing_a_loop():
    program = launches(100, 100, host=1000)
    loop, foreach = (
        fused_optimizer(program, marks(2, update=update, optimizer=[True, True]), 0)
        for update in ("loop", "foreach")
    )

    assert sum(host(loop)) < sum(host(foreach))


# --- Fusion ---------------------------------------------------------------------------------------


def test_a_chain_becomes_its_first_member():
    program = launches(100, 30_000, 40_000, 30_000, 30_000, 100, host=100)
    marked = marks(6, chain=[NO_GROUP, 0, 0, 0, 0, NO_GROUP])
    cured = compile_fusion(program, marked, 0)
    merged = cured.work.dur[1]

    assert cured.work.dur.tolist() == [100, merged, 0, 0, 0, 100]
    assert 38_000 <= merged < 60_000  # the longest member, and something for the rest
    assert host(cured) == [70, 100, 5, 5, 5, 70]


def test_a_chain_never_takes_longer_merged_than_apart():
    marked = marks(2, chain=[0, 0])

    assert durations(compile_fusion, launches(1, 400), marked, bound=1) == [401, 0]


def test_two_chains_do_not_merge_with_each_other():
    marked = marks(4, chain=[0, 0, 1, 1])

    merged = durations(compile_fusion, launches(40_000, 40_000, 10_000, 10_000), marked)
    assert merged[1::2] == [0, 0]
    assert 38_000 <= merged[0] < 45_000
    assert 9_000 <= merged[2] < 12_000


def test_hand_written_attention_becomes_one_kernel():
    program = launches(100, 400, 100, 50)
    marked = marks(
        4, attention=[0, 0, 0, NO_GROUP], product=[True, False, True, True], fp32=[False] * 4
    )

    assert durations(sdpa, program, marked) == [110, 0, 0, 50]


# --- Loops, layouts, roofs, batch -----------------------------------------------------------------


def test_what_a_loop_need_not_repeat_costs_the_host_nothing():
    program = launches(100, 100, host=50)
    cured = vectorized(program, marks(2, hoistable=[True, False]), 0)

    assert host(cured) == [0, 50]
    assert cured.work.dur.tolist() == [30, 100]


def test_fighting_layouts_fall_to_near_their_floor():
    marked = marks(3, fighting=[True, True, False], memory_ns=[80.0, NAN, 80.0])

    assert durations(contiguous, launches(1000, 1000, 1000), marked) == [100, 1000, 1000]


def test_kernels_at_their_roof_and_never_above_what_they_take():
    marked = marks(3, floor_ns=[60.0, 500.0, NAN])

    assert durations(kernels_at_roofline, launches(100, 100, 100), marked) == [60, 100, 100]


@pytest.mark.parametrize(
    ("fill", "optimizer", "grown"),
    [
        pytest.param(4.0, False, 200, id="full kernels take twice as long"),
        pytest.param(0.01, False, 100, id="nearly empty ones as long as now"),
        pytest.param(2.0, False, 160, id="in between, up to where they are full enough"),
        pytest.param(NAN, False, 200, id="unknown ones as full ones"),
        pytest.param(4.0, True, 100, id="the update does not know the batch"),
    ],
)
def test_a_batch_twice_as_large(fill, optimizer, grown):
    marked = marks(1, fill=[fill], optimizer=[optimizer])

    assert durations(larger_batch(2), launches(100), marked) == [grown]


def test_a_larger_batch_is_submitted_alike_and_takes_longer_to_load():
    script = Script()
    script.launch({LineKind.LOADER: 100, LineKind.OP: 20}, 50)
    cured = larger_batch(4)(script.program(), marks(1), 0)

    assert cured.host_ns[[LineKind.LOADER, LineKind.OP]].tolist() == [400, 20]


# --- Copies and allocator -------------------------------------------------------------------------


def uploads():
    """A batch of 5.5 MB through pageable memory, which the host waits for, then a kernel."""
    script = Script()
    copy = script.launch(10, 1_000_000)
    script.wait(0, copy)
    script.launch(10, 200_000)
    return script.program()


UPLOAD = {"upload": [True, False], "pageable": [True, False], "size": [5_500_000, -1]}


def test_a_pinned_copy_runs_at_the_speed_of_the_bus_and_the_host_does_not_wait():
    cured = pinned_copies(uploads(), marks(2, **UPLOAD), 0)

    assert cured.work.dur.tolist() == [round(5_500_000 / PINNED_GB_S.best), 200_000]
    assert replay(cured).point.tolist()[1] == 10


def test_a_copy_that_is_pinned_already_gains_nothing():
    marked = marks(2, upload=[True, False], size=[5_500_000, -1])

    assert drained_ns(pinned_copies(uploads(), marked, 0)) == drained_ns(uploads())


def test_a_copy_of_unknown_size_keeps_its_time_but_not_its_wait():
    marked = marks(2, upload=[True, False], pageable=[True, False])

    cured = pinned_copies(uploads(), marked, 0)
    assert cured.work.dur.tolist() == [1_000_000, 200_000]
    assert NOTHING in cured.points.target[:2]


def test_overlapped_copies_run_beside_the_kernels():
    marked = marks(2, **UPLOAD)

    one_after_the_other = pinned_copies(uploads(), marked, 0)
    side_by_side = overlap_copies(uploads(), marked, 0)
    assert drained_ns(one_after_the_other) == 10 + 100_000 + 200_000
    assert drained_ns(side_by_side) == 20 + 200_000


def test_reading_back_still_waits_for_the_copy():
    marked = marks(2, download=[True, False], pageable=[True, False], size=[5_500_000, -1])

    assert replay(pinned_copies(uploads(), marked, 0)).point.tolist()[1] == 10 + 100_000


def test_without_driver_allocations():
    script = Script()
    script.launch({LineKind.ALLOCATOR: 500, LineKind.OP: 20}, 50)

    assert drained_ns(no_allocator_calls(script.program(), marks(1), 0)) == 70


# --- All of them ----------------------------------------------------------------------------------

SHORTENING = [
    bf16,
    compile_fusion,
    contiguous,
    foreach_optimizer,
    fused_optimizer,
    kernels_at_roofline,
    no_allocator_calls,
    overlap_copies,
    pinned_copies,
    sdpa,
    tf32,
    vectorized,
]


@st.composite
def marked_programs(draw):
    """A program and random marks of its items."""
    program = draw(programs(limits=(1024,)))
    count = len(program.work)
    flags = st.lists(st.booleans(), min_size=count, max_size=count)
    columns = {
        f.name: draw(flags)
        for f in fields(Marks)
        if f.name not in GROUPS | FLOATS | OF_DEVICE | {"size"}
    }
    group = st.lists(st.integers(NO_GROUP, 2), min_size=count, max_size=count)
    number = st.lists(st.sampled_from([NAN, 0.1, 1.0, 20.0]), min_size=count, max_size=count)
    size = st.lists(st.sampled_from([-1, 100, 10_000]), min_size=count, max_size=count)
    columns |= {name: draw(group) for name in sorted(GROUPS)}
    columns |= {name: draw(number) for name in sorted(FLOATS)}
    columns["fp32"] = [a and b for a, b in zip(columns["fp32"], columns["product"], strict=True)]
    return program, marks(
        count, update=draw(st.sampled_from(["loop", "foreach"])), size=draw(size), **columns
    )


@pytest.mark.parametrize("edit", SHORTENING, ids=lambda edit: edit.__name__)
@settings(max_examples=25, derandomize=True)
@given(drawn=marked_programs())
def test_the_fast_end_is_no_slower_and_the_slow_end_no_faster(edit, drawn):
    program, marked = drawn
    fast, best, slow = (drained_ns(edit(program, marked, bound)) for bound in (-1, 0, 1))
    rounding = 3 * len(program.points.kind) / program.steps

    assert fast <= best + rounding
    assert best <= slow + rounding


@pytest.mark.parametrize("edit", [larger_batch(2), larger_batch(8)], ids=["2", "8"])
@settings(max_examples=25, derandomize=True)
@given(drawn=marked_programs())
def test_a_larger_batch_never_takes_less_nor_more_than_in_proportion(edit, drawn):
    program, marked = drawn
    factor = 2 if edit(launches(100), marks(1), 0).work.dur[0] == 200 else 8
    now = device_only(program)

    for bound in (-1, 0, 1):
        larger = device_only(edit(program, marked, bound))
        assert drained_ns(now) <= drained_ns(larger) <= factor * drained_ns(now)


@pytest.mark.parametrize("edit", SHORTENING, ids=lambda edit: edit.__name__)
def test_without_a_mark_an_edit_changes_nothing(edit):
    program = launches(100, 200)
    # All that is no product gets cheaper in bf16, but for the update.
    blind = marks(2, optimizer=[True, True]) if edit is bf16 else marks(2)

    assert drained_ns(edit(program, blind, 0)) == drained_ns(program)
