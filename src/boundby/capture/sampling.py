"""Where the submitting thread is, many times a second, without tracing a single call.

The signal sampler runs between two instructions of the main thread. Time inside a call into C is
charged, in full, to the line of that call when it returns; a binary operator may be charged to the
next call of the same function. A thread that reads frames, used where the alarm signal is taken,
sees mostly those places where the interpreter lock is released, and says so. Samples that fall into
the observation itself are left out: they are not the program's.
"""

from __future__ import annotations

import signal
import sys
import threading
from time import perf_counter_ns
from types import FrameType

from boundby.capture.compiled import untraced
from boundby.capture.frames import Key, is_observing, stack_of

Sample = tuple[Key, int, int]
"""A stack, when it was seen, and the ns it stands for."""


class SignalSampler:
    """Samples the main thread from an alarm that goes off every so often."""

    bias = "a call into C is charged to its line when it returns"

    def __init__(self, interval_s: float) -> None:
        self.samples: list[Sample] = []
        self._interval = interval_s
        self._last = 0
        self._handler = untraced(self._sample)

    @staticmethod
    def is_possible() -> bool:
        """Whether this is the main thread and the program uses no alarm of its own."""
        return (
            threading.current_thread() is threading.main_thread()
            and signal.getsignal(signal.SIGALRM) in (signal.SIG_DFL, None)
            and signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
        )

    def start(self) -> None:
        """Set the alarm; calls of the system that it interrupts go on."""
        self._last = perf_counter_ns()
        signal.signal(signal.SIGALRM, self._handler)
        signal.siginterrupt(signal.SIGALRM, False)  # noqa: FBT003 -- the standard library's
        signal.setitimer(signal.ITIMER_REAL, self._interval, self._interval)

    def stop(self) -> None:
        """Silence the alarm and give the signal back, unless the program took it meanwhile."""
        if signal.getsignal(signal.SIGALRM) is self._handler:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            signal.signal(signal.SIGALRM, signal.SIG_DFL)

    def _sample(self, _signal: int, frame: FrameType | None) -> None:
        now = perf_counter_ns()
        if not is_observing(frame):
            self.samples.append((stack_of(frame), now, now - self._last))
        self._last = perf_counter_ns()


class ThreadSampler:
    """Samples one thread from another."""

    bias = "a thread that reads frames sees mostly calls that release the interpreter lock"

    def __init__(self, interval_s: float) -> None:
        self.samples: list[Sample] = []
        self._interval = interval_s
        self._watched = threading.get_ident()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="boundby-sample", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End; the thread is gone afterwards."""
        self._over.set()
        self._thread.join(1.0)

    def _watch(self) -> None:
        last = perf_counter_ns()
        while not self._over.wait(self._interval):
            frame = sys._current_frames().get(self._watched)  # noqa: SLF001
            now = perf_counter_ns()
            if not is_observing(frame):
                self.samples.append((stack_of(frame), now, now - last))
            last = now


def sampler(interval_s: float) -> SignalSampler | ThreadSampler:
    """The better sampler that this program allows."""
    if SignalSampler.is_possible():
        return SignalSampler(interval_s)
    return ThreadSampler(interval_s)


class LoopFinder:
    """Finds the function that holds the training loop: the innermost that outlives a step.

    Frames are told apart by a flag that only tracers read; under a tracer nothing is looked for.
    """

    def __init__(self) -> None:
        self._marked = False

    def look(self) -> FrameType | None:
        """Called at each mark: the loop's frame from the second mark on; None before."""
        if sys.gettrace() is not None:
            return None
        frame: FrameType | None = sys._getframe(1)  # noqa: SLF001
        found = None
        while frame is not None:
            if self._marked and not frame.f_trace_lines:
                found = found or frame
                frame.f_trace_lines = True
            elif not self._marked:
                frame.f_trace_lines = False
            frame = frame.f_back
        self._marked = not self._marked
        return found
