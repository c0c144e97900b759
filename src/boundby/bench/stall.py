"""An iteration that gives nothing for too long ends with an error instead of never."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from boundby.errors import CannotTellError


@contextmanager
def ended_when_stalled(done: Callable[[], int], patience_s: float) -> Iterator[None]:
    """Raise inside the block where a count has not grown from one tick of a clock to the next.

    The clock ticks once in ``patience_s``, so that it costs the iteration nothing. Only the main
    thread of a POSIX system can be interrupted; elsewhere the block runs as it is.

    Args:
        done: The count.
        patience_s: Seconds of a tick: after so many, and before twice as many, it is over.

    Raises:
        CannotTellError: The count stood still.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or not hasattr(signal, "setitimer"):
        yield
        return
    before = done()

    def tick(*_: object) -> None:
        nonlocal before
        if done() == before:
            raise CannotTellError(
                f"no batch came for {patience_s:.3g} s, after {before} of them",
                "does a worker or the data set hang? num_workers=0 and Ctrl-C show where; "
                "a larger --budget waits longer",
            )
        before = done()

    held = signal.signal(signal.SIGALRM, tick)
    signal.setitimer(signal.ITIMER_REAL, patience_s, patience_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, held)
