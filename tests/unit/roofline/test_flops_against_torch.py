"""FLOPs of products, convolutions and attention, exact against torch's own counter.

On the meta device: shapes only, nothing is computed. ``captured`` writes the arguments as the
profiler would, so a slot that is off by one shows here. Two things torch gets wrong are compared
with the hand-computed value: causal attention (the masked half is counted), and the weight gradient
of grouped convolutions (counted once for every group).
"""

import pytest

from boundby.roofline.operators import cost_of

MATMULS = {
    "mm": ("mm", (128, 256), (256, 512)),
    "mm thin": ("mm", (1, 4096), (4096, 11008)),
    "mm of one": ("mm", (1, 1), (1, 1)),
    "bmm": ("bmm", (4, 32, 64), (4, 64, 16)),
    "bmm long": ("bmm", (64, 4096, 64), (64, 64, 4096)),
    "addmm": ("addmm", (512,), (128, 256), (256, 512)),
    "addmm full bias": ("addmm", (128, 512), (128, 256), (256, 512)),
    "baddbmm": ("baddbmm", (8, 16, 32), (8, 16, 64), (8, 64, 32)),
    "baddbmm broadcast": ("baddbmm", (1, 1, 32), (8, 16, 64), (8, 64, 32)),
}

CONVOLUTIONS = {
    # input, weight, keyword arguments of torch.nn.functional.convNd
    "3x3": ((1, 16, 14, 14), (32, 16, 3, 3), {}),
    "3x3 padded": ((8, 16, 14, 14), (32, 16, 3, 3), {"padding": 1}),
    "3x3 stride 2": ((8, 16, 14, 14), (32, 16, 3, 3), {"padding": 1, "stride": 2}),
    "1x1": ((32, 256, 56, 56), (64, 256, 1, 1), {}),
    "7x7 stem": ((10, 3, 224, 224), (64, 3, 7, 7), {"padding": 3, "stride": 2}),
    "dilated": ((4, 8, 32, 32), (8, 8, 3, 3), {"padding": 2, "dilation": 2}),
    "uneven": ((2, 8, 33, 17), (8, 8, 5, 3), {"padding": (2, 1), "stride": (2, 3)}),
    "1d": ((32, 512, 4096), (512, 512, 9), {"padding": 4}),
    "3d": ((4, 32, 16, 28, 28), (64, 32, 3, 3, 3), {"padding": 1}),
    "with bias": ((2, 4, 8, 8), (6, 4, 3, 3), {"bias": 6}),
}

GROUPED = {
    "groups": ((4, 32, 28, 28), (64, 8, 3, 3), {"padding": 1, "groups": 4}),
    "depthwise": ((4, 16, 28, 28), (16, 1, 3, 3), {"padding": 1, "groups": 16}),
}

TRANSPOSED = {
    "2x upsampling": ((8, 64, 14, 14), (64, 32, 4, 4), {"stride": 2, "padding": 1}),
    "output padding": ((8, 64, 14, 14), (64, 32, 3, 3), {"stride": 2, "output_padding": 1}),
    "1d": ((2, 16, 100), (16, 8, 4), {"stride": 4}),
}

HEADS = {
    # batch, heads, queries, keys, width, value width
    "square": (4, 16, 512, 512, 64, 64),
    "cross": (2, 8, 128, 77, 64, 64),
    "decode": (64, 16, 1, 4096, 128, 128),
    "wide values": (2, 4, 64, 64, 32, 96),
}


def empty(*shape, **options):
    import torch

    return torch.empty(*shape, device="meta", **options)


def compare(calls) -> int:
    """Number of calls that torch counts, after comparing each."""
    compared = 0
    for name, signature, flops in calls:
        if flops is not None:
            cost = cost_of(name, signature)
            assert cost is not None, (name, signature)
            assert cost.flops == flops, (name, signature)
            assert cost.unit == "matrix"
            compared += 1
    return compared


@pytest.mark.parametrize("case", MATMULS)
def test_matrix_products(captured, case):
    import torch

    name, *shapes = MATMULS[case]
    with captured:
        getattr(torch, name)(*(empty(shape) for shape in shapes))

    assert compare(captured) == 1


@pytest.mark.parametrize("case", CONVOLUTIONS)
def test_convolutions_and_both_gradients(captured, case):
    from torch.nn import functional

    x, weight, options = CONVOLUTIONS[case]
    convolve = getattr(functional, f"conv{len(x) - 2}d")
    bias = empty(options["bias"]) if "bias" in options else None
    with captured:
        out = convolve(
            empty(x, requires_grad=True),
            empty(weight, requires_grad=True),
            **{**options, "bias": bias},
        )
        out.sum().backward()

    assert compare(captured) == 2


