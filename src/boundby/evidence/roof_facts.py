"""What the roofs say, each fact one plain sentence: use of the peaks, limits, and wastes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from boundby.evidence.facts import Evidence
from boundby.evidence.roofs import Roofline, RoofRow
from boundby.evidence.wastes import LowerPrecision, Waste, WasteKind
from boundby.evidence.words import counted, duration, figure, listed

WORTH_SAYING = 0.05
"""Share of device time from which a kind of work deserves a sentence."""
MOSTLY_COUNTED = 0.95
"""Share of device time from which what is not counted changes no figure that is shown."""
NAMED = 3
GB = 1e9
NOT_NOW = "; while the step waits for its host, shorter kernels gain nothing"


def roof_facts(roofline: Roofline, *, host_sets_step: bool) -> Iterator[Evidence]:
    """All facts the roofs support.

    Args:
        host_sets_step: Whether the step waits for its host, so that shorter kernels gain nothing.
    """
    if roofline.ceilings is None:
        yield Evidence(
            "roof-unknown",
            None,
            "",
            f"{roofline.reason}: work is counted, and shares of a roof are unknown "
            "(--peak gives them)",
            "measured",
        )
    yield from _use(roofline)
    yield from _limits(roofline)
    yield from _refused(roofline.operators)
    yield from _uncounted(roofline)
    yield from _float32_traffic(roofline, host_sets_step=host_sets_step)
    for waste in roofline.wastes:
        if waste.share >= WORTH_SAYING:
            yield _waste(waste, roofline.lower_precision, host_sets_step=host_sets_step)


def _use(roofline: Roofline) -> Iterator[Evidence]:
    use = roofline.use
    if use.mfu is None or not use.flops:
        return
    half = f", {use.mfu_half:.0%} at the half-precision peak" if use.mfu_half else ""
    yield Evidence(
        "mfu",
        use.mfu,
        "share",
        f"at the peaks of their types the products ({figure(use.flops / 1e12)} TFLOP) would take "
        f"{use.mfu:.0%} of the step{half}",
        "derived",
    )


def _limits(roofline: Roofline) -> Iterator[Evidence]:
    by_compute = [r for r in roofline.operators if r.limited_by == "compute" and r.compute_share]
    if by_compute:
        ms, share = _weighted(by_compute, [r.compute_share or 0.0 for r in by_compute])
        lead = by_compute[0]
        yield Evidence(
            "roof-compute",
            share,
            "share",
            f"work limited by arithmetic runs {duration(ms)} a step at {share:.0%} of its roof; "
            f"{lead.name} reaches {figure(lead.tflops or 0.0)} TFLOP/s",
            "derived",
        )
    by_memory = [r for r in roofline.operators if r.limited_by == "memory" and r.memory_share]
    if by_memory:
        ms, share = _weighted(by_memory, [r.memory_share or 0.0 for r in by_memory])
        lead = by_memory[0]
        yield Evidence(
            "roof-memory",
            share,
            "share",
            f"work limited by memory runs {duration(ms)} a step at {share:.0%} of the bandwidth, "
            f"at least{_leader(lead)}",
            "derived",
        )


def _leader(row: RoofRow) -> str:
    return f"; {row.name} moves {figure(row.gbs)} GB/s" if row.gbs else ""


def _weighted(rows: Sequence[RoofRow], shares: Sequence[float]) -> tuple[float, float]:
    """Time of the rows, and their mean share weighted with it."""
    ms = sum(row.ms for row in rows)
    return ms, sum(r.ms * s for r, s in zip(rows, shares, strict=True)) / ms if ms else 0.0


def _refused(rows: Sequence[RoofRow]) -> Iterator[Evidence]:
    above = [row for row in rows if row.doubt == "above-roof"]
    if above:
        ms = sum(row.ms for row in above)
        yield Evidence(
            "roof-exceeded",
            ms,
            "ms",
            f"{listed([row.name for row in above[:NAMED]])} would run above a roof: device, sizes "
            f"or times of these {duration(ms)} a step cannot all be right, and their figures are "
            "refused",
            "measured",
        )


def _short(name: str) -> str:
    """A name without return type, scopes and arguments: kernels have long ones."""
    plain = name.removeprefix("void ").replace("(anonymous namespace)::", "")
    if "(" not in plain and "<" not in plain:
        return plain
    return re.split(r"[<(]", plain, maxsplit=1)[0].rsplit("::", 1)[-1]


def _uncounted(roofline: Roofline) -> Iterator[Evidence]:
    if roofline.counted >= MOSTLY_COUNTED or not roofline.uncounted:
        return
    leading = listed([_short(row.name) for row in roofline.uncounted[:NAMED]])
    yield Evidence(
        "uncounted-work",
        1 - roofline.counted,
        "share",
        f"{1 - roofline.counted:.0%} of computing device time is not counted, most of it "
        f"{leading}; figures of the step are lower bounds",
        "measured",
    )


FACT_OF: dict[WasteKind, str] = {
    "attention": "score-traffic",
    "chain": "chain-traffic",
    "layout": "layout-conflict",
    "conversion": "layout-conversion",
    "cast": "cast-traffic",
    "fp32-product": "fp32-products",
    "small-product": "small-kernels",
    "special-function": "special-bound",
}
"""Id of the fact about each kind of waste."""


def _float32_traffic(roofline: Roofline, *, host_sets_step: bool) -> Iterator[Evidence]:
    lower, total = roofline.lower_precision, sum(side.ms for side in roofline.sides)
    if lower is None or lower.memory_ms < WORTH_SAYING * total:
        return
    yield Evidence(
        "fp32-traffic",
        lower.memory_ms,
        "ms",
        f"float32 work limited by memory takes {duration(lower.memory_ms)} a step; in 16 bits it "
        f"would be {duration(lower.memory_half_ms)}{NOT_NOW if host_sets_step else ''}",
        "derived",
    )


def _waste(waste: Waste, lower: LowerPrecision | None, *, host_sets_step: bool) -> Evidence:
    gain = waste.saved_ms
    text = _sentence(waste)
    if waste.kind == "fp32-product" and lower is not None:
        text += _lower(lower)
    elif gain is not None and waste.kind not in ("small-product", "special-function"):
        text += f"; cured, it saves up to {duration(gain)}"
    if host_sets_step:
        text += NOT_NOW
    return Evidence(FACT_OF[waste.kind], waste.ms, "ms", text, "derived")


def _sentence(waste: Waste) -> str:
    time = f"{duration(waste.ms)} a step, {waste.share:.0%} of device time"
    moved = f"{figure((waste.bytes or 0.0) / GB)} GB"
    each = f", in {counted(waste.count, 'kernel')}"
    sentences: dict[WasteKind, str] = {
        "attention": f"attention written out takes {time}"
        + (f" and moves {moved} of scores, of which a fused kernel moves none" * bool(waste.bytes)),
        "chain": f"chains of kernels over the same array take {time} and move {moved}, where one "
        f"kernel each would move {figure((waste.least_bytes or 0.0) / GB)} GB",
        "layout": f"operators whose operands run along different dimensions take {time}{each}",
        "conversion": f"work that only changes a layout takes {time}{each}",
        "cast": f"work that only changes the element type takes {time}{each}",
        "fp32-product": f"fp32 products off the matrix unit take {time}",
        "small-product": f"products that fill less than a tenth of either roof take {time}{each}"
        + _blocks(waste),
        "special-function": "operators limited by special functions (exp, erf, tanh) and not by "
        f"memory take {time}{each}",
    }
    return sentences[waste.kind]


def _blocks(waste: Waste) -> str:
    if waste.few_blocks is None:
        return ""
    return (
        f", {figure(waste.few_blocks)} of them with fewer thread blocks than the device has "
        "multiprocessors"
    )


def _lower(lower: LowerPrecision) -> str:
    options = [
        f"{duration(ms)} in {name}"
        for name, ms in (("TF32", lower.tf32_ms), ("bf16", lower.bfloat16_ms))
        if ms is not None
    ]
    if not options:
        return ""
    return f"; at the same share of their roof it would be {' and '.join(options)}"
