"""What patterns cost, given their rows; who finds the rows is tested with the evidence."""

import numpy as np
import pytest

from boundby.read import read_recording
from boundby.roofline.arguments import Tensor
from boundby.roofline.devices import match_device
from boundby.roofline.kernels import measure_kernels
from boundby.roofline.patterns.attention import written_attention
from boundby.roofline.patterns.calls import call_of_run, distinct_calls
from boundby.roofline.patterns.chains import measure_chains
from boundby.roofline.patterns.layouts import disagree, fastest
from boundby.roofline.patterns.precision import find_precision
from operations import GEMM, SOFTMAX, N, Operations, attention

H200 = match_device("NVIDIA H200").ceilings
Program = Operations


@pytest.fixture
def measured(tmp_path):
    def measure(program, ceilings=H200):
        recording = read_recording(program.trace.write(tmp_path / "trace.json"))
        return measure_kernels(recording, np.arange(len(recording.device)), ceilings)

    return measure


# --- Layouts --------------------------------------------------------------------------------------


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


def chains_of(roofs, group=None):
    group = np.zeros(len(roofs), dtype=np.int64) if group is None else np.array(group)
    return measure_chains(roofs, group, call_of_run(distinct_calls(roofs)))


def test_add_and_relu_fused_move_12_instead_of_20_bytes_an_element(measured):
    program = Program()
    program.run("aten::add", [[N], [N], []], dur=130)
    program.run("aten::relu", [[N]], dur=90)
    found = chains_of(measured(program))
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

    assert chains_of(measured(program)).chains[0].names == ("gelu", "native_layer_norm")


def test_kernels_over_other_sizes_are_no_chain(measured):
    program = Program()
    program.run("aten::relu", [[N]])
    program.run("aten::relu", [[N // 2]])

    assert chains_of(measured(program)).chains == ()


def test_what_does_not_run_over_an_array_ends_a_chain(measured):
    program = Program()
    program.run("aten::relu", [[2048, 2048]])
    program.run("aten::mm", [[2048, 2048], [2048, 2048]], kernel="volta_sgemm_128x64_nn")
    program.run("aten::relu", [[2048, 2048]])
    found = chains_of(measured(program))

    assert found.chains == ()
    assert (found.ns, found.saved_ns) == (0, 0.0)


def test_a_group_holds_its_chains(measured):
    program = Program()
    for _ in range(4):
        program.run("aten::relu", [[N]])
    roofs = measured(program)

    assert [len(c.names) for c in chains_of(roofs).chains] == [4]
    assert [len(c.names) for c in chains_of(roofs, [0, 0, 1, 1]).chains] == [2, 2]
    assert [len(c.names) for c in chains_of(roofs, [-1, 0, 0, -1]).chains] == [2]
    assert chains_of(roofs, [-1] * 4).chains == ()


def test_on_an_unknown_device_the_bytes_are_still_known(measured):
    program = Program()
    program.run("aten::relu", [[N]])
    program.run("aten::relu", [[N]])
    found = chains_of(measured(program, ceilings=None))

    assert (found.bytes, found.fused_bytes, found.saved_ns) == (16 * N, 8 * N, None)


# --- Attention ------------------------------------------------------------------------------------


def cost_of_middle(roofs):
    """All but the projections around it are rows of the attention."""
    member = np.ones(len(roofs), dtype=np.bool_)
    member[[0, -1]] = False
    return written_attention(roofs, member, call_of_run(distinct_calls(roofs)))


def test_attention_written_out_moves_its_scores(measured):
    found = cost_of_middle(measured(attention(Program())))
    scores = 2 * 64 * 1024 * 1024
    flops = 2 * 2 * 64 * 1024 * 1024 * 64

    assert (found.count, found.ns) == (1, 500_000)
    assert found.score_bytes == 6 * scores  # each of the six transfers: 1 + 2 + 2 + 1
    assert found.score_sizes == (scores,)
    assert found.flops == flops
    assert found.fused_ns == pytest.approx(flops / (0.45 * 989.5e12) * 1e9)
    assert found.saved_ns == pytest.approx(500_000 - found.fused_ns)


def test_attention_in_float32_runs_three_passes(measured):
    found = cost_of_middle(measured(attention(Program(), half="float")))

    assert found.fused_ns == pytest.approx(found.flops / (0.2 * 494.5e12 / 3) * 1e9)


def test_scores_have_a_size_in_each_type_and_a_mask_is_none(measured):
    """Scores in bfloat16, a mask as large as them and a shared one, a softmax in float32."""
    half, scores = "c10::BFloat16", [64, 1024, 1024]
    program = Program().run("aten::relu", [[64]])
    program.run("aten::bmm", [[64, 1024, 64], [64, 64, 1024]], half, kernel=GEMM)
    program.run("aten::masked_fill_", [scores, scores, []], [half, "bool", "Scalar"])
    program.run("aten::add", [scores, [1, 1024, 1024], []], [half, "float", "Scalar"])
    program.run("aten::copy_", [scores, scores, []], ["float", half, "Scalar"])
    program.run("aten::_softmax", [scores, [], []], kernel=SOFTMAX)
    program.run("aten::copy_", [scores, scores, []], [half, "float", "Scalar"])
    program.run("aten::bmm", [scores, [64, 1024, 64]], half, kernel=GEMM)
    found = cost_of_middle(measured(program.run("aten::relu", [[64]])))
    numbers = 64 * 1024 * 1024

    assert found.score_sizes == (2 * numbers, 4 * numbers)


def test_without_shapes_scores_have_no_size(measured):
    program = Program().run("aten::relu", [])
    for name, kernel in (("bmm", GEMM), ("_softmax", SOFTMAX), ("bmm", GEMM)):
        program.run(f"aten::{name}", [], kernel=kernel)
    found = cost_of_middle(measured(program.run("aten::relu", [])))

    assert (found.count, found.score_sizes) == (1, ())


def test_attention_in_a_type_without_a_rate(measured):
    found = cost_of_middle(measured(attention(Program(), half="double")))

    assert (found.count, found.fused_ns) == (1, None)


def test_attention_on_an_unknown_device(measured):
    found = cost_of_middle(measured(attention(Program()), ceilings=None))

    assert found.count == 1
    assert (found.fused_ns, found.saved_ns) == (None, None)


def test_no_attention_costs_nothing(measured):
    roofs = measured(attention(Program()))
    none = np.zeros(len(roofs), dtype=np.bool_)
    found = written_attention(roofs, none, call_of_run(distinct_calls(roofs)))

    assert (found.count, found.ns, found.score_bytes, found.fused_ns) == (0, 0, 0, None)


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
