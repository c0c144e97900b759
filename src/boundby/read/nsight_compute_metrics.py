"""Where each value stands on the pages of ncu: by metric on the raw page, by label in details.

Names of metrics do not depend on language or page; labels changed over the years. Sources: the
pages of ncu 2020 to 2025 and the Profiling Guide of Nsight Compute.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from boundby.read.nsight_compute_values import Metrics, Pipe

_PEAK = "avg.pct_of_peak_sustained_elapsed"
_GLOBAL = "l1tex__t_{}_pipe_lsu_mem_global_op_{}.sum"
_USED = "smsp__sass_average_data_bytes_per_sector_mem_global_op_{}.ratio"

RAW: dict[str, tuple[str, ...]] = {
    "duration_ns": ("gpu__time_duration.sum", "gpu__time_duration.avg"),
    "compute": (f"sm__throughput.{_PEAK}",),
    "memory": (f"gpu__compute_memory_throughput.{_PEAK}",),
    "dram": (f"gpu__dram_throughput.{_PEAK}", f"dram__throughput.{_PEAK}"),
    "l1": ("l1tex__throughput.avg.pct_of_peak_sustained_active", f"l1tex__throughput.{_PEAK}"),
    "l2": (f"lts__throughput.{_PEAK}",),
    "dram_bytes_per_s": ("dram__bytes.sum.per_second",),
    "occupancy": ("sm__warps_active.avg.pct_of_peak_sustained_active",),
    "occupancy_limit": ("sm__maximum_warps_per_active_cycle_pct",),
    "limit_registers": ("launch__occupancy_limit_registers",),
    "limit_shared": ("launch__occupancy_limit_shared_mem",),
    "limit_warps": ("launch__occupancy_limit_warps",),
    "limit_blocks": ("launch__occupancy_limit_blocks",),
    "limit_barriers": ("launch__occupancy_limit_barriers",),
    "issue": (f"sm__inst_issued.{_PEAK}", f"sm__issue_active.{_PEAK}"),
    "tensor": (
        "sm__pipe_tensor_type_hmma_hgmma_qgmma_imma_igmma_bmma_bgmma_cycles_active." + _PEAK,
        f"sm__pipe_tensor_cycles_active.{_PEAK}",
        "sm__inst_executed_pipe_tensor.avg.pct_of_peak_sustained_active",
    ),
    "l1_hit": ("l1tex__t_sector_hit_rate.pct",),
    "l2_hit": ("lts__t_sector_hit_rate.pct",),
    "load_sectors": (_GLOBAL.format("sectors", "ld"),),
    "load_requests": (_GLOBAL.format("requests", "ld"),),
    "store_sectors": (_GLOBAL.format("sectors", "st"),),
    "store_requests": (_GLOBAL.format("requests", "st"),),
    "load_bytes": (_USED.format("ld"),),
    "store_bytes": (_USED.format("st"),),
    "waves": ("launch__waves_per_multiprocessor",),
    "multiprocessors": ("launch__sm_count", "device__attribute_multiprocessor_count"),
    "registers": ("launch__registers_per_thread",),
    "spills": ("derived__local_spilling_requests", "smsp__inst_executed_op_local.sum"),
    "warp_latency": ("smsp__average_warp_latency_per_inst_issued.ratio",),
}
"""Metrics of each value, the best first. On recent devices the tensor pipe is also charged for
half-precision arithmetic outside of matrix products, so the metric by instruction comes first."""

LABELS: dict[str, str] = {
    "duration": "duration_ns",
    "compute (sm) throughput": "compute",
    "compute (sm) [%]": "compute",
    "sm [%]": "compute",
    "sol sm": "compute",
    "memory throughput": "memory",
    "memory [%]": "memory",
    "sol memory": "memory",
    "dram throughput": "dram",
    "sol dram": "dram",
    "l1/tex cache throughput": "l1",
    "sol l1/tex cache": "l1",
    "l2 cache throughput": "l2",
    "sol l2 cache": "l2",
    "achieved occupancy": "occupancy",
    "theoretical occupancy": "occupancy_limit",
    "block limit registers": "limit_registers",
    "block limit shared mem": "limit_shared",
    "block limit warps": "limit_warps",
    "block limit sm": "limit_blocks",
    "block limit barriers": "limit_barriers",
    "issue slots busy": "issue",
    "l1/tex hit rate": "l1_hit",
    "l2 hit rate": "l2_hit",
    "waves per sm": "waves",
    "# sms": "multiprocessors",
    "registers per thread": "registers",
    "local memory spilling requests": "spills",
    "warp cycles per issued instruction": "warp_latency",
}
"""Values of the details page by label in lower case."""

DEVICE_NAME = "device__attribute_display_name"
_STALL = re.compile(r"smsp__average_warps_issue_stalled_(\w+?)_per_issue_active\.ratio\Z")
_NO_STALL = frozenset({"selected"})
"""The cycle in which the instruction is issued."""
_PIPES = {
    f"sm__pipe_alu_cycles_active.{_PEAK}": "ALU",
    f"sm__pipe_fma_cycles_active.{_PEAK}": "FMA",
    f"sm__pipe_fmaheavy_cycles_active.{_PEAK}": "FMA (heavy)",
    f"sm__pipe_fp64_cycles_active.{_PEAK}": "FP64",
    f"sm__inst_executed_pipe_xu.{_PEAK}": "XU",
    f"sm__inst_executed_pipe_lsu.{_PEAK}": "LSU",
    f"sm__inst_executed_pipe_fp16.{_PEAK}": "FP16",
}
_EXCESS = "derived__memory_l2_theoretical_sectors_global_excessive"
_FIELDS = {name: key for key, names in RAW.items() for name in names}
TENSOR_PIPE = "Tensor"


def label_field(label: str, unit: str) -> str | None:
    """The field of a label, or of a metric that stands in its place; None for others.

    Two labels read ``Memory Throughput``: a share of the peak, and bytes per second.
    """
    key = LABELS.get(label.strip().lower())
    if key == "memory" and "byte" in unit:
        return "dram_bytes_per_s"
    return key or _FIELDS.get(label)


def metric_names() -> tuple[str, ...]:
    """All metrics that are read by name; stalls are recognised by their pattern."""
    return (*_FIELDS, *_PIPES, _EXCESS, DEVICE_NAME)


def is_stall(name: str) -> bool:
    """Whether a metric is the time warps stall for one reason."""
    return bool(_STALL.match(name))


def from_metrics(values: Mapping[str, float]) -> tuple[Metrics, dict[str, float], Pipe | None]:
    """The counters, stalls and busiest pipeline in metrics given in base units."""
    found = {key: _first(values, names) for key, names in RAW.items()}
    for key in ("load_bytes", "store_bytes"):
        found[key] = found[key] or None  # 0: all accesses were of another kind (bulk, async)
    metrics = Metrics(**found, excess_share=_excess_share(values, found))
    return metrics, stall_shares(values, metrics.warp_latency), _busiest(values, metrics.tensor)


def _first(values: Mapping[str, float], names: Iterable[str]) -> float | None:
    return next((values[name] for name in names if name in values), None)


def _excess_share(values: Mapping[str, float], found: Mapping[str, float | None]) -> float | None:
    moved = (found["load_sectors"] or 0) + (found["store_sectors"] or 0)
    return values[_EXCESS] / moved if moved and _EXCESS in values else None


def stall_shares(values: Mapping[str, float], latency: float | None) -> dict[str, float]:
    """Shares of the time between two instructions of a warp, the longest first."""
    ratios = {match[1]: values[name] for name in values if (match := _STALL.match(name))}
    whole = latency or sum(ratios.values())
    if not whole:
        return {}
    shares = {
        reason: ratio / whole
        for reason, ratio in ratios.items()
        if ratio > 0 and reason not in _NO_STALL
    }
    return dict(sorted(shares.items(), key=lambda pair: -pair[1]))


def _busiest(values: Mapping[str, float], tensor: float | None) -> Pipe | None:
    shares = {label: values[name] for name, label in _PIPES.items() if name in values}
    if tensor is not None:
        shares[TENSOR_PIPE] = tensor
    if not shares:
        return None
    name = max(shares, key=lambda each: shares[each])
    return Pipe(name, shares[name])
