"""What the two timelines look like in numbers, per step."""

from __future__ import annotations

from boundby.frozen import frozen


@frozen
class QueueDelay:
    """Kernel start minus launch start, microseconds, over launches onto an empty queue."""

    p50: float | None
    p99: float | None


@frozen
class OwnerShares:
    """Shares of the observed window by exclusive owner; they sum to 1."""

    compute: float
    communication: float
    copy: float
    memset: float
    idle: float


@frozen
class DeviceSummary:
    """The device line. All None where there is no device work.

    What is per step is None where no step is known to have launched any of it.
    """

    busy_share_observed: float | None
    busy_share_unprofiled: float | None
    ms_per_step: float | None
    events_per_step: float | None
    launches_per_step: float | None
    syncs_per_step: float | None
    median_kernel_us: float | None
    queue_delay_us: QueueDelay
    shares: OwnerShares | None

    @property
    def has_work(self) -> bool:
        """Whether device work was recorded, whoever launched it."""
        return self.ms_per_step is not None or self.busy_share_observed is not None


@frozen
class HostSummary:
    """Shares of the observed host line spent in launch calls, operators, Python and waits."""

    launch_call_share: float | None
    op_share: float | None
    python_share: float | None
    wait_share: float | None
