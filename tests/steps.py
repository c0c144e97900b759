"""Programs as lists of operators, repeated step by step, for what is read off operators.

::

    timeline = repeated(
        Op("aten::mm", "ampere_sgemm_128x64_nn", dims=[[8, 4], [4, 2]]),
        Range("Optimizer.step#SGD.step", Op("aten::add_", ELEMENTWISE)),
    )

Every operator takes 20 us on the host and launches one kernel of 5 us, unless said otherwise.
"""

from dataclasses import dataclass, field
from typing import Any

from builders import Trace
from worlds import timeline_of

ELEMENTWISE = (
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>"
)
SGEMM = "ampere_sgemm_128x64_nn"
SLOT = 25


@dataclass
class Op:
    """An operator, outermost name first where several are nested, and what it launches.

    ``kernel`` None launches nothing; ``Memcpy ...`` is a copy of ``size`` bytes.
    """

    names: str | list[str]
    kernel: str | None = None
    us: float = 5
    call: str = "cudaLaunchKernel"
    calls: list[str] = field(default_factory=list)
    size: int = 1024
    blocking: bool = False
    args: dict[str, Any] = field(default_factory=dict)

    def __init__(self, names, kernel=None, us=5, *, call="cudaLaunchKernel", calls=(), size=1024,
                 blocking=False, **args):  # fmt: skip
        self.names = [names] if isinstance(names, str) else list(names)
        self.kernel, self.us, self.call, self.calls = kernel, us, call, list(calls)
        self.size, self.blocking, self.args = size, blocking, args


class Range:
    """A named range around operators."""

    def __init__(self, name, *inside):
        self.name, self.inside = name, inside


def repeated(*work, steps=3, **how):
    """The timeline of ``steps`` equal steps."""
    return one_by_one(*[work] * steps, **how)


def one_by_one(*steps, frames=()):
    """The timeline of steps that differ; ``frames`` are Python frames, one a step."""
    trace, at, free = Trace(), 0.0, 0.0
    for number, work in enumerate(steps, 1):
        begin = at
        at += 10
        for item in work:
            at, free = _add(trace, item, at, free)
        at += 10
        trace.step(number, begin, at - begin)
        for name in frames:
            trace.frame(name, begin + 1, 5)
    return timeline_of(trace)


def _add(trace, item, at, free):
    if isinstance(item, Range):
        begin = at
        for inner in item.inside:
            at, free = _add(trace, inner, at, free)
        trace.range(item.name, begin - 1, at - begin)
        return at, free
    for depth, name in enumerate(item.names):
        args = item.args if depth == len(item.names) - 1 else {}
        trace.op(name, at + depth * 0.5, 20 - depth, **args)
    for index, call in enumerate(item.calls):
        trace.call(call, at + 11 + index, 0.5)
    if item.kernel is not None:
        free = _launch(trace, item, at + 4, free)
    return at + SLOT, free


def _launch(trace, item, at, free):
    start = max(free, at + 3)
    taken = start + item.us + 1 - at if item.blocking else 2
    call = trace.launch(at, taken, name=item.call)
    if item.kernel.startswith("Memcpy "):
        direction = item.kernel.removeprefix("Memcpy ")
        trace.copy(start, item.us, launch=call, size=item.size, direction=direction)
    else:
        trace.kernel(item.kernel, start, item.us, launch=call)
    return start + item.us
