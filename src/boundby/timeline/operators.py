"""Whether a recording shows operators, so that what nothing covers on the host is Python."""

from __future__ import annotations

from boundby.read.recording import HostKind
from boundby.timeline.calls import CallKind
from boundby.timeline.timeline import Timeline


def has_operators(timeline: Timeline) -> bool:
    """Whether any operator was recorded, or none is to be expected: most launches replay graphs.

    Without ``ProfilerActivity.CPU``, and in an export of nsys without ``emit_nvtx``, operators look
    like Python.
    """
    host = timeline.recording.host
    launched = timeline.calls[host.name[timeline.launches.row]]
    is_graph = launched == CallKind.GRAPH_LAUNCH
    return bool((host.kind == HostKind.OP).any() or is_graph.mean() > 1 / 2)
