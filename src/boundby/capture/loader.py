"""What a DataLoader costs: how long each batch is waited for, and a step without the wait."""

from __future__ import annotations

import functools
import random
import sys
import threading
import weakref
from collections import deque
from collections.abc import Callable
from time import perf_counter_ns
from typing import Any

from boundby.capture.sources import Mark
from boundby.capture.tape import RunFolder
from boundby.read.capture_folder import Row

MOST_PARTS = 10_000
"""Parts of a batch that are looked at once: a batch of Python objects must not hold up a step."""


class LoaderWatch:
    """Stands around ``__next__`` of every DataLoader iterator of the process."""

    def __init__(self, mark: Mark) -> None:
        self._folder: RunFolder | None = None
        self._early: list[Callable[[RunFolder], None]] = []
        self._mark = mark
        self._numbers: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._marking: int | None = None
        self._current: Callable[[], Any] | None = None
        self._ahead: deque[Any] = deque()
        self._sized: set[int] = set()
        self._thread = threading.get_ident()
        self._undo: list[Callable[[], None]] = []
        self._next: Callable[[Any], Any] | None = None

    def install(self) -> None:
        """Replace ``__next__`` and the start of an iterator on their classes."""
        from torch.utils.data import dataloader

        base, loader = dataloader._BaseDataLoaderIter, dataloader.DataLoader  # noqa: SLF001
        self._next, begin = base.__next__, loader._get_iterator  # noqa: SLF001

        @functools.wraps(base.__next__)
        def __next__(iterator: Any) -> Any:  # noqa: ANN401, N807 -- as in torch
            return self._ask(iterator)

        @functools.wraps(begin)
        def _get_iterator(of: Any) -> Any:  # noqa: ANN401
            began = perf_counter_ns()
            iterator = begin(of)
            self._started(iterator, of, began)
            return iterator

        for owner, name, new in (
            (base, "__next__", __next__),
            (loader, "_get_iterator", _get_iterator),
        ):
            self._undo.append(functools.partial(setattr, owner, name, getattr(owner, name)))
            setattr(owner, name, new)

    def remove(self) -> None:
        """Put both back; batches that were fetched ahead are still served."""
        if self._ahead:
            return
        while self._undo:
            self._undo.pop()()

    def write_to(self, folder: RunFolder) -> None:
        """Name the folder, there from the first step on, and write what came before it."""
        self._folder = folder
        for write in self._early:
            write(folder)
        self._early.clear()

    def workers(self) -> list[int]:
        """Process ids of the workers of the iterator in use."""
        iterator = self._current() if self._current else None
        found = getattr(iterator, "_workers", None) or []
        return [worker.pid for worker in found if worker.pid is not None]

    def fetch_ahead(self, steps: int) -> str | None:
        """Load batches for the next steps now; why it cannot be done without changing results.

        They are the very batches the program would get, in their order, so neither the epoch nor
        what the program computes changes.
        """
        iterator = self._current() if self._current else None
        if iterator is None or self._next is None:
            return "no DataLoader is in use"
        before = random_states()
        for count in range(steps):
            try:
                self._ahead.append(self._next(iterator))
            except StopIteration:
                return None if count else "the epoch was over"
            if count == 0 and random_states() != before:
                return "loading draws random numbers in this process: batches ahead would change it"
        return None

    def _ask(self, iterator: Any) -> Any:  # noqa: ANN401
        number = self._numbers.get(iterator, 0)
        is_mine = threading.get_ident() == self._thread
        if is_mine:
            if self._marking is None:
                self._marking = number
            if number == self._marking:
                self._mark("loader")
            self._current = weakref.ref(iterator)
        if self._ahead and is_mine:
            return self._ahead.popleft()
        is_first = getattr(iterator, "_num_yielded", 1) == 0
        began = perf_counter_ns()
        assert self._next is not None  # noqa: S101 - installed
        batch = self._next(iterator)
        if is_mine and self._folder is not None:
            waited = perf_counter_ns() - began
            self._folder.tape.put(Row.LOADER, began, waited, 2 * number + is_first)
            if number not in self._sized:
                self._sized.add(number)
                self._folder.note("batch", id=number, **size_of(batch))
        return batch

    def _started(self, iterator: Any, loader: Any, began: int) -> None:  # noqa: ANN401
        known = self._numbers.setdefault(loader, len(self._numbers))
        self._numbers[iterator] = known
        took = perf_counter_ns() - began

        def write(folder: RunFolder) -> None:
            folder.tape.put(Row.EPOCH, began, took, known)
            folder.note("loader", id=known, **settings(loader))

        if self._folder is None:
            self._early.append(write)
        else:
            write(self._folder)


def settings(loader: Any) -> dict[str, Any]:  # noqa: ANN401
    """What a DataLoader was told."""
    names = ("num_workers", "pin_memory", "prefetch_factor", "persistent_workers", "batch_size")
    found = {name: getattr(loader, name, None) for name in names}
    try:
        found["samples"] = len(loader.dataset)
    except Exception:  # noqa: BLE001 -- a stream has no length, and a length may be the user's code
        found["samples"] = None
    return found


def size_of(batch: Any) -> dict[str, int | None]:  # noqa: ANN401 -- whatever a loader makes
    """Bytes of the tensors and arrays of a batch, and the length of the first of them."""
    try:
        return _measured(batch)
    except Exception:  # noqa: BLE001 -- an attribute of a batch may be the user's code
        return {"bytes": None, "samples": None}


def _measured(batch: Any) -> dict[str, int | None]:  # noqa: ANN401 -- as above
    found, todo, rows = 0, [batch], None
    for _ in range(MOST_PARTS):
        if not todo:
            break
        each = todo.pop()
        if isinstance(each, dict):
            todo += each.values()
        elif isinstance(each, list | tuple):
            todo += each
        elif isinstance(size := getattr(each, "nbytes", None), int):
            found += size
            shape: Any = getattr(each, "shape", ())
            rows = int(shape[0]) if rows is None and len(shape) else rows
    return {"bytes": found or None, "samples": rows}


def random_states() -> tuple[object, ...]:
    """The state of every generator that loading in this process may draw from."""
    import torch

    states: list[object] = [random.getstate(), bytes(torch.get_rng_state().numpy().tobytes())]
    if torch.cuda.is_initialized():
        states.append(torch.cuda.get_rng_state().numpy().tobytes())
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        kind, keys, *rest = numpy.random.get_state()
        states.append((kind, keys.tobytes(), *rest))
    return tuple(states)
