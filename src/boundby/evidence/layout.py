"""Memory layouts: operands whose strides fight, and convolutions that transpose."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

import numpy as np

from boundby.distribution import distinct
from boundby.evidence.kernels import KernelTime
from boundby.evidence.launched import Floats, Launched, nodes_named
from boundby.evidence.naming import Bools
from boundby.frozen import frozen
from boundby.intervals import Ints
from boundby.read.recording import NONE
from boundby.roofline.arguments import Tensor
from boundby.roofline.costs import UncountedError
from boundby.roofline.patterns.layouts import disagree

ELEMENTWISE = re.compile(r"elementwise_kernel")
COPY = re.compile(r"^aten::copy_$")
"""Copies between layouts are the cure, not the illness."""
CONVOLUTION = re.compile(
    r"^aten::(cudnn_convolution\w*|miopen_convolution\w*|_slow_conv\w*|convolution_backward"
    r"|convolution|_convolution|_conv_depthwise2d|conv_depthwise3d)$"
)
TRANSPOSES = re.compile(r"nchwToNhwc|nhwcToNchw|batched_transpose|NchwToNhwc|NhwcToNchw")
GROUPS_AT = {"aten::conv1d": 6, "aten::conv2d": 6, "aten::conv3d": 6, "aten::convolution": 8}
"""Position of the number of groups among the arguments."""
CONVOLVES = re.compile(r"^aten::(conv[123]d|convolution)$")
LARGE = 1 << 18
"""Elements from which an operand exceeds the caches near the processors."""
TRIES = 12
"""Different kernels of one convolution from which algorithms are being tried out: a backward with
the two longest algorithms (FFT and Winograd) has eight."""


@frozen
class Layout:
    """Layout of operands; shares of device time.

    Attributes:
        fighting: Elementwise kernels with two large operands that run along different
            dimensions; None where strides were not recorded.
        fights: Calls of them a step.
        pays_from: Uses of one operand from which copying it first is cheaper; None without a
            kernel in the recording whose operands agree.
        convolutions: Everything convolutions launch.
        transposes: Kernels that turn NCHW into NHWC or back, for a convolution.
        grouped: Whether a convolution has groups; None where arguments were not recorded.
        autotunes: Whether convolution algorithms are tried out inside steps.
    """

    fighting: float | None = None
    fights: float | None = None
    pays_from: float | None = None
    convolutions: float | None = None
    transposes: float | None = None
    grouped: bool | None = None
    autotunes: bool | None = None


@frozen
class _Operands:
    """What elementwise launches with recorded strides read and write.

    Attributes:
        launch: int64[k] index of the launch.
        fight: bool[k]
        bytes: float64[k] of all operands and the result.
        large: bool[k] whether any operand is large.
    """

    launch: Ints
    fight: Floats
    bytes: Floats


def find_layout(launched: Launched, kernels: KernelTime) -> Layout:
    """Layout of the steps; all None without kernels."""
    if not kernels.total:
        return Layout()
    convolution = launched.under(CONVOLUTION)
    fights = _fights(launched)
    loses = fights.launch[fights.fight > 0] if fights else None
    return Layout(
        fighting=None if loses is None else float(launched.work[loses].sum() / kernels.total),
        fights=None if loses is None else len(loses) / launched.steps,
        pays_from=_pays_from(launched, fights) if fights else None,
        convolutions=float(launched.work[convolution].sum() / kernels.total),
        transposes=kernels.share(TRANSPOSES.search),
        grouped=_grouped(launched),
        autotunes=_autotunes(launched),
    )


def fighting_launches(launched: Launched) -> Bools:
    """bool[m]: elementwise launches whose large operands run along different dimensions."""
    chosen = np.zeros(len(launched), dtype=np.bool_)
    fights = _fights(launched)
    if fights is not None:
        chosen[fights.launch[fights.fight > 0]] = True
    return chosen


def converting_launches(launched: Launched) -> Bools:
    """bool[m]: launches that only change a layout: transposing copies, NCHW to NHWC and back."""
    copies = np.flatnonzero(launched.by(COPY) & launched.is_kernel)
    index = launched.signatures()[copies]
    across = {i: _is_across(launched, i) for i in distinct(index).tolist()}
    converting = launched.kernels(TRANSPOSES)
    converting[copies] |= np.array([across[i] for i in index.tolist()], dtype=np.bool_)
    return converting


def _is_across(launched: Launched, index: int) -> bool:
    """Whether the two tensors of a copy run along different dimensions."""
    arguments = launched.arguments(index)
    if arguments is None:
        return False
    return disagree([t for t in map(arguments.optional, range(2)) if t is not None])


def operands_fight(tensors: Iterable[Tensor]) -> bool:
    """Whether two operands too large for the caches run along different dimensions.

    One transposed operand alone does not fight: the loop follows its layout.
    """
    return disagree([tensor for tensor in tensors if tensor.distinct >= LARGE])


def _fights(launched: Launched) -> _Operands | None:
    """Elementwise launches with at least one large operand; None where strides are unknown."""
    signatures = launched.timeline.recording.signatures
    if not any(signature.strides for signature in signatures):
        return None
    rows = np.flatnonzero(launched.kernels(ELEMENTWISE) & launched.alone & ~launched.by(COPY))
    index = launched.signatures()[rows]
    known = {i: _known(launched, i) for i in distinct(index).tolist() if i != NONE}
    kept = np.array([known.get(i) is not None for i in index.tolist()], dtype=np.bool_)
    found = [entry for i in index[kept].tolist() if (entry := known[i])]
    return _Operands(
        rows[kept],
        np.array([fight for fight, _ in found], dtype=np.float64),
        np.array([size for _, size in found], dtype=np.float64),
    )


def _known(launched: Launched, index: int) -> tuple[bool, float] | None:
    """Whether the large operands of a signature fight, and the bytes moved; None if all small."""
    arguments = launched.arguments(index)
    if arguments is None:
        return None
    tensors = [slot for slot in arguments.slots if isinstance(slot, Tensor)]
    large = [tensor for tensor in tensors if tensor.distinct >= LARGE]
    if not large:
        return None
    result = max(tensor.bytes for tensor in large)
    return operands_fight(tensors), sum(tensor.bytes for tensor in tensors) + result


def _pays_from(launched: Launched, operands: _Operands) -> float | None:
    """Uses from which a copy pays: what it costs over what one use saves.

    A kernel whose operands agree shows what the same bytes take; a copy moves two of the three
    operands' bytes across the same pair of layouts, so about two thirds of a fighting kernel.
    """
    work, fight = launched.work[operands.launch], operands.fight > 0
    moved = operands.bytes / np.maximum(work, 1.0)
    if not fight.any() or fight.all():
        return None
    slow, fast = float(np.median(moved[fight])), float(np.median(moved[~fight]))
    saved = 1.0 - slow / fast
    return 2 / 3 / saved if saved > 0 else None


def _grouped(launched: Launched) -> bool | None:
    tree, host = launched.tree, launched.timeline.recording.host
    nodes = nodes_named(launched, CONVOLVES)
    pairs = {
        (launched.names[tree.name[node]], int(host.signature[tree.row[node]]))
        for node in nodes.tolist()
    }
    groups = [found for name, index in pairs if (found := _groups(launched, name, index))]
    return any(count > 1 for count in groups) if groups else None


def _groups(launched: Launched, name: str, index: int) -> int:
    """Groups of one convolution; 0 where unknown."""
    arguments = launched.arguments(index)
    try:
        return arguments.integer(GROUPS_AT[name], 1) if arguments else 0
    except UncountedError:
        return 0


def _autotunes(launched: Launched) -> bool:
    """Whether one convolution ran so many different kernels that they must be trials."""
    rows = np.flatnonzero(launched.by(CONVOLUTION) & launched.is_kernel)
    pairs = set(zip(launched.op[rows].tolist(), launched.name[rows].tolist(), strict=True))
    tries = Counter(op for op, _name in pairs)
    return bool(tries) and max(tries.values()) >= TRIES
