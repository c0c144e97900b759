"""The garbage collector runs when the program says so."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import TYPE_CHECKING

from boundby.experiment.change import Answers, Change, prior

if TYPE_CHECKING:
    from boundby.experiment.build import Build
    from boundby.experiment.outside import Outside

EVERY = 200


def collect_seldom() -> None:
    """Freeze what lives now and stop automatic collection."""
    gc.collect()
    gc.freeze()
    gc.disable()


def at_every(value: str) -> Callable[[int], None]:
    """Collect at every so many steps."""

    def tick(step: int) -> None:
        if step % int(value) == 0:
            gc.collect()

    return tick


def apply(build: Build, value: str) -> None:
    """Between the steps of a workload."""
    collect_seldom()
    build.tick = at_every(value)


def outside(script: Outside, value: str) -> None:
    """The same, at the steps of the script."""
    script.when_model(lambda _: collect_seldom())
    script.each_step(at_every(value))


CHANGE = Change(
    id="gc-schedule",
    title="garbage collection on a schedule",
    prescription="gc-schedule",
    answers=Answers(saves=("launch",), memory="host memory of cycles, for longer"),
    values=lambda _, __: (str(EVERY),),
    prior=prior(0.02),
    apply=apply,
    outside=outside,
    patch=lambda value: f"gc.freeze(); gc.disable()\nif step % {value} == 0:\n    gc.collect()",
)
