"""The rest of the rules, each against FLOPs and bytes written out by hand."""

import pytest

from boundby.roofline.operators import cost_of

LONG, LIST = "long int", "ScalarList"

HAND = {
    # operator: dims, types (None: float where there are sizes), scalars, FLOPs, bytes
    "addbmm": ([[8, 6], [4, 8, 5], [4, 5, 6], [], []], None, None, 1920, 4 * (48 + 160 + 120 + 48)),
    "mv": ([[8, 4], [4]], None, None, 64, 4 * (32 + 4 + 8)),
    "addmv": ([[8], [8, 4], [4], [], []], None, None, 64, 4 * (8 + 32 + 4 + 8)),
    "addmm_": (
        [[2, 3], [2, 4], [4, 3], [], []],
        None,
        ["", "", "", "0", "1"],
        48,
        4 * (8 + 12 + 6),
    ),
    "dot": ([[100], [100]], None, None, 200, 4 * 201),
    "outer": ([[10], [20]], None, None, 200, 4 * 230),
    "addr": ([[10, 20], [10], [20], [], []], None, None, 400, 4 * 430),
    "linear": ([[2, 3, 8], [5, 8], [5]], None, None, 480, 4 * (48 + 40 + 5 + 30)),
    "matmul": ([[2, 1, 4, 8], [3, 8, 5]], None, None, 2 * 6 * 20 * 8, 4 * (64 + 120 + 120)),
    "_int_mm": ([[8, 4], [4, 2]], ["signed char"] * 2, None, 128, 32 + 8 + 4 * 16),
    "conv2d": (
        [[1, 2, 8, 8], [4, 2, 3, 3], [4], [], [], [], []],
        ["float", "float", "float", LIST, "", LIST, "Scalar"],
        ["", "", "", "[1, 1]", "same", "[1, 1]", "1"],
        2 * 4 * 64 * 18,
        4 * (128 + 72 + 4 + 256),
    ),
    "conv1d": (
        [[1, 2, 8], [4, 2, 3], [], [], [], [], []],
        None,
        ["", "", "", "[1]", "valid", "[1]", "1"],
        2 * 4 * 6 * 6,
        4 * (16 + 24 + 24),
    ),
    "conv3d": (
        [[1, 2, 4, 4, 4], [4, 2, 3, 3, 3], [], [], [], [], []],
        None,
        ["", "", "", "[1]", "[1]", "[1]", "1"],
        2 * 4 * 64 * 54,
        4 * (128 + 216 + 256),
    ),
    "conv_transpose2d": (
        [[1, 2, 4, 4], [2, 3, 2, 2], [], [], [], [], [], []],
        None,
        ["", "", "", "[2, 2]", "[0, 0]", "[0, 0]", "1", "[1, 1]"],
        2 * 16 * 24,
        4 * (32 + 24 + 3 * 64),
    ),
    "cudnn_convolution_transpose": (
        [[1, 2, 4, 4], [2, 3, 2, 2], [], [], [], [], [], [], [], []],
        None,
        ["", "", "[0, 0]", "[0, 0]", "[2, 2]", "[1, 1]", "1", "False", "False", "True"],
        2 * 16 * 24,
        4 * (32 + 24 + 3 * 64),
    ),
    "miopen_convolution": (
        [[1, 2, 4, 4], [3, 2, 1, 1], [3], [], [], [], [], [], []],
        None,
        ["", "", "", "[0, 0]", "[1, 1]", "[1, 1]", "1", "False", "False"],
        2 * 16 * 6,
        4 * (32 + 6 + 3 + 48),
    ),
    "cudnn_convolution_add_relu": (
        [[1, 2, 4, 4], [3, 2, 1, 1], [1, 3, 4, 4], [], [3], [], [], [], []],
        None,
        ["", "", "", "1", "", "[1, 1]", "[0, 0]", "[1, 1]", "1"],
        2 * 16 * 6,
        4 * (32 + 6 + 48 + 3 + 48),
    ),
    "_conv_depthwise2d": (
        [[1, 2, 4, 4], [2, 1, 3, 3], [], [], [], [], []],
        None,
        ["", "", "[3, 3]", "", "[1, 1]", "[1, 1]", "[1, 1]"],
        2 * 16 * 18,
        4 * (32 + 18 + 32),
    ),
    "cudnn_convolution_backward_input": (
        [[], [1, 3, 4, 4], [3, 2, 1, 1]],
        [LIST, "float", "float"],
        ["[1, 2, 4, 4]", "", ""],
        2 * 16 * 6,
        4 * (48 + 6 + 32),
    ),
    "cudnn_convolution_backward_weight": (
        [[], [1, 3, 4, 4], [1, 2, 4, 4]],
        [LIST, "float", "float"],
        ["[3, 2, 1, 1]", "", ""],
        2 * 16 * 6,
        4 * (48 + 32 + 6),
    ),
    "glu": ([[4, 8], []], None, ["", "1"], 64, 4 * (32 + 16)),
    "glu_backward": ([[4, 4], [4, 8], []], None, ["", "", "1"], 128, 4 * (16 + 32 + 32)),
    "__iand__": ([[100], [100]], ["bool"] * 2, None, 100, 300),
    "min": ([[8, 16], [8, 16]], None, None, 128, 4 * 384),
    "var_mean": ([[8, 16], [], [], []], None, ["", "[1]", "1", "False"], 384, 4 * (128 + 16)),
    "std": ([[8, 16], []], None, ["", "True"], 384, 4 * (128 + 1)),
    "linalg_vector_norm": ([[8, 16], [], [], []], None, ["", "2", "[1]", "False"], 256, 4 * 136),
    "cummax": ([[100], []], None, ["", "0"], 100, 4 * 200 + 800),
    "_masked_softmax": ([[4, 8], [4, 8]], ["float", "bool"], None, 192, 4 * 32 + 32 + 4 * 32),
    "_cdist_forward": ([[5, 3], [7, 3]], None, None, 315, 4 * (15 + 21 + 35)),
    "native_group_norm": (
        [[2, 4, 3, 3], [4], [4], [], [], [], [], []],
        None,
        ["", "", "", "2", "4", "9", "2", "1e-5"],
        8 * 72,
        4 * (144 + 8 + 2 * 4),
    ),
    "_fused_rms_norm": ([[4, 8], [], [8]], None, ["", "[8]", ""], 128, 4 * (64 + 8 + 4)),
    "batch_norm_stats": ([[2, 3, 4, 4], []], None, None, 384, 4 * (96 + 6)),
    "_copy_from": ([[100], [100], []], ["float", "double", "Scalar"], None, 0, 1200),
    "_to_copy": ([[100], [], []], None, ["", "15", ""], 0, 600),
    "repeat": ([[4, 5], []], None, ["", "[2, 3]"], 0, 4 * (20 + 120)),
    "reflection_pad2d": ([[1, 4, 4], []], None, ["", "[1, 1, 2, 0]"], 0, 4 * (16 + 36)),
    "im2col": (
        [[1, 2, 4, 4], [], [], [], []],
        None,
        ["", "[3, 3]", "[1, 1]", "[1, 1]", "[1, 1]"],
        0,
        4 * (32 + 2 * 9 * 16),
    ),
    "normal_": ([[100], [], []], None, ["", "0.", "1."], 0, 400),
    "embedding_dense_backward": (
        [[6, 8], [6], [], [], []],
        ["float", LONG, "Scalar", "Scalar", "Scalar"],
        ["", "", "4", "-1", "False"],
        48,
        4 * 48 + 48 + 4 * 32,
    ),
    "_embedding_bag": (
        [[10, 8], [6], [2]],
        ["float", LONG, LONG],
        None,
        48,
        48 + 16 + 4 * 48 + 4 * 16,
    ),
    "index_select": ([[10, 8], [], [3]], ["float", "", LONG], ["", "0", ""], 0, 24 + 2 * 4 * 24),
    "gather": ([[10, 8], [], [3, 8]], ["float", "", LONG], ["", "0", ""], 0, 192 + 2 * 96),
    "take": ([[10, 8], [5]], ["float", LONG], None, 0, 40 + 40),
    "scatter_add_": (
        [[10], [], [6], [6]],
        ["float", "", LONG, "float"],
        ["", "0", "", ""],
        6,
        48 + 24 + 2 * 24,
    ),
    "scatter": (
        [[10], [], [6], [6]],
        ["float", "", LONG, "float"],
        ["", "0", "", ""],
        0,
        48 + 24 + 24 + 2 * 16,
    ),
    "index_add_": (
        [[10, 2], [], [3], [3, 2]],
        ["float", "", LONG, "float"],
        ["", "0", "", ""],
        6,
        24 + 24 + 2 * 24,
    ),
    "index": ([[10, 8], [[3], [3]]], ["float", "TensorList"], None, 0, 48 + 2 * 12),
    "index_put_": (
        [[10, 8], [[3]], [3, 8], []],
        ["float", "TensorList", "float", "Scalar"],
        ["", "", "", "True"],
        24,
        24 + 96 + 2 * 96,
    ),
    "nonzero": ([[100]], ["bool"], None, 0, 100),
    "sort": ([[100], [], []], None, ["", "-1", "False"], 0, 1600),
    "argsort": ([[100], []], None, ["", "-1"], 0, 1200),
    "topk": ([[4, 100], [], []], None, ["", "5", "-1"], 0, 1600 + 20 * 12),
    "bucketize": ([[100], [8]], None, None, 0, 432 + 800),
    "nll_loss_backward": (
        [[], [8, 10], [8], [], [], [], []],
        ["float", "float", LONG, "", "Scalar", "Scalar", "float"],
        None,
        8,
        4 + 64 + 32,
    ),
    "cross_entropy_loss": ([[8, 10], [8]], ["float", LONG], None, 400, 320 + 64),
    "binary_cross_entropy": ([[100], [100], [100]], None, None, 700, 1600),
    "avg_pool2d": (
        [[1, 2, 4, 4], [], [], [], [], [], []],
        None,
        ["", "[2, 2]", "[]", "[0, 0]", "False", "True", ""],
        32,
        4 * (32 + 8),
    ),
    "avg_pool2d_backward": ([[1, 2, 2, 2], [1, 2, 4, 4]], None, None, 32, 4 * (8 + 32)),
    "_adaptive_avg_pool2d": ([[1, 2, 4, 4], []], None, ["", "[1, 1]"], 32, 4 * (32 + 2)),
    "max_pool2d_with_indices_backward": (
        [[1, 1, 2, 2], [1, 1, 4, 4], [], [], [], [], [], [1, 1, 2, 2]],
        ["float", "float", LIST, LIST, LIST, LIST, "Scalar", LONG],
        None,
        4,
        16 + 32 + 64,
    ),
    "upsample_bilinear2d": ([[1, 1, 2, 2], [], []], None, ["", "[4, 4]", "False"], 112, 80),
    "upsample_nearest2d_backward": (
        [[1, 1, 4, 4], [], []],
        None,
        ["", "[4, 4]", "[1, 1, 2, 2]"],
        16,
        80,
    ),
    "grid_sampler_2d": ([[1, 2, 4, 4], [1, 3, 3, 2]], None, None, 144, 4 * (32 + 18 + 18)),
    "_foreach_copy_": ([[[10]], [[10]]], ["TensorList"] * 2, None, 0, 80),
    "gru": (
        [[5, 2, 4], [1, 2, 8], [[24, 4], [24, 8]], [], [], [], [], [], []],
        ["float", "float", "TensorList", *["Scalar"] * 6],
        ["", "", "", "True", "1", "0.", "True", "False", "False"],
        2 * 10 * 3 * 8 * 12,
        4 * (40 + 96 + 192 + 80),
    ),
    "_cudnn_rnn_backward": (
        [[5, 2, 4], [[32, 4], [32, 8]], [], [288], [1, 2, 8], [], [5, 2, 8], [5, 2, 8], *[[]] * 14],
        ["float", "TensorList", "", "float", "float", "", "float", "float", *["Scalar"] * 14],
        [*[""] * 10, "2", "8", "0", "1", "False", "0.", "True", "False", "[]", "", "", "[]"],
        2 * 2 * 10 * 4 * 8 * 12,
        4 * (40 + 80 + 80 + 2 * 288 + 40),
    ),
}


