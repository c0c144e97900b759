"""Nsight Systems around a command: which flags, and the export of what it records."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from boundby.errors import BoundbyError
from boundby.record.tools import Tool, ask, run, run_around

NSYS = Tool(
    "nsys",
    "Nsight Systems",
    "nsight-systems",
    "https://developer.nvidia.com/nsight-systems/get-started",
)
API_RANGE = "api"
_TORCH_OPTION = "--pytorch"
_TORCH_RANGES = f"{_TORCH_OPTION}=autograd-shapes-nvtx"
"""``emit_nvtx(record_shapes=True)`` around the program; older versions have no such option."""
_REPORTS = ("recording*.nsys-rep", "recording*.qdrep")


@dataclass(frozen=True)
class Window:
    """Which part of a program is recorded.

    Attributes:
        delay_s: Seconds before the recording starts.
        seconds: Seconds it lasts at most; 0 for the whole program.
        range: Record inside of an NVTX range of this name instead, or, as ``api``, between
            ``torch.cuda.profiler.start()`` and ``stop()``; None for neither.
        ends_program: Whether the program is ended with the recording.
    """

    delay_s: float = 0.0
    seconds: float = 30.0
    range: str | None = None
    ends_program: bool = False

    def options(self) -> Iterator[str]:
        """The options of nsys for it."""
        if self.range == API_RANGE:
            yield from ("--capture-range=cudaProfilerApi", "--capture-range-end=stop")
        elif self.range is not None:
            yield from ("--capture-range=nvtx", f"--nvtx-capture={self.range}")
            yield "--capture-range-end=stop"
            # Names that were not registered beforehand, as PyTorch's are, count only so.
            yield "--env-var=NSYS_NVTX_PROFILER_REGISTER_ONLY=0"
        if self.delay_s:
            yield f"--delay={self.delay_s:g}"
        if self.seconds:
            yield f"--duration={self.seconds:g}"
        yield f"--kill={'sigterm' if self.ends_program else 'none'}"


@dataclass(frozen=True)
class Recorded:
    """A recording that was made.

    Attributes:
        script_code: Exit code of the user's command; None where the profiler ended it.
        has_operators: Whether nsys knows how to put ranges around PyTorch's operators.
    """

    script_code: int | None
    has_operators: bool


def record(command: Sequence[str], target: Path, window: Window, folder: Path) -> Recorded:
    """Record a command with nsys and export it to ``target`` (SQLite).

    Args:
        command: The user's command.
        target: The export; overwritten.
        window: Which part of the program.
        folder: For files in between.

    Raises:
        MissingToolError: There is no nsys.
        BoundbyError: It recorded nothing, or could not export it.
    """
    nsys = NSYS.find()
    has_operators = _TORCH_OPTION in ask([nsys, "profile", "--help"])
    tool = [nsys, *profile_options(folder / "recording", window, torch=has_operators)]
    ended = run_around(tool, command, folder)
    reports = [path for pattern in _REPORTS for path in sorted(folder.glob(pattern))]
    if not reports:
        raise BoundbyError(
            f"nsys recorded nothing (it ended with {ended.tool_code})", _why_nothing(window)
        )
    export = ["export", "--type=sqlite", "--force-overwrite=true", f"--output={target}"]
    if run([nsys, *export, str(reports[0])]) or not target.exists():
        raise BoundbyError("nsys could not export what it recorded", "see its messages above")
    return Recorded(ended.script_code, has_operators)


def profile_options(base: Path, window: Window, *, torch: bool) -> Iterator[str]:
    """Options of ``nsys profile``: no sampling, which costs time and tells nothing here."""
    yield from ("profile", "--trace=cuda,nvtx,osrt", "--sample=none", "--cpuctxsw=none")
    yield from ("--cuda-graph-trace=node", "--force-overwrite=true", f"--output={base}")
    if torch:
        yield _TORCH_RANGES
    yield from window.options()


def _why_nothing(window: Window) -> str:
    if window.range == API_RANGE:
        return "does the program call torch.cuda.profiler.start()?"
    if window.range is not None:
        return f"does the program enter torch.cuda.nvtx.range({window.range!r})?"
    if window.delay_s:
        return "does the program run longer than --delay?"
    return "see its messages above"
