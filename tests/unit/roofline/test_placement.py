"""A cost held against a duration: shares, roofs, floors, and figures that are refused."""

import pytest

from boundby.roofline.ceilings import Ceilings
from boundby.roofline.costs import Cost
from boundby.roofline.placement import compute_keys, place

ROUND = Ceilings(
    "round",
    "datasheet",
    "made up",
    1000,  # bytes a nanosecond
    {"float32": 10, "tf32": 100, "bfloat16": 200},
    special_gops=1000,
    cache_mib=1,
)
SGEMM = "volta_sgemm_128x64_nn"
TF32 = "sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize128x128x32"


def matrix(flops, bytes_, dtype="bfloat16"):
    return Cost(flops, bytes_, dtype, "matrix")


def test_a_product_near_the_compute_roof():
    placement = place(matrix(100e9, 10e6), 1_000_000, ROUND)  # 100 GFLOP, 10 MB, 1 ms

    assert placement.tflops == pytest.approx(100)
    assert placement.gbs == pytest.approx(10)
    assert placement.intensity == 10_000
    assert (placement.peak, placement.nearer, placement.limited_by) == (
        "bfloat16",
        "compute",
        "compute",
    )
    assert placement.compute_share == pytest.approx(0.5)
    assert placement.memory_share == pytest.approx(0.01)
    assert placement.floor_ns == pytest.approx(500_000)
    assert placement.doubt == ""


def test_a_product_below_the_ridge_is_bound_by_memory():
    """The ridge is at 200 FLOP per byte; a product with a short common dimension has 50."""
    placement = place(matrix(25e9, 500e6), 625_000, ROUND)

    assert (placement.nearer, placement.limited_by) == ("memory", "memory")
    assert placement.memory_share == pytest.approx(0.8)
    assert placement.floor_ns == pytest.approx(500_000)


def test_elementwise_work():
    placement = place(Cost(1e6, 8e6, "float32"), 10_000, ROUND)

    assert placement.memory_share == pytest.approx(0.8)
    assert placement.compute_share == pytest.approx(0.01)
    assert placement.limited_by == "memory"


def test_a_small_product_fills_neither_roof():
    placement = place(matrix(2e6, 50e3), 5_000, ROUND)

    assert placement.limited_by == "neither"
    assert placement.nearer == "memory"


def test_special_functions_may_be_the_limit():
    placement = place(Cost(5e6, 4e6, "float32", special=8e6), 10_000, ROUND)

    assert (placement.limited_by, placement.nearer) == ("special", "memory")


def test_only_bytes_known():
    placement = place(Cost(None, 8e6, "float32"), 10_000, ROUND)

    assert placement.intensity is None
    assert placement.tflops is None
    assert (placement.limited_by, placement.floor_ns) == ("memory", pytest.approx(8_000))


def test_nothing_known():
    placement = place(Cost(None, None), 10_000, ROUND)

    assert (placement.limited_by, placement.nearer, placement.floor_ns) == ("unknown", None, None)


def test_a_unit_without_a_known_rate_leaves_the_roof_open():
    placement = place(matrix(100e9, 10e6, "float64"), 1_000_000, ROUND)

    assert placement.tflops == pytest.approx(100)
    assert placement.compute_share is None
    assert (placement.nearer, placement.limited_by) == (None, "unknown")


def test_no_bandwidth_known():
    placement = place(matrix(100e9, 10e6), 1_000_000, Ceilings("x", "override", "", None, {}))

    assert (placement.memory_share, placement.floor_ns) == (None, None)


def test_no_duration():
    placement = place(matrix(100e9, 10e6), 0, ROUND)

    assert (placement.tflops, placement.gbs) == (None, None)


# --- Figures above a roof -------------------------------------------------------------------------


def test_a_figure_above_its_roof_is_refused():
    placement = place(matrix(250e9, 1e6), 1_000_000, ROUND)

    assert placement.is_suspect
    assert (placement.tflops, placement.compute_share) == (None, None)
    assert placement.floor_ns == 1_000_000  # a floor never exceeds what was measured


