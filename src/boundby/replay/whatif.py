"""What-ifs: the clean step with one cost removed, each with its range."""

from __future__ import annotations

from collections.abc import Callable

from boundby.frozen import frozen
from boundby.replay import marked_edits
from boundby.replay.calibrate import Calibrated
from boundby.replay.edits import no_data_wait, no_python, no_submit_cost, no_sync
from boundby.replay.marked_edits import (
    Bound,
    MarkedEdit,
    bf16,
    compile_fusion,
    contiguous,
    foreach_optimizer,
    fused_optimizer,
    kernels_at_roofline,
    larger_batch,
    no_allocator_calls,
    overlap_copies,
    pinned_copies,
    sdpa,
    tf32,
    vectorized,
)
from boundby.replay.marks import Marks
from boundby.replay.program import Program
from boundby.replay.steptime import steady_ns
from boundby.replay.values import WhatIf
from boundby.units import ms

Edit = Callable[[Program], Program]

EDITS: dict[str, Edit] = {
    "no_data_wait": no_data_wait,
    "no_sync": no_sync,
    "no_python": no_python,
    "no_submit_cost": no_submit_cost,
}
"""Edits that apply to any program."""


@frozen
class Marked:
    """An edit that needs marks.

    Attributes:
        applies: Whether the recording holds anything it would change.
        samples: How many times the samples of a step the edited step works on.
        may_cost: Whether it adds host work, and so may make a step longer.
    """

    edit: MarkedEdit
    applies: Callable[[Marks], bool]
    samples: int = 1
    may_cost: bool = False


MARKED: dict[str, Marked] = {
    "no_sync": Marked(marked_edits.no_sync, lambda _: True),
    "no_python": Marked(marked_edits.no_python, lambda _: True),
    "no_submit_cost": Marked(marked_edits.no_submit_cost, lambda _: True),
    "no_allocator_calls": Marked(no_allocator_calls, lambda _: True),
    "foreach_optimizer": Marked(foreach_optimizer, lambda m: m.update == "loop"),
    "fused_optimizer": Marked(fused_optimizer, lambda m: m.update in ("loop", "foreach")),
    "vectorized": Marked(vectorized, lambda m: bool(m.hoistable.any())),
    "pinned_copies": Marked(pinned_copies, lambda m: bool(m.pageable.any())),
    "overlap_copies": Marked(overlap_copies, lambda m: bool(m.upload.any())),
    "compile_fusion": Marked(compile_fusion, lambda m: bool((m.chain >= 0).any())),
    "sdpa": Marked(sdpa, lambda m: bool((m.attention >= 0).any())),
    "contiguous": Marked(contiguous, lambda m: bool(m.fighting.any())),
    "tf32": Marked(tf32, lambda m: m.tf32_rate is not None and bool(m.fp32.any())),
    "bf16": Marked(
        bf16,
        lambda m: m.bf16_rate is not None and bool((m.fp32 | m.tf32).any()),
        may_cost=True,
    ),
    "batch_x2": Marked(larger_batch(2), lambda _: True, samples=2),
    "batch_x4": Marked(larger_batch(4), lambda _: True, samples=4),
    "batch_x8": Marked(larger_batch(8), lambda _: True, samples=8),
    "kernels_at_roofline": Marked(
        kernels_at_roofline, lambda m: bool((m.floor_ns == m.floor_ns).any())
    ),
}
"""Edits that need to know what a launch does. A larger batch gives the step of that batch; its
speedup is per sample."""


def what_ifs(calibrated: Calibrated, marks: Marks | None) -> tuple[WhatIf, ...]:
    """Every edit that applies, replayed on the clean program and on both ends of its range."""
    if marks is None:
        return tuple(ask(calibrated, name, edit) for name, edit in EDITS.items())
    asked = [ask(calibrated, n, edit) for n, edit in EDITS.items() if n not in MARKED]
    return (
        *asked,
        *(
            ask_marked(calibrated, name, marked, marks)
            for name, marked in MARKED.items()
            if marked.applies(marks)
        ),
    )


def ask(calibrated: Calibrated, name: str, edit: Edit) -> WhatIf:
    """One edit that needs no marks."""
    programs = calibrated.clean, calibrated.low, calibrated.high
    step, low, high = (ms(steady_ns(edit(p))) for p in programs)
    return _answer(calibrated, name, (min(step, calibrated.step.estimate), low, high))


def ask_marked(calibrated: Calibrated, name: str, marked: Marked, marks: Marks) -> WhatIf:
    """One edit with its own assumptions at the fast and the slow end."""

    def step_at(program: Program, bound: Bound) -> float:
        return ms(steady_ns(marked.edit(program, marks, bound)))

    step = step_at(calibrated.clean, 0)
    if marked.samples == 1 and not marked.may_cost:
        step = min(step, calibrated.step.estimate)
    times = step, step_at(calibrated.low, -1), step_at(calibrated.high, 1)
    return _answer(calibrated, name, times, marked.samples)


def _answer(
    calibrated: Calibrated, name: str, times: tuple[float, float, float], samples: int = 1
) -> WhatIf:
    (step, low, high), now = times, calibrated.step.estimate
    return WhatIf(
        id=name,
        step_ms=step,
        low=min(step, low),
        high=max(step, high),
        speedup=samples * now / step if step else 1.0,
    )
