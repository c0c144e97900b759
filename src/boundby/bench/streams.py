"""Data races between streams, found by torch's CUDA sanitizer in a process of its own.

The sanitizer sees a kernel that uses a tensor in one stream while another stream still writes it,
that is a missing ``wait_stream`` or event. It cannot see a missing ``record_stream``: memory that
the allocator hands out again while another stream still uses it looks like a new tensor.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass

from boundby.bench.framework import has_cuda
from boundby.errors import CannotTellError

MARK = "CSAN detected a possible data race"
KERNEL = re.compile(r"during kernel:\n([^\n]+)")
PLACE = re.compile(r'File "([^"]+)", line (\d+), in (\S+)')
FOREIGN = re.compile(r"[\\/](?:torch|boundby)[\\/]|runpy|<")
"""Frames that are not the user's."""
CANNOT_SEE = "a missing record_stream is not seen: the sanitizer follows tensors, not memory"
TIMEOUT_S = 600


@dataclass(frozen=True)
class StreamRace:
    """Two uses of one tensor in two streams without an order between them.

    Attributes:
        first, second: Streams as the sanitizer names them.
        operators: That used the tensor, the later first.
        file, line: Innermost place of the user's own code; empty where unknown.
    """

    first: str
    second: str
    operators: tuple[str, ...]
    file: str
    line: int

    @property
    def message(self) -> str:
        """What is missing."""
        where = f" at {self.file}:{self.line}" if self.file else ""
        return (
            f"stream {self.first} uses a tensor that stream {self.second} still works on{where}: "
            "a wait_stream or an event is missing between them"
        )


def find_races(target: str) -> tuple[StreamRace, ...]:
    """Run a target (``module:function``) once under the sanitizer.

    Raises:
        CannotTellError: There is no CUDA device, or the target fails for another reason.
    """
    if not has_cuda():
        raise CannotTellError("streams can only be checked on a CUDA device", "run it on one")
    done = subprocess.run(
        [sys.executable, "-m", "boundby.bench.streams", target],
        env={**os.environ, "TORCH_CUDA_SANITIZER": "1"},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    races = parse_races(done.stderr)
    if done.returncode and not races:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise CannotTellError(f"{target} failed under the sanitizer: {last}", "run it without")
    return races


def parse_races(text: str) -> tuple[StreamRace, ...]:
    """Reports in what the sanitizer wrote."""
    return tuple(_race(part) for part in text.split(MARK)[1:])


def _race(text: str) -> StreamRace:
    streams = re.findall(r"stream (\d+)", text)
    distinct = list(dict.fromkeys(streams))
    current = text.partition("Previous access")[0]
    places = [each for each in PLACE.findall(current) if not FOREIGN.search(each[0])]
    file, line = (places[-1][0], int(places[-1][1])) if places else ("", 0)
    return StreamRace(
        first=distinct[0] if distinct else "unknown",
        second=distinct[1] if len(distinct) > 1 else "unknown",
        operators=tuple(dict.fromkeys(KERNEL.findall(text))),
        file=file,
        line=line,
    )


def _run(target: str) -> None:
    from boundby.bench.framework import torch  # noqa: PLC0415 -- in the child alone
    from boundby.bench.targets import find_target, users_own  # noqa: PLC0415 -- likewise

    with users_own(target):
        find_target(target).fn()
    torch().cuda.synchronize()


if __name__ == "__main__":
    _run(sys.argv[1])