def test_five_percent_above_is_clock_and_rounding():
    placement = place(matrix(205e9, 1e6), 1_000_000, ROUND)

    assert not placement.is_suspect
    assert placement.compute_share == 1.0


def test_winograd_does_fewer_operations_than_are_counted():
    name = "volta_scudnn_winograd_128x128_ldg1_ldg4_relu_tile148t_nt_v1"
    placement = place(matrix(20e9, 1e6, "float32"), 1_000_000, ROUND, name)

    assert (placement.doubt, placement.tflops) == ("fewer-operations", None)
    assert not placement.is_suspect


def test_what_fits_the_cache_need_not_come_from_memory():
    placement = place(Cost(0, 900e3, "float32"), 500, ROUND)

    assert (placement.doubt, placement.gbs, placement.limited_by) == ("cached", None, "memory")


def test_what_does_not_fit_the_cache_must():
    assert place(Cost(0, 900e6, "float32"), 500_000, ROUND).is_suspect


def test_two_operands_may_be_one_tensor():
    placement = place(Cost(1e6, 12e6, "float32", alike=4e6), 9_000, ROUND)

    assert placement.doubt == "shared-operand"


# --- Which unit -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kernel", "keys"),
    [
        (SGEMM, ("float32",)),
        ("void cutlass::Kernel2<cutlass_80_simt_sgemm_256x128_8x4_nn_align1>", ("float32",)),
        ("sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize256x128x8_ffma", ("float32",)),
        ("void cudnn::detail::dgrad_engine<float, 512, 6, 5, 3, 3, 3, false>", ("float32",)),
        ("Cijk_Ailk_Bljk_SB_MT128x64x16_MI32x32x2x1_SN", ("float32",)),
        (TF32, ("tf32",)),
        ("void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_256x64_16x4_tn_align1>", ("tf32",)),
        ("nvjet_sm90_sss_128x256_64x4_2x1_v_bz_coopA_NTN", ("tf32",)),
        ("fmha_cutlassF_f32_aligned_64x64_rf_sm80", ("3xtf32",)),
        ("triton_tem_fused_mm_0", ("tf32", "float32")),
        ("", ("tf32", "float32")),
    ],
)
def test_the_unit_of_a_float32_product_is_told_by_its_kernel(kernel, keys):
    assert compute_keys(matrix(1, 1, "float32"), kernel) == keys


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float8"])
def test_half_precision_products_run_on_the_matrix_unit(dtype):
    assert compute_keys(matrix(1, 1, dtype), "anything") == (dtype,)


@pytest.mark.parametrize(
    ("dtype", "keys"), [("bfloat16", ("float32",)), ("float64", ("float64",)), ("", ("float32",))]
)
def test_elementwise_work_runs_on_the_vector_unit(dtype, keys):
    assert compute_keys(Cost(1, 1, dtype), "") == keys


def test_the_same_product_under_both_roofs():
    slow = place(matrix(8e9, 1e6, "float32"), 1_000_000, ROUND, SGEMM)
    fast = place(matrix(80e9, 1e6, "float32"), 1_000_000, ROUND, TF32)

    assert (slow.peak, slow.compute_share) == ("float32", pytest.approx(0.8))
    assert (fast.peak, fast.compute_share) == ("tf32", pytest.approx(0.8))


def test_a_kernel_that_hides_its_unit_has_no_share_until_it_is_too_fast_for_one():
    hidden = place(matrix(8e9, 1e6, "float32"), 1_000_000, ROUND, "triton_mm")
    shown = place(matrix(80e9, 1e6, "float32"), 1_000_000, ROUND, "triton_mm")

    assert (hidden.peak, hidden.compute_share) == ("", None)
    assert hidden.limited_by == "unknown"
    assert hidden.floor_ns == pytest.approx(80_000)  # of the faster unit: still a lower bound
    assert (shown.peak, shown.compute_share) == ("tf32", pytest.approx(0.8))


def test_a_device_without_tf32_leaves_no_choice():
    plain = Ceilings("T4", "datasheet", "", 320, {"float32": 8.1, "float16": 65})

    assert place(matrix(4e9, 1e6, "float32"), 1_000_000, plain, "triton_mm").peak == "float32"
