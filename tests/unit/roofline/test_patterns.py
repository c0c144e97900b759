"""Patterns that cost more than they need, each with a twin that must not be taken for it."""

import numpy as np
import pytest

from boundby.read import read_recording
from boundby.roofline.arguments import Tensor
from boundby.roofline.devices import match_device
from boundby.roofline.kernels import measure_kernels
from boundby.roofline.patterns.attention import find_written_attention
from boundby.roofline.patterns.casts import find_casts
from boundby.roofline.patterns.chains import find_chains
from boundby.roofline.patterns.layouts import disagree, fastest, find_layouts
from boundby.roofline.patterns.precision import find_precision
from builders import Trace

H200 = match_device("NVIDIA H200").ceilings
KERNEL = "void at::native::vectorized_elementwise_kernel<4, functor<float>>"
N = 42_240_000  # 4 N bytes take 40 us at the attainable 4224 GB/s


class Program:
    """Operators one after the other, one kernel each."""

    def __init__(self):
        self.trace = Trace()
        self.at, self.free = 0, 1_000

    def run(self, name, dims, types="float", dur=100, kernel=KERNEL, **recorded):
        types = [types if d else "Scalar" for d in dims] if isinstance(types, str) else types
        concrete = recorded.pop("concrete", [""] * len(dims))
        op = self.trace.op(name, self.at, 20, dims=dims, types=types, concrete=concrete, **recorded)
        self.trace.submit(kernel, self.at + 5, start=self.free, dur=dur, op=op)
        self.at, self.free = self.at + 50, self.free + dur + 1
        return self


@pytest.fixture
def measured(tmp_path):
    def measure(program, ceilings=H200):
        recording = read_recording(program.trace.write(tmp_path / "trace.json"))
        return measure_kernels(recording, np.arange(len(recording.device)), ceilings)

    return measure


# --- Casts ----------------------------------------------------------------------------------------


def test_copies_between_types_are_casts(measured):
    program = Program()
    program.run("aten::copy_", [[N], [N], []], ["c10::BFloat16", "float", "Scalar"], dur=60)
    program.run("aten::copy_", [[N], [N], []], dur=100)  # within one type
    program.run("aten::add", [[N], [N], []], dur=140)
    casts = find_casts(measured(program))

    assert (casts.count, casts.ns, casts.bytes) == (1, 60_000, 6 * N)
    assert casts.share == pytest.approx(0.2)


def test_without_shapes_the_kernel_tells_a_cast(measured):
    program = Program()
    program.trace.submit("triton_poi_fused__to_copy_3", 5, start=100, dur=40)
    program.trace.submit("triton_poi_fused_gelu_view_8", 15, start=200, dur=60)
    casts = find_casts(measured(program))

    assert (casts.count, casts.share) == (1, pytest.approx(0.4))


# --- Layouts --------------------------------------------------------------------------------------


def test_operands_along_different_dimensions_fight(measured):
    program = Program()
    dims, across = [[6000, 7040], [6000, 7040], []], [[7040, 1], [1, 6000], []]
    program.run("aten::add", dims, strides=across, dur=300)
    program.run("aten::add", dims, strides=[[7040, 1], [7040, 1], []], dur=130)
    layouts = find_layouts(measured(program))

    assert (layouts.fights, layouts.ns, layouts.bytes) == (1, 300_000, 12 * N)
    assert layouts.saved_ns == pytest.approx(180_000)


def test_one_transposed_operand_does_not_fight(measured):
    program = Program()
    program.run("aten::add", [[6000, 7040], [], []], strides=[[1, 6000], [], []])

    assert find_layouts(measured(program)).fights == 0


def test_a_row_added_to_a_transposed_matrix_does_not_fight(measured):
    program = Program()
    program.run("aten::add", [[6000, 7040], [7040], []], strides=[[1, 6000], [1], []])

    assert find_layouts(measured(program)).fights == 0


def test_copies_that_change_the_layout_are_conversions(measured):
    program = Program()
    program.run("aten::copy_", [[600, 704], [600, 704], []], strides=[[704, 1], [1, 600], []])
    layouts = find_layouts(measured(program))

    assert (layouts.conversions, layouts.conversion_ns, layouts.fights) == (1, 100_000, 0)


