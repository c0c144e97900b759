"""The JSON document of ``boundby kernel``, ``schema_version`` 1: ``data/schema-kernel-v1.json``.

Unknown is null. Shares are of 1, times milliseconds. Text is ASCII with home folders masked.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from boundby.kernels.values import FileVerdict, Kernel, KernelAnalysis
from boundby.report.document import tool_version
from boundby.report.json_text import Object, text, text_or_none, texts, typed
from boundby.report.sanitize import well_formed
from boundby.units import ms

SCHEMA_VERSION = 1
SCHEMA_FILE = Path(__file__).parent.parent / "data" / "schema-kernel-v1.json"


def schema() -> Object:
    """JSON Schema (draft 2020-12) of the document: strict, nulls where allowed."""
    loaded: Object = json.loads(SCHEMA_FILE.read_text("utf-8"))
    return loaded


def encode(analysis: KernelAnalysis, *, on_one_line: bool = False) -> str:
    """The document as ASCII text that ends in a newline."""
    form: Object = {"separators": (",", ":")} if on_one_line else {"indent": 2}
    return json.dumps(document(analysis), allow_nan=False, **form) + "\n"


def document(analysis: KernelAnalysis) -> Object:
    """The document as plain values, in the documented order."""
    return {
        "schema_version": SCHEMA_VERSION,
        "tool": {"name": "boundby", "version": tool_version()},
        "source": {
            "path": well_formed(analysis.path),
            "format": analysis.format,
            "bytes": analysis.bytes,
            "launches": analysis.launches,
        },
        "device": {
            "name": text_or_none(analysis.device),
            "compute_capability": text_or_none(analysis.capability),
            "multiprocessors": analysis.multiprocessors,
        },
        "quality": [texts(asdict(finding)) for finding in analysis.quality],
        "total_ms": _ms(analysis.total_ns),
        "verdict": _verdict(analysis.verdict),
        "kernels": [_kernel(kernel) for kernel in analysis.kernels],
        "look_next": [texts(asdict(look)) for look in analysis.look_next],
        "next": [typed(step.command, step.question) for step in analysis.next],
    }


def _verdict(verdict: FileVerdict) -> Object:
    return {
        "class": verdict.name,
        "side": verdict.side,
        "share": verdict.share,
        "shares": [
            {"class": each.name, "side": each.side, "ms": ms(each.ns), "share": each.share}
            for each in verdict.shares
        ],
        "at_limit_ms": _ms(verdict.at_limit_ns),
        "undecided_reason": verdict.undecided_reason,
    }


def _kernel(kernel: Kernel) -> Object:
    metrics, verdict = kernel.metrics, kernel.verdict
    return {
        "name": text(kernel.name),
        "grid": _sizes(kernel.grid),
        "block": _sizes(kernel.block),
        "launches": kernel.launches,
        "total_ms": _ms(kernel.total_ns),
        "share": kernel.share,
        "verdict": {
            "class": verdict.name,
            "side": verdict.side,
            "unit": verdict.unit,
            "balanced": verdict.is_balanced,
            "undecided_reason": verdict.undecided_reason,
        },
        "throughput": {
            "compute": metrics.compute,
            "memory": metrics.memory,
            "dram": metrics.dram,
            "l1": metrics.l1,
            "l2": metrics.l2,
            "issue": metrics.issue,
            "tensor": metrics.tensor,
            "pipe": None if kernel.pipe is None else asdict(kernel.pipe),
            "dram_bytes_per_s": metrics.dram_bytes_per_s,
        },
        "occupancy": {
            "achieved": metrics.occupancy,
            "theoretical": metrics.occupancy_limit,
            "limiters": list(kernel.limiters),
            "registers_per_thread": metrics.registers,
            "spill_requests": metrics.spills,
        },
        "waves": kernel.waves,
        "tail": kernel.tail,
        "hit_rates": {"l1": metrics.l1_hit, "l2": metrics.l2_hit},
        "access": asdict(kernel.access),
        "stalls": [{"reason": name, "share": share} for name, share in kernel.stalls.items()],
        "findings": [texts(asdict(finding)) for finding in kernel.findings],
    }


def _sizes(sizes: Sequence[int] | None) -> list[int] | None:
    return None if sizes is None else list(sizes)


def _ms(ns: float | None) -> float | None:
    return None if ns is None else ms(ns)
