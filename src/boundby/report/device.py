"""What a device and its host attain, as text, JSON or Markdown."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from boundby.bench.ceilings import DeviceReach
from boundby.report import numbers, sanitize
from boundby.report.document import tool_version
from boundby.report.layout import BLANK, Line, Span, line, paragraph
from boundby.report.terminal import Look, draw
from boundby.roofline.ceilings import Ceilings

SCHEMA_VERSION = 1
NAME, COLUMN = 26, 11
TRANSFERS = {
    "h2d_pinned": "host to device, pinned",
    "h2d_pageable": "host to device, pageable",
    "d2h_pinned": "device to host, pinned",
    "d2h_pageable": "device to host, pageable",
}
HOST = {
    "launch": "a launch alone",
    "op": "an operator",
    "op_grad": "with autograd",
    "graph_node": "a node of a CUDA graph",
    "synchronize": "an operator and a wait",
    "item": "reading a value",
}

Row = tuple[str, ...]


def document(reach: DeviceReach, datasheet: Ceilings | None) -> dict[str, Any]:
    """Rates in GB/s and TFLOP/s, host times in us; unknown is null."""
    measured = reach.measured
    return {
        "schema_version": SCHEMA_VERSION,
        "tool": {"name": "boundby", "version": tool_version()},
        "device": {
            "name": measured.key.name,
            "memory_gib": measured.key.memory_gib,
            "multiprocessors": measured.key.multiprocessors,
            "torch": measured.torch,
            "cuda": reach.cuda or None,
        },
        "attainable": _rates(measured.memory_gbs, dict(measured.peak_tflops)),
        "datasheet": _rates(datasheet.memory_gbs, dict(datasheet.peak_tflops))
        if datasheet
        else None,
        "product_sides": reach.shapes,
        "transfers_gbs": reach.transfers,
        "host_us": {
            **asdict(reach.host),
            "launch_bound_below": reach.host.launch_bound_below,
        },
    }


def _rates(memory_gbs: float | None, peak_tflops: dict[str, float]) -> dict[str, Any]:
    return {"memory_gbs": memory_gbs, "peak_tflops": peak_tflops}


def encode(reach: DeviceReach, datasheet: Ceilings | None) -> str:
    """The document as ASCII text that ends in a newline."""
    return json.dumps(document(reach, datasheet), indent=2) + "\n"


def render(reach: DeviceReach, datasheet: Ceilings | None, look: Look) -> str:
    """Tables of ceilings, transfers and host costs, and what follows for kernels."""
    lines: list[Line] = [line(_title(reach), "strong")]
    for title, heads, rows in _tables(reach, datasheet):
        head = (Span(title.ljust(NAME), "heading"), Span(_figures(heads), "dim"))
        lines += [BLANK, head, *((Span(name.ljust(NAME)), Span(_figures(r))) for name, *r in rows)]
    lines += [BLANK, *paragraph(sanitize.shown(reading(reach)), look.width)]
    return draw(lines, look)


def markdown(reach: DeviceReach, datasheet: Ceilings | None) -> str:
    """The same as Markdown."""
    parts = [f"# {_title(reach)}"]
    for title, heads, rows in _tables(reach, datasheet):
        rule = " | ".join(["---", *["---:"] * len(heads)])
        parts.append("")
        parts += [f"| {' | '.join((title, *heads))} |", f"| {rule} |"]
        parts += [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([*parts, "", reading(reach)]) + "\n"


def reading(reach: DeviceReach) -> str:
    """What the host costs mean, in a sentence."""
    host = reach.host
    text = (
        f"kernels below {numbers.number(host.launch_bound_below)} us leave this device waiting for "
        f"its host, below {numbers.number(host.op_grad)} us where autograd records"
    )
    if host.graph_node is not None:
        text += f"; in a CUDA graph from {numbers.number(host.graph_node)} us on"
    return text


def _title(reach: DeviceReach) -> str:
    measured = reach.measured
    where = f", CUDA {reach.cuda}" if reach.cuda else ""
    return sanitize.shown(f"{measured.key.name}, torch {measured.torch}{where}")


def _tables(
    reach: DeviceReach, datasheet: Ceilings | None
) -> Iterator[tuple[str, tuple[str, ...], list[Row]]]:
    measured = reach.measured
    peaks = datasheet.peak_tflops if datasheet else {}
    bandwidth = datasheet.memory_gbs if datasheet else None
    rows: list[Row] = [_ceiling("copy, GB/s", measured.memory_gbs, bandwidth)]
    rows += [
        _ceiling(f"{name} {reach.shapes.get(name, '')}, TFLOP/s", rate, peaks.get(name))
        for name, rate in measured.peak_tflops.items()
    ]
    yield "ceilings", ("attainable", "datasheet", "share"), rows
    transfers: list[Row] = [
        (TRANSFERS[name], numbers.number(rate)) for name, rate in reach.transfers.items()
    ]
    yield "transfers", ("GB/s",), transfers
    costs: list[Row] = [(HOST[name], _or_dash(us)) for name, us in asdict(reach.host).items()]
    yield "host", ("us",), costs


def _ceiling(name: str, attained: float, peak: float | None) -> Row:
    share = numbers.share(attained / peak) if peak else "-"
    return name, numbers.number(attained), _or_dash(peak), share


def _or_dash(value: float | None) -> str:
    return "-" if value is None else numbers.number(value)


def _figures(texts: list[str] | tuple[str, ...]) -> str:
    return "".join(f" {text:>{COLUMN}}" for text in texts)