def test_conversions_inside_a_convolution_are_found(measured):
    program = Program()
    dims = [[8, 64, 32, 32], [64, 64, 3, 3], *[[]] * 7]
    types = ["float", "float", *["ScalarList"] * 3, *["Scalar"] * 4]
    concrete = ["", "", "[1, 1]", "[1, 1]", "[1, 1]", "1", "False", "False", "True"]
    kernel = "sm90_xmma_fprop_implicit_gemm_f32f32_tf32f32_f32_nhwckrsc_nhwc"
    program.run("aten::cudnn_convolution", dims, types, kernel=kernel, concrete=concrete)
    program.trace.submit("void cudnn::ops::nchwToNhwcKernel<float>", 12, start=900, dur=30)
    layouts = find_layouts(measured(program))

    assert (layouts.conversions, layouts.conversion_ns) == (1, 30_000)


@pytest.mark.parametrize(
    ("shape", "strides", "axis"),
    [
        ((4, 5), (5, 1), -1),
        ((4, 5), (1, 4), -2),
        ((4, 1), (1, 4), -2),
        ((1, 1), (1, 1), None),
        ((4, 5), (0, 0), None),
        ((4, 5), None, None),
    ],
)
def test_the_dimension_memory_runs_along(shape, strides, axis):
    assert fastest(Tensor(shape, "float32", strides)) == axis


def test_unknown_strides_do_not_fight():
    assert not disagree([Tensor((4, 5), "float32"), Tensor((4, 5), "float32", (1, 4))])
    assert not disagree([])


# --- Chains ---------------------------------------------------------------------------------------


def test_add_and_relu_fused_move_12_instead_of_20_bytes_an_element(measured):
    program = Program()
    program.run("aten::add", [[N], [N], []], dur=130)
    program.run("aten::relu", [[N]], dur=90)
    found = find_chains(measured(program))
    [chain] = found.chains

    assert chain.names == ("add", "relu")
    assert (chain.bytes, chain.fused_bytes) == (20 * N, 12 * N)
    assert chain.gain == pytest.approx(1.67, abs=0.01)
    assert found.saved_ns == pytest.approx(220_000 - 120_000)


