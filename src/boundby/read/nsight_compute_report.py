"""Reads a report of Nsight Compute itself, through the module that comes with the user's ncu."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from boundby.errors import UnreadableError
from boundby.read.nsight_compute_metrics import DEVICE_NAME, from_metrics, is_stall, metric_names
from boundby.read.nsight_compute_numbers import in_base_units
from boundby.read.nsight_compute_values import KernelLaunch, KernelProfile

MODULE = "ncu_report"
_CAPABILITY = tuple(f"device__attribute_compute_capability_{part}" for part in ("major", "minor"))


def read_report(path: Path) -> KernelProfile:
    """The kernels in a binary report.

    Raises:
        UnreadableError: The module is not on the path of this Python, or cannot read the file.
    """
    convert = f"ncu --import {path} --csv --page raw > kernels.csv"
    try:
        module: Any = import_module(MODULE)
    except ImportError:
        raise UnreadableError(
            f"{path} is a binary report, which only ncu itself can read",
            f"{convert}, or put extras/python of your Nsight Compute on PYTHONPATH",
        ) from None
    try:
        actions = list(_actions(module.load_report(str(path))))
        launches = tuple(_launch(action) for action in actions)
    except Exception as error:
        raise UnreadableError(f"{path} cannot be read by {MODULE}: {error}", convert) from error
    if not launches:
        raise UnreadableError(f"{path} holds no kernel", "check the pattern of --kernel-name")
    return KernelProfile(
        path=str(path),
        format="nsight-compute-report",
        bytes=path.stat().st_size,
        device=_text(actions[0], DEVICE_NAME),
        capability=_capability(actions[0]),
        launches=launches,
    )


def _actions(context: Any) -> Iterator[Any]:  # noqa: ANN401 - the module has no types
    """The results of all ranges, in order."""
    for number in range(context.num_ranges()):
        group = context.range_by_idx(number)
        for each in range(group.num_actions()):
            yield group.action_by_idx(each)


def _launch(action: Any) -> KernelLaunch:  # noqa: ANN401 - as above
    known = set(action.metric_names())
    wanted = [name for name in known if is_stall(name)] + [
        name for name in metric_names() if name in known and name != DEVICE_NAME
    ]
    values = {}
    for name in wanted:
        metric = action.metric_by_name(name)
        if metric is not None and metric.has_value():
            values[name] = in_base_units(float(metric.as_double()), str(metric.unit() or ""))
    metrics, stalls, pipe = from_metrics(values)
    return KernelLaunch(
        name=str(action.name()),
        grid=_triple(action, "grid"),
        block=_triple(action, "block"),
        launches=1,
        metrics=metrics,
        stalls=stalls,
        pipe=pipe,
    )


def _triple(action: Any, what: str) -> tuple[int, int, int] | None:  # noqa: ANN401 - as above
    sizes = [_number(action, f"launch__{what}_dim_{axis}") for axis in "xyz"]
    x, y, z = (None if size is None else int(size) for size in sizes)
    return None if x is None or y is None or z is None else (x, y, z)


def _number(action: Any, name: str) -> float | None:  # noqa: ANN401 - as above
    metric = action.metric_by_name(name) if name in set(action.metric_names()) else None
    return float(metric.as_double()) if metric is not None and metric.has_value() else None


def _text(action: Any, name: str) -> str | None:  # noqa: ANN401 - as above
    metric = action.metric_by_name(name) if name in set(action.metric_names()) else None
    return (str(metric.as_string()) or None) if metric is not None else None


def _capability(action: Any) -> str | None:  # noqa: ANN401 - as above
    major, minor = (_number(action, name) for name in _CAPABILITY)
    return None if major is None or minor is None else f"{major:.0f}.{minor:.0f}"
