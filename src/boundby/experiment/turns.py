"""Two processes measured in turns, in blocks of steps; and the precision they are held to."""

from __future__ import annotations

from dataclasses import replace
from statistics import median

from boundby.experiment.changes import BY_ID
from boundby.experiment.process import Process, TrialError
from boundby.experiment.reference import BF16_PARAMETERS, TF32
from boundby.experiment.values import Configuration, Trial

PAIRS = 8
"""Blocks of each in an A/B: six is the least for 95%, eight let a small one point elsewhere."""
BLOCK_NS = 2.5e8
"""Length of a block; a step that is longer is a block."""
MOST_STEPS = 500
PRECISIONS = (BF16_PARAMETERS, "bfloat16", "float16", TF32)
"""From the coarsest."""
Side = tuple[Process, int, int]
"""A process, steps of a block, samples of a step."""


def precision_of(configuration: Configuration, own: str = "float32") -> str:
    """The coarsest precision that a configuration computes in, the program's own among them."""
    used = {own, *(BY_ID[change].precision for change, _ in configuration)}
    return next((each for each in PRECISIONS if each in used), own)


def block(step_ns: float) -> int:
    """Steps of a block."""
    return max(1, min(MOST_STEPS, round(BLOCK_NS / max(step_ns, 1.0))))


def sample(process: Process, steps: int, samples: int, limit: float) -> float:
    """One block, ns a sample.

    Raises:
        TrialError: It compiled again in the middle of it.
    """
    answer = process.ask("measure", limit, steps=steps)
    if answer["recompiled"]:
        raise TrialError(
            "recompiles", f"{answer['recompiled']} frames were compiled while it was measured"
        )
    return max(float(answer["ns"]) / steps / samples, 1e-3)


def in_turns(sides: tuple[Side, Side], limit: float) -> tuple[list[float], list[float]]:
    """Blocks of both in turns, the order of each pair the other way round."""
    taken: tuple[list[float], list[float]] = ([], [])
    for pair in range(PAIRS):
        for which in (0, 1) if pair % 2 else (1, 0):
            process, count, samples = sides[which]
            taken[which].append(sample(process, count, samples, limit))
    return taken


def timed(found: Trial, taken: list[float], samples: int) -> Trial:
    """A trial with its step time, from blocks in ns a sample."""
    return replace(found, step_ms=median(taken) * samples / 1e6)
