"""Lines of the user's code: where the host spends its time, what the loop does, what waits.

Every place is exact: the line that was running.
"""

from __future__ import annotations

import linecache
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from boundby.evidence.facts import Place
from boundby.read.capture_folder import WAITS, Capture, Frame, Row
from boundby.units import NS_PER_MS

MOST_LINES = 8
LEAST_SHARE = 0.01
"""Lines below a hundredth of the sampled time are not named."""
HOLDS_ALL = 0.8
"""Share of a line from which the loop's work is taken to lie in the function it calls."""

TORCH = "/torch/"
LOADING = "/torch/utils/data/"
MODULE_CALL = ("/torch/nn/modules/module.py", "_call_impl")
BACKWARD = re.compile(r"/torch/(_tensor|autograd/__init__)\.py$")
UPDATE = re.compile(r"/torch/(optim/|amp/grad_scaler)")
LOGGING = re.compile(r"/(logging/|tensorboard|wandb|mlflow|tqdm/|loguru/|csv\.py|json/)")
LOGS = re.compile(r"\b(print|log\w*|write\w*|add_scalar\w*|dump\w*|save|savez?|info|debug)\s*\(")
BUILDS = re.compile(r"\b(torch\.)?(tensor|as_tensor|from_numpy)\s*\(")
READS = re.compile(r"\.(item|tolist|cpu|numpy)\s*\(|\b(float|int|bool)\s*\(")
NEEDED = re.compile(r"\bzero_grad\b|\.(step|backward|update)\s*\(")
KIND_BY_TEXT = (
    ("explicit-sync", re.compile(r"synchronize")),
    (
        "data-dependent-shape",
        re.compile(r"nonzero|masked_select|unique|argwhere|\[[^\]]*mask|\[.*[<>=]=?"),
    ),
    ("host-copy", re.compile(r"\.(cpu|cuda|numpy|to|copy_)\s*\(|\b(tensor|as_tensor)\s*\(")),
    ("item", re.compile(r"")),
)


@dataclass(frozen=True)
class LineRow:
    """A line and the host's time in it.

    Attributes:
        ms: A step, inside the line itself and library code it calls; as sampled, with what the
            sampler cost.
        kind: ``user``, ``framework``, ``preprocessing``, ``logging`` or ``waiting``.
    """

    place: Place
    ms: float
    share: float
    kind: str


@dataclass(frozen=True)
class SplitRow:
    """A kind of host time, ms a step as sampled and share of the sampled time."""

    kind: str
    ms: float
    share: float


@dataclass(frozen=True)
class LoopRow:
    """A line of the training loop.

    Attributes:
        ms: A step, everything it calls included; as sampled, as ``share`` is.
        share: Of the sampled time.
        part: ``forward``, ``backward``, ``optimizer``, ``loader`` or ``other``.
        each_step: Whether it must run at each step, and if not, what to do.
    """

    place: Place
    ms: float
    share: float
    part: str
    each_step: str


@dataclass(frozen=True)
class WaitRow:
    """A line at which the host waits for the device, or would with one."""

    kind: str
    place: Place
    count_per_step: float


@dataclass(frozen=True)
class Code:
    """What tells the user's code from libraries, and names its files."""

    directory: str
    libraries: tuple[str, ...]

    def is_users(self, frame: Frame) -> bool:
        """Whether a frame is the user's own code."""
        file = frame.file
        return not file.startswith(("<", *self.libraries))

    def place(self, frame: Frame) -> Place:
        """The exact place of a frame, by a path relative to where the program ran."""
        path = Path(frame.file)
        file = path.relative_to(self.directory) if path.is_relative_to(self.directory) else path
        return Place(str(file), frame.line, frame.function, exact=True)

    def innermost(self, stack: Sequence[Frame]) -> Frame | None:
        """The user's innermost frame of a stack."""
        return next((frame for frame in stack if self.is_users(frame)), None)


def code_of(capture: Capture) -> Code:
    """How this run tells code apart."""
    header = capture.header
    return Code(str(header.get("directory", "")), tuple(header.get("libraries", ())))


@dataclass(frozen=True)
class Samples:
    """Weighted stacks of the stacks pass, and over how many steps."""

    stacks: tuple[tuple[tuple[Frame, ...], int], ...]
    steps: int

    @property
    def total(self) -> int:
        """All sampled time, ns."""
        return sum(weight for _, weight in self.stacks)


