"""The roofline part of the JSON document; null where nothing was held against roofs."""

from __future__ import annotations

from dataclasses import asdict

from boundby.evidence.roofs import Roofline, RoofRow, UncountedRow
from boundby.evidence.wastes import Waste
from boundby.report.json_text import Object, text
from boundby.roofline.ceilings import Ceilings


def roofline_document(roofline: Roofline | None) -> Object | None:
    """Times in ms a step, rates in TFLOP/s and GB/s, work in FLOP and bytes a step."""
    if roofline is None:
        return None
    use = roofline.use
    return {
        "device": text(roofline.device) or None,
        "ceilings": _ceilings(roofline.ceilings),
        "attainable": _ceilings(roofline.attainable),
        "unknown_reason": text(roofline.reason) or None,
        "steps": roofline.steps,
        "use": {
            "mfu": use.mfu,
            "mfu_half": use.mfu_half,
            "memory": use.memory,
            "flops": use.flops,
            "bytes": use.bytes,
        },
        "counted_share": roofline.counted,
        "sides": [asdict(side) for side in roofline.sides],
        "families": [asdict(row) for row in roofline.families],
        "operators": [_row(row) for row in roofline.operators],
        "kernels": [_row(row) for row in roofline.kernels],
        "uncounted": [_uncounted(row) for row in roofline.uncounted],
        "wastes": [_waste(waste) for waste in roofline.wastes],
        "lower_precision": asdict(roofline.lower_precision) if roofline.lower_precision else None,
    }


def _waste(waste: Waste) -> Object:
    """A waste; the sizes of scores are for the verdict on memory alone."""
    return {name: value for name, value in asdict(waste).items() if name != "score_sizes"}


def _ceilings(ceilings: Ceilings | None) -> Object | None:
    if ceilings is None:
        return None
    return {
        "name": text(ceilings.name),
        "source": ceilings.source,
        "document": text(ceilings.document),
        "memory_gbs": ceilings.memory_gbs,
        "peak_tflops": dict(ceilings.peak_tflops),
        "ridge_flop_per_byte": ceilings.ridges(),
        "note": text(ceilings.note) or None,
    }


def _row(row: RoofRow) -> Object:
    return {**asdict(row), "name": text(row.name), "doubt": row.doubt or None}


def _uncounted(row: UncountedRow) -> Object:
    return {**asdict(row), "name": text(row.name)}
