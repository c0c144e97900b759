"""The same measurement on two commits, each in its own worktree, in turns."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from boundby.bench.caliber import Difference
from boundby.bench.compare import (
    DEFAULT,
    Comparison,
    Thresholds,
    judge_pairs,
    refuse_other_caliber,
    refuse_void,
)
from boundby.bench.result import Result, load
from boundby.errors import CannotTellError, UnreadableError, UsageError
from boundby.statistics import FEWEST_PAIRS

RESULT_VARIABLE = "BOUNDBY_RESULT"
"""Where a command may leave a result of ``bench``; without one its own duration counts."""
ROUNDS = 8
TIMEOUT_S = 3600.0
HINT = "hint: "
"""How git and boundby begin a line of advice below an error."""
WHOLE_COMMAND = (
    f"the time is that of the whole command: it left no result of bench in ${RESULT_VARIABLE}"
)
UNCOMMITTED = "changes of this working tree that are not committed were not measured"


@dataclass(frozen=True)
class Side:
    """One commit and the folder where it is checked out."""

    commit: str
    folder: Path


@dataclass(frozen=True)
class Run:
    """One run of the command.

    Attributes:
        ns: Median of the result that it left, else how long it ran.
        result: What it left; None for nothing.
    """

    ns: float
    result: Result | None


def compare_commits(
    commits: Sequence[str],
    command: Sequence[str],
    rounds: int = ROUNDS,
    limits: Thresholds = DEFAULT,
    across: Iterable[str] = (),
) -> Comparison:
    """Run a command on two commits in turns, each run a fresh process.

    A command that writes a result to ``$BOUNDBY_RESULT`` gives its median wall time; of another
    its duration is taken. So the spread from one process to the next is in the interval.

    Args:
        commits: Old and new.
        command: Run in the root of the worktree.
        rounds: Runs of each, at least ``FEWEST_PAIRS``.
        limits: What counts as a change.
        across: Fields of the caliber that are the thing under test.

    Raises:
        UsageError: An option stands where a commit should.
        CannotTellError: No repository or commit, the command fails or takes too long, or what it
            leaves on the two cannot be compared.
    """
    rounds = max(rounds, FEWEST_PAIRS)
    names = [_commit(each) for each in commits]
    with _checked_out(names[0]) as old, _checked_out(names[1]) as new:
        sides = {"old": old, "new": new}
        # The first runs fill caches of the interpreter and of the file system.
        first = {name: _run(side, command) for name, side in sides.items()}
        apart = _alike(first["old"].result, first["new"].result, names, across)
        taken: dict[str, list[float]] = {"old": [], "new": []}
        for at in range(rounds):
            for name in ("old", "new") if at % 2 else ("new", "old"):
                taken[name].append(_run(sides[name], command).ns)
    found = judge_pairs(taken["new"], taken["old"], limits)
    notes: tuple[str, ...] = () if first["new"].result else (WHOLE_COMMAND,)
    if _git("status", "--porcelain", "--untracked-files=no"):
        notes = (*notes, UNCOMMITTED)
    return Comparison(names[0], names[1], found.effect, found.clocks, across=apart, notes=notes)


def _commit(name: str) -> str:
    """The name, where it is that of a commit."""
    if name.startswith("-"):
        raise UsageError(f"{name}: no commit", "boundby compare --commits OLD NEW -- COMMAND")
    _git("rev-parse", "--git-dir")
    try:
        _git("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
    except CannotTellError:
        raise CannotTellError(
            f"{name}: no commit of this repository", "git log --oneline"
        ) from None
    return name


@contextmanager
def _checked_out(commit: str) -> Iterator[Side]:
    with tempfile.TemporaryDirectory(prefix="boundby-") as parent:
        folder = Path(parent) / "worktree"
        _git("worktree", "add", "--detach", "--quiet", str(folder), commit)
        try:
            yield Side(commit, folder)
        finally:
            _git("worktree", "remove", "--force", str(folder))


def _git(*arguments: str) -> str:
    """Run git; what it prints."""
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
    return done.stdout


def _alike(
    old: Result | None, new: Result | None, commits: Sequence[str], across: Iterable[str]
) -> tuple[Difference, ...]:
    """Differences of caliber that are under test; raises where the two cannot be compared."""
    if (old is None) != (new is None):
        left, not_left = commits if new is None else reversed(commits)
        raise CannotTellError(
            f"the command left a result in ${RESULT_VARIABLE} on {left} and none on {not_left}",
            "a median of calls and the time of a whole command are not compared",
        )
    if old is None or new is None:
        return ()
    for result in (old, new):
        refuse_void(result)
    return refuse_other_caliber(old, new, across)


def _run(side: Side, command: Sequence[str]) -> Run:
    """One run of the command."""
    with tempfile.TemporaryDirectory(prefix="boundby-") as folder:
        target = Path(folder) / "result.json"
        begin = time.perf_counter_ns()
        _call(side, command, target)
        lasted = float(time.perf_counter_ns() - begin)
        if not target.exists():
            return Run(lasted, None)
        try:
            result = load(target)
        except UnreadableError as error:
            left = f"what {command[0]} left on {side.commit}"
            message = error.message.replace(str(target), left)
            raise CannotTellError(message, f"write it to ${RESULT_VARIABLE}") from None
    return Run(result.wall.summary.median, result)


def _call(side: Side, command: Sequence[str], target: Path) -> None:
    """Run the command to its end; raises CannotTellError where it does not succeed."""
    paths = [str(side.folder / "src"), str(side.folder), os.environ.get("PYTHONPATH", "")]
    changes = {
        RESULT_VARIABLE: str(target),
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
    }
    try:
        done = subprocess.run(
            list(command),
            cwd=side.folder,
            env={**os.environ, **changes},
            capture_output=True,
            text=True,
            errors="replace",
            timeout=TIMEOUT_S,
            check=False,
        )
    except OSError as error:
        raise CannotTellError(f"{command[0]}: {error.strerror}", "check the command") from None
    except subprocess.TimeoutExpired:
        raise CannotTellError(
            f"{command[0]} ran for {TIMEOUT_S / 60:.0f} minutes on {side.commit} without an end",
            "give a command that ends sooner",
        ) from None
    if done.returncode:
        raise CannotTellError(
            f"{command[0]} failed on {side.commit} with {done.returncode}: {_said(done.stderr)}",
            "run it there yourself",
        )


def _said(stderr: str) -> str:
    """The last line of what a command said of its failure; a hint is advice, not the failure."""
    lines = (each.strip() for each in reversed(stderr.splitlines()))
    return next((each for each in lines if each and not each.startswith(HINT)), "no message")
