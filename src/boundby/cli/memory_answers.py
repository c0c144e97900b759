"""What ``boundby memory`` does with each kind of input: diagnose, compare, predict."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from boundby.cli.output import STDOUT, Output, keep_apart, refuse_existing
from boundby.cli.progress import reading
from boundby.errors import CannotTellError, GateError, UnreadableError, UsageError
from boundby.read.stream import GZIP_MAGIC, PIECE_BYTES, Pieces, regular_file
from boundby.report.sanitize import visible
from boundby.report.terminal import Look, look_at

if TYPE_CHECKING:
    from boundby.memory.diagnose import MemoryDiagnosis
    from boundby.memory.message import TextDiagnosis
    from boundby.memory.pace import Pace

LONGEST_LOG = 1 << 29
"""Bytes of a log that are read; half a GiB takes seconds."""

PICKLE_NAMES = (".pickle", ".pkl", ".pickle.gz", ".pkl.gz")
PICKLED = (b"\x80", b"PK\x03\x04")
NAME_OF_STDIN = "stdin"
UTF_16 = (b"\xff\xfe", b"\xfe\xff")
"""How a text begins that a shell of Windows wrote."""
IDLE: dict[str | None, frozenset[str]] = {
    "--model": frozenset(
        {
            "SNAPSHOT", "--device", "--names", "--map", "--compare", "--perfetto", "--max-gib",
            "--expect",
        }
    ),
    "--compare": frozenset(
        {
            "--capacity", "--names", "--map", "--perfetto", "--expect", "--batch", "--time-class",
            "--trace",
        }
    ),
    None: frozenset({"--batch"}),
}  # fmt: skip
"""What would change nothing, by what is asked for: a prediction, a comparison, a diagnosis."""


@dataclass(frozen=True)
class Request:
    """What the options of the command ask for; sizes in bytes, None where not given."""

    device: int | None = None
    capacity: int | None = None
    names: str | None = None
    max_bytes: int | None = None
    wants_map: bool = False
    perfetto: str | None = None
    pace: Pace | None = None
    score_sizes: tuple[int, ...] = ()


def answer(path: str, request: Request, output: Output, *, one_of_many: bool) -> tuple[str, str]:
    """Diagnose one input, write the report, and return its name and verdict."""
    name = NAME_OF_STDIN if path == STDOUT else path
    with reading(output):
        diagnosis = _diagnose(path, request)
    if request.perfetto is not None:
        _write_perfetto(diagnosis, request.perfetto, output)
    text = _report(diagnosis, name, request, output, one_of_many=one_of_many)
    output.write(
        f"== {visible(name)} ==\n{text}\n" if one_of_many and output.form == "text" else text
    )
    return name, diagnosis.verdict.name


def _diagnose(path: str, request: Request) -> MemoryDiagnosis | TextDiagnosis:
    if path == STDOUT:
        return _diagnose_text(_stdin(), NAME_OF_STDIN, request)
    file = regular_file(Path(path), "boundby memory --help")
    if _is_snapshot(file):
        from boundby.memory.diagnose import diagnose
        from boundby.memory.pointers import read_pointers
        from boundby.read.capture_folder import POINTERS

        beside = file.with_name(POINTERS)
        told = Path(request.names) if request.names else beside if beside.is_file() else None
        names = read_pointers(told) if told else None
        snapshot = _read(file, request.max_bytes)
        return diagnose(
            snapshot,
            device=request.device,
            capacity=request.capacity,
            names=names,
            pace=request.pace,
            score_sizes=request.score_sizes,
        )
    return _diagnose_text(_start_of(file, LONGEST_LOG), path, request)


def _stdin() -> bytes:
    raw = sys.stdin.buffer.read(LONGEST_LOG)
    if raw.startswith((*PICKLED, GZIP_MAGIC)):
        raise UnreadableError(
            "stdin holds a snapshot or a packed file, and only text is read from there",
            "save it to a file: boundby memory memory.pickle",
        )
    return raw


def _start_of(file: Path, most: int) -> bytes:
    """So many bytes of a file, unpacked where it is gzip."""
    parts, total = [], 0
    try:
        for piece in Pieces(file, min(most, PIECE_BYTES)):
            parts.append(piece)
            total += len(piece)
            if total >= most:
                break
    except OSError as error:
        raise UnreadableError(f"{file}: cannot read: {error.strerror}") from error
    return b"".join(parts)[:most]


def _read(file: Path, max_bytes: int | None) -> Any:  # noqa: ANN401 -- a Snapshot, imported late
    from boundby.read.memory_snapshot import read_snapshot
    from boundby.read.snapshot_load import DEFAULT_MAX_BYTES

    return read_snapshot(file, max_bytes=max_bytes or DEFAULT_MAX_BYTES)


def _is_snapshot(file: Path) -> bool:
    """By its first bytes, decompressed; a pickle of an old protocol by its name."""
    start = _start_of(file, 64)
    return start.startswith(PICKLED) or file.name.endswith(PICKLE_NAMES)


def _diagnose_text(raw: bytes, name: str, request: Request) -> TextDiagnosis:
    from boundby.memory.message import diagnose_text
    from boundby.read.oom_message import read_oom_messages

    text = raw.decode("utf-16" if raw.startswith(UTF_16) else "utf-8", "replace")
    messages = read_oom_messages(text)
    if not messages:
        raise CannotTellError(
            f"{name} holds neither a snapshot nor an out-of-memory message",
            "give a snapshot, or a log with the whole message of the error",
        )
    for option, value in (
        ("--device", request.device),
        ("--capacity", request.capacity),
        ("--names", request.names),
        ("--map", request.wants_map or None),
    ):
        if value is not None:
            raise UsageError(f"{option} does nothing with a text: {name}", "give a snapshot")
    return diagnose_text(messages, text, request.pace)


def _report(
    diagnosis: MemoryDiagnosis | TextDiagnosis,
    name: str,
    request: Request,
    output: Output,
    *,
    one_of_many: bool,
) -> str:
    if output.form == "json":
        from boundby.report.memory_document import encode

        return encode(diagnosis, name, on_one_line=one_of_many)
    if output.form == "markdown":
        from boundby.report.memory_markdown import render as render_markdown

        return render_markdown(diagnosis)
    if output.form == "html":
        return _page(diagnosis, name)
    if output.form == "perfetto":
        return _counters(diagnosis, str(output.path))
    from boundby.report.memory_text import Pictures, render

    return render(diagnosis, look_for(output), Pictures(map=request.wants_map))


def _page(diagnosis: MemoryDiagnosis | TextDiagnosis, name: str) -> str:
    from boundby.memory.message import TextDiagnosis
    from boundby.report.page import memory
    from boundby.report.page.render import render

    if isinstance(diagnosis, TextDiagnosis):
        return render(memory.text_page(diagnosis, name))
    return render(memory.snapshot_page(diagnosis))


def look_for(output: Output) -> Look:
    """How text may look where it goes."""
    if output.path is not None:
        return Look(detail=output.verbose)
    return look_at(sys.stdout, os.environ, detail=output.verbose)


def _write_perfetto(
    diagnosis: MemoryDiagnosis | TextDiagnosis, target: str, output: Output
) -> None:
    drawing(output, target).write(_counters(diagnosis, "--perfetto"))


def drawing(output: Output, target: str) -> Output:
    """Where the curves of ``--perfetto`` go."""
    return replace(output, form="perfetto", path=Path(target), option="--perfetto")


def refuse_idle(mode: str | None, given: Mapping[str, object]) -> None:
    """Raise UsageError where something is given that would be passed over."""
    passed_over = [name for name, value in given.items() if value and name in IDLE[mode]]
    if passed_over:
        raise UsageError(
            f"{passed_over[0]} does nothing {f'with {mode}' if mode else 'without --model'}",
            "leave one of them out" if mode else "boundby memory --model train:build --batch 64",
        )


def keep_files_apart(output: Output, perfetto: str | None, read: Iterable[str | None]) -> None:
    """Refuse, before any work, to write over what is read, or two results into one file."""
    inputs = [each for each in read if each is not None and each != STDOUT]
    keep_apart(output, inputs)
    if perfetto is None:
        return
    if perfetto == STDOUT:
        raise UsageError("--perfetto -: stdout holds the report", "name a file")
    curves = drawing(output, perfetto)
    keep_apart(curves, inputs)
    if output.path is not None and output.path.resolve() == Path(perfetto).resolve():
        raise UsageError(
            f"{perfetto}: is named by --perfetto and by -o", "name another file with --perfetto"
        )
    refuse_existing(curves)


def _counters(diagnosis: MemoryDiagnosis | TextDiagnosis, asked_by: str) -> str:
    """The curves as a trace; ``asked_by`` is the option or file that wants them."""
    from boundby.memory.message import TextDiagnosis
    from boundby.report.memory_perfetto import counters

    if isinstance(diagnosis, TextDiagnosis):
        raise UsageError(f"{asked_by}: a text has no history", "give a snapshot")
    return counters(diagnosis.case.history)


def check_expected(done: Sequence[tuple[str, str]], expected: str | None) -> None:
    """Fail where a verdict is not the class that the user asked for."""
    others = [(name, found) for name, found in done if expected is not None and found != expected]
    if others:
        told = ", ".join(f"{name} is {found}" for name, found in others)
        raise GateError(f"expected {expected}: {told}", f"boundby explain {others[0][1]}")


def compare_two(
    paths: Sequence[str], device: int | None, max_bytes: int | None, output: Output
) -> int:
    """Compare two snapshots by the lines that hold memory at their peaks."""
    from boundby.memory.compare import compare
    from boundby.memory.diagnose import diagnose
    from boundby.report.memory_compare import render

    if len(paths) != 2:  # noqa: PLR2004 -- before and after
        raise UsageError("--compare takes two snapshots", "boundby memory --compare A B")
    before, after = (diagnose(_read(Path(path), max_bytes), device=device) for path in paths)
    output.write(render(compare(before, after), output.form, look_for(output)))
    return 0


def predict_model(
    target: str, batch: int, capacity: int | None, pace: Pace | None, output: Output
) -> int:
    """Predict the peak of a training step, and where it stops fitting."""
    from boundby.bench.targets import users_own
    from boundby.memory.predict import predict
    from boundby.report.memory_prediction import render

    with users_own(target):
        found = predict(target, batch, capacity, pace)
    output.write(render(found, output.form, look_for(output)))
    return 0


def told_by(time_class: str | None, trace: str | None) -> tuple[Pace | None, tuple[int, ...]]:
    """What bounds the step in time, and bytes of the scores of attention where they are known.

    As the user says, or by a recording; None without either.
    """
    from boundby.memory.pace import Pace

    if time_class is not None and trace is not None:
        raise UsageError("--time-class and --trace say the same", "give one of them")
    if time_class is not None:
        return Pace(time_class), ()
    if trace is None:
        return None, ()
    from boundby.capture.device_memory import pace_of, score_sizes_of
    from boundby.diagnose import diagnose
    from boundby.read import read_recording

    found = diagnose(read_recording(trace))
    pace = pace_of(found)
    if pace is None:
        raise CannotTellError(
            f"{trace}: undecided: {found.verdict.undecided_reason}",
            "say what bounds the step with --time-class",
        )
    return pace, score_sizes_of(found)
