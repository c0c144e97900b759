"""The step as a waterfall: data, sync, host work, device time; parts sum to the step."""

from __future__ import annotations

from boundby.frozen import frozen
from boundby.replay.edits import device_only, no_data_wait, no_sync
from boundby.replay.program import Program
from boundby.replay.split import DeviceSplit
from boundby.replay.steptime import steady_ns
from boundby.replay.values import Part, WaterfallPart
from boundby.timeline.hostline import LineKind
from boundby.units import ms

SUBMISSION = (LineKind.LAUNCH, LineKind.OP, LineKind.ALLOCATOR)


@frozen
class Descent:
    """Step times, ns, as costs are removed one after the other; never rising.

    Attributes:
        now: The clean step.
        without_data: Every batch there in time.
        without_sync: And no waits.
        device: And no host work: what the device needs.
    """

    now: float
    without_data: float
    without_sync: float
    device: float


def descend(clean: Program, split: DeviceSplit) -> Descent:
    """Remove data, waits and host work from the clean program, in this order."""
    fed = no_data_wait(clean)
    now = steady_ns(clean)
    without_data = min(now, steady_ns(fed))
    without_sync = min(without_data, steady_ns(no_sync(fed)))
    floor = max(steady_ns(device_only(clean)), split.busy_ns_per_step)
    return Descent(now, without_data, without_sync, min(without_sync, floor))


def waterfall(clean: Program, descent: Descent, split: DeviceSplit) -> tuple[WaterfallPart, ...]:
    """Parts of the clean step in the order they are removed.

    Python and submission are one drop, split in proportion to their time on the host line: taken
    one after the other near balance, the first would get all the credit.
    """
    python, submission = _host_shares(clean)
    host = descent.without_sync - descent.device
    parts: list[tuple[Part, float]] = [
        ("data", descent.now - descent.without_data),
        ("sync", descent.without_data - descent.without_sync),
        ("python", host * python),
        ("submission", host * submission),
        *_device_parts(descent.device, split),
    ]
    return tuple(WaterfallPart(part, ms(ns), ns / descent.now) for part, ns in parts)


def _device_parts(device: float, split: DeviceSplit) -> list[tuple[Part, float]]:
    """Device time by kind of work; gaps that remain without a host are ``device-other``."""
    busy = min(device, split.busy_ns_per_step)
    parts = {part: busy * share for part, share in split.shares.items()}
    parts["device-other"] += device - busy
    return list(parts.items())


def _host_shares(program: Program) -> tuple[float, float]:
    host = program.host_ns
    python, submission = int(host[LineKind.PYTHON]), int(host[list(SUBMISSION)].sum())
    total = python + submission
    return (python / total, submission / total) if total else (0.0, 1.0)
