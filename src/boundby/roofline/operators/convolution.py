"""Convolutions, counted as the direct algorithm does them.

2 x (output positions x output channels) x (input channels / groups) x (kernel positions),
positions that fall on padding included, as in torch.utils.flop_counter. Transposed: the same with
the input positions. Winograd and FFT algorithms do fewer operations than this.
"""

from __future__ import annotations

import math

from boundby.frozen import frozen
from boundby.roofline.arguments import Arguments, Shape, Tensor
from boundby.roofline.costs import Cost, UncountedError, count
from boundby.roofline.operators.rule import Rule, moved, size


@frozen
class Geometry:
    """How the kernel moves over the input; one number a spatial dimension."""

    stride: Shape
    padding: Shape
    dilation: Shape
    groups: int
    transposed: bool = False
    output_padding: Shape = ()

    def output(self, x: Shape, weight: Shape) -> Shape:
        """The output shape for an input and a weight (torch.nn.Conv2d, ConvTranspose2d)."""
        kernel = weight[2:]
        rank = len(kernel)
        if len(x) != rank + 2 or not rank:
            raise UncountedError
        stride, padding = _spread(self.stride, rank), _spread(self.padding, rank)
        dilation, extra = _spread(self.dilation, rank), _spread(self.output_padding or (0,), rank)
        reach = [d * (k - 1) for d, k in zip(dilation, kernel, strict=True)]
        if self.transposed:
            spatial = [
                (n - 1) * s - 2 * p + r + e + 1
                for n, s, p, r, e in zip(x[2:], stride, padding, reach, extra, strict=True)
            ]
            return (x[0], weight[1] * self.groups, *spatial)
        spatial = [
            (n + 2 * p - r - 1) // s + 1
            for n, s, p, r in zip(x[2:], stride, padding, reach, strict=True)
        ]
        return (x[0], weight[0], *spatial)

    def flops(self, x: Shape, weight: Shape, out: Shape) -> int:
        """Operations of the forward pass, and of either gradient."""
        positions = x[2:] if self.transposed else out[2:]
        return 2 * x[0] * math.prod(positions) * math.prod(weight)


def _spread(values: Shape, rank: int) -> Shape:
    if len(values) == rank:
        return values
    if len(values) == 1:
        return values * rank
    raise UncountedError


def _forward(x: Tensor, weight: Tensor, geometry: Geometry, *others: Tensor | None) -> Cost:
    shape = x.shape if len(x.shape) == len(weight.shape) else (1, *x.shape)
    channels = weight.shape[0] if geometry.transposed else weight.shape[1] * geometry.groups
    out = geometry.output(shape, weight.shape)
    if shape[1] != channels or min(out) < 0:
        raise UncountedError
    bytes_ = moved(x, weight, *others) + size(out, x.dtype)
    return count(geometry.flops(shape, weight.shape, out), bytes_, x.dtype, "matrix")


def _convolution(arguments: Arguments) -> Cost:
    """``convolution(input, weight, bias, stride, padding, dilation, transposed, ...)``."""
    geometry = Geometry(
        stride=arguments.integers(3),
        padding=arguments.integers(4),
        dilation=arguments.integers(5),
        transposed=arguments.flag(6),
        output_padding=arguments.integers(7, ()),
        groups=arguments.integer(8, 1),
    )
    return _forward(arguments.tensor(0), arguments.tensor(1), geometry, arguments.optional(2))


def _conv(arguments: Arguments) -> Cost:
    """``conv2d(input, weight, bias, stride, padding, dilation, groups)``; padding may be a word."""
    weight = arguments.tensor(1)
    dilation = arguments.integers(5, (1,))
    word = arguments.text(4)
    if word in ("valid", "same"):
        reach = _spread(dilation, len(weight.shape) - 2)
        halves = tuple(d * (k - 1) / 2 for d, k in zip(reach, weight.shape[2:], strict=True))
        if word == "same" and any(half % 1 for half in halves):
            raise UncountedError
        padding = tuple(int(half) for half in halves) if word == "same" else (0,)
    else:
        padding = arguments.integers(4, (0,))
    geometry = Geometry(arguments.integers(3, (1,)), padding, dilation, arguments.integer(6, 1))
    return _forward(arguments.tensor(0), weight, geometry, arguments.optional(2))


def _conv_transpose(arguments: Arguments) -> Cost:
    """``conv_transpose2d(input, weight, bias, stride, padding, output_padding, groups, ...)``."""
    geometry = Geometry(
        stride=arguments.integers(3, (1,)),
        padding=arguments.integers(4, (0,)),
        output_padding=arguments.integers(5, (0,)),
        groups=arguments.integer(6, 1),
        dilation=arguments.integers(7, (1,)),
        transposed=True,
    )
    return _forward(arguments.tensor(0), arguments.tensor(1), geometry, arguments.optional(2))


