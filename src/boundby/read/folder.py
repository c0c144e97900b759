"""A folder of traces: which one speaks for it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from boundby.errors import UnreadableError
from boundby.frozen import frozen
from boundby.read.detect import read_file
from boundby.read.events import EventDecoder
from boundby.read.kineto import RECORD_HINT
from boundby.read.metadata import rank_in_name, read_metadata
from boundby.read.recording import DeviceKind, Quality, Recording
from boundby.read.slices import EventStream, NoEventsError
from boundby.read.stream import Pieces
from boundby.read.wording import counted

SUFFIXES = (".json", ".json.gz")
MAX_NAMED = 8
MOST_RANKS = 1 << 17
"""More ranks than any job has: the number is damage, or a date in a file's name."""


@frozen
class _Trace:
    path: Path
    rank: int | None
    world_size: int | None = None
    is_broken: bool = False

    @property
    def label(self) -> str:
        return self.path.name if self.rank is None else f"rank {self.rank}"


def _peek(path: Path) -> _Trace | None:
    """The trace in a file, by its first bytes; None for JSON that holds no list of events.

    What cannot be read at all may have been a trace: it is one here, and refused later.
    """
    stream = EventStream(iter(Pieces(path)), EventDecoder())
    named = rank_in_name(path.name)
    try:
        stream.open()
    except NoEventsError as error:
        return None if error.reason == "no-list" else _Trace(path, named, is_broken=True)
    except OSError:
        return _Trace(path, named, is_broken=True)
    found = read_metadata(stream.head, b"")
    return _Trace(path, named if found.rank is None else found.rank, found.world_size)


def _files(folder: Path) -> Iterator[Path]:
    """Files that may be traces: in the folder, or one level below if it has none."""
    for pattern in ("*", "*/*"):
        found = [path for path in sorted(folder.glob(pattern)) if path.name.endswith(SUFFIXES)]
        found = [path for path in found if path.is_file()]
        if found:
            yield from found
            return


def _in_order(traces: list[_Trace]) -> list[_Trace]:
    """Lowest rank first; of one rank the last by name, which is the latest."""
    latest: dict[int | str, _Trace] = {}
    for trace in traces:
        latest[trace.path.name if trace.rank is None else trace.rank] = trace
    return sorted(latest.values(), key=lambda t: (t.rank is None, t.rank or 0, t.path.name))


def read_folder(folder: Path) -> Recording:
    """The recording of the lowest rank in a folder that holds kernels, else of the lowest rank.

    Raises:
        UnreadableError: There is no trace in the folder, or none can be read.
    """
    traces = [trace for path in _files(folder) if (trace := _peek(path)) is not None]
    if not traces:
        raise UnreadableError(f"{folder} holds no trace (.json or .json.gz)", RECORD_HINT)
    taken, recording, refused = _first_with_kernels(_in_order(traces))
    refused |= {trace.path for trace in traces if trace.is_broken}
    others = [trace for trace in traces if trace.path not in {taken.path, *refused}]
    lost = _lost(traces, refused)
    return replace(recording, quality=(*recording.quality, *lost, *_told(taken, others)))


def _first_with_kernels(traces: list[_Trace]) -> tuple[_Trace, Recording, set[Path]]:
    """The trace that is taken, what is in it, and the files before it that cannot be read."""
    first: tuple[_Trace, Recording] | None = None
    refused: set[Path] = set()
    refusal: UnreadableError | None = None
    for trace in traces:
        try:
            recording = read_file(trace.path)
        except UnreadableError as error:
            refused.add(trace.path)
            refusal = refusal or error
            continue
        first = first or (trace, recording)
        if (recording.device.kind == DeviceKind.KERNEL).any():
            first = trace, recording
            break
    if first is None:
        raise refusal or UnreadableError("no trace could be read", RECORD_HINT)
    return *first, refused


def _lost(traces: list[_Trace], refused: set[Path]) -> tuple[Quality, ...]:
    """Files that cannot be read, and ranks of which the folder holds no trace."""
    told = [f"{path.name} cannot be read" for path in sorted(refused)]
    ranks = {trace.rank for trace in traces if trace.rank is not None}
    size = max((trace.world_size or 0 for trace in traces), default=0)
    known = max(size, *ranks, 0) if len(traces) > 1 and ranks else 0
    if known <= MOST_RANKS:
        told += [f"no trace of rank {rank}" for rank in range(known) if rank not in ranks]
    if not told:
        return ()
    named = ", ".join(told[:MAX_NAMED]) + (", ..." if len(told) > MAX_NAMED else "")
    message = f"Of {counted(len(told), 'rank')} nothing is known: {named}. Collect them again."
    return (Quality("lost-ranks", "warning", len(told), message),)


def _told(taken: _Trace, others: list[_Trace]) -> tuple[Quality, ...]:
    if not others:
        return ()
    names = sorted({other.label for other in others if other.label != taken.label}, key=_by_number)
    named = ", ".join(names[:MAX_NAMED]) + (", ..." if len(names) > MAX_NAMED else "")
    message = f"The folder holds {counted(len(others), 'other trace')}"
    message += f" ({named}); {taken.label} ({taken.path.name}) was taken."
    return (Quality("several-ranks", "info", len(others), message),)


def _by_number(label: str) -> tuple[int, str]:
    return len(label), label
