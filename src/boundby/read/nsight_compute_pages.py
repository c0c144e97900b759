"""The two pages of ``ncu --csv`` as launches: raw has a column a metric, details a row a value."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice

from boundby.read.nsight_compute_metrics import (
    TENSOR_PIPE,
    from_metrics,
    is_stall,
    label_field,
    metric_names,
    stall_shares,
)
from boundby.read.nsight_compute_numbers import Numerals, find_numerals, in_base_units
from boundby.read.nsight_compute_rules import RuleFacts
from boundby.read.nsight_compute_table import KERNEL, METRIC, VALUES, CsvTable
from boundby.read.nsight_compute_values import KernelLaunch, Metrics, Pipe

_TRIPLE = re.compile(r"\(?\s*(\d{1,18})\s*,\s*(\d{1,18})\s*,\s*(\d{1,18})\s*\)?\Z")
_COUNT = re.compile(r"[0-9]{1,18}\Z")
_SAMPLED_CELLS = 20_000
"""Enough to prove the decimal mark: percentages have two decimals."""
_KEYS = ("ID", "Process ID", KERNEL, "Block Size", "Grid Size")
"""What tells one launch from another."""
_USED = 0.5
"""A pipeline this busy is what a kernel computes with."""


def launches_of_raw(table: CsvTable) -> tuple[KernelLaunch, ...]:
    """The launches on the raw page."""
    rows, units = _without_units(table)
    wanted = {name for name in table.header if is_stall(name)} | set(metric_names())
    columns = [(at, name) for at, name in enumerate(table.header) if name in wanted]
    numerals = _numerals(row[at] for row in rows for at, _ in columns)
    launches = []
    for row in rows:
        values = {
            name: in_base_units(number, units[at])
            for at, name in columns
            if (number := numerals.read(row[at])) is not None
        }
        metrics, stalls, pipe = from_metrics(values)
        launches.append(_launch(table, row, metrics, stalls, pipe))
    return tuple(launches)


def _without_units(table: CsvTable) -> tuple[list[list[str]], list[str]]:
    """The rows of kernels, and the row of units above them, which names no kernel."""
    units = [""] * len(table.header)
    rows = []
    for row in table.rows:
        if table.cell(row, KERNEL):
            rows.append(row)
        else:
            units = row
    return rows, units


def _numerals(cells: Iterable[str]) -> Numerals:
    return find_numerals(islice(cells, _SAMPLED_CELLS))


def launches_of_details(table: CsvTable) -> tuple[KernelLaunch, ...]:
    """The launches on the details page; one that the end of the file cuts is left out."""
    groups: dict[tuple[str | None, ...], list[list[str]]] = {}
    for row in table.rows:
        groups.setdefault(tuple(table.cell(row, key) for key in _KEYS), []).append(row)
    whole = list(groups.values())[: -1 if table.is_cut_short else None]
    value = table.column(*VALUES)
    if value is None:
        return ()
    numerals = _numerals(row[value] for row in table.rows)
    return tuple(_of_details(table, rows, value, numerals) for rows in whole)


def _of_details(
    table: CsvTable, rows: Sequence[list[str]], value: int, numerals: Numerals
) -> KernelLaunch:
    fields: dict[str, float] = {}
    metrics: dict[str, float] = {}
    rules = RuleFacts()
    for row in rows:
        name, unit = table.cell(row, METRIC) or "", table.cell(row, "Metric Unit") or ""
        number = numerals.read(row[value])
        if number is not None:
            metrics[name] = in_base_units(number, unit)
            field = label_field(name, unit)
            if field:
                fields.setdefault(field, metrics[name])
        rule = table.cell(row, "Rule Name")
        if rule:
            rules.add(rule, table.cell(row, "Rule Description") or "")
    values = Metrics(**{**_tensor_of(rules.pipe), **rules.values, **fields})
    stalls = stall_shares(metrics, values.warp_latency) or rules.stalls
    return _launch(table, rows[0], values, stalls, rules.pipe or from_metrics(metrics)[2])


def _tensor_of(pipe: Pipe | None) -> Mapping[str, float]:
    """Tensor cores are idle where another pipeline is known to do the work."""
    idle = pipe is not None and pipe.name != TENSOR_PIPE and pipe.share >= _USED
    return {"tensor": 0.0} if idle else {}


def _launch(
    table: CsvTable,
    row: Sequence[str],
    metrics: Metrics,
    stalls: Mapping[str, float],
    pipe: Pipe | None,
) -> KernelLaunch:
    invocations = table.cell(row, "Invocations") or ""
    return KernelLaunch(
        name=table.cell(row, KERNEL) or "",
        grid=_triple(table.cell(row, "Grid Size")),
        block=_triple(table.cell(row, "Block Size")),
        launches=max(int(invocations), 1) if _COUNT.match(invocations) else 1,
        metrics=metrics,
        stalls=stalls,
        pipe=pipe,
    )


def _triple(text: str | None) -> tuple[int, int, int] | None:
    match = _TRIPLE.match(text or "")
    return (int(match[1]), int(match[2]), int(match[3])) if match else None
