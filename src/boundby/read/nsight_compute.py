"""Reads what Nsight Compute measured of kernels: both CSV pages, and reports where it can."""

from __future__ import annotations

from pathlib import Path

from boundby.errors import UnreadableError
from boundby.read.nsight_compute_metrics import DEVICE_NAME
from boundby.read.nsight_compute_pages import launches_of_details, launches_of_raw
from boundby.read.nsight_compute_table import METRIC, CsvTable, read_table
from boundby.read.nsight_compute_values import KernelProfile
from boundby.read.recording import Quality
from boundby.read.wording import counted

REPORT_SUFFIXES = (".ncu-rep", ".ncu-repz", ".nsight-cuprof-report")
_REPORT_START = b"NVR\x00"
_DATABASE_START = b"SQLite format 3"
_JSON_STARTS = (b"{", b"[")


def read_kernels(path: str | Path) -> KernelProfile:
    """The kernels in a file of Nsight Compute, told by its content.

    Raises:
        UnreadableError: It is missing, of another kind, empty, or holds no kernel.
    """
    place = Path(path)
    start = _start(place)
    if start.startswith((_DATABASE_START, *_JSON_STARTS)):
        raise UnreadableError(
            f"{place} is a recording of a program, not of kernels", f"boundby trace {place}"
        )
    if start.startswith(_REPORT_START) or place.name.endswith(REPORT_SUFFIXES):
        from boundby.read.nsight_compute_report import read_report  # noqa: PLC0415 - seldom used

        return read_report(place)
    return _read_csv(place)


def _start(place: Path) -> bytes:
    try:
        with place.open("rb") as file:
            return file.read(len(_DATABASE_START))
    except IsADirectoryError as error:
        raise UnreadableError(f"{place} is a folder", f"boundby kernel {place}/FILE") from error
    except OSError as error:
        reason = (error.strerror or "it cannot be read").lower()
        raise UnreadableError(f"{place}: {reason}", "check the path") from error


def _read_csv(path: Path) -> KernelProfile:
    table = read_table(path)
    is_details = METRIC in table.header
    launches = (launches_of_details if is_details else launches_of_raw)(table)
    if not launches:
        raise UnreadableError(
            f"{path} is cut short before the end of its first kernel", "export it again"
        )
    return KernelProfile(
        path=str(path),
        format="nsight-compute-details" if is_details else "nsight-compute-raw",
        bytes=path.stat().st_size,
        device=table.cell(table.rows[-1], DEVICE_NAME),
        capability=table.cell(table.rows[-1], "CC"),
        launches=launches,
        quality=_losses(table),
    )


def _losses(table: CsvTable) -> tuple[Quality, ...]:
    found = []
    if table.is_cut_short:
        message = "The file ends inside a row: its last kernel was left out. Export it again."
        found.append(Quality("truncated", "warning", 1, message))
    if table.failed:
        kernels = counted(table.failed, "kernel")
        message = f"ncu could not profile {kernels}, which the file therefore lacks."
        found.append(Quality("kernels-failed", "warning", table.failed, message))
    return tuple(found)