@pytest.mark.parametrize("name", HAND)
def test_work_computed_by_hand(sign, name):
    dims, types, concrete, flops, bytes_ = HAND[name]
    types = types or ["float" if d else "Scalar" for d in dims]
    signature = sign(dims, types, concrete=concrete or [""] * len(dims))
    cost = cost_of(f"aten::{name}", signature, element="float32")

    assert cost is not None
    assert (cost.flops, cost.bytes) == (flops, bytes_)


@pytest.mark.parametrize(
    ("dims", "flops", "written"),
    [
        ([[32, 8], [4, 8, 5], [4]], 2 * 32 * 8 * 5, 32 * 5),  # rows meet their group's matrix
        ([[8, 32], [32, 5], [4]], 2 * 8 * 32 * 5, 4 * 8 * 5),  # one product a group
        ([[4, 6, 8], [4, 8, 5], []], 2 * 4 * 6 * 8 * 5, 4 * 6 * 5),
    ],
)
def test_grouped_products(sign, dims, flops, written):
    types = ["c10::BFloat16", "c10::BFloat16", "int" if dims[2] else ""]
    cost = cost_of("aten::_grouped_mm", sign(dims, types))
    read = 2 * sum(length_product(d) for d in dims[:2])

    assert (cost.flops, cost.bytes) == (flops, read + 2 * written)


