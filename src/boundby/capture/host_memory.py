"""The memory of the host in a run: its process, its workers, its loader."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from boundby.memory.host import HostUse, Loading, host_use
from boundby.memory.processes import HostMemory, Sample
from boundby.read.capture_folder import HOST, Capture, Row
from boundby.read.capture_notes import readings_in
from boundby.units import NS_PER_S


def read_host_memory(capture: Capture, step_ms: float | None) -> HostUse | None:
    """What was read of the process while it ran; None where nobody did and no loader was seen."""
    found = _readings(capture)
    total, least = found.get("total"), found.get("available_least")
    host = HostMemory(total, least) if total is not None and least is not None else None
    step_s = step_ms / 1e3 if step_ms is not None and capture.header.get("device") else None
    samples = _samples(capture, found)
    return host_use(samples, host, read_loading(capture), step_s, settled_after(capture))


def read_loading(capture: Capture) -> Loading | None:
    """What the loader in use holds, as far as its settings and a batch tell."""
    settings, batch = capture.last("loader"), capture.last("batch")
    if settings is None:
        return None
    workers = int(settings.get("num_workers") or 0)
    return Loading(
        batch=batch["bytes"] if batch else None,
        workers=workers,
        prefetch=int(settings.get("prefetch_factor") or 2) if workers else 0,
        pins=bool(settings.get("pin_memory")),
        samples=settings.get("samples"),
        in_batch=batch["samples"] if batch else None,
    )


def _readings(capture: Capture) -> Mapping[str, Any]:
    """The file of the process that started this one; it stands beside the folder or in it."""
    for place in (capture.folder, capture.folder.parent):
        with suppress(OSError):
            return readings_in((place / HOST).read_bytes())
    return {}


def _samples(capture: Capture, found: Mapping[str, Any]) -> list[Sample]:
    """Readings of the process and of its descendants; other ranks are left out."""
    main = capture.header.get("pid")
    parents = found.get("parents", {})
    rows = found.get("samples", ())
    mine = {pid for _, pid, _, _ in rows if main in _line(pid, parents)}
    return [
        Sample(pid, at, resident, unique, is_worker=pid != main)
        for at, pid, resident, unique in rows
        if pid in mine
    ]


def settled_after(capture: Capture) -> float | None:
    """Seconds on the clock of the readings from which on nothing observed the program any more."""
    ends = capture.of(Row.END)
    began, began_s = capture.header.get("began"), capture.header.get("began_s")
    if capture.last("done") is None or not len(ends) or began is None or began_s is None:
        return None
    return float(began_s + (int(ends[-1, 0]) - began) / NS_PER_S)


def _line(pid: int, parents: Mapping[int, int]) -> set[int]:
    """A process and those that it descends from."""
    found: set[int] = set()
    at: int | None = pid
    while at is not None and at not in found:
        found.add(at)
        at = parents.get(at)
    return found
