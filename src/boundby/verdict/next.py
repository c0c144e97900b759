"""What to type next, and the question the next layer answers."""

from __future__ import annotations

import re

from boundby.frozen import frozen
from boundby.shell import quoted
from boundby.verdict.decision import Verdict


@frozen
class NextCommand:
    """A command worth typing next and the question (and layer) it answers."""

    command: str
    question: str


AMD = re.compile(r"\bMI\d|Radeon|\bAMD\b", re.IGNORECASE)
"""Names of devices that Nsight Compute cannot measure."""
NCU = NextCommand(
    "ncu --set full --csv --page raw ... > kernel.csv",
    "inside one kernel: why it is slow (Nsight Compute)",
)
ROCPROF = NextCommand(
    "rocprof-compute profile -n kernels -- python ...",
    "inside one kernel: why it is slow (ROCm Compute Profiler)",
)


def next_commands(
    verdict: Verdict, path: str, device: str | None = None
) -> tuple[NextCommand, ...]:
    """At most three commands, the most useful first.

    Args:
        path: Of the recording.
        device: Name of its device, where known.
    """
    if verdict.name == "undecided":
        return (NextCommand("boundby explain undecided", "what to record for a verdict"),)
    explain = NextCommand(f"boundby explain {verdict.name}", "what this class means, when to stop")
    tables = NextCommand(
        f"boundby trace {quoted(path)} --ops 15", "operators: which calls take the time"
    )
    roofs = NextCommand(
        f"boundby trace {quoted(path)} --roofline",
        "roofs: what each operator reaches and loses",
    )
    kernel = ROCPROF if device and AMD.search(device) else NCU
    if verdict.name in ("memory-bound", "compute-bound"):
        return (explain, roofs, kernel)
    return (explain, tables)
