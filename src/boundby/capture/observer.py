"""The running observation: step marks in, pass after pass, and then nothing is left of it."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from statistics import median
from time import perf_counter_ns, sleep

from boundby.capture.compiled import compiled_frames
from boundby.capture.device import is_capturing
from boundby.capture.environment import surroundings
from boundby.capture.frames import Stacks
from boundby.capture.history import History
from boundby.capture.loader import LoaderWatch
from boundby.capture.passes import NS_PER_S, Pass, Scene, planned
from boundby.capture.plan import Plan
from boundby.capture.sources import RANKS, ModuleSteps, OptimizerSteps
from boundby.capture.tape import RunFolder
from boundby.read.capture_folder import Row

SETTLED = 0.9
"""The last steps take at least this share of those before: it is no longer getting faster."""
WINDOW = 4
"""Steps whose median is compared."""
MOST_WARM_UP = 60
MOST_WARM_UP_S = 15.0
SETTLING_S = 0.2
"""Wait before the program is ended: backward threads that still hold a compiled function abort the
process (``terminate called without an active exception``) when the interpreter goes first."""
SOME_STEPS = 3
"""Marks after which a source is believed in."""


class Observer:
    """Counts steps and changes passes at their marks.

    It never lets an error of its own reach the program: it notes it and goes away.
    """

    def __init__(self, plan: Plan, make_folder: Callable[[], RunFolder]) -> None:
        self.folder: RunFolder | None = None
        self.is_over = False
        self.failure: str | None = None
        """What ended the observation early; None where nothing did."""
        self._plan = plan
        self._make_folder = make_folder
        self._source = ""
        self._thread = 0
        self._steps = 0
        self._skip = plan.skip
        self._warm: list[int] = []
        self._warm_frames = 0
        self._last = 0
        self._pass: Pass | None = None
        self._number = 0
        self._left = 0
        self._todo: list[Pass] | None = None
        self._stacks: Stacks | None = None
        self._optimizers = OptimizerSteps(self.mark)
        self._loaders = LoaderWatch(self.mark)
        self._history = History(wanted=plan.memory, make_folder=self._open_folder)
        self._modules = ModuleSteps(self.mark, lambda: self._steps < SOME_STEPS)

    def install(self) -> None:
        """Begin to listen for steps."""
        self._loaders.install()
        self._history.install()
        self._optimizers.install()
        self._modules.install()

    def mark(self, source: str) -> None:
        """A step has ended, says this source.

        Raises:
            SystemExit: All passes are done, and the plan is to stop then.
        """
        now = perf_counter_ns()
        if self.is_over:
            return
        try:
            if self._listens_to(source):
                self._step(now)
        except Exception as error:  # noqa: BLE001 -- the program comes first
            self._give_up(f"{type(error).__name__}: {error}")
        if self._ends_program():
            sleep(SETTLING_S)
            raise SystemExit(0)

    def _ends_program(self) -> bool:
        """Whether the program is to stop now."""
        return self.is_over and self._plan.stop

    def close(self) -> None:
        """End the pass that is running, and listen no more; the program may go on."""
        if self.is_over:
            return
        self.is_over = True
        self._end_and_leave("the last pass could not be ended")

    def abandon(self) -> None:
        """Forget everything, as in a forked child: the parent goes on writing."""
        self.is_over = True
        if self.folder is not None:
            self.folder.leave()

    def _listens_to(self, source: str) -> bool:
        if source != self._source and not self._takes_over(source):
            return False
        return threading.get_ident() == self._thread

    def _takes_over(self, source: str) -> bool:
        """Whether a source is better than the one in use; passes begin again if it is."""
        if self._source and RANKS[source] <= RANKS[self._source]:
            return False
        if self._pass is not None:
            self._end_pass(complete=False)
        self._source, self._thread = source, threading.get_ident()
        self._todo, self._warm, self._steps = None, [], 0
        self._open_folder().note("source", source=source)
        return True

    def _open_folder(self) -> RunFolder:
        """The folder; made at the first step, or when memory runs out before it."""
        if self.folder is None:
            self.folder = self._make_folder()
            self._stacks = Stacks(self.folder)
            self._loaders.write_to(self.folder)
            self._history.write_to(self.folder)
        return self.folder

    def _step(self, now: int) -> None:
        if is_capturing():
            return
        assert self.folder is not None  # noqa: S101 - a source took over
        self._steps += 1
        if self.folder.tape.guard():
            self.folder.note("problem", text="the program cut the tape: what came later is lost")
        self.folder.tape.put(Row.STEP, now, self._steps, self._number if self._pass else 0)
        if self._pass is not None:
            self._pass.mark(self._steps, now)
            self._left -= 1
            if self._left <= 0:
                self._next_pass()
        elif self._skip > 0:
            self._skip -= 1
        else:
            self._warm_up(now)
        self._last = now

    def _warm_up(self, now: int) -> None:
        if self._last:
            self._warm.append(now - self._last)
        if not self._is_warm():
            return
        assert self.folder is not None  # noqa: S101
        assert self._stacks is not None  # noqa: S101
        typical = median(self._warm[-2 * WINDOW :])
        settled = self._has_settled()
        self.folder.note("warm-up", steps=self._steps, settled=settled)
        trains = self._source == "optimizer"
        tools = self._stacks, self._loaders, self._history
        scene = Scene(self.folder, self._plan, *tools, step_s=typical / NS_PER_S, trains=trains)
        self._todo = planned(scene)
        self._next_pass()

    def _is_warm(self) -> bool:
        """Whether to begin: settled, or as warm as it will get."""
        spent = sum(self._warm) / NS_PER_S
        if len(self._warm) >= MOST_WARM_UP or (spent > MOST_WARM_UP_S and len(self._warm) > 1):
            return True
        return len(self._warm) >= self._plan.warm_up and self._has_settled()

    def _has_settled(self) -> bool:
        frames = compiled_frames()
        compiled, self._warm_frames = frames != self._warm_frames, frames
        last = self._warm[-WINDOW:]
        before = self._warm[-2 * WINDOW : -WINDOW] or self._warm[:-1] or last
        return not compiled and median(last) >= SETTLED * median(before)

    def _next_pass(self) -> None:
        self._end_pass(complete=True)
        assert self.folder is not None  # noqa: S101
        if not self._todo:
            self.folder.note("done", steps=self._steps)
            self.is_over = True
            self._history.stay(asked=self._plan.snapshot)
            self._take_away()
            return
        self._pass = self._todo.pop(0)
        self._number += 1
        self._left = self._pass.steps
        self.folder.note("pass", id=self._number, name=self._pass.name, steps=self._left)
        if self._pass.name == "stacks":
            self.folder.note("surroundings", **surroundings(self._loaders))
        self._pass.start(self._steps)
        self.folder.tape.put(Row.PASS, perf_counter_ns(), self._number, compiled_frames())

    def _end_pass(self, *, complete: bool) -> None:
        ending, self._pass = self._pass, None
        if ending is None or self.folder is None:
            return
        if complete:
            self.folder.tape.put(Row.END, perf_counter_ns(), self._number, compiled_frames())
        ending.stop()

    def _give_up(self, reason: str) -> None:
        self.is_over = True
        self.failure = f"the observation ended early: {reason}"
        if self.folder is not None:
            self.folder.note("problem", text=self.failure)
        self._end_and_leave("and could not be taken away")

    def _end_and_leave(self, otherwise: str) -> None:
        for leave in (functools.partial(self._end_pass, complete=False), self._take_away):
            try:
                leave()
            except Exception as error:  # noqa: BLE001 -- a broken device, say: nothing is left to do
                if self.folder is not None:
                    self.folder.note("problem", text=f"{otherwise}: {error}")

    def _take_away(self) -> None:
        if self.folder is not None and self.folder.tape.is_full:
            self.folder.note("problem", text="the tape was full: what came later is not in it")
        self._optimizers.remove()
        self._modules.remove()
        self._loaders.remove()
