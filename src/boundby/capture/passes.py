"""The passes: each answers one question over a few consecutive steps, and leaves nothing behind."""

from __future__ import annotations

import gc
import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from threading import Thread
from time import perf_counter_ns
from typing import Any

from boundby.capture.compiled import untraced
from boundby.capture.device import DeviceClock, has_device, synchronize
from boundby.capture.frames import Stacks
from boundby.capture.history import History
from boundby.capture.loader import LoaderWatch
from boundby.capture.plan import Plan
from boundby.capture.profilers import give_way, program_profiles
from boundby.capture.reserves import Reading, read_allocator, sign
from boundby.capture.sampling import LoopFinder, sampler
from boundby.capture.syncs import SyncFinder
from boundby.capture.tape import RunFolder
from boundby.read.capture_folder import TRACE, Row

NS_PER_S = 1_000_000_000
FAR_LONGER = 4
"""Times the seconds of a pass: steps of 1 s are observed for 30 s, those of 5 s for a minute."""
EXPORT_LIMIT_S = 60.0
"""An exporter that takes longer is left to itself: the program must go on."""


@dataclass(frozen=True)
class Scene:
    """What every pass works with.

    Attributes:
        step_s: Seconds of a step when warm-up ended.
        trains: Whether an optimizer closes the steps.
    """

    folder: RunFolder
    plan: Plan
    stacks: Stacks
    loaders: LoaderWatch
    history: History
    step_s: float
    trains: bool = False

    def steps_in(self, seconds: float, least: int, most: int, fewest: int | None = None) -> int:
        """How many steps take about that long, and ``least`` at least.

        Where those would take far longer, as many as that allows, but no fewer than ``fewest``.
        """
        step_s = max(self.step_s, 1e-6)
        if fewest is not None and least * step_s > FAR_LONGER * seconds:
            return max(fewest, int(FAR_LONGER * seconds / step_s))
        return max(least, min(most, int(seconds / step_s)))


class Pass:
    """Does nothing for some steps; the base of all passes."""

    name = ""

    def __init__(self, scene: Scene, steps: int) -> None:
        self.scene = scene
        self.steps = steps

    def start(self, step: int) -> None:
        """Begin after this step."""

    def mark(self, step: int, now: int) -> None:
        """A step has ended at ``now``, ns."""

    def stop(self) -> None:
        """Take away whatever ``start`` put in place; called whatever happened."""


class Clean(Pass):
    """Marks alone: wall clock at each, and device events at every so many."""

    name = "clean"
    _clock: DeviceClock | None = None
    _last = 0

    def start(self, step: int) -> None:
        """Begin with an event of its own, and without a history of allocations."""
        self.scene.history.pause()
        if has_device():
            self._clock = DeviceClock(self.scene.folder, step, self.steps)
        self._begin = perf_counter_ns()

    def mark(self, step: int, now: int) -> None:
        """Nothing but an event."""
        self._last = now
        if self._clock is not None:
            self._clock.mark(step)

    def stop(self) -> None:
        """Wait for the device now that no step is running, and read the events."""
        if self._last:
            self.scene.history.clean_ns = (self._last - self._begin) / self.steps
        if self._clock is not None:
            synchronize()
            self._clock.resolve()


class After(Clean):
    """Clean steps after the trace: what the profiler leaves behind, and how the machine drifts."""

    name = "after"


class Drained(Pass):
    """Steps from an empty queue: how long the host takes to return when nothing is in its way."""

    name = "drained"

    def start(self, step: int) -> None:  # noqa: ARG002
        """Empty the queue."""
        synchronize()
        self._since = perf_counter_ns()

    def mark(self, step: int, now: int) -> None:
        """Note how long the step took to submit, and empty the queue again."""
        self.scene.folder.tape.put(Row.SUBMIT, now, now - self._since, step)
        synchronize()
        self._since = perf_counter_ns()


