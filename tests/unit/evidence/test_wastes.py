"""Work that costs more than it needs: found in a recording, with what it moves and would save."""

import numpy as np
import pytest

from boundby.evidence.roofs import read_roofline
from boundby.evidence.scores import by_hand
from operations import GEMM, SOFTMAX, N, Operations, attention
from underroofs import held

MIB = 1 << 20


@pytest.fixture
def wastes(tmp_path):
    """Wastes by kind of a program, and the value they come with."""

    def find(program, **how):
        stage = held(program.trace, tmp_path, **how)
        found = read_roofline(stage.held, stage.launched, stage.marks, step_ms=1.0)
        return {waste.kind: waste for waste in found.wastes}, found

    return find


# --- Casts ----------------------------------------------------------------------------------------


def test_copies_between_types_are_casts(wastes):
    program = Operations()
    program.run("aten::copy_", [[N], [N], []], ["c10::BFloat16", "float", "Scalar"], dur=60)
    program.run("aten::copy_", [[N], [N], []], dur=100)  # within one type
    program.run("aten::add", [[N], [N], []], dur=140)
    cast = wastes(program)[0]["cast"]

    assert (cast.count, cast.ms, cast.bytes, cast.saved_ms) == (1, 0.06, 6 * N, 0.06)
    assert cast.share == pytest.approx(0.2)


def test_without_shapes_the_kernel_tells_a_cast(wastes):
    program = Operations()
    program.trace.submit("triton_poi_fused__to_copy_3", 5, start=100, dur=40)
    program.trace.submit("triton_poi_fused_gelu_view_8", 15, start=200, dur=60)
    cast = wastes(program)[0]["cast"]

    assert (cast.count, cast.share, cast.bytes) == (1, pytest.approx(0.4), None)


# --- Layouts --------------------------------------------------------------------------------------


def test_operands_along_different_dimensions_fight(wastes):
    program = Operations()
    dims, across = [[6000, 7040], [6000, 7040], []], [[7040, 1], [1, 6000], []]
    program.run("aten::add", dims, strides=across, dur=300)
    program.run("aten::add", dims, strides=[[7040, 1], [7040, 1], []], dur=130)
    layout = wastes(program)[0]["layout"]

    assert (layout.count, layout.ms, layout.bytes) == (1, 0.3, 12 * N)
    assert layout.saved_ms == pytest.approx(0.18)


def test_copies_that_change_the_layout_are_conversions(wastes):
    program = Operations()
    program.run("aten::copy_", [[600, 704], [600, 704], []], strides=[[704, 1], [1, 600], []])
    program.run("aten::copy_", [[600, 704], [600, 704], []], strides=[[704, 1], [704, 1], []])
    found, _ = wastes(program)

    assert (found["conversion"].count, found["conversion"].ms) == (1, 0.1)
    assert "layout" not in found


def test_conversions_inside_a_convolution_are_found(wastes):
    program = Operations()
    dims = [[8, 64, 32, 32], [64, 64, 3, 3], *[[]] * 7]
    types = ["float", "float", *["ScalarList"] * 3, *["Scalar"] * 4]
    concrete = ["", "", "[1, 1]", "[1, 1]", "[1, 1]", "1", "False", "False", "True"]
    kernel = "sm90_xmma_fprop_implicit_gemm_f32f32_tf32f32_f32_nhwckrsc_nhwc"
    program.run("aten::cudnn_convolution", dims, types, kernel=kernel, concrete=concrete)
    program.trace.submit("void cudnn::ops::nchwToNhwcKernel<float>", 12, start=1200, dur=30)
    conversion = wastes(program)[0]["conversion"]

    assert (conversion.count, conversion.ms) == (1, 0.03)


# --- Chains ---------------------------------------------------------------------------------------


def test_add_and_relu_move_20_bytes_an_element_and_12_merged(wastes):
    program = Operations()
    program.run("aten::add", [[N], [N], []], dur=130)
    program.run("aten::relu", [[N]], dur=90)
    chain = wastes(program)[0]["chain"]

    assert (chain.bytes, chain.least_bytes) == (20 * N, 12 * N)
    assert chain.saved_ms == pytest.approx(0.22 - 0.12)


def test_what_a_compiler_generated_is_no_chain(wastes):
    program = Operations()
    for _ in range(2):
        program.run("aten::relu", [[N]], kernel="triton_poi_fused_relu_0")

    assert "chain" not in wastes(program)[0]


# --- Attention ------------------------------------------------------------------------------------


def test_attention_written_out_is_found_with_the_scores_it_moves(wastes):
    found = wastes(attention(Operations()))[0]["attention"]

    assert (found.count, found.ms) == (1, 0.5)
    assert (found.bytes, found.least_bytes) == (6 * 128 * MIB, 0)
    assert found.score_sizes == (128 * MIB,)
    assert found.flops == 2 * 2 * 64 * 1024 * 1024 * 64
    assert found.saved_ms == pytest.approx(0.5 - found.flops / (0.45 * 989.5e12) * 1e3)


def members(program, tmp_path):
    """Positions of the launches that are taken for attention."""
    launched = held(program.trace, tmp_path).launched
    return np.flatnonzero(by_hand(launched)[1]).tolist()