def length_product(shape):
    product = 1
    for length in shape:
        product *= length
    return product


def test_four_bit_floats_are_two_to_a_byte(sign):
    types = ["c10::Float4_e2m1fn_x2"] * 2
    cost = cost_of("aten::_scaled_mm", sign([[8, 16], [16, 4]], types, concrete=["", ""]))

    assert cost.flops == 2 * 8 * 4 * 32


@pytest.mark.parametrize(
    ("name", "dims", "concrete"),
    [
        ("mm", [[8, 4], [5, 2]], None),
        ("linear", [[8, 4], [5, 3]], None),
        ("matmul", [[8, 4], [5, 3]], None),
        ("add", [[3], [4]], None),
        ("conv2d", [[1, 2, 3], [4, 2, 3, 3]], None),
        ("conv2d", [[1, 2, 2, 2], [4, 2, 9, 9]], None),
        ("conv2d", [[1, 2, 8, 8], [4, 2, 2, 2]], ["", "", "", "[1, 1]", "same"]),
        ("conv2d", [[1, 2, 8, 8], [4, 2, 3, 3]], ["", "", "", "[1, 1, 1]"]),
        ("reflection_pad2d", [[4, 4], []], ["", "[1, 1, 1]"]),
        ("_softmax_backward_data", [[4, 4]], None),
        ("sum", [[4, 4], []], ["", "[7]"]),
        ("upsample_nearest2d", [[4, 4], []], ["", "[8, 8]"]),
        ("max_pool2d", [[4], []], ["", "[2, 2]"]),
        ("max_pool2d", [[1, 1, 4, 4], []], ["", "[2, 2, 2]"]),
        ("lstm", [[5, 2, 4], [], []], None),
        ("_cudnn_rnn", [[5, 2, 4], *[[]] * 5], [*[""] * 6, "9", "8", "0", "1"]),
        ("_cdist_forward", [[5, 3], [7, 4]], None),
        ("_grouped_mm", [[5], [7, 4]], None),
        ("embedding", [[5], [7]], None),
        ("embedding_dense_backward", [[5], [7]], None),
        ("nonzero", [[]], None),
        ("bucketize", [[5], []], None),
        ("_grouped_mm", [[2, 5, 5, 5], [7, 4]], None),
        ("avg_pool2d", [[4], []], ["", "[2, 2]"]),
    ],
)
def test_shapes_that_do_not_go_together_are_uncounted(sign, name, dims, concrete):
    signature = sign(dims, ["float" if d else "Scalar" for d in dims], concrete=concrete)

    assert cost_of(f"aten::{name}", signature) is None


