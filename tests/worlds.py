"""Tiny programs as they would run, so that a test knows the truth about the trace they leave.

A ``World`` is one host thread, a device with streams, and the queue between them. Its verbs move
both clocks as hardware would and write the events down. Microseconds::

    world = World()
    for _ in world.steps(3):
        for _ in range(10):
            world.python(2)
            world.op(20, kernel=3)
    trace = world.finish()

A ``Script`` is a replay program written point by point, in nanoseconds::

    script = Script()
    first = script.launch(10, 100)
    script.wait(5, first)
    program = script.program()
"""

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from boundby.diagnose import Diagnosis, Options, diagnose
from boundby.read import read_recording
from boundby.read.recording import NONE, Recording
from boundby.replay.build import build_program
from boundby.replay.program import ALL_WORK, NOTHING, PointKind, Points, Program, Work
from boundby.timeline.hostline import KINDS, LineKind
from boundby.timeline.timeline import Timeline, build_timeline
from builders import STREAM, Trace

ELEMENTWISE = "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>>"
GEMM = "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute"
ALL_REDUCE = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
LOADER = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"


# --- From a trace on ------------------------------------------------------------------------------


def read(trace: Trace) -> Recording:
    """The recording that the trace is read as."""
    with tempfile.TemporaryDirectory() as folder:
        return read_recording(trace.write(Path(folder) / "trace.json"))


def timeline_of(trace: Trace) -> Timeline:
    """Both lines of the trace."""
    return build_timeline(read(trace))


def program_of(trace: Trace) -> Program:
    """What the trace says must happen."""
    return build_program(timeline_of(trace))


def diagnosis_of(trace: Trace, **known: float) -> Diagnosis:
    """What boundby says; ``known``: step_ms, submit_ms."""
    return diagnose(read(trace), Options(**known))


def share(diagnosis: Diagnosis, *parts: str) -> float:
    """Summed share of the parts of the waterfall."""
    return sum(p.share for p in diagnosis.waterfall if p.part in parts)


# --- A program that runs --------------------------------------------------------------------------


@dataclass
class World:
    """One host thread and one device.

    Attributes:
        call: Duration of a launch call that finds room in the queue.
        latency: End of a launch call until the kernel starts on an idle stream.
        lead: Idle time between two kernels that are both queued.
        wake: End of awaited work until the host goes on.
        room: Launches that may be queued before a launch call blocks.
        thread: The thread that acts.
    """

    call: float = 9
    latency: float = 4
    lead: float = 1
    wake: float = 10
    room: int = 1024
    thread: int | str = 1
    trace: Trace = field(default_factory=Trace)
    now: float = 0
    free: dict[int, float] = field(default_factory=dict)
    ends: list[float] = field(default_factory=list)

    # --- Host -------------------------------------------------------------------------------------

    def steps(self, count: int) -> Iterator[int]:
        """Step after step; the body of the loop is what one does."""
        for number in range(count):
            begin = self.now
            yield number
            self.trace.step(number + 1, begin, self.now - begin, thread=self.thread)

    def python(self, dur: float) -> None:
        """The interpreter at work, of which a trace holds nothing."""
        self.now += dur

    def load(self, dur: float, iterator: str = LOADER) -> None:
        """Fetch a batch from the loader."""
        self.trace.range(iterator, self.now, dur, thread=self.thread)
        self.now += dur

    def malloc(self, dur: float) -> None:
        """Ask the driver for memory."""
        self.trace.call("cudaMalloc", self.now, dur, thread=self.thread)
        self.now += dur

    def op(self, dur: float, *, kernel: float, name: str = "aten::mul", **how) -> None:
        """An operator of ``dur`` that ends with the launch of one kernel.

        ``how``: ``work`` (the kernel's name) and ``stream``. A full queue makes it longer.
        """
        begin = self.now
        self.now = max(self.now, self.now + dur - self.call - 1)
        self.launch(kernel, **how)
        self.now = max(self.now + 1, begin + dur)
        self.trace.op(name, begin, self.now - begin, thread=self.thread)

    def launch(self, kernel: float, *, work: str = ELEMENTWISE, stream: int = STREAM) -> None:
        """One launch call and its kernel."""
        begin = self.now
        self.now += self.call
        if len(self.ends) >= self.room:
            self.now = max(self.now, self.ends[-self.room])
        correlation = self.trace.launch(begin, self.now - begin, thread=self.thread)
        start, _ = self._run(kernel, stream)
        self.trace.kernel(work, start, kernel, launch=correlation, stream=stream)

    def graph(self, kernels: list[float], *, gap: float = 0, stream: int = STREAM) -> None:
        """One graph launch that carries many kernels, ``gap`` apart on the device."""
        correlation = self.trace.launch(
            self.now, self.call, name="cudaGraphLaunch", thread=self.thread
        )
        self.now += self.call
        at, _ = self._run(sum(kernels) + gap * (len(kernels) - 1), stream)
        for dur in kernels:
            self.trace.kernel(ELEMENTWISE, at, dur, launch=correlation, stream=stream)
            at += dur + gap

    def sync(self, name: str = "cudaDeviceSynchronize", cost: float = 3) -> None:
        """Wait until the device is done; ``cost`` when it already is."""
        begin = self.now
        done = max(self.free.values(), default=0)
        self.now = max(begin + cost, done + self.wake if done > begin else 0)
        self.trace.call(name, begin, self.now - begin, thread=self.thread)

    def item(self) -> None:
        """Bring one number to the host: a copy, and a wait for it."""
        begin = self.now
        self.now += 3
        copy = self.trace.launch(self.now, self.call, name="cudaMemcpyAsync", thread=self.thread)
        self.now += self.call
        start, _ = self._run(2, STREAM)
        self.trace.copy(start, 2, launch=copy, size=4, direction="DtoH (Device -> Pageable)")
        self.sync("cudaStreamSynchronize")
        self.now += 2
        self.trace.op("aten::item", begin, self.now - begin, thread=self.thread)
        self.trace.op(
            "aten::_local_scalar_dense", begin + 1, self.now - begin - 2, thread=self.thread
        )

    def upload(self, *, staging: float, copy: float) -> None:
        """Copy a batch from pageable memory: the call stages it and lasts into the copy."""
        begin = self.now
        self.now += staging
        start, end = self._run(copy, STREAM)
        self.now = max(self.now, end - 1)
        call = self.trace.launch(
            begin, self.now - begin, name="cudaMemcpyAsync", thread=self.thread
        )
        self.trace.copy(start, copy, launch=call, size=1 << 20)

    def finish(self, *, sync: bool = True) -> Trace:
        """End the recording as the profiler does, with a wait for the device."""
        if sync:
            self.sync()
        self.trace.window(0, self.done)
        return self.trace

    # --- Device -----------------------------------------------------------------------------------

    @property
    def done(self) -> float:
        """When host and device have both finished what they were told so far."""
        return max(self.now, *self.free.values())

    def _run(self, dur: float, stream: int) -> tuple[float, float]:
        before = self.free.get(stream)
        start = self.now + self.latency
        if before is not None:
            start = max(start, before + self.lead)
        self.free[stream] = start + dur
        self.ends.append(start + dur)
        return start, start + dur