def read_samples(capture: Capture) -> Samples:
    """Samples by stack; none where the pass did not run."""
    weights: Counter[int] = Counter()
    for _, number, weight in capture.of(Row.SAMPLE).tolist():
        weights[number] += weight
    steps = sum(len(each.marks) for each in capture.named("stacks"))
    known = [(capture.stacks[n], w) for n, w in weights.items() if n in capture.stacks]
    return Samples(tuple(known), steps)


def read_waits(capture: Capture, code: Code) -> tuple[WaitRow, ...]:
    """Lines that wait, most often first."""
    steps = sum(len(each.marks) for each in capture.named("syncs"))
    counts: Counter[tuple[str, Place]] = Counter()
    for _, number, kind in capture.of(Row.WAIT).tolist():
        frame = code.innermost(capture.stacks.get(number, ()))
        if frame is not None:
            name = WAITS[kind]
            counts[kind_by_text(frame) if name == "other" else name, code.place(frame)] += 1
    return tuple(
        WaitRow(kind, place, count / max(steps, 1)) for (kind, place), count in counts.most_common()
    )


def kind_by_text(frame: Frame) -> str:
    """What a line waits for, by what is written there."""
    text = text_of(frame)
    return next(kind for kind, pattern in KIND_BY_TEXT if pattern.search(text))


def text_of(frame: Frame) -> str:
    """The source of a line; empty where it is not at hand."""
    return linecache.getline(frame.file, frame.line).strip()


def split_time(
    samples: Samples, code: Code, waits: Sequence[WaitRow]
) -> tuple[tuple[SplitRow, ...], tuple[LineRow, ...]]:
    """Host time by kind, and by line of the user's code."""
    waiting = {(row.place.file, row.place.line) for row in waits}
    kinds: Counter[str] = Counter()
    lines: defaultdict[Place, Counter[str]] = defaultdict(Counter)
    first: dict[tuple[str, int], Place] = {}
    for stack, weight in samples.stacks:
        frame = code.innermost(stack)
        place = outermost_at(stack, frame, code, first) if frame is not None else None
        is_waiting = place is not None and (place.file, place.line) in waiting
        kind = kind_of(stack, frame, code, is_waiting=is_waiting)
        kinds[kind] += weight
        if place is not None:
            lines[place][kind] += weight
    return _split_rows(kinds, samples), _line_rows(lines, samples)


def outermost_at(
    stack: Sequence[Frame], frame: Frame, code: Code, first: dict[tuple[str, int], Place]
) -> Place:
    """The place of a line under one name, though a lambda or comprehension may stand in it."""
    same = [each for each in stack if (each.file, each.line) == (frame.file, frame.line)]
    place = code.place(same[-1])
    return first.setdefault((place.file, place.line), place)


def kind_of(stack: Sequence[Frame], frame: Frame | None, code: Code, *, is_waiting: bool) -> str:
    """What the host does in a stack; ``frame`` is the user's innermost."""
    if any(LOADING in each.file for each in stack):
        return "preprocessing"
    inner = stack[: stack.index(frame)] if frame is not None else stack
    if _logs(inner):
        return "logging"
    if any(TORCH in each.file or not _is_standard(each, code) for each in inner):
        return "framework"
    if is_waiting:
        return "waiting"
    return "logging" if frame is not None and LOGS.search(text_of(frame)) else "user"


def _logs(inner: Sequence[Frame]) -> bool:
    """Whether code that the user's line calls logs; what torch logs by itself is torch's work."""
    for frame in reversed(inner):
        if LOGGING.search(frame.file):
            return True
        if TORCH in frame.file:
            return False
    return False


def _is_standard(frame: Frame, code: Code) -> bool:
    """Whether a frame is of the standard library: its time is that of the line that called it."""
    return (
        "site-packages" not in frame.file
        and "dist-packages" not in frame.file
        and not (code.is_users(frame))
    )


def _split_rows(kinds: Counter[str], samples: Samples) -> tuple[SplitRow, ...]:
    total, steps = max(samples.total, 1), max(samples.steps, 1)
    return tuple(
        SplitRow(kind, weight / NS_PER_MS / steps, weight / total)
        for kind, weight in kinds.most_common()
    )


