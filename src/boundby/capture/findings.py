"""Everything a live run says, read from its folder without torch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from boundby.capture.clocks import (
    Clocks,
    PassRow,
    WarmUp,
    read_clocks,
    read_passes,
    read_warm_up,
    recompiled,
    typical,
)
from boundby.capture.host_memory import read_host_memory
from boundby.capture.lines import (
    LineRow,
    LoopRow,
    SplitRow,
    WaitRow,
    audit_loop,
    built_in_loop,
    code_of,
    read_samples,
    read_waits,
    split_time,
)
from boundby.capture.notices import Notice, notices
from boundby.evidence.facts import Evidence, Place
from boundby.evidence.words import figure, often
from boundby.intervals import Ints
from boundby.memory.host import HostUse
from boundby.prescribe.case import Live
from boundby.read.capture_folder import SNAPSHOT, Capture, Note, Row, read_capture
from boundby.units import NS_PER_MS

MOST_PLACES = 3
MOST_FACTS = 5


@dataclass(frozen=True)
class LoaderRow:
    """What waiting for a loader cost.

    Attributes:
        wait_ms: Median wait for a batch.
        wait_per_step_ms: Mean wait a step of the clean passes; first batches of an epoch apart.
        first_ms: Median wait for the first batch of an epoch; None where none was seen.
        start_ms: Longest start of an iterator, workers included; None where none was seen.
        without_ms: A step with its batch there at once (``--oracle``).
        share: Of the unobserved step that is spent waiting; None where either is unknown.
    """

    batches: int
    workers: int | None
    wait_ms: float | None
    wait_per_step_ms: float | None
    first_ms: float | None
    start_ms: float | None
    without_ms: float | None
    share: float | None = None


@dataclass(frozen=True)
class MemoryStep:
    """Device memory at the end of one step, bytes."""

    step: int
    allocated: int
    reserved: int
    peak_allocated: int
    peak_reserved: int


@dataclass(frozen=True)
class MemoryRow:
    """Device memory at step ends, bytes; ``growth`` from the first of ``steps`` to the last.

    Attributes:
        peak_allocated, peak_reserved: Of the process so far.
        sign: What called for a snapshot: ``grows``, ``fragments``, ``peaks``, ``full`` or
            ``retries``; None where nothing did.
        history_kept: Whether the history of allocations stayed on when all passes were done.
        history_ratio: A step with it over one without; None where that was not measured.
    """

    allocated: int
    reserved: int
    peak_allocated: int
    peak_reserved: int
    capacity: int
    retries: int
    growth: int
    steps: tuple[MemoryStep, ...] = ()
    sign: str | None = None
    history_kept: bool | None = None
    history_ratio: float | None = None


@dataclass(frozen=True)
class Ending:
    """How the program ended, where it did not end well.

    Attributes:
        exception: Name of the uncaught error; None without one.
        out_of_memory: Bytes asked for and free when memory ran out.
        capacity: Bytes of the device that had no more.
    """

    exception: str | None
    message: str
    out_of_memory: tuple[int, int] | None
    capacity: int | None = None


@dataclass(frozen=True)
class LiveRun:
    """One observed process.

    Attributes:
        source: What steps were taken from.
        notices: What is wrong around the program.
        bias: What the sampler cannot see.
        void: Why no verdict may rest on this run; None where one may.
        finished: Whether all passes ran.
    """

    folder: str
    script: str
    rank: int | None
    source: str | None
    steps: int
    finished: bool
    clocks: Clocks
    warm_up: WarmUp
    passes: tuple[PassRow, ...]
    split: tuple[SplitRow, ...]
    lines: tuple[LineRow, ...]
    loop: tuple[LoopRow, ...]
    waits: tuple[WaitRow, ...]
    loader: LoaderRow | None
    memory: MemoryRow | None
    host_memory: HostUse | None
    bias: str | None
    problems: tuple[str, ...]
    ending: Ending
    snapshot: str | None
    device: str | None
    live: Live
    notices: tuple[Notice, ...]
    facts: tuple[Evidence, ...]
    void: str | None

    @property
    def uses_device(self) -> bool:
        """Whether a device was seen at work."""
        return self.device is not None or self.clocks.device is not None

    @property
    def places(self) -> Mapping[str, tuple[Place, ...]]:
        """Exact places of each kind of wait, most frequent first."""
        kinds = dict.fromkeys(row.kind for row in self.waits)
        return {
            kind: tuple(row.place for row in self.waits if row.kind == kind)[:MOST_PLACES]
            for kind in kinds
        }


def read_run(folder: Path) -> tuple[LiveRun, Capture]:
    """What one process wrote, and what follows from it.

    Raises:
        UnreadableError: The folder holds no run.
    """
    capture = read_capture(folder)
    code = code_of(capture)
    clocks = read_clocks(capture)
    passes = read_passes(capture, clocks)
    waits = read_waits(capture, code)
    samples = read_samples(capture)
    split, lines = split_time(samples, code, waits)
    loop = audit_loop(capture, samples, code)
    loader, memory = read_loader(capture, clocks), read_memory(capture)
    source, sampled = capture.last("source"), capture.last("sampler")
    live = read_live(capture, memory, loop, samples.steps)
    run = LiveRun(
        folder=str(folder),
        script=str(capture.header.get("script", "")),
        rank=capture.header.get("rank"),
        source=source["source"] if source else None,
        steps=steps_of(capture),
        finished=capture.last("done") is not None,
        clocks=clocks,
        warm_up=read_warm_up(capture),
        passes=passes,
        split=split,
        lines=lines,
        loop=loop,
        waits=waits,
        loader=loader,
        memory=memory,
        host_memory=read_host_memory(capture, clocks.step),
        bias=sampled["bias"] if sampled else None,
        problems=tuple(str(note["text"]) for note in capture.noted("problem")),
        ending=read_ending(capture),
        snapshot=str(folder / SNAPSHOT) if (folder / SNAPSHOT).is_file() else None,
        device=capture.header.get("device"),
        live=live,
        notices=notices(live, clocks.step),
        facts=(*line_facts(lines), *loop_facts(loop), *clock_facts(clocks, loader)),
        void=recompiled(passes),
    )
    return run, capture


def steps_of(capture: Capture) -> int:
    """Steps seen, counted from when the source in use took over."""
    steps = capture.of(Row.STEP)
    return int(steps[-1, 1]) if len(steps) else 0


def read_loader(capture: Capture, clocks: Clocks) -> LoaderRow | None:
    """What the loader of the training loop cost; None where there is none."""
    rows = capture.of(Row.LOADER)
    if not len(rows):
        return None
    mine = rows[rows[:, 2] // 2 == np.bincount(rows[:, 2] // 2).argmax()]
    first, later = mine[mine[:, 2] % 2 == 1, 1], mine[mine[:, 2] % 2 == 0]
    starts = capture.of(Row.EPOCH)
    settings = capture.last("loader") or {}
    oracle = capture.named("oracle")
    without = None
    if oracle and capture.last("oracle") is None and oracle[0].complete:
        without = typical(oracle[0].intervals[1:])
    waits = _clean_only(capture, later)
    clean = sum(len(each.marks) for each in capture.named("clean"))
    per_step = float(waits.sum()) / NS_PER_MS / clean if clean else None
    return LoaderRow(
        batches=len(mine),
        workers=settings.get("num_workers"),
        wait_ms=_median_ms(waits if len(waits) else later[:, 1]),
        wait_per_step_ms=per_step,
        first_ms=_median_ms(first),
        start_ms=float(starts[:, 1].max()) / NS_PER_MS if len(starts) else None,
        without_ms=without,
        share=min(per_step / clocks.wall, 1.0) if per_step is not None and clocks.wall else None,
    )


def _clean_only(capture: Capture, rows: Ints) -> Ints:
    """Waits that began inside a clean pass, ns."""
    kept = np.zeros(len(rows), dtype=bool)
    for each in capture.named("clean"):
        kept |= (rows[:, 0] >= each.start) & (rows[:, 0] < each.end)
    return rows[kept, 1]


def _median_ms(values: Ints) -> float | None:
    return float(np.median(values)) / NS_PER_MS if len(values) else None


def read_memory(capture: Capture) -> MemoryRow | None:
    """Memory at the end of the last steps that were asked; None where none was."""
    notes = list(capture.noted("memory"))
    if not notes:
        return None
    last, history = notes[-1], capture.last("history") or {}
    return MemoryRow(
        allocated=last["allocated_bytes_current"],
        reserved=last["reserved_bytes_current"],
        peak_allocated=last["allocated_bytes_peak"],
        peak_reserved=last["reserved_bytes_peak"],
        capacity=last["capacity"],
        retries=last["retries"],
        growth=last["allocated_bytes_current"] - notes[0]["allocated_bytes_current"],
        steps=tuple(map(_memory_step, notes)),
        sign=(capture.last("memory-sign") or {}).get("sign"),
        history_kept=history.get("kept"),
        history_ratio=history.get("ratio"),
    )


def _memory_step(note: Note) -> MemoryStep:
    return MemoryStep(
        step=note["step"],
        allocated=note["allocated_bytes_current"],
        reserved=note["reserved_bytes_current"],
        peak_allocated=note["allocated_bytes_peak"],
        peak_reserved=note["reserved_bytes_peak"],
    )


def read_ending(capture: Capture) -> Ending:
    """What ended the program, as far as it could still write."""
    end, oom = capture.last("end"), capture.last("oom")
    return Ending(
        exception=end["exception"] if end else None,
        message=str(end.get("message", "")) if end else "",
        out_of_memory=(int(oom["asked"]), int(oom["free"])) if oom else None,
        capacity=oom.get("capacity") if oom else None,
    )


def read_live(
    capture: Capture, memory: MemoryRow | None, loop: Sequence[LoopRow], steps: int
) -> Live:
    """What surrounds the program, for the prescriptions."""
    seen: Note = capture.last("surroundings") or {}
    cores, quota = seen.get("cores"), seen.get("quota")
    pauses = capture.of(Row.COLLECTION)
    clock, most = seen.get("clock_mhz"), seen.get("most_mhz")
    mixed = capture.last("mixed-precision") or {}
    return Live(
        cores=cores if quota is None else min(int(np.ceil(quota)), cores or int(np.ceil(quota))),
        threads=seen.get("threads"),
        workers=seen.get("workers"),
        worker_threads=seen.get("worker_threads"),
        memory_used=memory.peak_allocated / memory.capacity if memory else None,
        memory_stranded=(
            (memory.peak_reserved - memory.peak_allocated) / memory.capacity if memory else None
        ),
        cudnn_benchmark=seen.get("cudnn_benchmark"),
        switches=(*seen.get("switches", ()), *(("anomaly detection",) * bool(seen.get("anomaly")))),
        debugger=seen.get("debugger") or ("a tracer" if seen.get("traced") else None),
        other_processes=seen.get("others"),
        clock_share=clock / most if clock and most else None,
        clock_reasons=tuple(seen.get("reasons") or ()),
        collection_ms=float(pauses[:, 1].sum()) / NS_PER_MS / steps if steps else None,
        collections=len(pauses) / steps if steps else None,
        unscaled_fp16=mixed.get("unscaled"),
        built_in_loop=tuple(built_in_loop(loop)),
    )


def line_facts(lines: Sequence[LineRow]) -> Iterator[Evidence]:
    """``python-line`` and ``batch-line``: exact lines, the costliest first."""
    own = [row for row in lines if row.kind in ("user", "logging")][:MOST_FACTS]
    for row in own:
        text = f"this line keeps the host for {row.share:.0%} of its time{_sampled(row.ms)}"
        yield Evidence("python-line", row.ms, "ms", text, "measured", (row.place,))
    for row in [row for row in lines if row.kind == "preprocessing"][:MOST_FACTS]:
        text = f"loading spends {row.share:.0%} of the host's time in this line{_sampled(row.ms)}"
        yield Evidence("batch-line", row.ms, "ms", text, "measured", (row.place,))


def loop_facts(loop: Sequence[LoopRow]) -> Iterator[Evidence]:
    """``loop-line``: lines of the loop that need not run at each step."""
    for row in [row for row in loop if row.each_step.startswith("no")][:MOST_FACTS]:
        share = f"{row.share:.0%} of the host's time{_sampled(row.ms)}"
        text = f"this line of the loop takes {share}; at each step? {row.each_step}"
        yield Evidence("loop-line", row.ms, "ms", text, "measured", (row.place,))


def _sampled(ms: float) -> str:
    return f" ({figure(ms)} ms a step as sampled)"


def clock_facts(clocks: Clocks, loader: LoaderRow | None) -> Iterator[Evidence]:
    """``submit-time``: the host's own clock; ``loader-step``: a step without its loader."""
    if clocks.submit is not None:
        text = f"from an empty queue the host returns after {figure(clocks.submit)} ms"
        yield Evidence("submit-time", clocks.submit, "ms", text, "measured")
    if loader is not None and loader.without_ms is not None:
        text = f"with its batch there at once a step takes {figure(loader.without_ms)} ms"
        yield Evidence("loader-step", loader.without_ms, "ms", text, "measured")


def wait_sentence(row: WaitRow) -> str:
    """``item, once a step``."""
    return f"{row.kind}, {often(row.count_per_step)} a step"
