"""Recurrent networks: one matrix product a gate, step, layer and direction."""

from __future__ import annotations

import math

from boundby.roofline.arguments import Arguments, Tensor
from boundby.roofline.costs import Cost, UncountedError, count
from boundby.roofline.operators.rule import Rule, moved, size

GATES = {0: 1, 1: 1, 2: 4, 3: 3}
"""Products a step by mode: RNN with relu, RNN with tanh, LSTM, GRU (cudnnRNNMode_t)."""


def _steps(x: Tensor, sizes: tuple[int, ...]) -> int:
    """Rows that pass a layer: steps times batch; packed sequences name their sizes."""
    return sum(sizes) if sizes else math.prod(x.shape[:-1])


def _layer_flops(arguments: Arguments, first: int, sizes_slot: int) -> tuple[float, int, int]:
    """Operations of all layers, rows, and the width of the output.

    Slots from ``first``: mode, hidden size, projection size, layers, ..., bidirectional at +7.
    """
    x = arguments.tensor(0)
    mode, hidden, projection = (arguments.integer(first + i) for i in range(3))
    layers, directions = arguments.integer(first + 3), 1 + arguments.flag(first + 7)
    if mode not in GATES or not x.shape:
        raise UncountedError
    rows = _steps(x, arguments.integers(sizes_slot, ()))
    out = projection or hidden
    flops = 0.0
    for layer in range(layers):
        width = x.shape[-1] if layer == 0 else out * directions
        each = GATES[mode] * hidden * (width + out) + (projection * hidden)
        flops += 2.0 * rows * directions * each
    return flops, rows, out * directions


def _weights(arguments: Arguments, list_slot: int, buffer_slot: int) -> float:
    buffer = arguments.optional(buffer_slot)
    if buffer is not None and buffer.numel:
        return buffer.bytes
    return moved(*arguments.tensors(list_slot))


def _cudnn_rnn(arguments: Arguments) -> Cost:
    """``_cudnn_rnn(input, weight, stride, buffer, hx, cx, mode, hidden, projection, layers, ..)``.

    Weights are read once, although every step needs them: they may stay on chip.
    """
    x = arguments.tensor(0)
    flops, rows, width = _layer_flops(arguments, 6, 14)
    states = 2 * moved(arguments.optional(4), arguments.optional(5))
    bytes_ = moved(x) + _weights(arguments, 1, 3) + states + size((rows, width), x.dtype)
    return count(flops, bytes_, x.dtype, "matrix")


def _cudnn_rnn_backward(arguments: Arguments) -> Cost:
    """Gradients of inputs and of weights: twice the operations of the forward pass."""
    x = arguments.tensor(0)
    flops, _, _ = _layer_flops(arguments, 10, 18)
    read = moved(x, arguments.optional(6), arguments.optional(7), arguments.optional(20))
    bytes_ = read + 2 * _weights(arguments, 1, 3) + size(x.shape, x.dtype)
    return count(2 * flops, bytes_, x.dtype, "matrix")


def _sequence(gates: int, state_slots: int) -> Rule:
    """``lstm(input, hx, params, has_biases, layers, dropout, train, bidirectional, ...)``."""

    def rule(arguments: Arguments) -> Cost:
        x = arguments.tensor(0)
        state = arguments.tensors(1)[0] if state_slots > 1 else arguments.tensor(1)
        layers, directions = arguments.integer(4), 1 + arguments.flag(7)
        hidden, rows = state.shape[-1], math.prod(x.shape[:-1])
        flops = 0.0
        for layer in range(layers):
            width = x.shape[-1] if layer == 0 else hidden * directions
            flops += 2.0 * rows * directions * gates * hidden * (width + hidden)
        parameters = moved(*arguments.tensors(2))
        bytes_ = moved(x) + parameters + size((rows, hidden * directions), x.dtype)
        return count(flops, bytes_, x.dtype, "matrix")

    return rule


def _cell(flops: int, special: int, outputs: int, kept_share: float) -> Rule:
    """The elementwise half of a cell: ``_thnn_fused_lstm_cell(input_gates, hidden_gates, c)``."""

    def rule(arguments: Arguments) -> Cost:
        a, b, state = (arguments.tensor(i) for i in range(3))
        biases = arguments.optional(3), arguments.optional(4)
        kept = size(a.shape, a.dtype) * kept_share  # for the backward pass
        bytes_ = moved(a, b, state, *biases) + outputs * size(state.shape, a.dtype) + kept
        return count(flops * state.numel, bytes_, a.dtype, special=special * state.numel)

    return rule


def _cell_backward(arguments: Arguments) -> Cost:
    """Reads gradients and the kept gates, writes the gradient of the gates."""
    tensors = [t for t in map(arguments.optional, range(6)) if t is not None]
    if not tensors:
        raise UncountedError
    largest = max(tensors, key=lambda t: t.numel)
    bytes_ = moved(*tensors) + size(largest.shape, largest.dtype)
    return count(5 * largest.numel, bytes_, largest.dtype, special=largest.numel / 4)


RULES: dict[str, Rule] = {
    "_cudnn_rnn": _cudnn_rnn,
    "_cudnn_rnn_backward": _cudnn_rnn_backward,
    "lstm": _sequence(4, 2),
    "gru": _sequence(3, 1),
    "rnn_tanh": _sequence(1, 1),
    "rnn_relu": _sequence(1, 1),
    "_thnn_fused_lstm_cell": _cell(30, 10, 2, 1.0),
    "_thnn_fused_lstm_cell_backward_impl": _cell_backward,
    "_thnn_fused_gru_cell": _cell(25, 6, 1, 5 / 3),
    "_thnn_fused_gru_cell_backward": _cell_backward,
}
