"""All that is known of one device, gathered for the verdict, the facts and the remedies."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from boundby.memory.composition import Share, classify, compose, named
from boundby.memory.fragmentation import Fragmentation, find_fragmentation
from boundby.memory.growth import Growth, find_growth
from boundby.memory.history import History, PoolState, Refusal
from boundby.memory.peak import Peak, look_at
from boundby.memory.stacks import Stacks
from boundby.memory.steps import Steps, find_steps
from boundby.read.recording import Kinds
from boundby.read.snapshot_types import Settings, Snapshot


@dataclass(frozen=True)
class Case:
    """One device.

    Attributes:
        refusal: The last request that failed; None where none did.
        moment: The refusal, else the peak.
        parts: int8 number of the Part of every allocation, as it is at the moment.
        elsewhere: Free bytes of private pools and of other streams' pools, by what they are.
        capacity: Bytes of the device; None where nobody said.
    """

    history: History
    steps: Steps
    settings: Settings
    refusal: Refusal | None
    moment: int
    peak: Peak
    growth: Growth
    fragmentation: Fragmentation
    parts: Kinds
    composition: tuple[Share, ...]
    private_pools: PoolState
    other_streams: PoolState
    capacity: int | None

    @property
    def visible(self) -> int | None:
        """Bytes the process could use at the refusal: reserved, and free on the device."""
        if self.refusal is None or self.refusal.device_free is None:
            return None
        return self.peak.reserved + self.refusal.device_free

    @property
    def other_use(self) -> int | None:
        """Bytes of the device that neither are reserved nor free: the context and others."""
        if self.visible is None or self.capacity is None:
            return None
        return max(self.capacity - self.visible, 0)

    @property
    def had_room(self) -> bool:
        """Whether the device had more free than was refused: then a limit said no."""
        refusal = self.refusal
        return refusal is not None and (refusal.device_free or 0) >= refusal.size


def gather(
    snapshot: Snapshot,
    history: History,
    *,
    capacity: int | None = None,
    names: Mapping[int, str] | None = None,
    score_sizes: Collection[int] = (),
) -> Case:
    """Look at one device of a snapshot, at the last refusal or at the peak.

    Args:
        names: Part by address, written while the program ran.
        score_sizes: Bytes of the score matrices of the same program, where shapes are known.
    """
    stacks = Stacks(snapshot)
    steps = find_steps(snapshot, history, stacks)
    refusal = history.refusals[-1] if history.refusals else None
    moment = refusal.moment if refusal else history.peak_moment
    parts, is_exact = named(history, classify(history, stacks, moment, steps), names)
    reserved = history.reserved
    visible = None
    if refusal is not None and refusal.device_free is not None:
        visible = history.reserved_at(moment) + refusal.device_free
    other_use = None if capacity is None or visible is None else max(capacity - visible, 0)
    stream = refusal.stream if refusal else 0
    return Case(
        history=history,
        steps=steps,
        settings=snapshot.settings,
        refusal=refusal,
        moment=moment,
        peak=look_at(history, stacks, parts, steps, moment, score_sizes),
        growth=find_growth(history, steps, stacks),
        fragmentation=find_fragmentation(history, refusal),
        parts=parts,
        composition=compose(history, parts, moment, is_exact, other_use),
        private_pools=history.pool_state(moment, reserved.pool > 0),
        other_streams=history.pool_state(
            moment, (reserved.pool == 0) & (reserved.stream != stream) & (reserved.is_small == 0)
        ),
        capacity=capacity,
    )
