"""The whole flow for kernels: a profile in, an analysis out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from boundby.errors import CannotTellError
from boundby.kernels.findings import find
from boundby.kernels.group import group
from boundby.kernels.possible import is_measured, possible
from boundby.kernels.values import FileVerdict, Kernel, KernelAnalysis, LookNext, NextStep
from boundby.kernels.verdict import judge_file
from boundby.read.nsight_compute_values import KernelProfile
from boundby.read.recording import Quality
from boundby.read.wording import counted
from boundby.shell import quoted

LEAST_SHARE = 0.02
"""Kernels below a fiftieth of the time are not worth a look, whatever bounds them."""
MOST_LOOKS = 5


def analyse(profile: KernelProfile) -> KernelAnalysis:
    """What bounds each kernel of a profile and the whole, and what to look at next.

    Raises:
        CannotTellError: The profile has figures, and none of them is possible.
    """
    launches, impossible = possible(profile.launches)
    if impossible and not any(is_measured(launch) for launch in launches):
        raise CannotTellError(
            f"{profile.path}: no figure in it is possible: all are negative or beyond any device",
            "export it again with ncu --csv --page raw",
        )
    kernels = tuple(replace(kernel, findings=find(kernel)) for kernel in group(launches))
    verdict = judge_file(kernels)
    times = [kernel.total_ns for kernel in kernels]
    cores = next((k.metrics.multiprocessors for k in kernels if k.metrics.multiprocessors), None)
    looks = _look_next(kernels)
    return KernelAnalysis(
        path=profile.path,
        format=profile.format,
        bytes=profile.bytes,
        launches=sum(kernel.launches for kernel in kernels),
        device=profile.device,
        capability=profile.capability,
        multiprocessors=None if cores is None else int(cores),
        quality=(*profile.quality, *_impossible(impossible), *_missing(kernels)),
        total_ns=None if None in times else sum(time or 0.0 for time in times),
        verdict=verdict,
        kernels=kernels,
        look_next=looks,
        next=_next(profile.path, verdict, looks),
    )


def _impossible(count: int) -> tuple[Quality, ...]:
    if not count:
        return ()
    message = f"{counted(count, 'figure')} negative or beyond any device: taken as unknown."
    return (Quality("metrics-impossible", "warning", count, message),)


def _missing(kernels: Sequence[Kernel]) -> tuple[Quality, ...]:
    lacking = sum(kernel.verdict.name == "undecided" for kernel in kernels)
    if not lacking:
        return ()
    message = (
        f"{counted(lacking, 'kernel')} of {len(kernels)} without the throughput of compute and "
        "memory: profile with ncu --set full, or its section SpeedOfLight."
    )
    return (Quality("metrics-missing", "warning", lacking, message),)


def _look_next(kernels: Sequence[Kernel]) -> tuple[LookNext, ...]:
    """The first finding of each kernel that takes time, the longest first; each id once."""
    looks: dict[str, LookNext] = {}
    for kernel in kernels:
        is_long = kernel.share is None or kernel.share >= LEAST_SHARE
        for finding in kernel.findings[:1] if is_long else ():
            look = LookNext(finding.id, kernel.name, kernel.share, finding.text)
            looks.setdefault(finding.id, look)
    return tuple(looks.values())[:MOST_LOOKS]


def _next(path: str, verdict: FileVerdict, looks: Sequence[LookNext]) -> tuple[NextStep, ...]:
    named = [look.id for look in looks[:1]]
    steps = [
        NextStep(f"boundby explain {name}", "what this means, what to do, when to stop")
        for name in (*named, verdict.name)
    ]
    every = f"boundby kernel {quoted(path)} --verbose"
    return (*steps[:2], NextStep(every, "every kernel with all of its figures"))
