"""What is left of the device time once every counted kernel stands at its roof."""

from types import SimpleNamespace

import numpy as np
import pytest

from boundby.replay.parts import split_at_roofline
from boundby.replay.split import PARTS, DeviceSplit
from boundby.roofline.kernels import Side


def rows(*measured):
    """Rows as (side, ns, floor ns)."""
    side, dur, floor = zip(*measured, strict=True)
    return SimpleNamespace(
        side=np.array(side, dtype=np.int8), dur=np.array(dur), floor_ns=np.array(floor, dtype=float)
    )


def split(busy, **shares):
    return DeviceSplit(busy, {part: shares.get(part.removeprefix("device-"), 0) for part in PARTS})


def test_each_part_shrinks_as_its_rows_do():
    found = split_at_roofline(
        split(1000, compute=0.6, memory=0.4),
        rows((Side.COMPUTE, 100, 50), (Side.COMPUTE, 100, 100), (Side.MEMORY, 50, 25)),
    )

    assert found.busy_ns_per_step == pytest.approx(1000 * (0.6 * 0.75 + 0.4 * 0.5))
    assert found.shares["device-compute"] == pytest.approx(0.45 / 0.65)
    assert sum(found.shares.values()) == pytest.approx(1)


def test_what_is_not_counted_stays():
    found = split_at_roofline(
        split(1000, compute=0.5, communication=0.5),
        rows((Side.COMPUTE, 100, 50), (Side.COMMUNICATION, 100, float("nan"))),
    )

    assert found.busy_ns_per_step == pytest.approx(750)
    assert found.shares["device-communication"] == pytest.approx(2 / 3)


def test_a_part_without_rows_stays():
    found = split_at_roofline(split(1000, copy=1), rows((Side.MEMORY, 50, 25)))

    assert found.busy_ns_per_step == pytest.approx(1000)


def test_rows_of_no_time_leave_the_shares_as_they_are():
    nothing = split(0, other=1)

    assert split_at_roofline(nothing, rows((Side.OTHER, 10, 0.0))).shares == nothing.shares
