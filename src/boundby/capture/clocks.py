"""The three clocks of a live run, warm-up, and what each pass added; read from the folder."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from boundby.intervals import Ints
from boundby.read.capture_folder import SETTLING, Capture, Pass, Row
from boundby.units import NS_PER_MS

CHUNKS = 8
"""A step time is the median of the means of so many stretches: bursts are averaged, outliers not
counted."""

ABOVE = 1.05
"""Submission cannot outlast the step it is part of: more than the noise of both is another speed
of the host, as submission is timed in drained steps of its own."""


@dataclass(frozen=True)
class Clocks:
    """Milliseconds a step, unobserved; None where not measured.

    Attributes:
        wall: Host clock, mark to mark.
        submit: Host time to return, from an empty queue.
        device: Device clock between events at the marks: the step in steady state, waits of the
            device for the host included.
        low, high: Lowest and highest stretch of the clock that ``step`` is taken from.
        after: Clean steps after the trace over those before it, by the clock of ``step``: by the
            host's marks they would be short until the queue has filled again. None without.
    """

    wall: float | None
    submit: float | None
    device: float | None
    low: float | None
    high: float | None
    steps: int
    after: float | None

    @property
    def step(self) -> float | None:
        """The unobserved step: the device's clock where there is one."""
        return self.device if self.device is not None else self.wall

    @property
    def submits_slower(self) -> bool:
        """Whether submitting took longer than the step: it was timed when the host was slower."""
        step = self.step
        return self.submit is not None and step is not None and self.submit > ABOVE * step


@dataclass(frozen=True)
class PassRow:
    """What one pass did to the step.

    Attributes:
        ms: Step under it; None where it has no whole step.
        ratio: Observed over unobserved; None where either is unknown.
        frames: Frames compiled while it ran.
    """

    name: str
    steps: int
    ms: float | None
    ratio: float | None
    frames: int
    complete: bool


@dataclass(frozen=True)
class WarmUp:
    """Steps before the first pass.

    Attributes:
        first_ms, longest_ms: The first whole step, and the longest; compilation is in there.
        settled: Whether steps had stopped getting faster.
    """

    steps: int
    first_ms: float | None
    longest_ms: float | None
    settled: bool | None


def read_clocks(capture: Capture) -> Clocks:
    """The clocks of the clean and drained passes."""
    clean, after = capture.named("clean"), capture.named("after")
    walls = joined(clean)
    device = device_intervals(capture, clean)
    taken = device if len(device) else walls
    later = typical(device_intervals(capture, after) if len(device) else joined(after))
    before = typical(taken)
    submits = capture.of(Row.SUBMIT)[:, 1]
    return Clocks(
        wall=typical(walls),
        submit=float(np.median(submits)) / NS_PER_MS if len(submits) else None,
        device=typical(device),
        low=min(stretches(taken), default=None),
        high=max(stretches(taken), default=None),
        steps=len(walls),
        after=later / before if later and before else None,
    )


def read_passes(capture: Capture, clocks: Clocks) -> tuple[PassRow, ...]:
    """Every pass with the ratio of its step to the clean one, by the host's marks where it can."""
    rows = []
    for each in capture.passes:
        observed = typical(settled(each) if each.name != "drained" else each.intervals)
        ratio = observed / clocks.wall if observed and clocks.wall else None
        if each.name == "after" and clocks.device is not None:
            ratio = clocks.after
            observed = None if ratio is None else ratio * clocks.device
        frames = each.frames[1] - each.frames[0]
        rows.append(PassRow(each.name, len(each.marks), observed, ratio, frames, each.complete))
    return tuple(rows)


def with_traced(
    passes: tuple[PassRow, ...], traced_ms: float | None, step_ms: float | None
) -> tuple[PassRow, ...]:
    """The passes, with the step of the trace pass as its recording holds it.

    Its few steps begin at an empty queue: by host marks alone they are as long as their submission.
    """
    ratio = traced_ms / step_ms if traced_ms and step_ms else None
    return tuple(
        replace(each, ms=traced_ms, ratio=ratio) if each.name == "trace" else each
        for each in passes
    )


def read_warm_up(capture: Capture) -> WarmUp:
    """The steps before the first pass, told apart from those that count."""
    steps = capture.of(Row.STEP)
    marks = steps[steps[:, 2] == 0, 0]
    spent = np.diff(marks) / NS_PER_MS
    note = capture.last("warm-up")
    return WarmUp(
        steps=len(marks),
        first_ms=float(spent[0]) if len(spent) else None,
        longest_ms=float(spent.max()) if len(spent) else None,
        settled=None if note is None else bool(note["settled"]),
    )


def recompiled(passes: tuple[PassRow, ...]) -> str | None:
    """Why observation may have changed the program: it compiled more than without."""
    clean = sum(each.frames for each in passes if each.name in ("clean", "drained"))
    under = [each for each in passes if each.frames and each.name in ("trace", "stacks", "syncs")]
    if clean or not under:
        return None
    named = ", ".join(f"{each.frames} in the {each.name} pass" for each in under)
    return (
        f"Frames were compiled under observation ({named}) and none in the clean pass: the program "
        "observed is not the one that runs alone."
    )


def joined(passes: tuple[Pass, ...]) -> Ints:
    """Settled intervals of several passes."""
    return np.concatenate([np.zeros(0, dtype=np.int64), *map(settled, passes)])


def settled(each: Pass) -> Ints:
    """Intervals of a pass without those that still feel the one before."""
    found = each.intervals
    return found[min(SETTLING, max(len(found) - 1, 0)) :]


def device_intervals(capture: Capture, passes: tuple[Pass, ...]) -> Ints:
    """int64 ns a step between device events inside these passes, settled."""
    rows = capture.of(Row.DEVICE)
    steps = capture.of(Row.STEP)
    number = dict(zip(steps[:, 1].tolist(), steps[:, 2].tolist(), strict=True))
    kept = []
    for each in passes:
        inside = [step for step, its in number.items() if its == each.id]
        late = set(inside[min(SETTLING, max(len(inside) - 1, 0)) :])
        kept += [b for _, step, b in rows.tolist() if step in late]
    return np.array(kept, dtype=np.int64)


def stretches(values: Ints) -> list[float]:
    """Means of up to ``CHUNKS`` stretches of consecutive steps, ms."""
    if not len(values):
        return []
    return [float(part.mean()) / NS_PER_MS for part in np.array_split(values, CHUNKS) if len(part)]


def typical(values: Ints) -> float | None:
    """The median stretch, ms; None without steps."""
    found = stretches(values)
    return float(np.median(found)) if found else None
