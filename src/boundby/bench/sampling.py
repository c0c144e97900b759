"""Samples of the three clocks, in ns a call, in the order in which they were taken."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from boundby.bench.framework import torch, torch_module
from boundby.bench.machine import Machine
from boundby.units import NS_PER_MS, NS_PER_S

Call = Callable[[], object]

FEWEST_SAMPLES = 10
MOST_SAMPLES = 1000
LEAST_SAMPLES = 3
"""A median with a quartile on either side: all that a call of half a minute is sampled for."""
MOST_RUN_NS = 60 * NS_PER_S
"""Then a clock is stopped with fewer samples than it should have, and the result says so."""
BLOCK_NS = 10 * NS_PER_MS
"""Least length of a block of wall time."""
ENDS = 0.003
"""A block is so long that its ends, the first launch and the last wait, are at most this share of
it. They are measured: 20 us on a bare host, 260 us seen on a virtual one."""
MOST_BLOCK_NS = 100 * NS_PER_MS
SUBMIT_SAMPLES = 31
HELD_CALLS_NS = 4 * NS_PER_MS
"""Submission that one hold covers: some 800 launches of 5 us. The queue takes about 1024."""
WORTH_TORCH = 20
"""``Timer.timeit`` makes two calls more than asked for: 10% of 20, too much of one long call."""
HELD_CALLS = 50
HOLD_MARGIN = 1.3
"""A hold outlasts the submission it covers by so much, since submission times vary."""


@dataclass(frozen=True)
class Plan:
    """How to sample.

    Attributes:
        min_run_ns: Measured time of each clock, at least.
        cold: Empty the cache before every call.
        before: Runs before every call, outside the clocks (dropping gradients); None for nothing.
        number: Calls a block of wall time; None to choose.
        samples: Samples wanted; None for as many as fit the time.
    """

    min_run_ns: float = 0.5 * NS_PER_S
    cold: bool = False
    before: Call | None = None
    number: int | None = None
    samples: int | None = None

    @property
    def is_plain(self) -> bool:
        """Whether calls may follow each other directly."""
        return not self.cold and self.before is None

    def enough(self, taken: int, spent_ns: float) -> bool:
        """Whether to stop: below the fewest only where calls are long, always at the most."""
        if self.samples is not None:
            return taken >= self.samples
        if taken >= MOST_SAMPLES:
            return True
        if taken >= FEWEST_SAMPLES:
            return spent_ns >= self.min_run_ns
        return taken >= LEAST_SAMPLES and spent_ns >= max(MOST_RUN_NS, self.min_run_ns)


@dataclass(frozen=True)
class Samples:
    """ns a call, each the mean of ``number`` calls."""

    ns: tuple[float, ...]
    number: int = 1


def prepare(machine: Machine, plan: Plan) -> None:
    """Do what a call asks for before it, and wait for it."""
    if plan.before is not None:
        plan.before()
    if plan.cold:
        machine.empty_cache()
    machine.synchronize()


def sample_wall(call: Call, machine: Machine, plan: Plan) -> Samples:
    """From an idle device to an idle device.

    Calls that may follow each other are timed in blocks, by ``torch.utils.benchmark`` where its two
    extra calls a block are few; with work to do before each call they are timed one by one.
    """
    if plan.is_plain and plan.samples is None and plan.number is None:
        return _blocked(call, machine, plan)
    number = plan.number or 1
    taken: list[float] = []
    spent = 0.0
    block = _own_block(call, machine)
    while not plan.enough(len(taken), spent):
        prepare(machine, plan)
        lasted = block(number)
        spent += lasted
        taken.append(lasted / number)
    return Samples(tuple(taken), number)


def _blocked(call: Call, machine: Machine, plan: Plan) -> Samples:
    number = block_size(call, machine)
    block = (_torch_block if number >= WORTH_TORCH else _own_block)(call, machine)
    taken: list[float] = []
    spent = 0.0
    while not plan.enough(len(taken), spent):
        lasted = block(number)
        spent += lasted
        taken.append(lasted / number)
    return Samples(tuple(taken), number)


def _torch_block(call: Call, machine: Machine) -> Callable[[int], float]:
    def clock() -> float:
        machine.synchronize()
        return machine.now_ns() / NS_PER_S

    timer: Any = torch_module("utils.benchmark").Timer(
        "call()",
        globals={"call": call},
        timer=clock,
        num_threads=torch().get_num_threads(),
    )
    return lambda number: float(timer.timeit(number).raw_times[0]) * NS_PER_S


def _own_block(call: Call, machine: Machine) -> Callable[[int], float]:
    def block(number: int) -> float:
        machine.synchronize()
        begin = machine.now_ns()
        for _ in range(number):
            call()
        machine.synchronize()
        return float(machine.now_ns() - begin)

    return block


def block_size(call: Call, machine: Machine) -> int:
    """Calls in a block: found by doubling up to ``BLOCK_NS``, then by the cost of its ends.

    The fastest of three tries counts each time; of two, where both last longer than any block.
    """
    block = _own_block(call, machine)

    def fastest(number: int) -> float:
        best = min(block(number), block(number))
        return max(best if best >= MOST_BLOCK_NS else min(best, block(number)), 1.0)

    alone = spent = fastest(1)
    number = 1
    while spent < BLOCK_NS / 2:
        number *= 2
        spent = fastest(number)
    each = spent / number
    ends = max(alone - each, 0.0)
    wanted = min(max(BLOCK_NS, ends / ENDS), MOST_BLOCK_NS)
    return max(1, round(wanted / each))


def sample_submit(call: Call, machine: Machine, plan: Plan) -> Samples:
    """Until the call returns, from an empty queue."""
    taken: list[float] = []
    spent = 0.0
    while len(taken) < SUBMIT_SAMPLES and not plan.enough(len(taken), spent):
        prepare(machine, plan)
        begin = machine.now_ns()
        call()
        taken.append(float(machine.now_ns() - begin))
        machine.synchronize()
        spent += machine.now_ns() - begin
    return Samples(tuple(taken))


def sample_device(call: Call, machine: Machine, plan: Plan, submit_ns: float) -> Samples:
    """Between two marks around every call, in a queue that is kept full by a hold before it.

    What it cannot see: a call that waits for the device empties the queue, and its host time after
    the wait is counted; so is a launch that stands behind a full queue.
    """
    if not machine.has_device:
        return Samples(())
    at_once = max(1, min(HELD_CALLS, int(HELD_CALLS_NS / max(submit_ns, 1.0))))
    taken: list[float] = []
    spent = 0.0
    while not plan.enough(len(taken), spent):
        batch = _held(call, machine, plan, at_once, submit_ns)
        spent += sum(batch)
        taken += batch
    return Samples(tuple(taken[: plan.samples]))


def _held(
    call: Call, machine: Machine, plan: Plan, count: int, submit_ns: float
) -> Sequence[float]:
    machine.synchronize()
    machine.hold(HOLD_MARGIN * submit_ns * count)
    marks = []
    for _ in range(count):
        if plan.before is not None:
            plan.before()
        if plan.cold:
            machine.empty_cache()
        first = machine.mark()
        call()
        marks.append((first, machine.mark()))
    machine.synchronize()
    return [machine.between_ns(first, second) for first, second in marks]
