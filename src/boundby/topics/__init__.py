"""Explanations of every class, cause, fact, finding and word: one Markdown file a topic.

The single source for ``boundby explain ID`` and for the documentation. The folder of a file is its
kind, its name is the id, its first line the title and its first paragraph the summary. What is said
of a change (``prescriptions/``) is part of a topic: title, code, costs and limits are in its rule.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path

FOLDER = Path(__file__).parent

KINDS = {
    "class": "classes",
    "cause": "causes",
    "evidence": "evidence",
    "quality": "quality",
    "memory": "memory",
    "term": "terms",
}
"""Folder of each kind, in the order in which they are listed and looked up."""

CHANGES = FOLDER / "prescriptions"
SECTION = re.compile(r"^## (.+)\n\n((?:.*\n)*?)(?=^## |\Z)", re.MULTILINE)

ITEM = re.compile(r"^- (.*(?:\n  .*)*)", re.MULTILINE)
ENTRY, INSIDE = re.compile(r"\A[^:]*"), re.compile(r"(?s)\A.*")
"""What an item of a list is about, and all of it."""
WORD = re.compile(r"`([^`]+)`")


@dataclass(frozen=True)
class Topic:
    """One explanation.

    Attributes:
        summary: The first paragraph on one line.
        text: The whole Markdown text, title included.
    """

    id: str
    kind: str
    summary: str
    text: str


@lru_cache(maxsize=1)
def ids() -> dict[str, tuple[str, ...]]:
    """The ids of all topics by kind, sorted."""
    return {
        kind: tuple(sorted(path.stem for path in (FOLDER / folder).glob("*.md")))
        for kind, folder in KINDS.items()
    }


def find(name: str) -> Topic | None:
    """The topic of that id, or the term that lists the word; None where there is neither."""
    return named(name) or listing(name)


def named(name: str) -> Topic | None:
    """The topic of that id; underscores, spaces and capitals are forgiven."""
    wanted = re.sub(r"[_\s]+", "-", name.strip().lower())
    for kind, known in ids().items():
        if wanted in known:
            return _read(kind, wanted)
    return None


def listing(word: str) -> Topic | None:
    """The term that lists a word (``no_sync``, ``submission``): as an entry, or else inside one."""
    wanted = " ".join(word.lower().split())
    for place in ENTRY, INSIDE:
        for term in (_read("term", each) for each in ids()["term"]):
            items = ITEM.findall(term.text.lower())
            if any(wanted in WORD.findall(part) for item in items for part in place.findall(item)):
                return term
    return None


def _read(kind: str, name: str) -> Topic:
    text = (FOLDER / KINDS[kind] / f"{name}.md").read_text("utf-8")
    return Topic(name, kind, _first_paragraph(text), text)


def about_change(name: str) -> dict[str, str]:
    """What is said of a change of the catalogue beside its rule: text by heading."""
    text = (CHANGES / f"{name}.md").read_text("utf-8")
    return {heading: words.strip() for heading, words in SECTION.findall(text)}


def near(name: str, others: Iterable[str] = ()) -> list[str]:
    """Up to three ids that resemble the name: similar in spelling, or holding it."""
    every = [*(known for group in ids().values() for known in group), *others]
    wanted = name.strip().lower().replace("_", "-")
    close = get_close_matches(wanted, every, n=3, cutoff=0.6)
    holding = [known for known in every if wanted and wanted in known]
    return list(dict.fromkeys([*close, *holding]))[:3]


def summary(name: str) -> str:
    """The summary of a topic; empty where there is no such topic."""
    topic = find(name)
    return topic.summary if topic else ""


def _first_paragraph(text: str) -> str:
    paragraphs = text.split("\n\n")
    return " ".join(paragraphs[1].split()) if len(paragraphs) > 1 else ""