class Trace(Pass):
    """A short window of torch.profiler, exported into the folder when it closes.

    Without its teardown, the interface that the profiler uses stays attached and makes launches
    slower for the rest of the program (seen on an H200 with CUDA 13: 1.38 -> 1.88 ms a step).
    """

    name = "trace"
    WARM_UP = 1
    TEARDOWN = "TEARDOWN_CUPTI"
    SAFE_FROM = 12
    """CUDA version from which the first teardown of a process is safe beside CUDA graphs."""
    _set = False

    def start(self, step: int) -> None:  # noqa: ARG002
        """Start the profiler, unless the program runs one of its own."""
        from torch.profiler import ProfilerActivity, profile, schedule

        self._profiler: Any = None
        self._seen = 0
        if program_profiles():
            self.scene.folder.note("problem", text="the program runs a profiler of its own")
            return
        self._tear_down()
        kinds = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if has_device() else [])]
        synchronize()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._profiler = profile(
                activities=kinds,
                schedule=schedule(
                    wait=0, warmup=self.WARM_UP, active=self.steps - self.WARM_UP, repeat=1
                ),
                record_shapes=True,
                with_stack=self.scene.plan.stack_trace,
                on_trace_ready=self._export,
            )
            self._profiler.start()
        self._undo = give_way(self._give_way)

    def mark(self, step: int, now: int) -> None:  # noqa: ARG002
        """Empty the queue at both ends of the window, so that it holds whole steps."""
        if self._profiler is None:
            return
        self._seen += 1
        if self._seen in (self.WARM_UP, self.steps):
            synchronize()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._profiler.step()

    def stop(self) -> None:
        """Close the window where it is."""
        profiler, self._profiler = self._profiler, None
        if profiler is not None:
            self._undo()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                profiler.stop()
        if self._set:
            os.environ.pop(self.TEARDOWN, None)

    def _give_way(self) -> None:
        """The program starts a profiler: the window ends before that."""
        self.scene.folder.note("problem", text="the program started a profiler amid the trace")
        try:
            self.stop()
        except Exception as error:  # noqa: BLE001 -- torch raises whatever it likes
            self.scene.folder.note("problem", text=f"the trace was not closed: {error}")

    def _tear_down(self) -> None:
        """Have the profiler let go of the device at the end, unless the program decided on that."""
        import torch

        version = (torch.version.cuda or "0").split(".")[0]
        if self.TEARDOWN not in os.environ and int(version) >= self.SAFE_FROM:
            os.environ[self.TEARDOWN] = "1"
            self._set = True

    def _export(self, profiler: Any) -> None:  # noqa: ANN401
        aside = self.scene.folder.path / f".{TRACE}"

        def write() -> None:
            try:
                profiler.export_chrome_trace(str(aside))
                aside.replace(self.scene.folder.path / TRACE)
            except Exception as error:  # noqa: BLE001 -- torch raises whatever it likes
                self.scene.folder.note("problem", text=f"the trace was not exported: {error}")

        waited = in_time(write, EXPORT_LIMIT_S)
        if not waited:
            text = f"the exporter took more than {EXPORT_LIMIT_S:.0f} s and was left to itself"
            self.scene.folder.note("problem", text=text)


class StackSamples(Pass):
    """Samples of the submitting thread, pauses of the garbage collector, and the loop's frame."""

    name = "stacks"
    EVERY_S = 0.001

    def start(self, step: int) -> None:  # noqa: ARG002
        """Begin to sample."""
        self._sampler = sampler(max(0.0005, min(0.005, self.scene.step_s / 10, self.EVERY_S)))
        self._finder, self._loop = LoopFinder(), False
        self._collections: list[tuple[int, int, int]] = []
        self._began = 0
        self.scene.folder.note("sampler", bias=self._sampler.bias)
        self._callback = untraced(self._collected)
        gc.callbacks.append(self._callback)
        self._sampler.start()

    def mark(self, step: int, now: int) -> None:  # noqa: ARG002
        """Write what was seen since the last mark."""
        if not self._loop and (frame := self._finder.look()) is not None:
            code = frame.f_code
            where = (code.co_filename, frame.f_lineno, code.co_name, code.co_firstlineno)
            self.scene.folder.note("loop", frame=where)
            self._loop = True
        tape, samples = self.scene.folder.tape, self._sampler.samples
        count = len(samples)
        for key, when, weight in samples[:count]:
            tape.put(Row.SAMPLE, when, self.scene.stacks.number(key), weight)
        del samples[:count]
        while self._collections:
            tape.put(Row.COLLECTION, *self._collections.pop())

    def stop(self) -> None:
        """Silence the sampler."""
        self._sampler.stop()
        if self._callback in gc.callbacks:
            gc.callbacks.remove(self._callback)

    def _collected(self, phase: str, about: dict[str, int]) -> None:
        now = perf_counter_ns()
        if phase == "start":
            self._began = now
        elif self._began:
            self._collections.append((self._began, now - self._began, about["generation"]))


