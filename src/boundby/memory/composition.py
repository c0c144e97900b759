"""What the memory in use is made of: parameters, gradients, state, activations and the rest.

A snapshot has no field for it. Told by the phase of the stack and by how long a block lives; a
side file of pointers, written while the program ran, makes it exact.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from boundby.memory.facts import Confidence
from boundby.memory.history import History
from boundby.memory.lifetimes import BEFORE, Mask
from boundby.memory.stacks import Phase, Stacks
from boundby.memory.steps import NO_STEPS, OPTIMIZER_RANGE, Steps
from boundby.read.recording import Ints, Kinds

Part = Literal[
    "parameters", "gradients", "optimizer", "activations", "temporaries", "workspace",
    "communication", "other", "before-recording", "cache", "context",
]  # fmt: skip
PARTS: tuple[Part, ...] = get_args(Part)
NUMBER: dict[Part, int] = {part: number for number, part in enumerate(PARTS)}

SETTLED = 8
"""A block made in backward that outlives as many later ones is a gradient rather than a
temporary, where neither an optimizer nor another forward pass follows to tell."""

HELD: frozenset[Part] = frozenset(
    {"parameters", "optimizer", "workspace", "communication", "before-recording"}
)
"""Parts that stay from step to step; the rest of the peak comes and goes."""


@dataclass(frozen=True)
class Share:
    """One part of the memory at a moment.

    Attributes:
        bytes: None where nothing in the recording tells.
        blocks: How many blocks it is.
    """

    part: Part
    bytes: int | None
    blocks: int
    confidence: Confidence
    basis: str


BASES: dict[Part, tuple[Confidence, str]] = {
    "parameters": ("high", "made, moved or loaded as parameters of a module"),
    "gradients": ("moderate", "made in backward, alive when the optimizer runs"),
    "optimizer": ("high", "made in an optimizer step, alive in the next step"),
    "activations": ("moderate", "made in forward, alive in backward"),
    "temporaries": ("moderate", "gone before the phase that made them ends"),
    "workspace": ("high", "scratch memory of cuBLAS or cuDNN, by its stack"),
    "communication": ("moderate", "made by code that talks to other devices"),
    "other": ("low", "made by the program outside of modules"),
    "before-recording": ("low", "there before the history begins, so without a stack"),
    "cache": ("exact", "reserved from the driver and not in use"),
    "context": ("low", "the CUDA context, kernels and other users: not in a snapshot"),
}


def classify(history: History, stacks: Stacks, moment: int, steps: Steps = NO_STEPS) -> Kinds:
    """int8 number of the Part of every allocation, as it is at a moment."""
    spans = history.spans
    is_unseen = (spans.birth == BEFORE) & (spans.stack < 0)
    phase = np.where(is_unseen, Phase.UNKNOWN, stacks.phases[spans.stack]).astype(np.int8)
    parts = np.full(len(spans), NUMBER["other"], dtype=np.int8)
    parts[is_unseen] = NUMBER["before-recording"]
    for made, part in (
        (Phase.WORKSPACE, "workspace"),
        (Phase.BUILD, "parameters"),
        (Phase.COMMUNICATION, "communication"),
        (Phase.RECOMPUTE, "activations"),
    ):
        parts[phase == made] = NUMBER[part]  # type: ignore[index]  # a literal in a loop
    births = {each: _births(history, phase, each) for each in Phase}
    if steps.source == OPTIMIZER_RANGE:
        births[Phase.OPTIMIZER] = _merged(births[Phase.OPTIMIZER], steps.marks)
    _optimizer(parts, history, phase, births)
    _backward(parts, history, phase, births, moment)
    _forward(parts, history, phase, births)
    return parts


def _births(history: History, phase: Kinds, which: Phase) -> Ints:
    birth = history.spans.birth
    return np.sort(birth[(phase == which) & (birth >= 0)])


def _outlives(history: History, following: Ints) -> tuple[Mask, Mask]:
    """Whether each allocation lives to see the next of some events, and whether there is one."""
    spans = history.spans
    at = np.searchsorted(following, spans.birth, side="right")
    exists = at < len(following)
    nearest = following[np.minimum(at, len(following) - 1)] if len(following) else spans.birth
    return exists & (spans.death > nearest), exists


def _merged(*births: Ints) -> Ints:
    return np.sort(np.concatenate(births))


def _optimizer(parts: Kinds, history: History, phase: Kinds, births: dict[Phase, Ints]) -> None:
    """State lives into the next step; of the last step its stack tells by the earlier ones."""
    rows = phase == Phase.OPTIMIZER
    survives, exists = _outlives(history, _merged(births[Phase.FORWARD], births[Phase.BACKWARD]))
    stays = survives | (~exists & (history.spans.death >= len(history.events)))
    parts[rows] = np.where(stays[rows], NUMBER["optimizer"], NUMBER["temporaries"])


def _backward(
    parts: Kinds, history: History, phase: Kinds, births: dict[Phase, Ints], moment: int
) -> None:
    rows = phase == Phase.BACKWARD
    survives, exists = _outlives(history, _merged(births[Phase.OPTIMIZER], births[Phase.FORWARD]))
    own = births[Phase.BACKWARD]
    until = np.minimum(history.spans.death - 1, moment)
    later = np.searchsorted(own, until, "right") - np.searchsorted(
        own, history.spans.birth, "right"
    )
    is_gradient = survives | (~exists & (later >= SETTLED))
    is_gradient |= _as_their_stack(history, rows, survives, births[Phase.OPTIMIZER])
    parts[rows] = np.where(is_gradient[rows], NUMBER["gradients"], NUMBER["temporaries"])


def _as_their_stack(history: History, rows: Mask, survives: Mask, updates: Ints) -> Mask:
    """Whether most blocks of the same stack survived while an optimizer could be seen to work.

    One that updates in place allocates in its first step alone; later gradients look like the
    first ones.
    """
    stack = history.spans.stack
    seen = rows & (stack >= 0) & (history.spans.birth <= (updates[-1] if len(updates) else -1))
    if not seen.any():
        return np.zeros(len(stack), dtype=bool)
    size = int(stack.max()) + 2
    total = np.bincount(stack[seen], minlength=size)
    lasting = np.bincount(stack[seen & survives], minlength=size)
    return (stack >= 0) & (lasting[stack] * 2 > total[stack])


def _forward(parts: Kinds, history: History, phase: Kinds, births: dict[Phase, Ints]) -> None:
    survives, exists = _outlives(history, births[Phase.BACKWARD])
    is_activation = survives | ~exists
    rows = phase == Phase.FORWARD
    parts[rows] = np.where(is_activation[rows], NUMBER["activations"], NUMBER["temporaries"])
    spans = history.spans
    ended = spans.death < len(history.events)
    rows = (phase == Phase.USER) & survives & ended
    parts[rows] = NUMBER["activations"]
    rows = (phase == Phase.USER) & exists & ~survives
    parts[rows] = NUMBER["temporaries"]


def named(history: History, parts: Kinds, names: Mapping[int, str] | None) -> tuple[Kinds, Mask]:
    """The parts, with those overruled that the program itself named, and which ones are.

    Args:
        names: Part by address, written when the snapshot was: it says nothing about what had that
            address before, so only blocks that are alive at the end are named.
    """
    spans = history.spans
    is_exact = np.zeros(len(parts), dtype=bool)
    if not names:
        return parts, is_exact
    chosen = parts.copy()
    for row in np.flatnonzero(spans.death >= len(history.events)).tolist():
        part = names.get(int(spans.address[row]))
        if part in NUMBER:
            chosen[row], is_exact[row] = NUMBER[part], True
    return chosen, is_exact


def compose(
    history: History,
    parts: Kinds,
    moment: int,
    is_exact: Mask | None = None,
    other_use: int | None = None,
) -> tuple[Share, ...]:
    """The memory after an event, part by part; the sum is what is reserved, and the context.

    Args:
        parts: Of ``classify``, or of ``named``.
        is_exact: Which of them the program itself named.
        other_use: Bytes that this process and others use outside of the allocator.
    """
    spans = history.spans
    alive = spans.alive(moment)
    chosen, size = parts[alive], spans.size[alive]
    exact = np.zeros(len(chosen), dtype=bool) if is_exact is None else is_exact[alive]
    shares = []
    for part in PARTS[: NUMBER["cache"]]:
        rows = chosen == NUMBER[part]
        if rows.any():
            confidence, basis = BASES[part]
            if exact[rows].all():
                confidence, basis = "exact", "named by the running program"
            shares.append(Share(part, int(size[rows].sum()), int(rows.sum()), confidence, basis))
    shares.sort(key=lambda share: -(share.bytes or 0))
    cache = max(history.reserved_at(moment) - history.live_at(moment), 0)
    return (
        *shares,
        Share("cache", cache, 0, *BASES["cache"]),
        Share("context", other_use, 0, *BASES["context"]),
    )
