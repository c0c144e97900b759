"""Whose turn it is, where several workers of pytest-xdist run tests at once.

Tests that measure time are marked ``alone``: one begins when the tests of all other workers have
ended, and none of theirs begins before it ends. Whoever waits does so in the doorway, so that a
test that would be alone is not overtaken for ever.
"""

import fcntl
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path


def turn(config, *, alone):
    """Hold the turn of one test; without workers there is nobody to wait for."""
    if not hasattr(config, "workerinput"):
        return nullcontext()
    return taken(Path(config.option.basetemp).parent, alone=alone)


@contextmanager
def taken(folder, *, alone):
    """Hold a turn in a folder that all workers know."""
    with ExitStack() as stack:
        with _locked(folder / "doorway", fcntl.LOCK_EX):
            stack.enter_context(_locked(folder / "room", fcntl.LOCK_EX if alone else fcntl.LOCK_SH))
        yield


@contextmanager
def _locked(path, how):
    with path.open("a") as file:
        fcntl.flock(file, how)
        try:
            yield
        finally:
            fcntl.flock(file, fcntl.LOCK_UN)  # at once, even where a child inherited the file
