"""What a report says in words, the same on a terminal and in Markdown."""

from __future__ import annotations

import re
from pathlib import PurePath

from boundby.diagnose import Diagnosis
from boundby.evidence.facts import Evidence, Place
from boundby.prescribe.prescription import Prescription
from boundby.replay.values import Calibration, Part, WhatIf
from boundby.report import numbers, sanitize
from boundby.topics import summary
from boundby.verdict.classes import DEVICE_BOUND, DEVICE_CLASS, class_of, leading_part, shares_of
from boundby.verdict.decide import weakens
from boundby.verdict.decision import Fork

CALIBRATIONS = {
    "prior": "estimated",
    "step-ms": "set by --step-ms",
    "clean-pass": "measured in a clean pass",
}
LEAST_RUNNER_UP = 0.05
"""A class that came second with less of the step than this is no rival."""
OTHER_CLOCKS = 0.03
"""Device work scaled by more is told: less is within the tolerance of a measured step."""
SCALED_DOWN = 0.5
"""Where less than this is left of the recorded host time, the estimate of its cost is long."""
FELT = 1.2
"""How many times as long the profiler made the step, from where the step depends on its cost."""

NEED_BUSY_DEVICE: tuple[Part, ...] = ("device-compute", "device-memory", "device-copy")
"""Parts that name the class only where the device is busy for nearly all of the step."""

FACTS_OF_CAUSE = {
    "allocator": ("wait-allocator",),
    "attention": ("score-traffic",),
    "cast": ("cast-traffic",),
    "data-dependent-shape": ("wait-data-dependent-shape",),
    "data-loading": ("loader-wait", "idle-period"),
    "explicit-sync": ("wait-explicit-sync",),
    "host-copy": ("wait-host-copy",),
    "item": ("wait-item",),
    "layout": ("layout-conflict", "layout-conversion"),
    "optimizer": ("phase-optimizer",),
    "precision": ("fp32-products",),
}
"""Facts that speak for each cause, the most telling first."""

SHARES_OF = {"which work leads": "of its time"}
"""What the shares at some forks of the tree are shares of."""

LARGER_BATCH = re.compile(r"batch_x(\d+)")
"""Edits whose step works on more samples than that of today."""
ORDER = re.compile(r"(?<!\S)First .*?\.(?=\s|$)")
"""The sentence of a reason that names what has to be done before."""


def meaning(diagnosis: Diagnosis) -> str:
    """What the verdict means: its cause where that tells host from loader, else its class."""
    found = diagnosis.verdict
    if found.undecided_reason:
        return numbers.in_words(sanitize.shown(found.undecided_reason))
    by_cause = summary(found.cause) if found.cause and found.name == "sync-bound" else ""
    return by_cause or summary(found.name)


def runner_up(diagnosis: Diagnosis) -> str:
    """The class that came second, where it is a rival; else empty."""
    second = diagnosis.verdict.runner_up
    if second is None or second.share < LEAST_RUNNER_UP:
        return ""
    return f"{second.name}, {numbers.share(second.share)} of the step"


def rule(diagnosis: Diagnosis) -> str:
    """Why a class with a smaller share than its runner-up was named; empty elsewhere."""
    second, shares = diagnosis.verdict.runner_up, shares_of(diagnosis.waterfall)
    if second is None or not shares:
        return ""
    lead = leading_part(shares)
    if lead in DEVICE_CLASS or second.share <= shares[lead]:
        return ""
    return (
        f"The device works below {numbers.share(DEVICE_BOUND)} of the step, so the largest host "
        f"part names the class."
    )


def doubt(diagnosis: Diagnosis) -> str:
    """What hangs on the estimate of the profiler's cost, and what would settle it; else empty."""
    calibration = diagnosis.calibration
    if calibration.source != "prior" or diagnosis.steps.unprofiled_ms is None:
        return ""
    scale, of_class = calibration.host_scale, _class_depends(diagnosis)
    if not of_class and not _step_depends(diagnosis):
        return ""
    kept = "" if scale is None else f" ({host_scale(scale)})"
    what = "class" if of_class else "step time"
    return f"the {what} depends on what the profiler cost{kept}: give --step-ms"


def _step_depends(diagnosis: Diagnosis) -> bool:
    """Whether little is left of the recorded host time, and the step got shorter by that."""
    scale, times = diagnosis.calibration.host_scale, diagnosis.steps
    observed, free = times.steady_ms or times.drained_ms, times.unprofiled_ms
    if scale is None or observed is None or free is None:
        return False
    return scale < SCALED_DOWN and observed >= FELT * free.estimate


def scales(calibration: Calibration) -> str:
    """Both factors, that of the device where it differs: opens with a comma, or empty."""
    host = calibration.host_scale
    said = "" if host is None else f", {host_scale(host)}"
    return said + clocks(calibration)


def clocks(calibration: Calibration) -> str:
    """The factor of the device where it is worth a word: opens with a comma, or empty."""
    scale = calibration.device_scale
    told = abs(scale - 1) >= OTHER_CLOCKS
    return f", device time x {numbers.number(scale)}" if told else ""


def host_scale(scale: float) -> str:
    """What was left of the recorded host time: ``host time x 0.328``."""
    return f"host time x {numbers.number(scale)}"


