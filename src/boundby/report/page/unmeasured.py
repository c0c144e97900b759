"""What a recording does not hold, so that nobody takes silence for an answer."""

from __future__ import annotations

from collections.abc import Iterator

from boundby.diagnose import Diagnosis
from boundby.report import numbers

ALL_COUNTED = 0.995


def unmeasured(diagnosis: Diagnosis, *, has_memory: bool = False) -> list[str]:
    """One sentence for each thing that was not measured."""
    return [*_of_time(diagnosis), *_of_work(diagnosis), *_elsewhere(diagnosis, has_memory)]


def _of_time(diagnosis: Diagnosis) -> Iterator[str]:
    if diagnosis.calibration.source == "prior":
        yield (
            "The step without the profiler: it is estimated from the recording. `boundby run` "
            "measures it, and `--step-ms` takes a time you measured."
        )
    if diagnosis.steps.range_ms.median is None:
        yield "The spread between steps: the host runs ahead of the device, or there is one step."
    if not diagnosis.caliber.with_stack:
        yield "Lines of your code: no Python stacks were recorded (`with_stack=True`)."


def _of_work(diagnosis: Diagnosis) -> Iterator[str]:
    if diagnosis.device.ms_per_step is None:
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


def _elsewhere(diagnosis: Diagnosis, has_memory: bool) -> Iterator[str]:  # noqa: FBT001 - its one flag
    if not has_memory:
        yield "Memory: a snapshot and `boundby memory` show who holds it."
    world = diagnosis.caliber.world_size
    if world is not None and world > 1:
        yield f"The other {world - 1} of {world} ranks: one is shown."
    if diagnosis.caliber.device_count > 1:
        yield f"The other {diagnosis.caliber.device_count - 1} devices: the busiest is shown."
    yield "Whether a change works: predictions are replays, no change was tried."
