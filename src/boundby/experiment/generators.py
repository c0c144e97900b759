"""Random numbers that a program draws: whether two runs drew alike, so that masks are the same."""

from __future__ import annotations

import hashlib
import pickle
import random
import sys
from collections.abc import Mapping

from boundby.bench.framework import has_cuda, torch

States = dict[str, str]
"""A hash of the state of each generator, by name."""
Drawn = Mapping[str, tuple[str, str]]
"""By generator, its state before and after."""


def states() -> States:
    """Of the global generators of torch, NumPy and Python."""
    found: dict[str, object] = {
        "torch": torch().get_rng_state().numpy().tobytes(),
        "python": random.getstate(),
    }
    if has_cuda() and torch().cuda.is_initialized():
        found["cuda"] = torch().cuda.get_rng_state().numpy().tobytes()
    if "numpy.random" in sys.modules:
        found["numpy"] = sys.modules["numpy.random"].get_state()
    return {name: hashlib.sha256(pickle.dumps(each)).hexdigest() for name, each in found.items()}


def between(before: States, after: States) -> Drawn:
    """What was drawn between two moments."""
    return {name: (before[name], after[name]) for name in before if name in after}


def is_apart(mine: Drawn, other: Drawn) -> bool:
    """Whether two runs that began alike drew other numbers; one that had no seed tells nothing."""
    return any(
        mine[name][0] == began and mine[name][1] != ended
        for name, (began, ended) in other.items()
        if name in mine
    )
