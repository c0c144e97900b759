"""What is free, what is uncounted, and rules that torch's counter has no part in."""

import pytest

from boundby.read.recording import Signature
from boundby.roofline.arguments import decode
from boundby.roofline.costs import FREE, Cost, UncountedError, count
from boundby.roofline.dtypes import kernel_dtype, parse_dtype, promote
from boundby.roofline.operators import RULES, cost_of, has_rule, is_free

NOTHING = Signature(b"", b"", b"", b"")


@pytest.mark.parametrize(
    "name",
    [
        "aten::view",
        "aten::t",
        "aten::transpose",
        "aten::as_strided",
        "aten::expand",
        "aten::empty_strided",
        "aten::to",
        "aten::einsum",
        "aten::dropout",
        "MmBackward0",
        "autograd::engine::evaluate_function: AddmmBackward0",
        "torch::autograd::AccumulateGrad",
    ],
)
def test_views_and_containers_cost_nothing_of_their_own(name):
    assert is_free(name)
    assert cost_of(name, NOTHING) == FREE
    assert FREE.is_free


@pytest.mark.parametrize("name", ["mylib::fancy", "aten::linalg_svd", "mm", "view", ""])
def test_an_operator_without_a_rule_is_uncounted_not_free(name):
    assert cost_of(name, NOTHING) is None
    assert not has_rule(name)


def full_name(rule):
    return rule if "::" in rule else f"aten::{rule}"


def test_every_rule_answers_missing_shapes_with_uncounted():
    empty = Signature(b"[]", b"[]", b"[]", b"[]")

    assert {name for name in RULES if cost_of(full_name(name), NOTHING) is not None} == set()
    assert {name for name in RULES if cost_of(full_name(name), empty) is not None} == set()
    assert all(has_rule(full_name(name)) for name in RULES)


@pytest.mark.parametrize("dims", [[[]], [[4, 4]], [[0], [0]], [[2, 3, 4, 5]] * 8, [[[2]], [[2]]]])
def test_no_rule_fails_on_shapes_it_does_not_expect(sign, dims):
    for name in RULES:
        cost = cost_of(full_name(name), sign(dims, concrete=[""] * len(dims)))

        assert cost is None or isinstance(cost, Cost)
        assert cost is None or cost.bytes is None or cost.bytes >= 0


@pytest.mark.parametrize(
    "damaged",
    [
        Signature(b"[[8, 4", b"", b"", b""),
        Signature(b'{"a": 1}', b"", b"", b""),
        Signature(b"[[8, -4], [4, 2]]", b'["float", "float"]', b"", b""),
        Signature(b'[["x", 4], [4, 2]]', b'["float", "float"]', b"", b""),
        Signature(b"[[8, 4], [5, 2]]", b'["float", "float"]', b"", b""),
        Signature(b"[7, [4, 2]]", b'["float", "float"]', b"", b""),
        Signature(b"\xff", b"", b"", b""),
    ],
)
def test_damaged_arguments_are_uncounted(damaged):
    assert cost_of("aten::mm", damaged) is None


def test_flops_survive_an_unknown_type(sign):
    """Recordings of 2021 hold sizes and no types."""
    signature = Signature(b"[[8, 4], [4, 2]]", b"[]", b"", b"")
    cost = cost_of("aten::mm", signature)

    assert (cost.flops, cost.bytes, cost.dtype) == (128, None, "")
    assert cost.intensity is None
    assert cost_of("aten::mm", signature, element="float16").bytes == 2 * (32 + 8 + 16)


def test_strides_of_another_rank_are_ignored(sign):
    assert cost_of("aten::relu", sign([[8, 4]], strides=[[1]])).bytes == 2 * 4 * 32


def test_members_of_a_list_take_the_type_of_the_kernel_or_of_the_other_operands(sign):
    lists = sign([[[10]], [[10]], []], ["TensorList", "TensorList", "Scalar"])
    typed = sign([[[10]], [1], [1]], ["TensorList", "float", "float"])
    unscale = "aten::_amp_foreach_non_finite_check_and_unscale_"

    assert cost_of("aten::_foreach_add_", lists).bytes is None
    assert cost_of("aten::_foreach_add_", lists, element="bfloat16").bytes == 3 * 20
    assert cost_of(unscale, typed).bytes == 80


def test_a_count_of_nan_is_unknown():
    nan = float("nan")

    assert count(nan, nan, "float32") == Cost(None, None, "float32")


def test_operands_that_may_be_one_tensor_are_marked(sign):
    square = cost_of("aten::mul", sign([[100], [100]], strides=[[1], [1]]))
    other = cost_of("aten::mul", sign([[10, 10], [10, 10]], strides=[[10, 1], [1, 10]]))

    assert (square.bytes, square.alike) == (1200, 400)
    assert (other.bytes, other.alike) == (1200, 0)


