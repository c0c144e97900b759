"""Put the real output of ``boundby demo`` into README.md: ``python -m tools.readme``."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

README = Path(__file__).parent.parent / "README.md"
MARK = "<!-- output of boundby demo -->"
BLOCK = re.compile(re.escape(MARK) + r"\n+(```text\n.*?```\n)?", re.DOTALL)


def demo_output() -> str:
    """What ``boundby demo`` writes into a pipe, however wide the terminal is."""
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    done = subprocess.run(
        [sys.executable, "-m", "boundby", "demo", "--quiet"],
        capture_output=True,
        check=True,
        encoding="utf-8",
        env=environment,
    )
    return done.stdout


def with_output(text: str, output: str) -> str:
    """The README with this output below the mark."""
    block = f"{MARK}\n\n```text\n{output.rstrip()}\n```\n"
    return BLOCK.sub(lambda _: block, text, count=1)


def main() -> None:
    """Rewrite README.md."""
    README.write_text(with_output(README.read_text("utf-8"), demo_output()), "utf-8")


if __name__ == "__main__":
    main()
