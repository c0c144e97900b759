"""The fenced blocks of the pages: what each is, how it is checked, and where its output is kept.

A comment on the line above a fence says what is special about it: ``<!-- cuda -->`` needs a GPU,
``<!-- exit 1 -->`` ends with that code, ``<!-- parse: why -->`` is read and not run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
DOCS = ROOT / "docs"
OUTPUTS = DOCS / "gpu_output"
DIGITS = 8
NO_PAGES = {"accuracy_notes.md"}
"""Parts of other pages."""

FENCE = re.compile(
    r"(?:^<!-- (?P<mark>[^>\n]+) -->\n+)?"
    r"^(?P<pad> *)```(?P<language>[a-z]+)[^\n]*\n(?P<code>.*?)^(?P=pad)```\n",
    re.MULTILINE | re.DOTALL,
)
NOT_YET = "*No output of a GPU is kept yet: `python -m gpu.docs_blocks` on a machine with one.*"


@dataclass(frozen=True)
class Block:
    """One fenced block of a page.

    Attributes:
        page: Path below ``docs``, or that of a file beside it.
        number: Its place among the blocks of the page, from 1.
        mark: What the comment above it says; empty without one.
        source: The block as it stands on the page, comment and fences included.
    """

    page: str
    number: int
    language: str
    code: str
    mark: str
    source: str

    @property
    def name(self) -> str:
        """A name for a test or a file."""
        return f"{self.page.removesuffix('.md').replace('/', '_')}-{self.number}"

    @property
    def needs_gpu(self) -> bool:
        """Whether it needs a CUDA device."""
        return self.mark == "cuda"


def blocks(page: str, text: str) -> Iterator[Block]:
    """All fenced blocks of a page, in order."""
    for number, found in enumerate(FENCE.finditer(text), 1):
        pad = len(found["pad"])
        code = "".join(line[pad:] for line in found["code"].splitlines(keepends=True))
        yield Block(page, number, found["language"], code, found["mark"] or "", found[0])


def written_pages() -> dict[str, str]:
    """The pages that people write, by path below ``docs``."""
    return {
        path.relative_to(DOCS).as_posix(): path.read_text("utf-8")
        for path in sorted(DOCS.rglob("*.md"))
        if path.name not in NO_PAGES
    }


def gpu_blocks(page: str, text: str) -> list[Block]:
    """The Python blocks of a page that need a GPU."""
    return [each for each in blocks(page, text) if each.needs_gpu and each.language == "python"]


def output_file(block: Block) -> Path:
    """Where the output of a block is kept: named by its code, so that no other code claims it."""
    digest = sha256(block.code.encode()).hexdigest()[:DIGITS]
    return OUTPUTS / f"{block.page.removesuffix('.md').replace('/', '_')}-{digest}.txt"


def kept_output(block: Block) -> str:
    """The kept output as a block of its own; a line that says so where there is none."""
    file = output_file(block)
    if not file.is_file():
        return f"{NOT_YET}\n"
    caliber, _, text = file.read_text("utf-8").partition("\n")
    if not text.strip():
        return f"*Ran on {caliber}; it prints nothing.*\n"
    return f"```text\n{text.rstrip()}\n```\n\n*{caliber}*\n"
