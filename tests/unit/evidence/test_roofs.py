"""The steps under the roofs, added up by name, on traces of a few events.

The device is an H200: 4800 GB/s, 67 TFLOP/s in float32, 989.5 in bfloat16.
"""

import pytest

from boundby.evidence.roofs import Use, read_roofline
from boundby.roofline.ceilings import Peaks
from boundby.roofline.measured import MeasuredCeilings, device_key
from operations import GEMM, KERNEL, N, Operations
from underroofs import held

BF16 = "c10::BFloat16"
FLOPS = 2 * 4096**3


@pytest.fixture
def roofline(tmp_path):
    def read(program, step_ms=1.0, **how):
        stage = held(program.trace, tmp_path, **how)
        return read_roofline(stage.held, stage.launched, stage.marks, step_ms)

    return read


def product_and_sum():
    """Two products of 200 us at 0.69 of the roof, and an addition of 150 us at 0.8 of its."""
    program = Operations()
    for _ in range(2):
        program.run("aten::mm", [[4096, 4096]] * 2, BF16, dur=200, kernel=GEMM)
    return program.run("aten::add", [[48_000_000]] * 2 + [[]], dur=150)


def test_operators_longest_first(roofline):
    product, add = roofline(product_and_sum()).operators

    assert (product.name, product.calls, product.ms, product.family) == (
        "aten::mm",
        2,
        0.4,
        "matmul",
    )
    assert product.flops == 2 * FLOPS
    assert product.tflops == pytest.approx(FLOPS / 200e6)
    assert product.compute_share == pytest.approx(FLOPS / 200e6 / 989.5)
    assert product.intensity == pytest.approx(4096 / 3)
    assert (product.limited_by, product.counted, product.doubt) == ("compute", 1.0, "")
    assert product.lost_ms == pytest.approx(0.4 - 2 * FLOPS / 989.5e9)
    assert (add.limited_by, add.memory_share) == ("memory", pytest.approx(0.8))
    assert add.gbs == pytest.approx(3840)


def test_kernels_carry_the_work_of_their_operators(roofline):
    product, add = roofline(product_and_sum()).kernels

    assert (product.name, product.calls, product.tflops) == (GEMM, 2, pytest.approx(687.2, abs=0.1))
    assert (add.name, add.bytes) == (KERNEL, 12 * 48_000_000)


def test_use_is_of_the_step_and_not_of_the_device_time(roofline):
    use = roofline(product_and_sum(), step_ms=2.0).use

    assert use.mfu == use.mfu_half == pytest.approx(2 * FLOPS / 989.5e12 / 2e-3)
    assert use.memory == pytest.approx((12 * 48e6 + 2 * 6 * 4096**2) / 4800e9 / 2e-3)
    assert use.flops == 2 * FLOPS


def test_products_in_float32_make_use_of_their_own_roof(roofline):
    program = Operations()
    kernel = "sm80_xmma_gemm_f32f32_f32f32_f32_nn_ffma"
    program.run("aten::mm", [[4096, 4096]] * 2, dur=2_700, kernel=kernel)
    use = roofline(program, step_ms=2.7).use

    assert use.mfu == pytest.approx(FLOPS / 67e12 / 2.7e-3)
    assert use.mfu_half == pytest.approx(FLOPS / 989.5e12 / 2.7e-3)


def test_where_nothing_is_counted_the_use_is_unknown(roofline):
    program = Operations()
    program.trace.submit("volta_sgemm_128x64_nn", 5, start=100, dur=40)
    found = roofline(program)

    assert found.use == Use(None, None, None, None, None)
    assert found.counted == 0


def test_work_without_products_has_no_operations_of_products(roofline):
    program = Operations().run("aten::add", [[N], [N], []])

    assert (roofline(program).use.flops, roofline(program).use.mfu) == (0, None)


def test_sides_keep_what_is_not_counted(roofline):
    program = product_and_sum()
    program.trace.submit("mystery", program.at + 5, start=program.free, dur=50)
    call = program.trace.launch(program.at + 20, name="cudaMemcpyAsync")
    program.trace.copy(program.free + 60, 30, launch=call, size=1 << 20)
    sides = {row.side: row for row in roofline(program).sides}

    assert sides["compute"].floor_ms == pytest.approx(2 * FLOPS / 989.5e12 * 1e3)
    assert sides["memory"].floor_ms == pytest.approx(0.12)
    assert (sides["other"].ms, sides["other"].floor_ms) == (0.05, 0.05)
    assert (sides["copy"].ms, sides["copy"].floor_ms) == (0.03, 0.03)


def test_families_are_known_without_sizes(roofline):
    program = Operations()
    program.trace.submit("volta_sgemm_128x64_nn", 5, start=100, dur=40)
    program.trace.submit("triton_red_fused_0", 15, start=200, dur=60)
    families = roofline(program).families

    assert [(row.family, row.ms) for row in families] == [("reduction", 0.06), ("matmul", 0.04)]