def _class_depends(diagnosis: Diagnosis) -> bool:
    """Whether the range, or the program as recorded, would name another class."""
    found, seen = diagnosis.verdict, diagnosis.device.busy_share_observed
    if found.strength == "weak":
        return not weakens(diagnosis.quality)
    is_of_device = found.name in {class_of(part) for part in NEED_BUSY_DEVICE}
    looks_sparse = seen is not None and seen < DEVICE_BOUND
    return found.strength == "moderate" and is_of_device and looks_sparse


def nothing_pays(diagnosis: Diagnosis) -> str:
    """That no change pays now, and what kept those that need sizes of tensors from being looked at.

    Without sizes no roof is known: fusing, attention, layouts and casts cannot be judged.
    """
    told = "no known change gains 2% or more now"
    of_sizes = diagnosis.verdict.name in {"memory-bound", "compute-bound"}
    if diagnosis.caliber.record_shapes or not of_sizes:
        return told
    return f"{told}, as far as can be told without sizes: record with record_shapes=True"


def ranks(diagnosis: Diagnosis) -> str:
    """Which of several traces was read; empty where there was one."""
    others = next((each for each in diagnosis.quality if each.id == "several-ranks"), None)
    if others is None:
        return ""
    rank, path = diagnosis.caliber.rank, diagnosis.source.path
    read = PurePath(path).name if rank is None else f"rank {rank}"
    more = f"{others.count + 1} traces read; name the file of another rank to see it"
    return sanitize.shown(f"{read} of {more}")


def deciding(diagnosis: Diagnosis) -> list[Evidence]:
    """The facts a verdict rests on: the leading one, that of the cause, then the others."""
    known = {fact.id: fact for fact in reversed(diagnosis.evidence)}
    first, *others = diagnosis.verdict.because or ("",)
    causes = FACTS_OF_CAUSE.get(diagnosis.verdict.cause or "", ())
    cause = [name for name in causes if name in known][:1]
    return [known[name] for name in dict.fromkeys((first, *cause, *others)) if name in known]


def fact(found: Evidence) -> str:
    """The sentence of a fact."""
    return numbers.in_words(sanitize.shown(found.text))


def place(found: Evidence) -> str:
    """Where a fact was seen, where its sentence does not say it; else empty."""
    if not found.where:
        return ""
    where = found.where[0]
    return "" if _is_named(where, found.text) else _place(where)


def _is_named(where: Place, text: str) -> bool:
    return f"{where.function} in {where.file}" in text


def _place(where: Place) -> str:
    inside = "" if where.exact else "inside "
    return sanitize.shown(f"{inside}{where.function}, {where.file}:{where.line}")


def why(change: Prescription) -> str:
    """The reason for a change."""
    return numbers.in_words(sanitize.shown(change.why))


def before(change: Prescription) -> str:
    """What has to be done before a change, where something has; else empty."""
    found = ORDER.search(why(change))
    return found[0] if found else ""


def gain(diagnosis: Diagnosis, change: Prescription) -> str:
    """The step after a change, its range, and how much faster that is."""
    if change.predicted_ms is None:
        return "no prediction: measure it"
    edit, more = _edit(diagnosis, change), samples(change)
    if edit is not None and more:
        larger = f"{numbers.ms(edit.step_ms)} ({numbers.between(edit.low, edit.high)})"
        rate = f"{numbers.times(edit.speedup)} more samples a second"
        return f"{larger} for {more}x the samples: {rate}"
    free, range_ = diagnosis.steps.unprofiled_ms, numbers.between(change.low, change.high)
    after = numbers.change(free.estimate if free else None, change.predicted_ms)
    times = "" if edit is None else f", {numbers.times(edit.speedup)} {_word(edit)}"
    return f"{after}{f' ({range_})' if range_ else ''}{times}"


def _word(edit: WhatIf) -> str:
    return "faster" if edit.speedup >= 1 else "as fast"


def step_after(diagnosis: Diagnosis, change: Prescription) -> str:
    """The step after a change, in short; what a larger batch gains is told in samples."""
    edit = _edit(diagnosis, change)
    if change.predicted_ms is None:
        return "no estimate"
    if edit is not None and samples(change):
        return f"{numbers.times(edit.speedup)} more samples/s"
    return numbers.ms(change.predicted_ms)


def _edit(diagnosis: Diagnosis, change: Prescription) -> WhatIf | None:
    return next((edit for edit in diagnosis.what_if if edit.id == change.edit), None)


def is_larger_batch(edit: str) -> bool:
    """Whether the step of an edit works on more samples than that of today."""
    return LARGER_BATCH.fullmatch(edit) is not None


def samples(change: Prescription) -> int:
    """How many times the samples of today the replayed step works on; 0 where on the same."""
    found = LARGER_BATCH.fullmatch(change.edit or "")
    return int(found[1]) if found else 0


def fork(found: Fork) -> str:
    """The branch taken at a fork of the tree, with what its share is a share of."""
    whole = SHARES_OF.get(found.question)
    return sanitize.shown(f"{found.question}: {found.answer}{f' {whole}' if whole else ''}")
