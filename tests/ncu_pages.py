"""Tiny outputs of ``ncu --csv`` from the values they should give; the only place with its columns.

A kernel is a dict: ``name``, ``grid``, ``block`` and metrics under short names::

    raw_page([kernel(compute=8, memory=85, dram=85, us=125)])

Percentages are written as such, times in microseconds.
"""

from collections.abc import Iterable, Sequence
from typing import Any

PEAK = "avg.pct_of_peak_sustained_elapsed"
STALL = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
USED = "smsp__sass_average_data_bytes_per_sector"
COLUMNS = {
    "us": ("gpu__time_duration.sum", "us"),
    "compute": (f"sm__throughput.{PEAK}", "%"),
    "memory": (f"gpu__compute_memory_throughput.{PEAK}", "%"),
    "dram": (f"gpu__dram_throughput.{PEAK}", "%"),
    "l2": (f"lts__throughput.{PEAK}", "%"),
    "issue": (f"sm__inst_issued.{PEAK}", "%"),
    "tensor": (f"sm__pipe_tensor_cycles_active.{PEAK}", "%"),
    "fma": (f"sm__pipe_fma_cycles_active.{PEAK}", "%"),
    "bandwidth": ("dram__bytes.sum.per_second", "Gbyte/s"),
    "occupancy": ("sm__warps_active.avg.pct_of_peak_sustained_active", "%"),
    "theoretical": ("sm__maximum_warps_per_active_cycle_pct", "%"),
    "registers": ("launch__registers_per_thread", "register/thread"),
    "limit_registers": ("launch__occupancy_limit_registers", "block"),
    "limit_shared": ("launch__occupancy_limit_shared_mem", "block"),
    "limit_warps": ("launch__occupancy_limit_warps", "block"),
    "cores": ("launch__sm_count", "SM"),
    "waves": ("launch__waves_per_multiprocessor", ""),
    "load_sectors": ("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", "sector"),
    "load_requests": ("l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum", ""),
    "load_bytes": (f"{USED}_mem_global_op_ld.ratio", "byte/sector"),
    "excess": ("derived__memory_l2_theoretical_sectors_global_excessive", "sector"),
    "spills": ("derived__local_spilling_requests", ""),
    "latency": ("smsp__average_warp_latency_per_inst_issued.ratio", "cycle"),
    "long_scoreboard": (STALL.format("long_scoreboard"), "inst"),
    "barrier": (STALL.format("barrier"), "inst"),
    "selected": (STALL.format("selected"), "inst"),
}  # fmt: skip
LABELS = {
    "us": ("GPU Speed Of Light Throughput", "Duration", "us"),
    "compute": ("GPU Speed Of Light Throughput", "Compute (SM) Throughput", "%"),
    "memory": ("GPU Speed Of Light Throughput", "Memory Throughput", "%"),
    "dram": ("GPU Speed Of Light Throughput", "DRAM Throughput", "%"),
    "l2": ("GPU Speed Of Light Throughput", "L2 Cache Throughput", "%"),
    "issue": ("Compute Workload Analysis", "Issue Slots Busy", "%"),
    "bandwidth": ("Memory Workload Analysis", "Memory Throughput", "Gbyte/s"),
    "occupancy": ("Occupancy", "Achieved Occupancy", "%"),
    "theoretical": ("Occupancy", "Theoretical Occupancy", "%"),
    "registers": ("Launch Statistics", "Registers Per Thread", "register/thread"),
    "limit_registers": ("Occupancy", "Block Limit Registers", "block"),
    "limit_shared": ("Occupancy", "Block Limit Shared Mem", "block"),
    "limit_warps": ("Occupancy", "Block Limit Warps", "block"),
    "cores": ("Launch Statistics", "# SMs", "SM"),
    "waves": ("Launch Statistics", "Waves Per SM", ""),
    "spills": ("Memory Workload Analysis", "Local Memory Spilling Requests", ""),
}
FIXED = ("ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream")
SHAPE = ("Block Size", "Grid Size", "Device", "CC")
DETAILS = ("Section Name", "Metric Name", "Metric Unit", "Metric Value")
RULES = (
    "Rule Name",
    "Rule Type",
    "Rule Description",
    "Estimated Speedup Type",
    "Estimated Speedup",
)
LOG = "==PROF== Connected to process 7 (/usr/bin/python3)\n==PROF== Disconnected from process 7\n"

FULL = {
    "us": 100, "compute": 10, "memory": 50, "dram": 50, "occupancy": 80, "theoretical": 100,
    "limit_registers": 16, "limit_shared": 32, "limit_warps": 16, "cores": 132,
}  # fmt: skip


def kernel(name: str = "void kernel<float>(float *)", **values: Any) -> dict[str, Any]:
    """A kernel with enough of everything; ``values`` change it, None leaves out."""
    shape = {"grid": (13200, 1, 1), "block": (128, 1, 1)}
    return {"name": name, **shape, **FULL, **values}


def english(value: float) -> str:
    """As ncu writes numbers in an English locale."""
    return f"{value:,.2f}" if isinstance(value, float) else f"{value:,}"


def german(value: float) -> str:
    return english(value).translate(str.maketrans(",.", ".,"))


def french(value: float) -> str:
    return english(value).replace(",", "\u202f").replace(".", ",")


def swiss(value: float) -> str:
    return english(value).replace(",", "\u2019")


def plain(value: float) -> str:
    return english(value).replace(",", "")


def _row(cells: Iterable[object], delimiter: str = ",") -> str:
    return delimiter.join('"{}"'.format(str(cell).replace('"', '""')) for cell in cells)


def _fixed(number: int, one: dict[str, Any]) -> list[object]:
    return [
        number,
        7,
        "python3",
        "127.0.0.1",
        one["name"],
        1,
        7,
        one["block"],
        one["grid"],
        0,
        "9.0",
    ]


def raw_page(
    kernels: Sequence[dict[str, Any]], write=english, delimiter: str = ",", log: str = LOG
) -> str:
    """The raw page: names, units, then a row a kernel."""
    used = [key for key in COLUMNS if any(one.get(key) is not None for one in kernels)]
    head = [*FIXED, *SHAPE, *(COLUMNS[key][0] for key in used)]
    units = [""] * (len(FIXED) + len(SHAPE)) + [COLUMNS[key][1] for key in used]
    rows = [head, units]
    for number, one in enumerate(kernels):
        values = ["" if one.get(key) is None else write(one[key]) for key in used]
        rows.append([*_fixed(number, one), *values])
    return log + "".join(_row(row, delimiter) + "\n" for row in rows)


def details_page(
    kernels: Sequence[dict[str, Any]], write=english, delimiter: str = ",", log: str = LOG
) -> str:
    """The details page: a row a value, short where no rule follows; ``rules`` of a kernel."""
    text = log + _row([*FIXED, *SHAPE, *DETAILS, *RULES], delimiter) + "\n"
    for number, one in enumerate(kernels):
        fixed = _fixed(number, one)
        for key, (section, label, unit) in LABELS.items():
            if one.get(key) is not None:
                cells = [*fixed, section, label, unit, write(one[key]), ""]
                text += _row(cells, delimiter)[:-2] + "\n"
        for rule, words in one.get("rules", {}).items():
            cells = [*fixed, "Section", "", "", "", rule, "OPT", words, "global", "12.3"]
            text += _row(cells, delimiter) + "\n"
    return text
