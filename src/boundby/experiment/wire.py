"""What passes between a trial's process and its parent: requests in, answers out, as JSON.

A request comes as a line on the child's stdin; the answer is a file ``answer-N.json`` in the
folder of the trial, there whole or not at all. Neither holds variables of the environment.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

Answer = dict[str, Any]
REQUEST = "request.json"
FAILURE = "failure.json"
"""What ended the process, where it could say so; answers whatever was asked last."""
STDOUT, STDERR, TRACE = "stdout.txt", "stderr.txt", "trace.json"
LONGEST = 400
"""Characters of a message that are kept."""


@dataclass(frozen=True)
class Request:
    """What a process is to run.

    Attributes:
        target: The workload or script, as the user named it.
        arguments: Of a script.
        changes: Pairs of a change and its value, in force from the start.
        size: Samples of a batch; None for the workload's own.
        seed: Of model and data.
        memory_cap: Bytes of device memory it may use; None for all.
        folder: Where it writes.
        observed: Whether a script runs on freely, observed as by ``boundby run``.
    """

    target: str
    folder: str
    arguments: tuple[str, ...] = ()
    changes: tuple[tuple[str, str], ...] = ()
    size: int | None = None
    seed: int = 0
    memory_cap: int | None = None
    observed: bool = False

    def write(self) -> Path:
        """The request as a file in its folder."""
        path = Path(self.folder) / REQUEST
        path.write_text(json.dumps(asdict(self), indent=1), "utf-8")
        return path


def read_request(path: Path) -> Request:
    """A request as its parent wrote it."""
    values = json.loads(path.read_text("utf-8"))
    pairs = tuple((name, value) for name, value in values.pop("changes"))
    arguments = tuple(values.pop("arguments"))
    return Request(**values, changes=pairs, arguments=arguments)


def answer_path(folder: Path, number: int) -> Path:
    """Where the answer to a request lies."""
    return folder / f"answer-{number}.json"


def write_answer(folder: Path, number: int, answer: Answer) -> None:
    """Write an answer; whole or not at all."""
    _write(answer_path(folder, number), answer)


def write_failure(folder: Path, answer: Answer) -> None:
    """Write what ended the process."""
    _write(folder / FAILURE, answer)


def _write(path: Path, answer: Answer) -> None:
    aside = path.with_name(f".{path.name}")
    aside.write_text(json.dumps(answer), "utf-8")
    aside.replace(path)


def read_answer(folder: Path, number: int) -> Answer | None:
    """An answer, or what ended the process instead; None where there is neither yet."""
    for path in (answer_path(folder, number), folder / FAILURE):
        try:
            answer: Answer = json.loads(path.read_bytes())
        except FileNotFoundError:
            continue
        return answer
    return None


def one_line(text: str) -> str:
    """The first line of a message that says something, cut to a length."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[0][:LONGEST] if lines else ""