def test_functions_weigh_on_the_special_function_unit(sign):
    exp, gelu, relu = (
        cost_of(f"aten::{n}", sign([[100]])).special for n in ("exp", "gelu", "relu")
    )

    assert (exp, gelu, relu) == (100, 550, 0)


def test_powers_with_small_exponents_are_products(sign):
    def special(exponent):
        signature = sign([[100], []], concrete=["", exponent])
        return cost_of("aten::pow", signature).special

    assert special("2") == special("2.0") == special("0.5") == 0
    assert special("2.5") == 1200


# --- Attention ------------------------------------------------------------------------------------


def attention(sign, name, dims, concrete, types="c10::BFloat16"):
    return cost_of(f"aten::{name}", sign(dims, types, concrete=concrete))


def test_a_causal_mask_leaves_half(sign):
    dims = [[4, 512, 8, 64]] * 3 + [[]] * 12
    concrete = ["", "", "", "", "", "512", "512", "0.", "{}", "False", "0.125", "", "", "", ""]
    costs = [
        attention(sign, "_flash_attention_forward", dims, [text.format(flag) for text in concrete])
        for flag in ("False", "True")
    ]

    assert costs[0].flops == 4 * 4 * 8 * 512 * 512 * 64
    assert costs[1].flops == costs[0].flops / 2
    assert costs[0].bytes == costs[1].bytes == 2 * 4 * (4 * 512 * 8 * 64)


def test_whether_attention_is_causal_must_be_recorded(sign):
    dims = [[4, 512, 8, 64]] * 3 + [[]] * 12

    assert attention(sign, "_flash_attention_forward", dims, None) is None


def test_causal_decoding_with_a_cache_sees_all_earlier_keys(sign):
    """Four new queries over 1024 keys, aligned bottom right: all but a small triangle."""
    dims = [[1, 4, 8, 64], [1, 1024, 8, 64], [1, 1024, 8, 64], *[[]] * 12]
    concrete = ["", "", "", "", "", "4", "1024", "0.", "True", "False", "0.1", "", "", "", ""]
    cost = attention(sign, "_flash_attention_forward", dims, concrete)

    assert cost.flops == 4 * 8 * 64 * (4 * 1024 - 8)


def test_grouped_queries_read_fewer_keys(sign):
    dims = [[2, 32, 128, 64], [2, 8, 128, 64], [2, 8, 128, 64], [], [], []]
    concrete = ["", "", "", "0.", "False", "False"]
    cost = attention(sign, "_scaled_dot_product_flash_attention", dims, concrete)

    assert cost.flops == 4 * 2 * 32 * 128 * 128 * 64
    assert cost.bytes == 2 * 2 * 128 * 64 * (2 * 32 + 2 * 8)


def test_packed_sequences_are_taken_as_equally_long(sign):
    dims = [[512, 8, 64]] * 3 + [[5], [5], *[[]] * 10]
    types = ["c10::BFloat16"] * 3 + ["int", "int"] + ["Scalar"] * 10
    concrete = ["", "", "", "", "", "200", "200", "0.", "False", "False", "0.1", "", "", "", ""]
    cost = attention(sign, "_flash_attention_forward", dims, concrete, types)

    assert cost.flops == 4 * 4 * 8 * 128 * 128 * 64


@pytest.mark.parametrize(("kind", "scores"), [("0", 64 * 64), ("1", 64 * 32), ("2", 64 * 32)])
def test_masks_of_memory_efficient_attention(sign, kind, scores):
    dims = [[2, 64, 4, 32]] * 3 + [[]] * 11
    concrete = ["", "", "", "", "", "", "", "", "0.1", kind, "True", "0.1", "", ""]
    cost = attention(sign, "_efficient_attention_forward", dims, concrete, "float")

    assert cost.flops == 4 * 2 * 4 * 32 * scores


def test_memory_efficient_attention_before_both_lengths_were_passed(sign):
    dims = [[2, 64, 4, 32]] * 3 + [[]] * 9
    concrete = ["", "", "", "", "", "", "", "0.1", "1", "True", "0.1", ""]
    cost = attention(sign, "_efficient_attention_forward", dims, concrete, "float")

    assert cost.flops == 4 * 2 * 4 * 32 * 64 * 32


# --- Recurrent networks ---------------------------------------------------------------------------


def test_an_lstm_has_four_gates_a_step_and_layer(sign):
    dims = [[10, 4, 16], [[128, 16], [128, 32]], [], [], [2, 4, 32], [2, 4, 32], *[[]] * 10]
    types = ["float", "TensorList", "Scalar", "", "float", "float", *["Scalar"] * 10]
    concrete = ["", "", "4", "", "", "", "2", "32", "0", "2", "False", "0.", "True", "False"]
    concrete += ["[]", ""]
    cost = cost_of("aten::_cudnn_rnn", sign(dims, types, concrete=concrete))

    first, second = 4 * 32 * (16 + 32), 4 * 32 * (32 + 32)
    assert cost.flops == 2 * 10 * 4 * (first + second)
    assert cost.unit == "matrix"