def test_a_vector_times_a_matrix(sign):
    cost = cost_of("aten::matmul", sign([[8], [8, 3]]))

    assert (cost.flops, cost.bytes) == (48, 4 * (8 + 24 + 3))


def test_the_flash_attention_package(sign):
    dims = [[2, 64, 4, 32]] * 3 + [[]] * 3
    forward = cost_of(
        "flash_attn::_flash_attn_forward",
        sign(dims, "c10::Half", concrete=["", "", "", "0.", "0.1", "True"]),
    )
    packed = [[128, 4, 32]] * 3 + [[3], [3], *[[]] * 5]
    types = ["c10::Half"] * 3 + ["int"] * 2 + ["Scalar"] * 5
    concrete = ["", "", "", "", "", "64", "64", "0.", "0.1", "True"]
    varying = cost_of(
        "flash_attn::_flash_attn_varlen_forward", sign(packed, types, concrete=concrete)
    )

    assert forward.flops == varying.flops == 4 * 2 * 4 * 32 * 64 * 32


def test_the_backward_pass_of_the_flash_attention_package(sign):
    dims = [[2, 64, 4, 32]] * 5 + [[2, 4, 64], *[[2, 64, 4, 32]] * 3, [], [], []]
    concrete = [""] * 9 + ["0.", "0.1", "False"]
    signature = sign(dims, "c10::Half", concrete=concrete)
    backward = cost_of("flash_attn::_flash_attn_backward", signature)

    assert backward.flops == 10 * 2 * 4 * 32 * 64 * 64


