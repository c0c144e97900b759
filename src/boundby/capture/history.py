"""A bounded history of allocations, kept for the moment device memory runs out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from boundby.capture.tape import RunFolder
from boundby.read.capture_folder import SNAPSHOT

ENTRIES = 100_000
"""Allocations and frees kept, with their Python stacks: some 100 MB of host memory at most."""
MOST_SNAPSHOTS = 1
"""A program that catches the error and tries again must not fill the disk."""


class History:
    """The allocator's history: on from the start, off while steps are measured, then on again.

    It leaves a history that the program itself keeps alone.
    """

    def __init__(self, *, wanted: bool) -> None:
        self._wanted = wanted
        self._on = False
        self._is_ready = False
        self._folder: RunFolder | None = None
        self._written = 0

    def install(self) -> None:
        """Begin when the program first uses the device."""
        import torch

        if self._wanted and torch.cuda.is_available():
            torch.cuda._lazy_call(self._begin)  # noqa: SLF001 -- torch's own way to wait for that

    def write_to(self, folder: RunFolder) -> None:
        """Where to put a snapshot."""
        self._folder = folder

    def resume(self) -> None:
        """Record again."""
        if self._is_ready and not self._on:
            _record("all")
            self._on = True

    def pause(self) -> None:
        """Record no more; what was recorded stays."""
        if self._on:
            _record(None)
            self._on = False

    def snapshot(self, name: str = SNAPSHOT) -> None:
        """Write the allocator's state and history beside the other files."""
        if self._folder is not None:
            write_snapshot(self._folder.path / name)

    def _begin(self) -> None:
        import torch

        self._is_ready = True
        try:
            self.resume()
            torch._C._cuda_attach_out_of_memory_observer(self._ran_out)  # noqa: SLF001
        except Exception:  # noqa: BLE001 -- an allocator without a history is no reason to fail
            self._is_ready = False

    def _ran_out(self, device: int, asked: int, taken: int, free: int) -> None:
        if self._folder is None or self._written >= MOST_SNAPSHOTS:
            return
        self._written += 1
        self._folder.note("oom", device=device, asked=asked, taken=taken, free=free)
        try:
            self.snapshot()
        except Exception as error:  # noqa: BLE001 -- the program's own error is what counts
            self._folder.note("problem", text=f"no snapshot of the memory: {error}")


def write_snapshot(file: Path) -> None:
    """The allocator's own snapshot, whole or not at all."""
    import torch

    aside = file.with_name(f".{file.name}")
    torch.cuda.memory._dump_snapshot(str(aside))  # noqa: SLF001
    aside.replace(file)


def _record(enabled: str | None) -> None:
    import torch

    arguments: dict[str, Any] = {"enabled": enabled}
    if enabled is not None:
        arguments |= {"context": "alloc", "stacks": "python", "max_entries": ENTRIES}
    torch.cuda.memory._record_memory_history(**arguments)  # noqa: SLF001
