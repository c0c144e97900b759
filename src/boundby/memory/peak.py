"""The moment of most memory in use: what was there, who made it, and what kind of moment it was."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from boundby.memory.composition import HELD, NUMBER, PARTS, Part
from boundby.memory.history import History
from boundby.memory.lifetimes import SMALL, Mask, rounded
from boundby.memory.shapes import score_shape
from boundby.memory.stacks import Origin, Phase, Stacks, Trait
from boundby.memory.steps import Steps
from boundby.read.recording import Kinds

GROUPS = 12
TELLING = 0.25
"""Share of what comes and goes that one kind of tensor must hold to be named as the cause."""

LEAST_SCORES = 0.05
"""Share of what comes and goes below which a size is that of a row maximum, not of scores."""

FEW = 3
"""Fewer calls of a module than this are no evaluation over batches."""


@dataclass(frozen=True)
class Holder:
    """Blocks of one origin and part that are alive at the peak.

    Attributes:
        largest: Bytes of its largest block.
        shape: A guess where sizes are consistent; empty otherwise.
    """

    origin: Origin
    part: Part
    bytes: int
    blocks: int
    largest: int
    shape: str = ""


@dataclass(frozen=True)
class Peak:
    """The state when most memory was in use.

    Attributes:
        moment: Event; BEFORE for the very start.
        live, reserved: Bytes.
        transient: Bytes of ``live`` that do not stay from step to step.
        phase: What the program did at that moment.
        cause: ``attention-scores``, ``logits``, ``optimizer-step``,
            ``evaluation-without-no-grad``, ``activations`` or None.
        cause_bytes: Bytes that the cause accounts for.
        holders: Largest first.
    """

    moment: int
    live: int
    reserved: int
    transient: int
    phase: Phase
    cause: str | None
    cause_bytes: int
    holders: tuple[Holder, ...]

    @property
    def share(self) -> float:
        """Transient bytes as a share of those in use."""
        return self.transient / self.live if self.live else 0.0


def look_at(
    history: History,
    stacks: Stacks,
    parts: Kinds,
    steps: Steps,
    moment: int,
    score_sizes: Collection[int] = (),
) -> Peak:
    """The memory in use after an event.

    Args:
        score_sizes: Bytes of the score matrices that attention writes out, where the shapes of
            the same program are known.
    """
    spans = history.spans
    alive = spans.alive(moment)
    size, kept = spans.size[alive], np.isin(parts[alive], [NUMBER[part] for part in HELD])
    transient = int(size[~kept].sum())
    cause, cause_bytes = _cause(history, stacks, parts, steps, moment, score_sizes)
    return Peak(
        moment=moment,
        live=history.live_at(moment),
        reserved=history.reserved_at(moment),
        transient=transient,
        phase=_phase_at(history, stacks, moment),
        cause=cause if cause_bytes else None,
        cause_bytes=cause_bytes,
        holders=_holders(history, stacks, parts, alive),
    )


def _phase_at(history: History, stacks: Stacks, moment: int) -> Phase:
    """The phase of the event itself."""
    stack = int(history.events.stack[moment]) if 0 <= moment < len(history.events) else -1
    return Phase(int(stacks.phases[stack]))


def _holders(history: History, stacks: Stacks, parts: Kinds, alive: Mask) -> tuple[Holder, ...]:
    spans = history.spans
    amount: Counter[tuple[object, ...]] = Counter()
    blocks: Counter[tuple[object, ...]] = Counter()
    largest: dict[tuple[object, ...], int] = {}
    origin_of: dict[tuple[object, ...], Origin] = {}
    sizes = spans.size[alive].tolist()
    for stack, part, size in zip(
        spans.stack[alive].tolist(), parts[alive].tolist(), sizes, strict=True
    ):
        origin = stacks.origin(stack)
        key = (origin.label, origin.op, part)
        origin_of.setdefault(key, origin)
        amount[key] += size
        blocks[key] += 1
        largest[key] = max(largest.get(key, 0), size)
    operands = sorted(Counter(sizes), reverse=True)[:64]
    return tuple(
        Holder(
            origin_of[key],
            PARTS[int(str(key[2]))],
            total,
            blocks[key],
            largest[key],
            _shape(origin_of[key], largest[key], operands),
        )
        for key, total in amount.most_common(GROUPS)
    )


def _shape(origin: Origin, size: int, operands: list[int]) -> str:
    if not origin.traits & Trait.ATTENTION or not operands or size * 8 < operands[0]:
        return ""
    found = score_shape(size, operands)
    if found is None:
        return ""
    rows, sequence, _, head = found
    return f"fits {rows} x {sequence} x {sequence} in fp32, with heads of {head}"


def _cause(
    history: History,
    stacks: Stacks,
    parts: Kinds,
    steps: Steps,
    moment: int,
    score_sizes: Collection[int],
) -> tuple[str | None, int]:
    """The kind of tensor that leads among what comes and goes."""
    spans, traits = history.spans, stacks.traits[history.spans.stack]
    held = np.isin(parts, [NUMBER[part] for part in HELD])
    moving = spans.alive(moment) & ~held
    total = int(spans.size[moving].sum())
    lost = _kept_graphs(history, stacks, moving, steps)
    if lost:
        return "evaluation-without-no-grad", lost
    phase = stacks.phases[spans.stack]
    found = {
        "optimizer-step": moving & (phase == Phase.OPTIMIZER),
        "attention-scores": _scores(history, moving, phase, traits, score_sizes),
        "logits": moving & ((traits & Trait.LOSS) > 0),
    }
    sized = {name: int(spans.size[rows].sum()) for name, rows in found.items()}
    if _phase_at(history, stacks, moment) != Phase.OPTIMIZER:
        sized["optimizer-step"] = 0
    name, most = max(sized.items(), key=lambda item: item[1])
    if most and most >= TELLING * total:
        return name, most
    activations = moving & (parts == NUMBER["activations"])
    return ("activations", int(spans.size[activations].sum())) if total else (None, 0)


def _scores(
    history: History,
    moving: Mask,
    phase: Kinds,
    traits: np.ndarray,
    score_sizes: Collection[int],
) -> Mask:
    """Moving blocks of attention: by name, by the size of its scores, and their gradients."""
    size, is_loss = history.spans.size, (traits & Trait.LOSS) > 0
    marked = ((traits & Trait.ATTENTION) > 0) & ~is_loss
    apart = is_loss | ((traits & Trait.WEIGHTED) > 0) | (phase == Phase.OPTIMIZER)
    sized = _of_size(history, score_sizes) & ~apart
    sizes, counts = np.unique(size[marked], return_counts=True)
    is_large = (sizes * counts >= LEAST_SCORES * int(size[moving].sum())) & (sizes > SMALL)
    gradients = (phase == Phase.BACKWARD) & np.isin(size, sizes[is_large])
    return moving & (marked | sized | gradients)


def _of_size(history: History, sizes: Collection[int]) -> Mask:
    """Allocations that were asked for with one of some large sizes."""
    largest = int(history.asked.max(initial=0))
    known = [size for size in sizes if SMALL < size <= largest]
    return np.isin(history.asked, rounded(np.array(known, dtype=np.int64)))


def _kept_graphs(history: History, stacks: Stacks, moving: Mask, steps: Steps) -> int:
    """Bytes of forward passes that no backward pass follows and that outlive their own pass."""
    spans = history.spans
    phase = stacks.phases[spans.stack]
    traits = stacks.traits[spans.stack]
    is_evaluation = (traits & Trait.EVALUATION) > 0
    trains = bool(((phase == Phase.BACKWARD) | (phase == Phase.OPTIMIZER)).any())
    rows = moving & (phase == Phase.FORWARD) & ((traits & Trait.NO_GRAD) == 0)
    if trains:
        rows &= is_evaluation
    if not rows.any() or len(steps) < FEW:
        return 0
    passes = np.searchsorted(steps.marks, spans.birth[rows], side="right")
    counts = np.unique(passes, return_counts=True)[1]
    kept = len(counts) >= FEW - 1 and int(np.median(counts)) > 1
    return int(spans.size[rows].sum()) if kept else 0
