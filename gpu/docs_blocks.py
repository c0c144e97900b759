"""Run the blocks of the documentation that need a GPU, and keep what they print.

``python -m gpu.docs_blocks`` writes a file in ``docs/gpu_output`` for each: the caliber on its
first line, then what the block prints, or its stderr where it prints nothing. ``--list`` shows them
without running anything; ``--only NAME`` runs one.
Each block runs in a process and a folder of its own.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from tools.manual.blocks import Block, gpu_blocks, output_file, written_pages

LIMIT_S = 300
CALIBER = (
    "import torch; print(f'{torch.cuda.get_device_name()}, torch {torch.__version__}', end='')"
)


def collect(only: str = "") -> list[Block]:
    """All blocks that need a GPU, in the order of the pages; or the one of that name."""
    found = [each for page, text in written_pages().items() for each in gpu_blocks(page, text)]
    return [each for each in found if only in ("", each.name)]


def output_of(code: str) -> str:
    """What a piece of Python prints, or what it writes to stderr where it prints nothing.

    Raises:
        CalledProcessError: It failed; its stderr was shown.
    """
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(  # noqa: S603 -- the blocks of our own pages
            [sys.executable, "-W", "ignore", "-c", code],
            cwd=folder,
            capture_output=True,
            encoding="utf-8",
            timeout=LIMIT_S,
            check=False,
        )
    sys.stderr.write(done.stderr)
    done.check_returncode()
    return done.stdout or done.stderr


def keep(block: Block, caliber: str) -> Path:
    """Run a block and keep its output below the caliber."""
    file = output_file(block)
    printed = output_of(block.code)
    file.parent.mkdir(exist_ok=True)
    file.write_text(f"{caliber}\n{printed}", "utf-8")
    return file


def main(arguments: list[str] | None = None) -> int:
    """Run all blocks; 1 where one failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--list", action="store_true", help="show the blocks")
    parser.add_argument("--only", default="", metavar="NAME", help="run one block")
    asked = parser.parse_args(arguments)
    blocks = collect(asked.only)
    if asked.list:
        for block in blocks:
            print(block.name, "kept" if output_file(block).is_file() else "not yet")  # noqa: T201
        return 0
    if not blocks:
        print(f"no block {asked.only!r}: --list shows them", file=sys.stderr)  # noqa: T201
        return 2
    caliber, failed = output_of(CALIBER), 0
    for block in blocks:
        try:
            print("wrote", keep(block, caliber))  # noqa: T201
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
            print(f"{block.name}: {error}", file=sys.stderr)  # noqa: T201
            failed += 1
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
