"""Tables on written pages that the project computes: ``python -m tools.manual.tables`` renews them.

``<!-- table: NAME -->`` stands above each; a test holds every page against what is computed now.
"""

from __future__ import annotations

import re

from boundby.memory.recipes import RECIPES
from tools.manual import roofs, trust
from tools.manual.blocks import DOCS, written_pages

TABLE = re.compile(r"^<!-- table: (\w+) -->\n(?:\|.*\n)+", re.MULTILINE)


def recipes() -> str:
    """Bytes of a parameter by recipe."""
    head = ("recipe", "weights", "gradients", "states", "bytes a parameter")
    rows = (
        (each.title, *(f"{n:g}" for n in (each.weights, each.gradients, each.states, each.total)))
        for each in RECIPES
    )
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ("---",) * len(head), *rows))


def accuracy() -> str:
    """What was measured of both sets of recordings."""
    return trust.table((DOCS / "accuracy.md").read_text("utf-8"))


TABLES = {"accuracy": accuracy, "recipes": recipes, "roofline": roofs.table}


def renewed(text: str) -> str:
    """A page with its tables as they are computed now."""
    return TABLE.sub(lambda found: f"<!-- table: {found[1]} -->\n{TABLES[found[1]]()}\n", text)


def main() -> None:
    """Rewrite the pages whose tables changed."""
    for page, text in written_pages().items():
        if renewed(text) != text:
            (DOCS / page).write_text(renewed(text), "utf-8")
            print("renewed", DOCS / page)


if __name__ == "__main__":
    main()
