"""What replay adds to reading one trace: ``python -m tools.bench_replay FILE``.

Each stage of ``boundby.diagnose`` that belongs to replay is timed where it is called.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

from boundby import diagnose as flow
from boundby.read import read_recording
from boundby.read.release import return_large_arrays

STAGES = (
    "build_program",
    "split_device",
    "calibrate",
    "excess",
    "_outlook",
    "mark_launches",
    "what_ifs",
    "climb_down",
)
"""Program, observer, waterfalls, edits with their ranges, ladder."""


def timed(stage: Callable[..., Any], spent: dict[str, float], name: str) -> Callable[..., Any]:
    """The stage, adding its seconds to ``spent``."""

    def run(*arguments: Any, **named: Any) -> Any:  # noqa: ANN401 -- whatever the stage takes
        start = time.perf_counter()
        result = stage(*arguments, **named)
        spent[name] = spent.get(name, 0.0) + time.perf_counter() - start
        return result

    return run


def main() -> None:
    """Read, diagnose, and print what replay and all else took beside reading."""
    spent: dict[str, float] = {}
    for name in STAGES:
        setattr(flow, name, timed(getattr(flow, name), spent, name))
    return_large_arrays()
    start = time.perf_counter()
    recording = read_recording(sys.argv[1])
    read = time.perf_counter()
    flow.diagnose(recording)
    after = time.perf_counter() - read
    reading, replaying = read - start, sum(spent.values())
    print(f"reading {reading:.2f} s")
    print(f"replay with all edits and ranges {replaying:.2f} s, {replaying / reading:.0%} of it")
    print(f"all that follows reading, replay included {after:.2f} s, {after / reading:.0%} of it")


if __name__ == "__main__":
    main()
