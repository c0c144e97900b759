"""Keep or revert: what a trial says, and why, in one line."""

from __future__ import annotations

import re

from boundby.experiment.values import Decision, Trial

FAILURES = {
    "oom": "out of memory",
    "hang": "it hung",
    "crash": "it crashed",
    "compile": "it did not compile",
    "recompiles": "it kept compiling",
    "ended": "it ended early",
    "input": "it does not run",
    "time": "the minutes ended in the middle of it: it is due again",
}
BEYOND = re.compile(r"(?<=\.) (?=GPU \d|Of the allocated|If reserved)")
"""Where torch's error of memory goes on to tell of the device and of settings."""


def decide(found: Trial) -> tuple[Decision, str]:
    """Correctness first, then speed; a change that is not surely faster is taken back."""
    if found.failure is not None:
        message = BEYOND.split(found.message)[0]
        said = f": {message}" if message else ""
        return "failed", f"{FAILURES[found.failure]}{said}"
    if found.gate is not None and found.gate.passed is False:
        return "rejected", found.gate.why
    if found.ratio is None or found.effect is None:
        return "reverted", "it could not be compared with the best so far"
    gain = 1.0 / found.ratio.estimate
    reach = f"{1 / found.ratio.high:.2f} to {1 / found.ratio.low:.2f}"
    if found.effect == "faster":
        return "kept", f"{gain:.2f}x the throughput ({reach})"
    words = {"slower": "slower", "same": "no faster", "too-noisy": "not surely faster"}
    return "reverted", f"{words[found.effect]}: {gain:.2f}x the throughput ({reach})"
