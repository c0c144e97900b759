"""What the user asked of ``boundby tune``."""

from __future__ import annotations

from dataclasses import dataclass

from boundby.experiment.change import Permission

STEPS = 12
"""Of a loss curve: the wrong gradients of the case study leave the band at the second step."""
SEEDS = 3
TRIAL_S = 240.0
"""Seconds a trial may take; what compiles slowly gets more."""
LEAST_S = 20.0
"""No trial is begun with less left."""
MEMORY_SHARE = 0.9
"""Of the device that a larger batch may use: the rest is headroom for what varies."""


@dataclass(frozen=True)
class Settings:
    """The request.

    Attributes:
        target: ``train.py``, ``module:Class`` or ``file.py:Class``.
        arguments: Of the script.
        minutes: Budget of this run; None for none.
        trials: Most trials of this run; None for no limit.
        allow: Kinds of change that are allowed: ``batch``, ``numerics``.
        only, skip: Changes by id; empty ``only`` for all.
        memory_cap: Bytes of device memory a step may use; None for all.
        steps, seeds: Of the loss curves.
        trial_s: Seconds of one trial.
    """

    target: str
    arguments: tuple[str, ...] = ()
    minutes: float | None = None
    trials: int | None = None
    allow: tuple[Permission, ...] = ()
    only: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    memory_cap: int | None = None
    steps: int = STEPS
    seeds: int = SEEDS
    trial_s: float = TRIAL_S
