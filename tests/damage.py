"""A sound trace, damaged in the ways that bug reports about real profilers and tools show.

``damaged("nan", document)`` gives the bytes of a broken file. ``KINDS`` lists the kinds by what a
reader owes: the same rows as before, fewer rows with a finding, or one line of refusal.
"""

import json
import re
from collections.abc import Callable
from typing import Any

Document = dict[str, Any]
DEVICE = frozenset({"kernel", "gpu_memcpy", "gpu_memset"})
CALLS = frozenset({"cuda_runtime", "cuda_driver"})
DAY_US = 86_400e6


def _text(document: Document) -> str:
    return json.dumps(document)


def _with(document: Document, events: list[dict[str, Any]]) -> bytes:
    return _text({**document, "traceEvents": events}).encode()


def _where(document: Document, keep: Callable[[dict[str, Any]], bool]) -> bytes:
    return _with(document, [event for event in document["traceEvents"] if keep(event)])


def _renamed(document: Document, prefix: str) -> str:
    """Every operator name gets a prefix that the JSON writer would have escaped."""
    return re.sub(r'"name": "aten::', lambda _: f'"name": "{prefix}aten::', _text(document))


def truncated(document: Document) -> bytes:
    text = _text(document).encode()
    return text[: len(text) * 3 // 5]


def nan(document: Document) -> bytes:
    bad = '"args": {"queued": NaN, "most": Infinity, "occupancy": -nan, '
    return _text(document).replace('"args": {', bad, 40).encode()


def control(document: Document) -> bytes:
    return _renamed(document, "\x01\t").encode()


def backslash(document: Document) -> bytes:
    return _renamed(document, "D:\\Work\\").encode()


def latin1(document: Document) -> bytes:
    return _renamed(document, "caf\xe9 ").encode("latin-1")


def surrogate(document: Document) -> bytes:
    """Half of a character outside the first plane, as a name cut in UTF-16 has it."""
    return _renamed(document, "\\ud83d ").encode()


def no_commas(document: Document) -> bytes:
    return re.sub(r"\}, \{(?=\"(?:ph|cat|name)\")", "}\n{", _text(document)).encode()


def double_commas(document: Document) -> bytes:
    return re.sub(r"\}, \{(?=\"(?:ph|cat|name)\")", "},,{", _text(document)).encode()


def bare_list(document: Document) -> bytes:
    return json.dumps(document["traceEvents"]).encode()


def string_times(document: Document) -> bytes:
    timed = ("ts", "dur")
    return _with(
        document,
        [
            {key: str(value) if key in timed else value for key, value in event.items()}
            for event in document["traceEvents"]
        ],
    )


def one_line(document: Document) -> bytes:
    return json.dumps(document, separators=(",", ":")).encode()


def indented(document: Document) -> bytes:
    return json.dumps(document, indent=4).encode()


def metadata_last(document: Document) -> bytes:
    rest = {key: value for key, value in document.items() if key != "traceEvents"}
    return _text({"traceEvents": document["traceEvents"], **rest}).encode()


def no_steps(document: Document) -> bytes:
    return _where(document, lambda e: not str(e.get("name")).startswith("ProfilerStep"))


def cpu_only(document: Document) -> bytes:
    gone = DEVICE | CALLS | {"gpu_user_annotation", "ac2g"}
    return _where(document, lambda e: e.get("cat") not in gone)


def device_only(document: Document) -> bytes:
    return _where(document, lambda e: e.get("cat") in DEVICE or e.get("ph") == "M")


def huge_kernel(document: Document) -> bytes:
    """The middle device event lasts a minute."""
    events = list(document["traceEvents"])
    rows = [row for row, event in enumerate(events) if event.get("cat") in DEVICE]
    middle = rows[len(rows) // 2]
    events[middle] = {**events[middle], "dur": 60e6}
    return _with(document, events)


def bad_clock(document: Document) -> bytes:
    """The first device events are a day early, every third of them at 0."""
    events = list(document["traceEvents"])
    rows = [row for row, event in enumerate(events) if event.get("cat") in DEVICE][:20]
    for count, row in enumerate(rows):
        at = 0 if count % 3 == 0 else events[row]["ts"] - DAY_US
        events[row] = {**events[row], "ts": at}
    return _with(document, events)


def lost_launches(document: Document) -> bytes:
    """Every other call is gone."""
    calls = [id(event) for event in document["traceEvents"] if event.get("cat") in CALLS]
    gone = set(calls[::2])
    return _where(document, lambda e: id(e) not in gone)


def lost_kernels(document: Document) -> bytes:
    return _where(document, lambda e: e.get("cat") not in DEVICE)


def duplicate_events(document: Document) -> bytes:
    events = document["traceEvents"]
    return _with(document, events + events[: len(events) // 2])


def empty(_document: Document) -> bytes:
    return b""


def empty_events(document: Document) -> bytes:
    return _with(document, [])


def not_json(_document: Document) -> bytes:
    return b"PK\x03\x04 an archive"


HARMLESS = (bare_list, string_times, one_line, indented, metadata_last)
REPAIRABLE = (nan, control, backslash, latin1, surrogate, no_commas, double_commas)
LOSSY = (
    truncated,
    no_steps,
    cpu_only,
    device_only,
    huge_kernel,
    bad_clock,
    lost_launches,
    lost_kernels,
    duplicate_events,
)
HOPELESS = (empty, empty_events, not_json)
KINDS = {kind.__name__: kind for kind in HARMLESS + REPAIRABLE + LOSSY + HOPELESS}


def damaged(kind: str, document: Document) -> bytes:
    """The bytes of the file that ``document`` would be if it were damaged so."""
    return KINDS[kind](document)
