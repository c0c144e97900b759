"""Where each explained word stands in the documentation."""

from __future__ import annotations

import posixpath
from functools import lru_cache
from typing import get_args

from boundby.memory.verdicts import MemoryClass
from boundby.report.remedy import remedies
from boundby.topics import ids

LISTS = {
    "cause": "reference/causes.md",
    "evidence": "reference/facts.md",
    "quality": "reference/findings.md",
    "memory": "reference/memory.md",
    "term": "reference/words.md",
}
"""The page that holds all topics of a kind, one section each."""


def memory_classes() -> tuple[str, ...]:
    """The verdicts on memory that have a page of their own."""
    return tuple(name for name in get_args(MemoryClass) if name not in ids()["class"])


@lru_cache(maxsize=1)
def places() -> dict[str, str]:
    """Page and anchor of every topic, by id; pages are relative to ``docs``."""
    found = {name: f"{page}#{name}" for kind, page in LISTS.items() for name in ids()[kind]}
    found |= {name: f"classes/{name}.md" for name in ids()["class"]}
    found |= {name: f"memory/{name}.md" for name in memory_classes()}
    found |= {name: f"prescriptions/{name}.md" for name in remedies()}
    return found


def link(name: str, page: str) -> str:
    """A Markdown link to a topic, as written on a page."""
    target = places()[name]
    path, _, anchor = target.partition("#")
    way = posixpath.relpath(path, posixpath.dirname(page) or ".")
    if path == page and anchor:
        return f"[{name}](#{anchor})"
    return f"[{name}]({way}{'#' if anchor else ''}{anchor})"
