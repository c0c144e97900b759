"""Results as ``torch.utils.benchmark.Measurement``, and Measurements as results."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from boundby.bench.caliber import Caliber, gather
from boundby.bench.framework import torch_module
from boundby.bench.result import Clock, Labels, Result, Work
from boundby.bench.trust import Observed, examine
from boundby.bench.warmup import WarmUp
from boundby.errors import UsageError
from boundby.units import NS_PER_S


def to_measurement(result: Result) -> Any:  # noqa: ANN401 -- torch's Measurement
    """The wall clock as torch gives it; for ``torch.utils.benchmark.Compare`` and the like.

    Raises:
        UsageError: It is no result of ``bench``.
    """
    if not isinstance(result, Result):
        raise UsageError(f"no result of bench but {type(result).__name__}", "give what bench gave")
    common = torch_module("utils.benchmark.utils.common")
    labels, number = result.labels, result.wall.number
    task = common.TaskSpec(
        stmt=labels.stmt or "fn()",
        setup="pass",
        label=labels.label or None,
        sub_label=labels.sub_label or None,
        description=labels.description or None,
        num_threads=int(result.caliber.flags.get("threads", "1")),
    )
    raw = [each / NS_PER_S * number for each in result.wall.ns]
    return common.Measurement(number_per_run=number, raw_times=raw, task_spec=task)


def from_measurement(measurement: Any, caliber: Caliber | None = None) -> Result:  # noqa: ANN401
    """A Measurement as a result: its wall clock alone, with what can be known of the rest.

    Args:
        measurement: Of ``torch.utils.benchmark``; its Timer waits at both ends of a block.
        caliber: Where it was taken elsewhere; else here and now, with its number of threads.

    Raises:
        UsageError: It is no Measurement, or it holds no times.
    """
    if not isinstance(measurement, torch_module("utils.benchmark").Measurement):
        raise UsageError(
            f"no Measurement of torch but {type(measurement).__name__}", "give what a Timer gave"
        )
    if not measurement.raw_times:
        raise UsageError("a Measurement without times", "measure it again")
    spec = measurement.task_spec
    here = caliber or gather(Caliber(), ())
    if caliber is None:
        here = replace(here, flags={**here.flags, "threads": str(spec.num_threads)})
    clock = Clock(
        tuple(float(each) * NS_PER_S for each in measurement.times), measurement.number_per_run
    )
    warm = WarmUp(0, 0.0, True, ())  # noqa: FBT003 -- its Timer warms up
    return Result(
        labels=Labels(spec.label or "", spec.sub_label or "", spec.description or "", spec.stmt),
        wall=clock,
        submit=Clock(()),
        device=None,
        warm_up=warm,
        caliber=here,
        trust=examine(Observed({"wall": clock}, warm, Work())),
    )
