"""A bounded history of allocations, kept for the moment device memory runs out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from boundby.capture.tape import RunFolder
from boundby.read.capture_folder import POINTERS, SNAPSHOT

ENTRIES = 100_000
"""Allocations and frees kept, with their Python stacks: some 100 MB of host memory at most."""
MOST_SNAPSHOTS = 1
"""A program that catches the error and tries again must not fill the disk."""
CHEAP = 1.05
"""A history that makes steps no longer than this stays on when all passes are done."""


class History:
    """The allocator's history: on from the start, off while steps are measured, then on again.

    Torch forgets what was recorded when it is turned off; what is still in use keeps its stack.

    Args:
        wanted: Whether to keep one at all.
        make_folder: Makes the folder where memory runs out before a first step.
    """

    def __init__(
        self, *, wanted: bool, make_folder: Callable[[], RunFolder | None] = lambda: None
    ) -> None:
        self._wanted = wanted
        self._on = False
        self._is_ready = False
        self._folder: RunFolder | None = None
        self._make_folder = make_folder
        self._written = 0
        self.clean_ns: float | None = None
        """A step without a history, ns; None before the clean pass."""
        self.recorded_ns: float | None = None
        """A step with one; None before the memory pass."""

    def install(self) -> None:
        """Begin when the program first uses the device."""
        import torch

        if self._wanted and torch.cuda.is_available():
            torch.cuda._lazy_call(self._begin)  # noqa: SLF001 -- torch's own way to wait for that

    def write_to(self, folder: RunFolder) -> None:
        """Where to put a snapshot."""
        self._folder = folder

    def resume(self) -> None:
        """Record again, from here."""
        if self._is_ready and not self._on:
            _record("all")
            self._on = True

    def pause(self) -> None:
        """Record no more, and forget what was recorded."""
        if self._on:
            _record(None)
            self._on = False

    def stay(self, *, asked: bool) -> None:
        """Keep recording for the rest of the program where that is cheap or was asked for."""
        ratio = None
        if self.clean_ns and self.recorded_ns:
            ratio = self.recorded_ns / self.clean_ns
        keeps = asked or ratio is None or ratio <= CHEAP
        if keeps:
            self.resume()
        if self._is_ready and self._folder is not None:
            self._folder.note("history", kept=keeps, ratio=ratio)

    def snapshot(self) -> None:
        """Write the allocator's state and history beside the other files, and who holds what.

        One that was written when memory ran out is kept: it tells more.
        """
        if not self._written:
            self._write()

    def _write(self) -> None:
        from boundby.capture.holdings import holdings  # noqa: PLC0415 -- needed here alone
        from boundby.memory.pointers import write_rows  # noqa: PLC0415

        if self._folder is None:
            return
        write_snapshot(self._folder.path / SNAPSHOT)
        try:
            write_rows(self._folder.path / POINTERS, holdings())
        except Exception as error:  # noqa: BLE001 -- the snapshot is there; its parts are inferred
            self._folder.note("problem", text=f"parts of the memory are not named: {error}")

    def _begin(self) -> None:
        import torch

        self._is_ready = True
        try:
            self.resume()
            torch._C._cuda_attach_out_of_memory_observer(self._ran_out)  # noqa: SLF001
        except Exception:  # noqa: BLE001 -- an allocator without a history is no reason to fail
            self._is_ready = False

    def _ran_out(self, device: int, asked: int, allowed: int, free: int) -> None:
        """Called by torch before it raises; what the program does with the error is its own."""
        if self._written >= MOST_SNAPSHOTS:
            return
        self._written += 1
        try:
            folder = self._folder = self._folder or self._make_folder()
        except OSError:  # nowhere to write
            return
        if folder is None:
            return
        folder.note(
            "oom",
            device=device,
            asked=asked,
            allowed=allowed,
            free=free,
            capacity=_capacity(device),
        )
        try:
            self._write()
        except Exception as error:  # noqa: BLE001 -- the program's own error is what counts
            folder.note("problem", text=f"no snapshot of the memory: {error}")


def write_snapshot(file: Path) -> None:
    """The allocator's own snapshot, whole or not at all."""
    import torch

    aside = file.with_name(f".{file.name}")
    torch.cuda.memory._dump_snapshot(str(aside))  # noqa: SLF001
    aside.replace(file)


def _capacity(device: int) -> int | None:
    import torch

    try:
        return int(torch.cuda.get_device_properties(device).total_memory)
    except Exception:  # noqa: BLE001 -- a device that cannot be asked
        return None


def _record(enabled: str | None) -> None:
    import torch

    arguments: dict[str, Any] = {"enabled": enabled}
    if enabled is not None:
        arguments |= {"context": "alloc", "stacks": "python", "max_entries": ENTRIES}
    torch.cuda.memory._record_memory_history(**arguments)  # noqa: SLF001
