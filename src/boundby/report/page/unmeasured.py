"""What a recording does not hold, so that nobody takes silence for an answer."""

from __future__ import annotations

from collections.abc import Iterator

from boundby.diagnose import Diagnosis
from boundby.report import numbers

ALL_COUNTED = 0.995


def unmeasured(
    diagnosis: Diagnosis, *, has_memory: bool = False, has_lines: bool = False
) -> list[str]:
    """One sentence for each thing that was not measured.

    Args:
        has_memory: Whether memory over time is known from elsewhere.
        has_lines: Whether the user's lines are.
    """
    found = [*_of_time(diagnosis), *_of_work(diagnosis)]
    if not has_lines and not diagnosis.caliber.with_stack:
        found.append("Lines of your code: no Python stacks were recorded (`with_stack=True`).")
    if not has_memory:
        found.append("Memory over time: a snapshot and `boundby memory` show who holds it.")
    return [*found, *_elsewhere(diagnosis)]


def _of_time(diagnosis: Diagnosis) -> Iterator[str]:
    if diagnosis.steps.unprofiled_ms is None:
        yield "The step without the profiler: it could not be estimated. `boundby run` measures it."
    elif diagnosis.calibration.source == "prior":
        yield (
            "The step without the profiler: it is estimated from the recording. `boundby run` "
            "measures it, and `--step-ms` takes a time you measured."
        )
    if diagnosis.steps.range_ms.median is None:
        yield "The spread between steps: the host runs ahead of the device, or there is one step."


def _of_work(diagnosis: Diagnosis) -> Iterator[str]:
    if not diagnosis.device.has_work:
        yield "The device: no work of one was recorded."
        return
    if not diagnosis.caliber.record_shapes:
        yield "Sizes of tensors: they were not recorded (`record_shapes=True`)."
    found = diagnosis.roofline
    if found is not None and found.counted < ALL_COUNTED:
        yield (
            f"The work of {numbers.share(1 - found.counted)} of the computing time: its operators "
            "or sizes are not known."
        )
    if found is not None and found.attainable is None:
        yield "What this device attains: the roofs are of a data sheet; `boundby device` measures."
    yield "Counters inside kernels (cache, occupancy, stalls): `boundby kernel` reads them."


def _elsewhere(diagnosis: Diagnosis) -> Iterator[str]:
    world = diagnosis.caliber.world_size
    if world is not None and world > 1:
        yield f"The other ranks: one of {world} is shown."
    if diagnosis.caliber.device_count > 1:
        yield f"The other devices: one of {diagnosis.caliber.device_count} is shown."
    yield "Whether a change works: predictions are replays, no change was tried."