def test_all_products_over_the_scores_belong_to_the_backward_pass(tmp_path):
    scores, inner = [64, 1024, 1024], [64, 1024, 64]
    program = Operations()
    program.run("aten::mm", [[64, 64], [64, 64]], kernel=GEMM)
    program.run("aten::bmm", [scores, inner], kernel=GEMM)
    program.run("aten::bmm", [inner, [64, 64, 1024]], kernel=GEMM)
    program.run("aten::_softmax_backward_data", [scores, scores, [], []], kernel=SOFTMAX)
    program.run("aten::div", [scores, []])
    program.run("aten::bmm", [[64, 64, 1024], scores], kernel=GEMM)
    program.run("aten::add", [inner, inner, []])
    program.run("aten::bmm", [scores, inner], kernel=GEMM)
    program.run("aten::mm", [[64, 64], [64, 64]], kernel=GEMM)
    program.run("aten::div", [scores, []])

    assert members(program, tmp_path) == [1, 2, 3, 4, 5, 7]


def test_a_softmax_over_classes_is_no_attention(tmp_path):
    program = Operations()
    program.run("aten::bmm", [[64, 64, 8], [64, 8, 64]], kernel=GEMM)
    program.run("aten::_softmax", [[512, 512], [], []], kernel=SOFTMAX)
    program.run("aten::bmm", [[64, 64, 64], [64, 64, 8]], kernel=GEMM)

    assert members(program, tmp_path) == []


def test_a_softmax_over_scores_that_no_product_reads_is_no_attention(tmp_path):
    program = Operations()
    program.run("aten::bmm", [[8, 64, 64], [8, 64, 64]], kernel=GEMM)
    program.run("aten::_softmax", [[8, 64, 64], [], []], kernel=SOFTMAX)
    program.run("aten::sum", [[8, 64, 64], []])

    assert members(program, tmp_path) == []


def test_products_that_cannot_be_multiplied_tell_nothing(tmp_path):
    program = Operations()
    program.run("aten::bmm", [[8, 64, 64]], kernel=GEMM)
    program.run("aten::_softmax", [[8, 64, 64], [], []], kernel=SOFTMAX)
    program.run("aten::bmm", [[8, 64, 64]], kernel=GEMM)

    assert members(program, tmp_path) == [0, 1, 2]


# --- Units left unused ----------------------------------------------------------------------------


def test_float32_products_off_the_matrix_unit(wastes):
    program = Operations()
    dims = [[8192, 8192], [8192, 8192]]
    program.run("aten::mm", dims, dur=21_500, kernel="sm80_xmma_gemm_f32f32_f32f32_f32_nn_ffma")
    found, roofline = wastes(program)
    product, lower = found["fp32-product"], roofline.lower_precision

    assert (product.count, product.ms, product.flops) == (1, 21.5, 2 * 8192**3)
    assert lower.tf32_ms == pytest.approx(21.5 * 67 / 494.5)
    assert product.saved_ms == pytest.approx(21.5 - lower.tf32_ms)
    assert (lower.memory_ms, lower.memory_half_ms) == (0, 0)


def test_nothing_in_float32_has_no_lower_precision(wastes):
    program = Operations()
    program.run("aten::mm", [[4096, 4096]] * 2, "c10::BFloat16", kernel=GEMM)

    assert wastes(program)[1].lower_precision is None


def test_products_that_fill_no_roof_are_named_with_their_blocks(wastes):
    program = Operations()
    small = [[64, 64], [64, 64]]
    program.run("aten::mm", small, dur=5, kernel=GEMM, how={"grid": [4, 1, 1]})
    program.run("aten::mm", small, dur=5, kernel=GEMM, how={"grid": [264, 1, 1]})
    found = wastes(program)[0]["small-product"]

    assert (found.count, found.ms, found.few_blocks) == (2, 0.01, 1)
    assert found.saved_ms == pytest.approx(0.01, rel=0.01)


def test_blocks_that_were_not_recorded_are_not_counted(wastes):
    program = Operations()
    program.run("aten::mm", [[64, 64], [64, 64]], dur=5, kernel=GEMM, how={"grid": None})

    assert wastes(program)[0]["small-product"].few_blocks is None


def test_elementwise_work_under_the_roof_of_special_functions(wastes):
    program = Operations()
    program.run("aten::gelu", [[N], []], "c10::BFloat16", dur=60)
    special = wastes(program)[0]["special-function"]

    assert (special.count, special.ms, special.bytes) == (1, 0.06, 4 * N)


def test_nothing_is_wasted_where_nothing_is(wastes):
    program = Operations()
    program.run("aten::mm", [[4096, 4096]] * 2, "c10::BFloat16", dur=200, kernel=GEMM)

    assert wastes(program)[0] == {}


def test_on_an_unknown_device_bytes_are_known_and_savings_not(wastes):
    program = attention(Operations())
    found, _ = wastes(program, device={"id": 0, "name": "Some Device"})

    assert found["attention"].bytes == 6 * 128 * MIB
    assert found["attention"].saved_ms is None
    assert "small-product" not in found