def test_a_norm_joins_a_chain(measured):
    program = Program()
    program.run("aten::gelu", [[1000, N // 1000]])
    program.run(
        "aten::native_layer_norm",
        [[1000, N // 1000], [], [N // 1000], [N // 1000], []],
        concrete=["", f"[{N // 1000}]", "", "", "1e-5"],
    )

    assert find_chains(measured(program)).chains[0].names == ("gelu", "native_layer_norm")


def test_kernels_over_other_sizes_are_no_chain(measured):
    program = Program()
    program.run("aten::relu", [[N]])
    program.run("aten::relu", [[N // 2]])

    assert find_chains(measured(program)).chains == ()


def test_a_product_ends_a_chain(measured):
    program = Program()
    program.run("aten::relu", [[2048, 2048]])
    program.run("aten::mm", [[2048, 2048], [2048, 2048]], kernel="volta_sgemm_128x64_nn")
    program.run("aten::relu", [[2048, 2048]])
    found = find_chains(measured(program))

    assert found.chains == ()
    assert (found.ns, found.saved_ns) == (0, 0.0)


def test_a_step_ends_a_chain(measured):
    program = Program()
    for _ in range(4):
        program.run("aten::relu", [[N]])
    roofs = measured(program)

    assert [len(c.names) for c in find_chains(roofs).chains] == [4]
    assert [len(c.names) for c in find_chains(roofs, np.array([0, 0, 1, 1])).chains] == [2, 2]


def test_on_an_unknown_device_the_bytes_are_still_known(measured):
    program = Program()
    program.run("aten::relu", [[N]])
    program.run("aten::relu", [[N]])
    found = find_chains(measured(program, ceilings=None))

    assert (found.bytes, found.fused_bytes, found.saved_ns) == (16 * N, 8 * N, None)


# --- Attention ------------------------------------------------------------------------------------


def attention(program, half="c10::BFloat16"):
    batch, queries, keys = scores = 64, 1024, 1024
    gemm = "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT"
    program.run("aten::mm", [[64, 64], [64, 64]], half, dur=10, kernel=gemm)
    program.run("aten::bmm", [[batch, queries, 64], [batch, 64, keys]], half, kernel=gemm)
    program.run("aten::div", [list(scores), []], half)
    program.run("aten::_softmax", [[4, batch // 4, queries, keys], [], []], half, dur=200)
    program.run("aten::bmm", [list(scores), [batch, keys, 64]], half, kernel=gemm)
    program.run("aten::mm", [[64, 64], [64, 64]], half, dur=10, kernel=gemm)
    return program


def test_attention_written_out_is_found_with_the_scores_it_moves(measured):
    found = find_written_attention(measured(attention(Program())))
    scores = 2 * 64 * 1024 * 1024
    flops = 2 * 2 * 64 * 1024 * 1024 * 64

    assert (found.count, found.ns) == (1, 500_000)
    assert found.score_bytes == 6 * scores  # each of the six transfers: 1 + 2 + 2 + 1
    assert found.flops == flops
    assert found.fused_ns == pytest.approx(flops / (0.45 * 989.5e12) * 1e9)
    assert found.saved_ns == pytest.approx(500_000 - found.fused_ns)


def test_a_softmax_over_classes_is_no_attention(measured):
    program = Program()
    program.run("aten::mm", [[64, 64], [64, 64]], kernel="volta_sgemm")
    program.run("aten::_softmax", [[1024, 1024], [], []])
    found = find_written_attention(measured(program))

    assert (found.count, found.ns, found.saved_ns) == (0, 0, 0.0)


def test_a_softmax_over_scores_that_no_product_reads_is_no_attention(measured):
    program = Program()
    program.run("aten::bmm", [[8, 64, 64], [8, 64, 64]], kernel="volta_sgemm")
    program.run("aten::_softmax", [[8, 64, 64], [], []])
    program.run("aten::sum", [[8, 64, 64], []])

    assert find_written_attention(measured(program)).count == 0


def test_operators_without_shapes_take_no_part(measured):
    program = attention(Program())
    program.trace.op("aten::bmm", program.at, 20)
    program.trace.submit("nvjet_sm90_tst_256x128", program.at + 5, start=program.free, dur=50)
    roofs = measured(program)

    assert find_written_attention(roofs).ns == 500_000
    assert find_chains(roofs).chains[0].names == ("div", "_softmax")
    assert find_layouts(roofs).fights == 0


def test_attention_in_a_type_without_a_rate(measured):
    found = find_written_attention(measured(attention(Program(), half="double")))

    assert (found.count, found.fused_ns) == (1, None)


def test_attention_on_an_unknown_device(measured):
    found = find_written_attention(measured(attention(Program()), ceilings=None))

    assert found.count == 1
    assert (found.fused_ns, found.saved_ns) == (None, None)


# --- Precision ------------------------------------------------------------------------------------


def test_float32_products_off_the_matrix_unit(measured):
    program = Program()
    dims = [[8192, 8192], [8192, 8192]]
    program.run("aten::mm", dims, dur=21_500, kernel="sm80_xmma_gemm_f32f32_f32f32_f32_nn_ffma")
    program.run("aten::mm", dims, dur=3_200, kernel="sm90_xmma_gemm_f32f32_tf32f32_f32_tn")
    program.run("aten::relu", [[N]], dur=90)
    found = find_precision(measured(program))

    assert (found.products, found.product_ns) == (1, 21_500_000)
    assert found.product_flops == 2 * 8192**3
    assert found.tf32_ns == pytest.approx(21_500_000 * 67 / 494.5)
    assert found.bfloat16_ns == pytest.approx(21_500_000 * 67 / 989.5)
    assert (found.memory_ns, found.memory_half_ns) == (90_000, 45_000)


def test_a_faster_unit_cannot_beat_the_bytes(measured):
    program = Program()
    dims = [[4096, 128], [128, 4096]]
    kernel = "sm80_xmma_gemm_f32f32_f32f32_f32_nn_ffma"
    program.run("aten::mm", dims, dur=70, kernel=kernel)
    found = find_precision(measured(program))

    assert found.tf32_ns > 70_000 * 67 / 494.5
    assert found.tf32_ns == pytest.approx(4 * (2 * 4096 * 128 + 4096**2) / (0.88 * 4800))


def test_half_precision_products_gain_nothing(measured):
    program = Program()
    program.run("aten::mm", [[4096, 4096]] * 2, "c10::BFloat16", kernel="nvjet_sm90_tst_256x128")
    found = find_precision(measured(program))

    assert (found.products, found.tf32_ns, found.memory_ns) == (0, 0.0, 0)


def test_precision_on_an_unknown_device(measured):
    program = Program()
    program.run("aten::mm", [[4096, 4096]] * 2, kernel="volta_sgemm_128x64_nn")
    found = find_precision(measured(program, ceilings=None))

    assert (found.products, found.tf32_ns, found.bfloat16_ns) == (0, None, None)
