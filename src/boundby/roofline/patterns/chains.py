"""What chains of kernels move that hand an array from one to the next through memory.

Fused, each intermediate array is neither written nor read. Recordings do not name arrays, so
neighbours over equally many elements are taken to be linked: what is saved is an upper bound, and
less where autograd keeps an intermediate for the backward pass.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from boundby.frozen import frozen
from boundby.read.recording import Ints
from boundby.roofline.arguments import Tensor
from boundby.roofline.kernels import KernelRoofs, OperatorRun
from boundby.roofline.operators.elementwise import FORMULAS
from boundby.roofline.patterns.calls import Call, memory_ns

ROW_WISE = ("native_layer_norm", "_fused_rms_norm", "_softmax", "_log_softmax", "native_dropout")
"""Operators over rows that compilers fuse with elementwise neighbours."""
MOVES = ("copy_", "clone", "_to_copy")


@frozen
class Chain:
    """Consecutive kernels over equally many elements.

    Attributes:
        names: Operators in order.
        ns: Device time of the chain.
        bytes: Moved now, at least.
        fused_bytes: Moved by one kernel in its place, at least.
    """

    names: tuple[str, ...]
    ns: int
    bytes: float
    fused_bytes: float

    @property
    def gain(self) -> float:
        """Bytes now over bytes fused: the speedup of a chain that is bound by memory, at most."""
        return self.bytes / self.fused_bytes if self.fused_bytes else 1.0


@frozen
class Chains:
    """All chains of a recording.

    Attributes:
        chains: Longest first.
        ns: Their device time.
        bytes: Moved now, at least.
        fused_bytes: Moved if each were one kernel.
        saved_ns: Time saved if each were one kernel at the attainable bandwidth, at most; None on
            an unknown device.
    """

    chains: tuple[Chain, ...]
    ns: int
    bytes: float
    fused_bytes: float
    saved_ns: float | None


@frozen
class _Link:
    call: Call
    run: OperatorRun
    elements: int
    array: float
    """Bytes of one array of the chain."""


def measure_chains(roofs: KernelRoofs, group: Ints, call_of: Mapping[int, Call]) -> Chains:
    """What the chains move: inside each group, kernels in a row over equally many elements.

    Args:
        roofs: The rows.
        group: int64[len(roofs)], which rows are next to each other; negative outside groups.
        call_of: The call of each host row (``call_of_run``).
    """
    run_of_kernel = {int(k): run for run in roofs.runs for k in run.kernels}
    inside = np.flatnonzero(group >= 0)
    start = roofs.recording.device.start[roofs.rows[inside]]
    inside = inside[np.lexsort((start, group[inside]))]
    cuts = np.flatnonzero(np.diff(group[inside])) + 1
    chains: list[Chain] = []
    for part in np.split(inside, cuts):
        chains.extend(_chains([_link(run_of_kernel.get(int(k)), call_of) for k in part]))
    chains.sort(key=lambda chain: -chain.ns)
    ns, fused = sum(c.ns for c in chains), sum(c.fused_bytes for c in chains)
    ideal = memory_ns(roofs, fused)
    return Chains(
        chains=tuple(chains),
        ns=ns,
        bytes=sum(c.bytes for c in chains),
        fused_bytes=fused,
        saved_ns=None if ideal is None else max(ns - ideal, 0.0),
    )


def _link(run: OperatorRun | None, call_of: Mapping[int, Call]) -> _Link | None:
    """A kernel as part of a chain; None for one that ends any chain."""
    if run is None or len(run.kernels) > 1 or run.cost is None or not run.cost.bytes:
        return None
    call = call_of[run.row]
    main = _array(call)
    if main is None:
        return None
    return _Link(call, run, main.numel, main.bytes)


def _array(call: Call) -> Tensor | None:
    """The operand that the kernel runs over: the one with most elements."""
    formula = FORMULAS.get(call.name.rstrip("_"))
    slots = formula.slots if formula else 2 if call.name in (*ROW_WISE, *MOVES) else 0
    tensors = call.tensors(slots)
    return max(tensors, key=lambda t: t.numel) if tensors else None


def _chains(links: list[_Link | None]) -> list[Chain]:
    found: list[Chain] = []
    current: list[_Link] = []
    for link in [*links, None]:
        linked = link is not None and (not current or link.elements == current[-1].elements)
        if link is not None and linked:
            current.append(link)
            continue
        if len(current) > 1:
            found.append(_chain(current))
        current = [link] if link is not None else []
    return found


def _chain(links: list[_Link]) -> Chain:
    bytes_ = sum(link.run.cost.bytes or 0.0 for link in links if link.run.cost is not None)
    between = sum(2 * link.array for link in links[1:])  # written by one, read by the next
    least = 2 * links[0].array if len(links) else 0.0
    return Chain(
        names=tuple(link.call.name for link in links),
        ns=sum(link.run.duration_ns for link in links),
        bytes=bytes_,
        fused_bytes=max(bytes_ - between, min(least, bytes_)),
    )