def test_a_recurrent_network_is_counted_as_torch_sees_it(captured):
    import torch

    net = torch.nn.LSTM(16, 32, 2, bidirectional=True, dtype=torch.float64)  # no vendor kernel
    x = torch.zeros(10, 4, 16, dtype=torch.float64)
    with captured:
        net(x)
    products = sum(cost_of(name, signature).flops for name, signature, flops in captured if flops)
    state = sign_of(torch.zeros(4, 4, 32))
    parameters = [sign_of(p) for p in net.parameters()]
    dims = [[10, 4, 16], [state, state], parameters, [], [], [], [], [], []]
    types = '["float","TensorList","TensorList"' + ',"Scalar"' * 6 + "]"
    concrete = '["","","","True","2","0.","True","True","False"]'
    raw = Signature(str(dims).encode(), types.encode(), b"", concrete.encode())

    assert cost_of("aten::lstm", raw).flops == products


def sign_of(tensor):
    return list(tensor.shape)


# --- Generated kernels ----------------------------------------------------------------------------


def test_buffers_of_a_generated_kernel_move_once(sign):
    dims = [[64, 512, 2048], [32768, 2048], [2048], []]
    types = ["c10::BFloat16", "c10::BFloat16", "float", "Scalar"]
    concrete = ["", "", "", "67108864"]
    cost = cost_of("triton_poi_fused_gelu_0", sign(dims, types, concrete=concrete))

    assert cost.flops is None
    assert cost.bytes == 2 * 2 * 67_108_864 + 4 * 2048


def test_a_generated_kernel_moves_no_more_of_a_buffer_than_it_works_on(sign):
    dims, types = [[36864, 2432], [4096, 2432], []], ["float", "float", "Scalar"]
    concrete = ["", "", str(4096 * 2432)]
    cost = cost_of("triton_poi_fused_slice_1", sign(dims, types, concrete=concrete))

    assert cost.bytes == 2 * 4 * 4096 * 2432


def test_a_generated_reduction_counts_both_sizes(sign):
    dims, types = [[32768, 512], [512], [], []], ["float", "float", "Scalar", "Scalar"]
    concrete = ["", "", "32768", "512"]
    cost = cost_of("triton_red_fused_sum_2", sign(dims, types, concrete=concrete))

    assert cost.bytes == 4 * (32768 * 512 + 512)


def test_a_matrix_template_is_a_matrix_product(sign):
    cost = cost_of("triton_tem_fused_mm_3", sign([[64, 128], [128, 256], [64, 256]]))

    assert (cost.flops, cost.unit) == (2 * 64 * 128 * 256, "matrix")


# --- Types ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("recorded", "dtype"),
    [
        ("float", "float32"),
        ("c10::BFloat16", "bfloat16"),
        ("c10::Half", "float16"),
        ("long int", "int64"),
        ("long", "int64"),
        ("c10::Float8_e5m2fnuz", "float8"),
        ("c10::complex<float>", "complex64"),
        ("Scalar", ""),
        ("TensorList", ""),
        ("", ""),
    ],
)
def test_recorded_type_names(recorded, dtype):
    assert parse_dtype(recorded) == dtype


@pytest.mark.parametrize(
    ("kernel", "dtype"),
    [
        ("volta_sgemm_128x64_nn", "float32"),
        ("ampere_fp16_s16816gemm_fp16_128x256_ldg8_f2f_stages_64x3_nn", "float16"),
        ("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64", "bfloat16"),
        ("sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize128x128x32", "float32"),
        (
            "void multi_tensor_apply_kernel<TensorListMetadata<2>, Adam<float, 4>, double>",
            "float32",
        ),
        (
            (
                "void multi_tensor_apply_kernel<Metadata<4>, FusedAdam<c10::BFloat16, 4>,"
                " float const*, double>"
            ),
            "bfloat16",
        ),
        ("Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT320x224x64", "bfloat16"),
        ("nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT", ""),
        ("Memset (Device)", ""),
    ],
)
def test_the_type_named_first_in_a_kernel_is_that_of_its_elements(kernel, dtype):
    assert kernel_dtype(kernel) == dtype


def test_promotion_of_nothing_known_is_unknown():
    assert promote([]) == promote(["float32", ""]) == ""


def test_slots_beyond_the_recorded_ones_are_empty(sign):
    arguments = decode(sign([[4]], concrete=[""]))

    assert arguments.optional(3) is None
    assert arguments.text(3) == ""
    assert arguments.flags(3) == ()
    with pytest.raises(UncountedError):
        arguments.integer(0)
    with pytest.raises(UncountedError):
        arguments.tensors(0)
    with pytest.raises(UncountedError):
        decode(sign([[4]], concrete=["two"])).integers(0)
