"""Memory that grows step by step, stack by stack."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from boundby.memory.facts import MIB
from boundby.memory.history import History
from boundby.memory.stacks import Origin, Phase, Stacks, Trait
from boundby.memory.steps import BY_STACKS, Steps
from boundby.memory.trend import LEAST, Trend, trend
from boundby.read.recording import Ints

LEAST_BYTES = 1 * MIB
LEAST_SHARE = 0.02
"""A growth of less than this over the whole history, of the peak, is no reason for a verdict."""

STACKS_TRIED = 64
NO_LEAK = frozenset({Phase.BUILD, Phase.OPTIMIZER, Phase.WORKSPACE})
"""What grows while a program sets itself up, or is meant to stay."""


@dataclass(frozen=True)
class Growing:
    """One origin whose memory grows.

    Attributes:
        bytes_per_step: Slope over the steps.
        blocks_per_step: Blocks that are added each step.
        total: Bytes at the last step more than at the first.
        kept: Bytes alive at the last step.
        largest: Size of its largest block.
    """

    origin: Origin
    bytes_per_step: float
    blocks_per_step: float
    total: int
    kept: int
    largest: int
    chance: float
    is_sawtooth: bool


@dataclass(frozen=True)
class Growth:
    """What grows, the largest first.

    Attributes:
        steps: Steps it was tested over; fewer than five allow no test.
        total: Bytes that all of it added.
        cause: ``loss-graph``, ``kept-outputs``, ``hook``, ``exception``, ``reference-cycles`` or
            None where the data do not tell them apart.
    """

    rows: tuple[Growing, ...]
    steps: int
    total: int
    cause: str | None

    @property
    def is_tested(self) -> bool:
        """Whether there were enough steps to say that nothing grows."""
        return self.steps >= LEAST

    def is_leak(self, peak: int) -> bool:
        """Whether it is large enough to matter."""
        return self.total >= max(LEAST_BYTES, LEAST_SHARE * peak)


def find_growth(history: History, steps: Steps, stacks: Stacks) -> Growth:
    """Test every stack over the steps but the first, which warms up.

    Steps by stacks may be the layers of one pass, which rise and fall back as a collector has it.
    """
    marks = steps.marks[1:]
    if len(marks) < LEAST:
        return Growth((), len(marks), 0, None)
    whole = trend(history.live_curve[marks])
    rows = [
        _growing(stacks.origin(stack), series, counts, found, largest)
        for stack, series, counts, largest in _candidates(history, marks, stacks)
        if ((found := trend(series)).rises and whole.slope > 0)
        or (found.is_sawtooth and whole.is_sawtooth and steps.source != BY_STACKS)
    ]
    rows.sort(key=lambda row: -row.total)
    rising = tuple(row for row in rows if not row.is_sawtooth) or tuple(rows)
    total = sum(row.total for row in rising)
    return Growth(rising, len(marks), total, _cause(rising, history, marks))


def _growing(origin: Origin, series: Ints, counts: Ints, found: Trend, largest: int) -> Growing:
    over = max(len(series) - 1, 1)
    return Growing(
        origin,
        found.slope if found.rises else float(np.median(np.diff(series))),
        float(counts[-1] - counts[0]) / over,
        int(series.max() - series[0]) if found.is_sawtooth else int(series[-1] - series[0]),
        int(series[-1]),
        largest,
        found.chance,
        found.is_sawtooth,
    )


def _candidates(history: History, marks: Ints, stacks: Stacks) -> list[tuple[int, Ints, Ints, int]]:
    """Stacks with more bytes alive at the end than at the start, and their series at the marks."""
    spans = history.spans
    born = np.searchsorted(marks, spans.birth, side="right")  # first mark that sees it
    died = np.searchsorted(marks, spans.death, side="right")
    seen = (born < died) & (born < len(marks)) & (spans.stack >= 0)
    stack_ids, codes = np.unique(spans.stack[seen], return_inverse=True)
    shape = (len(stack_ids), len(marks) + 1)
    sizes, counts = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    for table, amount in ((sizes, spans.size[seen]), (counts, 1)):
        np.add.at(table, (codes, born[seen]), amount)
        np.subtract.at(table, (codes, died[seen]), amount)
    sizes, counts = (np.cumsum(table, axis=1)[:, :-1] for table in (sizes, counts))
    gain = sizes.max(axis=1) - sizes[:, 0] if len(sizes) else np.zeros(0)
    order = [int(row) for row in np.argsort(-gain)[:STACKS_TRIED] if gain[row] > 0]
    largest = np.zeros(len(stack_ids), dtype=np.int64)
    np.maximum.at(largest, codes, spans.size[seen])
    return [
        (int(stack_ids[row]), sizes[row], counts[row], int(largest[row]))
        for row in order
        if stacks.phases[stack_ids[row]] not in NO_LEAK
    ]


def _cause(rows: tuple[Growing, ...], history: History, marks: Ints) -> str | None:
    """What keeps it, as far as the pattern tells."""
    if not rows:
        return None
    if all(row.is_sawtooth for row in rows):
        return "reference-cycles"
    if rows[0].origin.traits & Trait.HOOK:
        return "hook"
    main = [row for row in rows if row.total * 10 >= rows[0].total]
    failed = [each for each in history.refusals if each.moment < marks[-1]]
    if len(failed) > 1:
        return "exception"
    if len(main) > 1 or main[0].blocks_per_step > 1.5:  # noqa: PLR2004 -- more than one a step
        return "loss-graph" if _are_intermediate(main) else None
    return "kept-outputs"


def _are_intermediate(rows: list[Growing]) -> bool:
    return any(row.origin.phase in (Phase.FORWARD, Phase.USER) for row in rows)
