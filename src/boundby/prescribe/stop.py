"""When to stop: whether host and device are done, and what remains at the ceiling."""

from __future__ import annotations

from boundby.frozen import frozen
from boundby.prescribe.case import Case
from boundby.prescribe.readings import PAYS, SATURATED, gain, is_device_bound

LAUNCH_CALLS = 0.10
"""Share of host time in launch calls below which submission is no concern (the method's rule)."""
NEAR_ROOFLINE = 0.80
"""Share of the step that its kernels would need at their roofline, from which they are near it:
kernels of vendors' libraries reach 80 to 95% of what a device can do."""
CEILING = (
    "At the ceiling of the device: only less work (a smaller model, shorter sequences, sparsity) "
    "or more devices make the step faster."
)


@frozen
class Stop:
    """Whether one side is done.

    Attributes:
        reached: None where the recording cannot tell.
        because: One sentence with the numbers.
    """

    reached: bool | None
    because: str


def host_done(case: Case) -> Stop:
    """The host is done when taking all submission away gains under 2%.

    Without that replay: when the device is busy over 90% and launch calls take under 10% of host
    time. Recorded launch calls include waits of a full queue, so the replay comes first.
    """
    saved = gain(case, "no_submit_cost")
    if saved is not None:
        return Stop(saved < PAYS, f"Without submission the step would be {saved:.0%} shorter.")
    busy, calls = case.device.busy_share_unprofiled, case.host.launch_call_share
    if busy is None or calls is None:
        return Stop(None, "The recording does not tell how busy the device is.")
    return Stop(
        busy > SATURATED and calls < LAUNCH_CALLS,
        f"The device is busy {busy:.0%}; launch calls take {calls:.0%} of host time.",
    )


def device_done(case: Case) -> Stop:
    """The device is done when its kernels run near their roofline and nothing is left to fuse."""
    saved, fused = gain(case, "kernels_at_roofline"), gain(case, "compile_fusion")
    if saved is None:
        return Stop(None, "The roofline of the kernels is not known.")
    unfused = fused is not None and fused >= PAYS
    near = 1.0 - saved >= NEAR_ROOFLINE
    rest = f"; fusing elementwise work would gain {fused:.0%}" if unfused else ""
    return Stop(
        is_device_bound(case) and near and not unfused,
        f"At their roofline the kernels would make the step {saved:.0%} shorter{rest}.",
    )


def at_ceiling(case: Case) -> str | None:
    """What remains when both sides are done; None as long as one is not, or is unknown."""
    done = host_done(case).reached and device_done(case).reached
    return CEILING if done else None