# --- A program on paper ---------------------------------------------------------------------------


@dataclass
class Script:
    """Points of a replay program in host order."""

    points: list[tuple] = field(default_factory=list)
    items: list[tuple] = field(default_factory=list)
    step: int = 0

    def launch(
        self,
        host: int | dict[LineKind, int],
        dur: int,
        *,
        stream: int = 0,
        latency: int = 0,
        lead: int = 0,
        after: int = NOTHING,
    ) -> int:
        """``host`` ns (submission if no kind is named), then one work item: its number."""
        self.items.append((stream, dur, latency, lead, after))
        self._point(PointKind.LAUNCH, host, len(self.items) - 1, 0)
        return len(self.items) - 1

    def wait(self, host: int | dict[LineKind, int] = 0, target: int = ALL_WORK, wake: int = 0):
        """Host time (the wait's own if no kind is named), then a wait for an item or for all."""
        self._point(PointKind.WAIT, host, target, wake)

    def end_step(self, host: int | dict[LineKind, int] = 0) -> None:
        """Host time (Python if no kind is named), then the end of the step."""
        self._point(PointKind.STEP_END, host, NOTHING, 0)
        self.step += 1

    def _point(self, kind: PointKind, host, target: int, wake: int) -> None:
        usual = (LineKind.LAUNCH, LineKind.SYNC, LineKind.PYTHON)[kind]
        by_kind = host if isinstance(host, dict) else {usual: host}
        row = [by_kind.get(k, 0) for k in range(KINDS)]
        self.points.append((kind, self.step, row, target, wake))

    def program(self, queue_limit: int = 1024) -> Program:
        """The program; the last step is closed if it still is open."""
        if not self.points or self.points[-1][0] != PointKind.STEP_END:
            self.end_step()
        kind, step, host, target, wake = zip(*self.points, strict=True)
        stream, dur, latency, lead, after = np.array(self.items or np.zeros((0, 5)), dtype=int).T
        return Program(
            steps=self.step,
            points=Points(
                kind=np.array(kind, dtype=np.int8),
                step=np.array(step),
                host=np.array(host),
                target=np.array(target),
                wake=np.array(wake),
                call=np.full(len(kind), NONE),
            ),
            work=Work(
                stream=stream,
                dur=dur,
                busy=dur,
                latency=latency,
                lead=lead,
                after=after,
                nodes=np.ones(len(dur), dtype=int),
                launch=np.arange(len(dur)),
            ),
            edge_waits=0,
            queue_limit=queue_limit,
        )