@pytest.mark.parametrize("case", GROUPED)
def test_each_gradient_of_a_grouped_convolution_costs_a_forward_pass(captured, case):
    from torch.nn import functional

    x, weight, options = GROUPED[case]
    with captured:
        functional.conv2d(
            empty(x, requires_grad=True), empty(weight, requires_grad=True), **options
        ).sum().backward()
    (forward, counted), (backward, _) = [
        (cost_of(name, signature), flops) for name, signature, flops in captured if flops
    ]

    assert forward.flops == counted
    assert backward.flops == 2 * counted


def test_a_grouped_transposed_convolution(captured):
    from torch.nn import functional

    with captured:
        functional.conv_transpose2d(empty(2, 64, 7, 7), empty(64, 8, 2, 2), stride=2, groups=4)

    assert compare(captured) == 1


@pytest.mark.parametrize("case", TRANSPOSED)
def test_transposed_convolutions_and_both_gradients(captured, case):
    from torch.nn import functional

    x, weight, options = TRANSPOSED[case]
    convolve = getattr(functional, f"conv_transpose{len(x) - 2}d")
    with captured:
        convolve(
            empty(x, requires_grad=True), empty(weight, requires_grad=True), **options
        ).sum().backward()

    assert compare(captured) == 2


@pytest.mark.parametrize(("wants_input", "wants_weight"), [(True, False), (False, True)])
def test_a_gradient_that_is_not_wanted_costs_nothing(captured, wants_input, wants_weight):
    from torch.nn import functional

    x = empty(4, 8, 16, 16, requires_grad=wants_input)
    weight = empty(16, 8, 3, 3, requires_grad=wants_weight)
    with captured:
        functional.conv2d(x, weight).sum().backward()

    assert compare(captured) == 2


@pytest.mark.parametrize("case", HEADS)
def test_flash_attention_forward_and_backward(captured, case):
    import torch

    q, k, v = heads(case)
    with captured:
        torch.ops.aten._scaled_dot_product_flash_attention(q, k, v)
        torch.ops.aten._scaled_dot_product_efficient_attention(q, k, v, None, True)

    assert compare(captured) == 2


@pytest.mark.parametrize("case", ["square", "cross", "decode"])
def test_attention_backward(captured, case):
    import torch

    aten = torch.ops.aten
    q, k, v = heads(case)
    out, lse = torch.empty_like(q), empty(*q.shape[:3])
    seed = empty((), dtype=torch.int64)
    with captured:
        aten._scaled_dot_product_flash_attention_backward(
            out, q, k, v, out, lse, seed, seed, q.shape[2], k.shape[2], 0.0, False, seed, seed
        )
        aten._scaled_dot_product_efficient_attention_backward(
            out, q, k, v, None, out, lse, seed, seed, 0.0, [True, True, True, False]
        )

    assert compare(captured) == 2


def heads(case):
    import torch

    batch, count, queries, keys, width, values = HEADS[case]
    return (
        empty(batch, count, queries, width, dtype=torch.bfloat16),
        empty(batch, count, keys, width, dtype=torch.bfloat16),
        empty(batch, count, keys, values, dtype=torch.bfloat16),
    )


def test_einsum_is_counted_where_it_is_lowered(captured):
    import torch

    with captured:
        torch.einsum("bij,bjk->bik", empty(32, 64, 128), empty(32, 128, 16))

    assert compare(captured) == 1


def test_a_whole_model_adds_up_to_what_torch_counts(captured):
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    model = torch.nn.TransformerEncoderLayer(64, 4, 256, batch_first=True, device="meta")
    x = empty(2, 16, 64)
    with FlopCounterMode(display=False) as counter:
        model(x).sum().backward()
    with captured:
        model(x).sum().backward()
    costs = [cost_of(name, signature) for name, signature, _ in captured]
    ours = sum(cost.flops for cost in costs if cost is not None and cost.unit == "matrix")

    assert ours == counter.get_total_flops()


def test_float8_products(captured):
    import torch

    a = empty(64, 128, dtype=torch.float8_e4m3fn)
    b = empty(256, 128, dtype=torch.float8_e4m3fn).t()
    with captured:
        torch._scaled_mm(a, b, empty(()), empty(()), out_dtype=torch.bfloat16)
    [cost] = [cost_of(name, signature) for name, signature, flops in captured if flops]

    assert compare(captured) == 1
    assert cost.dtype == "float8"
    assert cost.bytes == 64 * 128 + 128 * 256 + 2 * 4 + 2 * 64 * 256
