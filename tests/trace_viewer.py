"""A viewer of Trace Event files, by the rules that Perfetto's importer enforces.

It tells what the importer would drop, move to another track, or draw elsewhere than it was written.
The rules: times are microseconds and become whole nanoseconds; events are ordered by time, slices
of one time by length, marks after them; a slice that begins inside another and outlasts it is
dropped, and so is an arrow that finds no open slice; track 0 becomes the one of the process.
"""

from collections import Counter
from dataclasses import dataclass, field
from math import isfinite

LONGEST_TEXT = 1100
DEEPEST = 512
REQUIRED = {"X": ("name", "dur", "tid"), "s": ("id", "tid"), "f": ("id", "tid"), "C": ("name",)}


@dataclass
class Seen:
    """What came out: the problems by name, and where each arrow begins and ends."""

    problems: Counter = field(default_factory=Counter)
    arrows: list = field(default_factory=list)
    slices: int = 0


def view(document):
    """Import a whole document."""
    seen = Seen()
    if set(document) != {"traceEvents"}:
        seen.problems["another key"] += 1
    events = [each for each in document["traceEvents"] if _is_sound(each, seen.problems)]
    _check_names(events, seen.problems)
    tracks, begun = {}, {}
    for event in sorted((e for e in events if e["ph"] != "M"), key=_order):
        stack = tracks.setdefault((event["pid"], event.get("tid")), [])
        if event["ph"] == "X":
            seen.slices += _push(stack, event, seen.problems)
        elif event["ph"] in "sf":
            _bind(stack, event, begun, seen)
    seen.problems["arrow without end"] += len(begun)
    seen.problems = +seen.problems
    return seen


def ns(microseconds):
    return round(microseconds * 1000)


def _order(event):
    return ns(event["ts"]), -ns(event["dur"]) if event["ph"] == "X" else 1


def _is_sound(event, problems):
    wrong = [
        name
        for name, is_wrong in {
            "unknown phase": event["ph"] not in "XMCsfi",
            "process 0": event.get("pid", 0) <= 0,
            "track 0": event.get("tid", 1) <= 0,
            "track of the process": event.get("tid") == event["pid"],
            "no time": event["ph"] != "M" and not _is_time(event.get("ts")),
            "no duration": event["ph"] == "X" and not _is_time(event.get("dur")),
            "field missing": any(key not in event for key in REQUIRED.get(event["ph"], ())),
            "no name": not event.get("name"),
            "long text": any(len(text) > LONGEST_TEXT for text in _texts(event)),
            "no number": event["ph"] == "C" and not all(map(_is_time, event["args"].values())),
            "no scope": event["ph"] == "i" and event.get("s") not in ("g", "p"),
        }.items()
        if is_wrong
    ]
    problems.update(wrong)
    return not wrong


def _is_time(value):
    return isinstance(value, int | float) and isfinite(value) and value >= 0


def _texts(event):
    return [each for each in (event["name"], *event.get("args", {}).values()) if type(each) is str]


def _check_names(events, problems):
    """Every track and process that is drawn has one name."""
    named = Counter((e["pid"], e.get("tid")) for e in events if e["name"] in NAMES)
    problems["named twice"] += sum(count > 1 for count in named.values())
    drawn = {(e["pid"], e["tid"]) for e in events if e["ph"] == "X"}
    drawn |= {(e["pid"], None) for e in events if e["ph"] != "M"}
    problems["nameless"] += len(drawn - set(named))


NAMES = ("process_name", "thread_name")


def _push(stack, event, problems):
    """Whether a slice is kept, on top of those that are open."""
    start, end = ns(event["ts"]), ns(event["ts"]) + ns(event["dur"])
    while stack and _is_over(stack[-1], start, end):
        stack.pop()
    if stack and start < stack[-1][1] < end:
        problems["overlap"] += 1
        return False
    stack.append((start, end, event))
    problems["deep"] += len(stack) > DEEPEST
    return True


def _is_over(open_, start, end):
    """Whether an open slice ends before another begins; two without length stand on each other."""
    are_moments = open_[0] == open_[1] == start == end
    return open_[1] <= start and not are_moments


def _bind(stack, event, begun, seen):
    """An arrow begins and ends at the innermost slice that is open on its track."""
    here = stack[-1] if stack else None
    if here is None or here[1] < ns(event["ts"]):
        seen.problems["arrow without slice"] += 1
    elif event["ph"] == "s":
        seen.problems["same arrow"] += event["id"] in begun
        begun[event["id"]] = here
    elif event["id"] not in begun:
        seen.problems["arrow without begin"] += 1
    else:
        seen.arrows.append((begun.pop(event["id"]), here))