class Syncs(Pass):
    """Each wait of the host with its line."""

    name = "syncs"

    def start(self, step: int) -> None:  # noqa: ARG002
        """Install the finder."""
        self._finder = SyncFinder(self.scene.folder.tape, self.scene.stacks)
        self._finder.install()

    def stop(self) -> None:
        """Remove it, and note what it saw of mixed precision."""
        self._finder.remove()
        unscaled = self._finder.enters_fp16 and not self._finder.scales_loss
        self.scene.folder.note("mixed-precision", unscaled=unscaled and self.scene.trains)


class Oracle(Pass):
    """Steps whose batches are there at once: the very batches the program would have got."""

    name = "oracle"

    def start(self, step: int) -> None:  # noqa: ARG002
        """Load the batches of these steps ahead."""
        reason = self.scene.loaders.fetch_ahead(self.steps)
        if reason is not None:
            self.scene.folder.note("problem", text=f"no step without its loader: {reason}")
            self.scene.folder.note("oracle", possible=False)


class Memory(Pass):
    """Allocated and reserved device memory at the end of each step, and their peaks."""

    name = "memory"
    LEAST = 12
    """Steps on a device: a leak is told from noise by a test that needs ten."""

    def start(self, step: int) -> None:  # noqa: ARG002
        """Keep the history again: these steps show what it costs."""
        self._readings: list[Reading] = []
        self.scene.history.resume()
        self._begin = self._last = perf_counter_ns()

    def stop(self) -> None:
        """Write a snapshot where one was asked for, or where the steps show trouble."""
        history, trouble = self.scene.history, sign(self._readings)
        if self._readings:
            history.recorded_ns = (self._last - self._begin) / len(self._readings)
        if trouble is not None:
            self.scene.folder.note("memory-sign", sign=trouble)
        if has_device() and (self.scene.plan.snapshot or (self.scene.plan.memory and trouble)):
            history.snapshot()
        history.pause()

    def mark(self, step: int, now: int) -> None:
        """Ask the allocator."""
        self._last = now
        if has_device():
            reading = read_allocator()
            self._readings.append(reading)
            self.scene.folder.note("memory", step=step, **reading)


def in_time(work: Callable[[], None], limit_s: float) -> bool:
    """Do something in a thread; whether it was done in time."""
    thread = Thread(target=work, name="boundby-export", daemon=True)
    thread.start()
    thread.join(limit_s)
    return not thread.is_alive()


def planned(scene: Scene) -> list[Pass]:
    """The passes in their order, short ones on long steps."""
    wanted, plan = scene.plan.passes, scene.plan
    made: list[Pass] = []
    if "clean" in wanted:
        made.append(Clean(scene, plan.steps or scene.steps_in(3.0, 5, 30, 3)))
        made.append(Drained(scene, scene.steps_in(1.0, 1, 7)))
    if "trace" in wanted:
        made.append(Trace(scene, Trace.WARM_UP + scene.steps_in(1.0, 2, 3)))
    if {"clean", "trace"} <= set(wanted):
        made.append(After(scene, scene.steps_in(1.0, 3, 60, 1)))
    if "stacks" in wanted:
        made.append(StackSamples(scene, scene.steps_in(2.0, 4, 2000, 1)))
    if "syncs" in wanted:
        made.append(Syncs(scene, 3 if scene.step_s < 1 else 1))
    if "loader" in wanted and plan.oracle:
        made.append(Oracle(scene, scene.steps_in(1.0, 3, 20)))
    if "memory" in wanted:
        least = Memory.LEAST if has_device() else 2
        made.append(Memory(scene, scene.steps_in(3.0, least, least, 2)))
    return made
