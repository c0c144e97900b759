"""Which part of the device time each row belongs to, by the family of its kernel."""

from __future__ import annotations

import numpy as np

from boundby.intervals import Ints
from boundby.read.recording import DeviceKind
from boundby.replay.split import PARTS
from boundby.timeline.timeline import Timeline

COMPUTE = PARTS.index("device-compute")
MEMORY = PARTS.index("device-memory")
OTHER = PARTS.index("device-other")
COMMUNICATION = PARTS.index("device-communication")
COPY = PARTS.index("device-copy")


def part_of_rows(timeline: Timeline) -> Ints:
    """int64[len(timeline.rows)]: index into PARTS of each row."""
    import re
    work, names = timeline.recording.device, timeline.recording.names
    comp = re.compile(r"gemm|cutlass|xmma|nvjet|conv|flash|fmha|wgrad|dgrad|Cijk|triton_(mm|tem)|matmul|splitK|cudnn", re.I)
    from boundby.timeline.busy import COMMUNICATION as C
    lut = np.zeros(len(names), dtype=np.int64)
    for i in np.unique(work.name):
        n = names[i]
        lut[i] = COMMUNICATION if C.search(n) else COMPUTE if comp.search(n) else MEMORY
    part = lut[work.name[timeline.rows]]
    kind = work.kind[timeline.rows]
    part = np.where(kind == DeviceKind.COPY, COPY, part)
    return np.where(kind == DeviceKind.MEMSET, MEMORY, part)
