"""What to observe and for how long; it travels to the observed process in the environment."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields

SWITCH = "BOUNDBY"
"""Observation is on in processes where this is set and not ``0``."""
PLAN = "BOUNDBY_PLAN"
FOLDER = "BOUNDBY_FOLDER"
PARENT = "BOUNDBY_PARENT"
"""Set by ``boundby run``, which reports when the program has ended."""

PASSES = ("clean", "trace", "stacks", "syncs", "loader", "memory")


@dataclass(frozen=True)
class Plan:
    """How a program is observed.

    Attributes:
        skip: Steps left alone before warm-up is looked for.
        steps: Steps of the clean pass; None for as many as fit in a few seconds.
        passes: Which passes, of ``PASSES``.
        stop: End the program when all passes are done.
        oracle: Let some steps have their batches at once.
        stack_trace: Record Python stacks in the trace pass too.
        memory: Keep a bounded history of allocations for the moment memory runs out.
        snapshot: Write a snapshot of the memory at the end of the memory pass.
        warm_up: Least number of steps of warm-up.
    """

    skip: int = 0
    steps: int | None = None
    passes: tuple[str, ...] = PASSES
    stop: bool = False
    oracle: bool = False
    stack_trace: bool = False
    memory: bool = True
    snapshot: bool = False
    warm_up: int = 5

    def encode(self) -> str:
        """As text for the environment."""
        return json.dumps(asdict(self))


def decode(text: str) -> Plan:
    """A plan from its text; keys of other versions are ignored."""
    try:
        values = json.loads(text)
    except ValueError:
        return Plan()
    known = {field.name for field in fields(Plan)}
    kept = {key: value for key, value in values.items() if key in known}
    kept["passes"] = tuple(kept.get("passes", PASSES))
    return Plan(**kept)


def plan_of(environment: Mapping[str, str]) -> Plan | None:
    """The plan that an environment asks for; None where observation is off."""
    if environment.get(SWITCH, "0") in ("", "0"):
        return None
    return decode(environment.get(PLAN, "{}"))
