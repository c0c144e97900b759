"""``boundby report``: whatever was recorded, as one page."""

from __future__ import annotations

from pathlib import Path

import click

from boundby.cli.help import examples
from boundby.cli.output import Output, keep_apart, output_options, peak_option
from boundby.cli.trace import Told, device_option, milliseconds, report_traces
from boundby.errors import UsageError

LONGEST_HEADER = 1 << 16


@click.command(
    epilog=examples(
        "boundby report trace.json.gz -o report.html",
        "boundby report boundby_runs/train -o report.html",
        "boundby report boundby_runs/tune-1 -o tuned.html",
        "boundby report memory.pickle -o memory.html",
    )
)
@click.argument("recording", metavar="RECORDING")
@milliseconds("--step-ms", "Step time measured without the profiler.")
@peak_option
@device_option
@output_options
def command(
    *, output: Output, recording: str, step_ms: float | None, peak: str | None, device: int | None
) -> int:
    """Draw what was recorded as one page.

    RECORDING is a trace, a folder of traces, the folder of a run, the journal of a tuning run, an
    export of Nsight Systems, a table of Nsight Compute, a memory snapshot or a log with an
    out-of-memory message. What it is is told by its content.

    The page is one file that loads nothing: -o report.html. With .perfetto.json the recording is
    written as a trace with what boundby found beside it, for ui.perfetto.dev. Other forms are
    those of the command that reads such a recording.
    """
    keep_apart(output, [recording])
    path = Path(recording)
    if is_journal(path):
        from boundby.cli.tune import report_journal

        report_journal(path, output)
        return 0
    if is_run(path):
        from boundby.cli.run import report_run

        report_run(path, output, {})
        return 0
    about = _contents(path)
    if about == "kernels":
        return _kernels(recording, output)
    if about in ("memory", "text"):
        from boundby.cli import memory_answers

        memory_answers.answer(recording, memory_answers.Request(), output, one_of_many=False)
        return 0
    told: Told = {"--step-ms": step_ms, "--submit-ms": None, "--peak": peak, "--device": device}
    return report_traces((recording,), told, output)


def is_journal(path: Path) -> bool:
    """Whether a file, or one of that name in a folder, is the journal of a tuning run."""
    from boundby.experiment.journal import FILE
    from boundby.experiment.records import is_header

    file = path / FILE if path.is_dir() else path
    try:
        if not file.is_file():
            return False
        with file.open("rb") as lines:
            return is_header(lines.readline(LONGEST_HEADER))
    except OSError:
        return False


def is_run(path: Path) -> bool:
    """Whether a folder holds a live run."""
    if not path.is_dir():
        return False
    from boundby.read.capture_folder import captures_in

    return bool(captures_in(path))


def _contents(path: Path) -> str:
    """What the file is about; what cannot be opened is left to the reader of traces."""
    from boundby.read.detect import contents

    try:
        return contents(path) if path.is_file() else "time"
    except OSError:
        return "time"


def _kernels(recording: str, output: Output) -> int:
    from boundby.cli.kernel import report
    from boundby.kernels.analyse import analyse
    from boundby.read.nsight_compute import read_kernels

    if output.form == "perfetto":
        raise UsageError(f"{recording}: measured kernels have no timeline", "write .html or .json")
    output.write(report(analyse(read_kernels(recording)), output, one_of_many=False))
    return 0