def _vendor(first: int, bias: int | None, *, transposed: bool = False) -> Rule:
    """A rule for ``(input, weight, bias, padding, output_padding, stride, dilation, groups)``.

    Not all of them have a bias or an output padding; ``first`` is the slot of the padding.
    """

    def rule(arguments: Arguments) -> Cost:
        after = first + 1 if transposed else first
        geometry = Geometry(
            padding=arguments.integers(first),
            output_padding=arguments.integers(after) if transposed else (),
            stride=arguments.integers(after + 1),
            dilation=arguments.integers(after + 2),
            groups=arguments.integer(after + 3),
            transposed=transposed,
        )
        extra = None if bias is None else arguments.optional(bias)
        return _forward(arguments.tensor(0), arguments.tensor(1), geometry, extra)

    return rule


def _fused(stride: int, *others: int) -> Rule:
    """A rule for fused convolutions: stride, padding, dilation, groups from one slot on."""

    def rule(arguments: Arguments) -> Cost:
        x, weight = arguments.tensor(0), arguments.tensor(1)
        implied = x.shape[-len(weight.shape) + 1] // weight.shape[1]  # depthwise: not passed
        geometry = Geometry(
            stride=arguments.integers(stride),
            padding=arguments.integers(stride + 1),
            dilation=arguments.integers(stride + 2, (1,)),
            groups=arguments.integer(stride + 3, implied),
        )
        extras = [arguments.optional(index) for index in others]
        return _forward(x, weight, geometry, *extras)

    return rule


def _backward(arguments: Arguments) -> Cost:
    """``convolution_backward(grad, input, weight, bias_sizes, stride, ..., output_mask)``.

    The gradients of input and weight cost one forward pass each; slot 10 says which are wanted.
    """
    grad, x, weight = (arguments.tensor(i) for i in range(3))
    wants_input, wants_weight, _ = arguments.flags(10) or (None, None, None)
    if wants_input is None or wants_weight is None:
        raise UncountedError
    positions = x if arguments.flag(7) else grad
    once = 2 * x.shape[0] * math.prod(positions.shape[2:]) * weight.numel
    bytes_ = moved(grad)
    bytes_ += weight.bytes + size(x.shape, x.dtype) if wants_input else 0.0
    bytes_ += x.bytes + size(weight.shape, weight.dtype) if wants_weight else 0.0
    return count(once * (wants_input + wants_weight), bytes_, x.dtype, "matrix")


def _input_gradient(arguments: Arguments) -> Cost:
    """``cudnn_convolution_backward_input(input_size, grad, weight, ...)``, until torch 1.8."""
    grad, weight = arguments.tensor(1), arguments.tensor(2)
    wanted = arguments.integers(0, ())
    flops = 2 * grad.shape[0] * math.prod(grad.shape[2:]) * weight.numel
    bytes_ = moved(grad, weight) + (size(wanted, grad.dtype) if wanted else math.nan)
    return count(flops, bytes_, grad.dtype, "matrix")


def _weight_gradient(arguments: Arguments) -> Cost:
    """``cudnn_convolution_backward_weight(weight_size, grad, input, ...)``, until torch 1.8."""
    weight, grad, x = arguments.integers(0), arguments.tensor(1), arguments.tensor(2)
    flops = 2 * grad.shape[0] * math.prod(grad.shape[2:]) * math.prod(weight)
    return count(flops, moved(grad, x) + size(weight, grad.dtype), grad.dtype, "matrix")


RULES: dict[str, Rule] = {
    "convolution": _convolution,
    "_convolution": _convolution,
    "convolution_overrideable": _convolution,
    "conv1d": _conv,
    "conv2d": _conv,
    "conv3d": _conv,
    "conv_transpose1d": _conv_transpose,
    "conv_transpose2d": _conv_transpose,
    "conv_transpose3d": _conv_transpose,
    "cudnn_convolution": _vendor(2, None),
    "cudnn_convolution_transpose": _vendor(2, None, transposed=True),
    "miopen_convolution": _vendor(3, 2),
    "miopen_depthwise_convolution": _vendor(3, 2),
    "miopen_convolution_transpose": _vendor(3, 2, transposed=True),
    "mkldnn_convolution": _vendor(3, 2),
    "cudnn_convolution_relu": _fused(3, 2),
    "cudnn_convolution_add_relu": _fused(5, 2, 4),
    "miopen_convolution_relu": _fused(3, 2),
    "miopen_convolution_add_relu": _fused(5, 2, 4),
    "thnn_conv2d": _fused(4, 3),
    "_slow_conv2d_forward": _fused(4, 3),
    "slow_conv3d_forward": _fused(4, 3),
    "slow_conv_dilated2d": _fused(4, 3),
    "slow_conv_dilated3d": _fused(4, 3),
    "_conv_depthwise2d": _fused(4, 3),
    "conv_depthwise3d": _fused(4, 3),
    "convolution_backward": _backward,
    "convolution_backward_overrideable": _backward,
    "cudnn_convolution_backward_input": _input_gradient,
    "cudnn_convolution_backward_weight": _weight_gradient,
}
