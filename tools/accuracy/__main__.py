"""Measure boundby on recordings whose truth is known, and write ``docs/accuracy.md``.

Exit codes: 0 written, whatever the numbers; 1 boundby crashed on a recording; 125 no recordings.
Nothing is written but in the first case.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from tools.accuracy.glances import compare_all
from tools.accuracy.measure import CrashError, measure
from tools.accuracy.page import Section, page, summary
from tools.accuracy.truth import TruthSet, has_truth, load_set

REPOSITORY = Path(__file__).resolve().parents[2]
PAGE = REPOSITORY / "docs" / "accuracy.md"
NOTES = REPOSITORY / "docs" / "accuracy_notes.md"
LIVE = REPOSITORY / "docs" / "accuracy_live.md"
OWN = (REPOSITORY / "recordings", REPOSITORY / "tests" / "real")

CRASHED = 1
CANNOT_TELL = 125


def main() -> int:
    """Measure, write the page, print its summary."""
    asked = _arguments()
    missing = [f for f in (asked.folder, *asked.also) if not has_truth(f)]
    if missing:
        _tell(f"no truth.jsonl in {missing[0]}: nothing measured, {PAGE.name} left as it is")
        _tell("hint: set BOUNDBY_SHARED to the folder that holds traces/truth.jsonl")
        return CANNOT_TELL
    try:
        main_set = _measured(load_set("traces", asked.folder))
        extra = [_measured(load_set(_name(f), f)) for f in (*_own(), *asked.also)]
    except CrashError as error:
        _tell(f"boundby failed; {PAGE.name} left as it is\n{error}")
        return CRASHED
    compared = compare_all(asked.folder / "public")
    live, notes = (each.read_text("utf-8") if each.is_file() else "" for each in (LIVE, NOTES))
    PAGE.write_text(page(main_set, extra, compared, live, notes), "utf-8")
    print("\n".join(summary(main_set, compared)))
    for section in extra:
        print("\n".join(["", section.truths.name, "", *summary(section)]))
    _tell(f"wrote {PAGE.relative_to(REPOSITORY)}")
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.accuracy", description=__doc__)
    shared = Path(os.environ.get("BOUNDBY_SHARED", REPOSITORY.parent / "shared"))
    parser.add_argument(
        "folder", nargs="?", type=Path, default=shared / "traces", help="holds truth.jsonl"
    )
    parser.add_argument(
        "--also", action="append", default=[], type=Path, metavar="FOLDER", help="another one"
    )
    return parser.parse_args()


def _measured(truths: TruthSet) -> Section:
    _tell(f"measuring {len(truths.truths)} recordings of {truths.name}")
    return Section(truths, measure(truths))


def _own() -> list[Path]:
    """Recordings that ship with the project and whose truth does too."""
    return [folder for folder in OWN if has_truth(folder)]


def _name(folder: Path) -> str:
    """A folder's name in the document: below the repository, else without its place."""
    place = folder.resolve()
    inside = place.is_relative_to(REPOSITORY)
    return place.relative_to(REPOSITORY).as_posix() if inside else place.name


def _tell(line: str) -> None:
    print(line, file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
