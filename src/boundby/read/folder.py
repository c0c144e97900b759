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


@frozen
class _Trace:
    path: Path
    rank: int | None

    @property
    def label(self) -> str:
        return self.path.name if self.rank is None else f"rank {self.rank}"


def _peek(path: Path) -> _Trace | None:
    """The trace in a file, by its first bytes; None if it is no list of events."""
    stream = EventStream(iter(Pieces(path)), EventDecoder())
    try:
        stream.open()
    except (NoEventsError, OSError):
        return None
    rank = read_metadata(stream.head, b"").rank
    return _Trace(path, rank if rank is not None else rank_in_name(path.name))


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
    taken, recording = _first_with_kernels(_in_order(traces))
    others = [trace for trace in traces if trace.path != taken.path]
    return replace(recording, quality=(*recording.quality, *_told(taken, others)))


def _first_with_kernels(traces: list[_Trace]) -> tuple[_Trace, Recording]:
    first: tuple[_Trace, Recording] | None = None
    refusal: UnreadableError | None = None
    for trace in traces:
        try:
            recording = read_file(trace.path)
        except UnreadableError as error:
            refusal = refusal or error
            continue
        if (recording.device.kind == DeviceKind.KERNEL).any():
            return trace, recording
        first = first or (trace, recording)
    if first is None:
        raise refusal or UnreadableError("no trace could be read", RECORD_HINT)
    return first


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