@pytest.mark.parametrize("causal", ["False", "True"])
def test_cudnn_attention(sign, causal):
    dims = [[2, 4, 64, 32]] * 3 + [[]] * 10
    forward = ["", "", "", "", "", "", "64", "64", "True", "0.", causal, "False", ""]
    backward = [""] * 11 + ["64", "64", "0.", causal, ""]
    scores = 64 * 64 / (2 if causal == "True" else 1)
    ahead = cost_of("aten::_cudnn_attention_forward", sign(dims, "c10::Half", concrete=forward))
    back = cost_of(
        "aten::_cudnn_attention_backward",
        sign([[2, 4, 64, 32]] * 5 + [[2, 4, 64]] + [[]] * 10, "c10::Half", concrete=backward),
    )

    assert ahead.flops == 4 * 2 * 4 * 32 * scores
    assert back.flops == 10 * 2 * 4 * 32 * scores


def test_attention_over_keys_of_another_rank_is_uncounted(sign):
    dims = [[2, 4, 64, 32], [2, 64, 32], [2, 64, 32], [], [], []]
    concrete = ["", "", "", "0.", "False", "False"]
    signature = sign(dims, "c10::Half", concrete=concrete)

    assert cost_of("aten::_scaled_dot_product_flash_attention", signature) is None


@pytest.mark.parametrize(
    ("queries", "keys", "corner", "scores"),
    [
        (4, 8, "1", 8),  # top left: a triangle of four
        (8, 4, "1", 8 * 4 - 8),  # below the triangle the whole row
        (4, 8, "2", 4 * 8 - 8),
        (8, 4, "2", 8),  # the first queries see nothing
    ],
)
def test_corners_of_a_causal_mask(sign, queries, keys, corner, scores):
    dims = [[1, queries, 1, 16], [1, keys, 1, 16], [1, keys, 1, 16], *[[]] * 11]
    concrete = ["", "", "", "", "", "", "", "", "0.1", corner, "True", "0.1", "", ""]
    cost = cost_of("aten::_efficient_attention_forward", sign(dims, concrete=concrete))

    assert cost.flops == 4 * 16 * scores


def test_a_template_that_fits_no_product_has_bytes_alone(sign):
    cost = cost_of("triton_tem_fused_mm_3", sign([[64, 128], [100, 256], [64, 256]]))

    assert cost.flops is None
    assert cost.bytes == 4 * (64 * 128 + 100 * 256 + 64 * 256)


def test_a_generated_kernel_without_buffers_is_uncounted(sign):
    assert cost_of("triton_poi_fused_0", sign([[]], ["Scalar"], concrete=["8"])) is None
