"""The same measurement on two commits, each in its own worktree, in turns."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from boundby.bench.compare import DEFAULT, Comparison, Thresholds, judge_pairs
from boundby.bench.result import Result, load
from boundby.errors import CannotTellError
from boundby.statistics import FEWEST_PAIRS

RESULT_VARIABLE = "BOUNDBY_RESULT"
"""Where a command may leave a result of ``bench``; without one its own duration counts."""
ROUNDS = 8
TIMEOUT_S = 3600.0


@dataclass(frozen=True)
class Side:
    """One commit and the folder where it is checked out."""

    commit: str
    folder: Path


def compare_commits(
    commits: Sequence[str],
    command: Sequence[str],
    rounds: int = ROUNDS,
    limits: Thresholds = DEFAULT,
) -> Comparison:
    """Run a command on two commits in turns, each run a fresh process.

    A command that writes a result to ``$BOUNDBY_RESULT`` gives its median wall time; of another
    its duration is taken. So the spread from one process to the next is in the interval.

    Args:
        commits: Old and new.
        command: Run in the root of the worktree.
        rounds: Runs of each, at least ``FEWEST_PAIRS``.
        limits: What counts as a change.

    Raises:
        CannotTellError: No repository or commit, or the command fails.
    """
    rounds = max(rounds, FEWEST_PAIRS)
    with _checked_out(commits[0]) as old, _checked_out(commits[1]) as new:
        for side in (old, new):  # caches of the interpreter and of the file system
            _time(side, command)
        taken: dict[str, list[float]] = {"old": [], "new": []}
        for at in range(rounds):
            turn = [("old", old), ("new", new)]
            for name, side in turn if at % 2 else reversed(turn):
                taken[name].append(_time(side, command))
    found = judge_pairs(taken["new"], taken["old"], limits)
    return Comparison(commits[0], commits[1], found.effect, found.clocks, notes=found.notes)


@contextmanager
def _checked_out(commit: str) -> Iterator[Side]:
    with tempfile.TemporaryDirectory(prefix="boundby-") as parent:
        folder = Path(parent) / "worktree"
        _git("worktree", "add", "--detach", "--quiet", str(folder), commit)
        try:
            yield Side(commit, folder)
        finally:
            _git("worktree", "remove", "--force", str(folder))


def _git(*arguments: str) -> None:
    try:
        done = subprocess.run(
            ["git", *arguments],  # noqa: S607 -- the user's own git
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError as error:
        raise CannotTellError(f"git: {error.strerror}", "install git") from None
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["failed"])[-1]
        raise CannotTellError(f"git {arguments[0]}: {last}", "git log --oneline")


def _time(side: Side, command: Sequence[str]) -> float:
    """One run of the command, ns."""
    import time  # noqa: PLC0415 -- one use

    with tempfile.TemporaryDirectory(prefix="boundby-") as folder:
        target = Path(folder) / "result.json"
        source = str(side.folder / "src")
        paths = [source, str(side.folder), os.environ.get("PYTHONPATH", "")]
        environment = {
            **os.environ,
            RESULT_VARIABLE: str(target),
            "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        }
        begin = time.perf_counter_ns()
        try:
            done = subprocess.run(
                list(command),
                cwd=side.folder,
                env=environment,
                capture_output=True,
                text=True,
                timeout=TIMEOUT_S,
                check=False,
            )
        except OSError as error:
            raise CannotTellError(f"{command[0]}: {error.strerror}", "check the command") from None
        lasted = float(time.perf_counter_ns() - begin)
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["no message"])[-1]
            raise CannotTellError(
                f"{command[0]} failed on {side.commit} with {done.returncode}: {last}",
                "run it there yourself",
            )
        return _median_ns(load(target)) if target.exists() else lasted


def _median_ns(result: Result) -> float:
    return result.wall.summary.median
