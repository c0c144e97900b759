"""Tables on written pages that the project computes: ``python -m tools.manual.tables`` renews them.

``<!-- table: NAME -->`` stands above each; a test holds every page against what is computed now.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path

from boundby.memory.composition import BASES, HELD, Part
from boundby.memory.recipes import RECIPES
from tools.manual import roofs, trust, tuned
from tools.manual.blocks import DOCS, ROOT, written_pages

TABLE = re.compile(r"^<!-- table: (\w+) -->\n(?:\|.*\n)+", re.MULTILINE)


NOT_IN_USE: frozenset[Part] = frozenset({"cache", "context"})


def composition() -> str:
    """The parts of memory, how each is told, and whether it stays."""
    head = ("part", "how it is told", "how sure", "from step to step")
    rows = ((part, basis, sure, _from_step_to_step(part)) for part, (sure, basis) in BASES.items())
    return _drawn(head, rows)


def _from_step_to_step(part: Part) -> str:
    if part in NOT_IN_USE:
        return "not in use by tensors"
    return "stays" if part in HELD else "comes and goes"


def recipes() -> str:
    """Bytes of a parameter by recipe."""
    head = ("recipe", "weights", "gradients", "states", "bytes a parameter")
    rows = (
        (each.title, *(f"{n:g}" for n in (each.weights, each.gradients, each.states, each.total)))
        for each in RECIPES
    )
    return _drawn(head, rows)


def _drawn(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ("---",) * len(head), *rows))


def accuracy() -> str:
    """What was measured of both sets of recordings."""
    return trust.table((DOCS / "accuracy.md").read_text("utf-8"))


def trusted() -> str:
    """The same in short."""
    return trust.short_table((DOCS / "accuracy.md").read_text("utf-8"))


def tuning() -> str:
    """The trials of the example on an H200."""
    return _drawn(tuned.HEADS, tuned.rows(tuned.BLOCKS))


def kept_of(journal: Path) -> Callable[[], str]:
    """What a tuning run kept, one change a column."""

    def table() -> str:
        head, *rows = tuned.short(journal)
        return _drawn(head, rows)

    return table


TABLES = {
    "accuracy": accuracy,
    "composition": composition,
    "recipes": recipes,
    "roofline": roofs.table,
    "trusted": trusted,
    "tuned": kept_of(tuned.BLOCKS),
    "tuned_capped": kept_of(tuned.CAPPED),
    "tuned_convnet": kept_of(tuned.CONVNET),
    "tuned_host": kept_of(tuned.HOST),
    "tuned_inference": kept_of(tuned.INFERENCE),
    "tuning": tuning,
}


def renewed(text: str) -> str:
    """A page with its tables as they are computed now."""
    return TABLE.sub(lambda found: f"<!-- table: {found[1]} -->\n{TABLES[found[1]]()}\n", text)


def documents() -> dict[Path, str]:
    """Everything that may hold a table: the written pages, and README.md."""
    readme = ROOT / "README.md"
    pages = {DOCS / page: text for page, text in written_pages().items()}
    return {**pages, readme: readme.read_text("utf-8")}


def main() -> None:
    """Rewrite the documents whose tables changed."""
    for path, text in documents().items():
        if renewed(text) != text:
            path.write_text(renewed(text), "utf-8")
            print("renewed", path)


if __name__ == "__main__":
    main()
