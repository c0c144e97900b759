"""Distinct calls: operator runs of one name and signature, decoded once."""

from __future__ import annotations

from collections import defaultdict

from boundby.frozen import frozen
from boundby.read.recording import NONE
from boundby.roofline.arguments import Arguments, Tensor, decode
from boundby.roofline.costs import UncountedError
from boundby.roofline.dtypes import kernel_dtype
from boundby.roofline.kernels import KernelRoofs, OperatorRun

ATTAINABLE = 0.88
"""Share of the memory roof that a plain streaming kernel reaches (H200: 4.2 of 4.8 TB/s)."""


@frozen
class Call:
    """All runs of one operator with one signature.

    Attributes:
        name: Without ``aten::``.
        arguments: None where they were not recorded.
        runs: In order of their host rows.
    """

    name: str
    arguments: Arguments | None
    runs: tuple[OperatorRun, ...]

    def tensors(self, slots: int) -> list[Tensor]:
        """Tensors in the leading slots."""
        if self.arguments is None:
            return []
        return [t for t in map(self.arguments.optional, range(slots)) if t is not None]


def distinct_calls(roofs: KernelRoofs) -> list[Call]:
    """Group the runs of all operators."""
    host = roofs.recording.host
    groups: dict[tuple[int, int], list[OperatorRun]] = defaultdict(list)
    for run in roofs.runs:
        groups[int(host.name[run.row]), int(host.signature[run.row])].append(run)
    return [
        Call(_short(roofs.recording.names[name]), _decoded(roofs, signature, runs), tuple(runs))
        for (name, signature), runs in groups.items()
    ]


def call_of_run(calls: list[Call]) -> dict[int, Call]:
    """The call of each host row."""
    return {run.row: call for call in calls for run in call.runs}


def _short(name: str) -> str:
    return name.removeprefix("aten::")


def _decoded(roofs: KernelRoofs, signature: int, runs: list[OperatorRun]) -> Arguments | None:
    if signature == NONE:
        return None
    try:
        return decode(roofs.recording.signatures[signature], kernel_dtype(runs[0].main))
    except UncountedError:
        return None


def memory_ns(roofs: KernelRoofs, bytes_: float) -> float | None:
    """Time of moving bytes at the attainable bandwidth, ns; None on an unknown device."""
    if roofs.ceilings is None or not roofs.ceilings.memory_gbs:
        return None
    return bytes_ / (roofs.ceilings.memory_gbs * ATTAINABLE)
