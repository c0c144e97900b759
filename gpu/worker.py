"""What happens in the process of one program: measure, record, write down."""
# ruff: noqa: TID253 (torch is what is measured)

from __future__ import annotations

import json
import platform
import sys
import time
import traceback
import warnings
from collections.abc import Collection
from dataclasses import asdict
from pathlib import Path
from typing import Any

import host_costs
import measure
import torch
from measure import Block, Paced
from programs.program import GRAPH_TWIN, Program

import programs

HOST_COSTS = "host_costs"
Result = dict[str, Any]


class TwinFailedError(Exception):
    """A twin could not be measured, and may have left its process in a bad state."""


def twin_blocks(program: Program, base: Paced, skipped: Collection[str]) -> list[Block]:
    """Blocks of every twin, each beside a block of the base."""
    blocks: list[Block] = []
    for twin in program.twins:
        if twin in skipped:
            continue
        try:
            step = program.cured(twin)
            step = measure.graphed(step) if twin == GRAPH_TWIN else step
            cured = measure.warmed(twin, step)
            blocks += measure.interleaved(base, cured)
        except Exception as error:
            raise TwinFailedError(twin) from error
        del step, cured
        measure.free()
    return blocks


def recordings(program: Program, base: Paced, folder: Path) -> list[Result]:
    """One recording without Python stacks and, where asked for, one with them."""
    found = []
    for stacks in (False, True)[: 1 + program.stack]:
        file = folder / f"{program.name}{'.stack' if stacks else ''}.json.gz"
        yardstick_us = measure.yardstick_us()
        profiled_ms = measure.record(base.step, file, stacks=stacks)
        found.append(
            {
                "file": file.name,
                "python_stacks": stacks,
                "profiled_ms": profiled_ms,
                "yardstick_us": yardstick_us,
            }
        )
    return found


def measured(program: Program, folder: Path, skipped: Collection[str]) -> Result:
    """Everything about one program."""
    torch.manual_seed(0)
    base = measure.warmed("base", program.base())
    blocks = twin_blocks(program, base, skipped)
    submit_ms = measure.submit_ms(base.step)
    blocks += measure.blocks_of(base, "before")
    files = recordings(program, base, folder)
    blocks += measure.blocks_of(base, "after")
    return {
        "cause": program.cause,
        "submit_ms": submit_ms,
        "recordings": files,
        "steps_per_run": base.steps,
        "blocks": [asdict(block) for block in blocks],
    }


def caliber() -> Result:
    """The machine and the versions."""
    return {
        "device": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "python": platform.python_version(),
    }


def silence() -> None:
    """Leave out warnings that say nothing about a program."""
    warnings.filterwarnings("ignore", message=".*Profiler clears events")


def answer(name: str, folder: Path, skipped: Collection[str]) -> Result:
    """The result for one name, errors included."""
    begin = time.perf_counter()
    try:
        if name == HOST_COSTS:
            found = host_costs.measured()
        else:
            found = measured(programs.named(name), folder, skipped)
    except TwinFailedError as failure:
        found = {"failed_twin": str(failure), "error": repr(failure.__cause__)}
        traceback.print_exc()
    except Exception as error:  # noqa: BLE001 (a program that fails is reported, and the next one runs)
        found = {"error": repr(error)}
        traceback.print_exc()
    sys.stderr.flush()
    return {"name": name, **caliber(), **found, "seconds": time.perf_counter() - begin}


def work(name: str, folder: Path, skipped: Collection[str]) -> None:
    """Measure and leave the result in ``folder/NAME.result.json``."""
    silence()
    result = answer(name, folder, skipped)
    (folder / f"{name}.result.json").write_text(json.dumps(result), "utf-8")