def test_what_is_not_counted_is_listed_with_the_reason(roofline):
    program = Operations()
    program.run("mylib::fancy", [[4, 4]], dur=50, kernel="fancy")
    program.run("aten::add", [[N], [N], []], dur=150)
    program.trace.op("aten::mul", program.at, 20)
    program.trace.submit(KERNEL, program.at + 5, start=program.free, dur=20)
    program.trace.submit("triton_red_fused_0", program.at + 40, start=program.free + 30, dur=30)
    found = roofline(program)

    assert [(row.name, row.ms, row.why) for row in found.uncounted] == [
        ("mylib::fancy", 0.05, "no-rule"),
        ("triton_red_fused_0", 0.03, "no-operator"),
        ("aten::mul", 0.02, "no-shapes"),
    ]
    assert found.counted == pytest.approx(150 / 250)


def test_communication_and_uploads_are_no_computing_time(roofline):
    program = Operations()
    program.run("aten::add", [[N], [N], []], dur=150)
    program.trace.submit("ncclDevKernel_AllReduce", program.at + 5, start=program.free, dur=500)

    found = roofline(program)
    assert found.counted == 1.0
    assert found.uncounted == ()


def test_copies_within_the_device_count_for_their_operator(roofline):
    program = Operations()
    op = program.trace.op("aten::copy_", 0, 20)
    call = program.trace.launch(5, name="cudaMemcpyAsync", op=op)
    direction = "DtoD (Device -> Device)"
    program.trace.copy(1000, 10, launch=call, size=4_800_000, direction=direction)
    [row] = roofline(program).operators

    assert (row.bytes, row.gbs, row.limited_by) == (9_600_000, pytest.approx(960), "memory")
    assert row.memory_share == pytest.approx(0.2)


def test_a_figure_above_its_roof_is_refused(roofline):
    program = Operations()
    program.run("aten::mm", [[4096, 4096]] * 2, BF16, dur=100, kernel=GEMM)
    program.run("aten::mm", [[4096, 4096]] * 2, BF16, dur=200, kernel=GEMM)
    [row] = roofline(program).operators

    assert row.doubt == "above-roof"
    assert row.tflops == pytest.approx(FLOPS / 200e6)  # of the call that can be right
    assert row.flops == 2 * FLOPS


def test_unknown_devices_have_rates_and_no_shares(roofline):
    found = roofline(product_and_sum(), device={"id": 0, "name": "Some Card"})
    product = found.operators[0]

    assert (found.ceilings, found.reason) == (None, "Some Card is not in the device table")
    assert product.tflops == pytest.approx(687.2, abs=0.1)
    assert (product.compute_share, product.memory_share, product.lost_ms) == (None, None, None)
    assert (found.use.mfu, found.use.mfu_half, found.use.memory) == (None, None, None)


def test_a_recording_that_names_no_device(roofline):
    found = roofline(product_and_sum(), device=[])

    assert (found.device, found.ceilings) == ("", None)
    assert found.reason == "the recording does not name its device"


def test_peaks_of_the_user_replace_those_of_the_table(roofline):
    found = roofline(product_and_sum(), peaks=Peaks(4000, {"bfloat16": 800}))
    product, add = found.operators

    assert (found.ceilings.source, found.reason) == ("override", "")
    assert product.compute_share == pytest.approx(FLOPS / 200e6 / 800)
    assert add.memory_share == pytest.approx(0.96)


def test_peaks_of_the_user_make_any_device_known(roofline):
    card = {"id": 0, "name": "Some Card"}
    found = roofline(product_and_sum(), device=card, peaks=Peaks(None, {"bfloat16": 800}))
    product, add = found.operators

    assert found.ceilings.name == "Some Card"
    assert product.compute_share == pytest.approx(FLOPS / 200e6 / 800)
    assert add.memory_share is None


def test_measured_ceilings_stand_beside_those_of_the_table(roofline):
    key = device_key("NVIDIA H200", 150109880320, 132)
    stored = MeasuredCeilings(key, 4220, {"bfloat16": 680.0})
    product, add = (found := roofline(product_and_sum(), measured=(stored,))).operators

    assert found.ceilings.source == "datasheet"
    assert found.attainable.source == "measured"
    assert product.attained == pytest.approx(FLOPS / 200e6 / 680)  # a little above 1
    assert add.attained == pytest.approx(3840 / 4220)


def test_measured_ceilings_of_another_device_are_left_alone(roofline):
    stored = MeasuredCeilings(device_key("NVIDIA A100", 0, 108), 1400, {"bfloat16": 250.0})

    assert roofline(product_and_sum(), measured=(stored,)).attainable is None


def test_uncounted_work_attains_nothing(roofline):
    stored = MeasuredCeilings(device_key("NVIDIA H200", 0, 0), 4220, {})
    program = Operations()
    program.run("mylib::fancy", [[4, 4]], dur=50, kernel="fancy")

    assert roofline(program, measured=(stored,)).operators[0].attained is None
