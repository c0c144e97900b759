"""Loader workers that stay alive."""

from __future__ import annotations

from typing import TYPE_CHECKING

from boundby.experiment.change import Answers, Change
from boundby.experiment.values import Configuration, Facts, value_of

if TYPE_CHECKING:
    from boundby.experiment.build import Build
    from boundby.experiment.outside import Outside

FIRST = 4
"""More are tried where a recording shows that these come late."""


def values(facts: Facts, configuration: Configuration) -> tuple[str, ...]:
    """Where processors are left, twice the workers of the loader, or those found to pay."""
    now = int(value_of(configuration, "loader-workers") or facts.loader_workers)
    count = min(max(2 * now, FIRST), facts.processors - 1)
    return (str(count),) if "loader" in facts.offers and count > now else ()


def options(value: str) -> dict[str, object]:
    """Keywords of the DataLoader."""
    return {"num_workers": int(value), "persistent_workers": True}


def apply(build: Build, value: str) -> None:
    """Keywords for the workload's loader."""
    build.loader |= options(value)


def outside(script: Outside, value: str) -> None:
    """Keywords of the DataLoader, whatever the script says."""
    script.loader_options(options(value))


CHANGE = Change(
    id="loader-workers",
    title="loader workers",
    prescription="loader-workers",
    answers=Answers(
        saves=("sync",),
        memory="host memory for each worker",
        numerics="another order of random numbers",
        startup="yes: workers start",
    ),
    values=values,
    prior=lambda _, value: 0.1 if int(value) <= FIRST else 0.01,
    apply=apply,
    outside=outside,
    patch=lambda value: f"DataLoader(..., num_workers={value}, persistent_workers=True)",
)