def _line_rows(lines: Mapping[Place, Counter[str]], samples: Samples) -> tuple[LineRow, ...]:
    total, steps = max(samples.total, 1), max(samples.steps, 1)
    rows = [
        LineRow(place, weight / NS_PER_MS / steps, weight / total, kind)
        for place, kinds in lines.items()
        for kind, weight in kinds.items()
        if weight >= LEAST_SHARE * total
    ]
    return tuple(sorted(rows, key=lambda row: -row.ms))


def audit_loop(capture: Capture, samples: Samples, code: Code) -> tuple[LoopRow, ...]:
    """Lines of the training loop with what each costs; none where no loop was found."""
    note = capture.last("loop")
    if note is None or not samples.stacks:
        return ()
    file, _, _, first = note["frame"]
    cut = [(_below(stack, file, first), weight) for stack, weight in samples.stacks]
    kept = [(stack, weight) for stack, weight in cut if stack]
    kept = _descend(kept, code)
    if not kept or not code.is_users(kept[0][0][-1]):
        return ()
    lines: defaultdict[Frame, Counter[str]] = defaultdict(Counter)
    for stack, weight in kept:
        lines[stack[-1]][part_of(stack[:-1])] += weight
    rows = [_loop_row(frame, parts, samples, code) for frame, parts in lines.items()]
    told = (row for row in rows if row.share >= LEAST_SHARE)
    return tuple(sorted(told, key=lambda row: -row.ms))


def _below(stack: tuple[Frame, ...], file: str, first: int) -> tuple[Frame, ...]:
    """A stack from its innermost frame out to the one of a function; empty without it."""
    at = [i for i, each in enumerate(stack) if each.file == file and each.first_line == first]
    return stack[: at[0] + 1] if at else ()


Cut = list[tuple[tuple[Frame, ...], int]]


def _descend(kept: Cut, code: Code) -> Cut:
    """From a loop that calls one function for everything into that function."""
    while kept:
        total = sum(weight for _, weight in kept)
        by_line: Counter[Frame] = Counter()
        for stack, weight in kept:
            by_line[stack[-1]] += weight
        line, most = by_line.most_common(1)[0]
        inside = [(s[:-1], w) for s, w in kept if s[-1] == line and len(s) > 1]
        parts = {part_of(stack) for stack, _ in inside} - {"other"}
        if most < HOLDS_ALL * total or len(parts) <= 1 or not inside:
            return kept
        heads = Counter({(s[-1].file, s[-1].first_line): w for s, w in inside})
        head = heads.most_common(1)[0][0]
        if not code.is_users(
            next(s[-1] for s, _ in inside if (s[-1].file, s[-1].first_line) == head)
        ):
            return kept
        kept = [(s, w) for s, w in inside if (s[-1].file, s[-1].first_line) == head]
    return kept


def part_of(inner: Sequence[Frame]) -> str:
    """What the frames inside a line of the loop do; the outermost that says so decides."""
    for frame in reversed(inner):
        if BACKWARD.search(frame.file):
            return "backward"
        if UPDATE.search(frame.file):
            return "optimizer"
        if LOADING in frame.file:
            return "loader"
        if frame.file.endswith(MODULE_CALL[0]) and MODULE_CALL[1] in frame.function:
            return "forward"
    return "other"


def _loop_row(frame: Frame, parts: Counter[str], samples: Samples, code: Code) -> LoopRow:
    part, total = parts.most_common(1)[0][0], sum(parts.values())
    return LoopRow(
        place=code.place(frame),
        ms=total / NS_PER_MS / max(samples.steps, 1),
        share=total / max(samples.total, 1),
        part=part,
        each_step=must_run(part, text_of(frame)),
    )


def must_run(part: str, text: str) -> str:
    """Whether a line must run at each step, by what it is; a person decides the rest."""
    if part in ("forward", "backward", "optimizer") or NEEDED.search(text):
        return "yes"
    if part == "loader":
        return "yes, but workers can do its work"
    if BUILDS.search(text):
        return "no: build it once, or on the device"
    if READS.search(text) or LOGS.search(text):
        return "no: every so many steps"
    return "must it?"


def built_in_loop(rows: Sequence[LoopRow]) -> Iterator[Place]:
    """Lines of the loop that build tensors from Python values."""
    return (row.place for row in rows if row.each_step.startswith("no: build"))
