"""Reads out-of-memory messages from text: a message, or a whole log, of any era and device.

By the text and never by a version: forks and containers mix them. Templates of 21 families are
known (CUDA of torch 0.3 to 2.13, HIP, XPU, NPU, MPS, CPU, drivers, loader workers). Prefixes of
loggers and ranks, boxes of rich and hard wraps are removed first; what is missing stays None. A
prefix that no pattern knows is told by its repetition: what each line of a message begins with.
"""

from __future__ import annotations

import re
from dataclasses import field, replace
from typing import Any

from boundby.frozen import frozen

UNITS = {
    "bytes": 1, "byte": 1, "b": 1, "kib": 1 << 10, "kb": 1 << 10, "mib": 1 << 20, "mb": 1 << 20,
    "gib": 1 << 30, "gb": 1 << 30, "tib": 1 << 40, "tb": 1 << 40,
}  # fmt: skip
"""MPS writes MB and GB and means powers of two."""

SIZE = r"(\d+(?:\.\d+)?)\s*([KMGT]i?B|bytes?)(?!\w)"
ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
BOX = re.compile(r"[\u2500-\u257f]+|^\s*\|\s?|\s\|\s*$", re.MULTILINE)
PREFIX = re.compile(
    r"^\s*(?:"
    r"\[?(?:rank|Rank )\d+\]?\s*:(?!\w)"
    r"|\(\w[\w ]*?(?:pid|rank)\s*=\s*\d+[^)]*\)"
    r"|\[(?:default)?\d+\]:"
    r"|(?:DEBUG|INFO|WARNING|WARN|ERROR|CRITICAL|FATAL)[:\s]\s*(?=[\d\[(])"
    r"|\d{2,4}-\d\d(?:-\d\d)?[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?"
    r"|\[[\w./-]+\.(?:py|cpp):\d+\]"
    r"|\[\d{4}-\d\d-\d\d[^\]]*\]"
    r")\s*",
    re.IGNORECASE,
)
"""What a logger or launcher puts before each line; removed again and again until none is left."""

LONGEST = 4000
"""Characters of a message that are looked at after its start."""

LONGEST_LINES = 30
START_LINES = 4
"""Over so many lines the first words of a message are broken in the narrowest logs."""

SPACES = str.maketrans(dict.fromkeys("\u00a0\u2007\u202f", " "))
"""Spaces that do not break, as pages of the web have them."""
TOKEN = re.compile(r"[^\W\d_]+|\d+|.", re.DOTALL)

ANCHORS = re.compile(
    r"(?P<backend>CUDA|HIP|XPU|NPU|MPS backend|MUSA|MLU|HPU|GPU) out of memory(?=[\s.(]|$)"
    r"|Tried to allocate \d"
    r"|THCudaCheck FAIL[^\n]*out of memory|cuda runtime error \(2\)\s*:\s*out of memory"
    r"|CUDA(?: driver)? error:\s*out of memory|HIP error:\s*out of memory|cudaErrorMemoryAllocation"
    r"|CUDNN_STATUS_ALLOC_FAILED|CUBLAS_STATUS_ALLOC_FAILED|CUSOLVER_STATUS_ALLOC_FAILED"
    r"|DefaultCPUAllocator: (?:can't allocate memory|not enough memory)"
    r"|DataLoader worker \(pid\(?s?\)?[^)\n]*\)[^\n]*?"
    r"(?:killed by signal: (?:Killed|Bus\s*error)|exited unexpectedly)"
    r"|unable to (?:open shared memory object|write to file|mmap \d+ bytes from file) ?</[^\n]*"
    r"(?:No space left|Cannot allocate)"
    r"|(?:exit(?:ed)? (?:with )?(?:code|status)|terminated with code|exitcode\s*[:=]"
    r"|failed \(exitcode:)\s*:?\s*(?:-9|137)\b"
    r"|Out of memory: Killed process \d+|oom-kill:|oom[_-]kill event|\bOOM[ -]?Killed\b"
    r"|Unable to allocate \d[\d.]* [KMGT]iB for an array",
    re.IGNORECASE,
)
WORDS = (
    "out of", "allocate", "memoryallocation", "alloc_", "cpualloc", "killed", "oom-kill",
    "oom_kill", "exitcode", "thcudacheck", "terminated with", "unable to",
    *(f"{word}{between}{code}" for word in ("code", "status") for between in (" ", ": ", "=")
      for code in ("-9", "137")),
)  # fmt: skip
"""A line without any of these starts no message, unless the next one goes on with it. Plain words:
looking for them is twenty times faster than for a pattern, and a log may be long."""
MUST_FOLLOW = {
    "out of": re.compile(r"[^\S\n]*(?:\x1b|[|\u2502]|m(?:e(?:m(?:o(?:ry?)?)?)?)?(?!\w)|\n|$)"),
    "allocate": re.compile(r"(?!\w)"),
}
"""What comes after a word that logs without any message are full of: how far a run has come, how
much is allocated."""

CONTINUES = re.compile(
    r"Tried to allocate|already allocated|total capac|is free|in use|allowed|allocated by|reserved|"
    r"fragmentation|Documentation|CONF|Error code|you tried|PyTorch|other allocations|max allowed|"
    r"MiB|GiB|KiB|bytes|empty_cache|private pool|shared pool|WATERMARK",
    re.IGNORECASE,
)
NO_PART = re.compile(
    r"^\s*(?:Traceback|File \"|raise |During handling|The above exception)"
    r"|[a-z](?:Error|Exception):"
)
"""What ends a message: the frames of a traceback, the class of the next exception."""
NEXT_MESSAGE = re.compile(r"out of memory\b", re.IGNORECASE)
BODY = re.compile(rf"[\w.]*[a-z](?:Error|Exception)\b|(?i:{ANCHORS.pattern})")
"""Where a message itself begins on its line, after whatever stands before it."""


def _field(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern.replace("SIZE", SIZE), re.IGNORECASE)


FIELDS: dict[str, tuple[re.Pattern[str], ...]] = {
    "requested": (
        _field(r"Tried to allocate SIZE"),
        _field(r"you tried to allocate SIZE"),
        _field(r"Unable to allocate SIZE for an array"),
    ),
    "capacity": (
        _field(r"SIZE total capacity"),
        _field(r"total capacity? of SIZE"),
        _field(r"total capacty of SIZE"),
    ),
    "free": (_field(r"of which SIZE is free"), _field(r"[;,(]\s*SIZE free")),
    "allocated": (
        _field(r"SIZE already allocated"),
        _field(r"SIZE is allocated by PyTorch"),
        _field(r"MPS allocated: SIZE"),
    ),
    "reserved": (_field(r"SIZE reserved in total"),),
    "cached": (_field(r"SIZE cached"),),
    "unallocated": (_field(r"SIZE is reserved by PyTorch but unallocated"),),
    "allowed": (_field(r"SIZE allowed"), _field(r"max allowed: SIZE")),
    "in_use": (_field(r"this process has SIZE memory in use"),),
    "private_pools": (_field(r"SIZE allocated in private pools"),),
    "active": (_field(r"SIZE current active"),),
    "other": (_field(r"other allocations: SIZE"),),
}
OTHERS = _field(r"Process (\d+) has SIZE memory in use")
GPU = re.compile(r"(?:GPU|NPU|XPU|device) (\d+)(?:;| has a total)", re.IGNORECASE)
NUMBER_OF_RANK = re.compile(r"\[?rank\s?(\d+)\]?\s*:|rank=(\d+)", re.IGNORECASE)


@frozen
class OomMessage:
    """What one message says; bytes, None where it does not say.

    Attributes:
        kind: ``device`` (an allocator of a device, with sizes), ``device-bare`` (without),
            ``library`` (cuBLAS, cuDNN), ``host`` (the CPU allocator), ``killed`` (a process ended
            by the system), ``shared`` (no room in the shared memory of the host).
        backend: ``cuda hip xpu npu mps cpu``.
        gpu: Number of the device.
        rank: Rank whose line it is.
        reserved: By PyTorch in all; where the text gives allocated and unallocated, their sum.
        cached: Free inside the cache (torch up to 1.3).
        in_use: Of this process, its context included.
        others: Bytes by process of others on the device. In a container one may be this one.
        advises_expandable: It names ``expandable_segments:True``: so it is not on, or the message
            does not look (it never does).
        pool: ``private`` or ``shared`` of MPS.
        count: How often the message stands in the text.
    """

    kind: str
    backend: str
    gpu: int | None = None
    rank: int | None = None
    requested: int | None = None
    capacity: int | None = None
    free: int | None = None
    allocated: int | None = None
    reserved: int | None = None
    unallocated: int | None = None
    cached: int | None = None
    allowed: int | None = None
    in_use: int | None = None
    private_pools: int | None = None
    active: int | None = None
    other: int | None = None
    others: dict[int, int] = field(default_factory=dict)
    pool: str | None = None
    advises_expandable: bool = False
    is_truncated: bool = False
    line: int = 1
    count: int = 1


def read_oom_messages(text: str) -> list[OomMessage]:
    """All messages in a text, in order; repeats of the same are counted once."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if not text.isascii():
        text = text.translate(SPACES)
    raw = text.split("\n")
    found: list[OomMessage] = []
    after = 0
    for number in _candidates(text):
        if number < after or not _starts(_plain(raw[number : number + START_LINES])):
            continue
        body = _message(_plain(raw[number : number + LONGEST_LINES]))
        rank = NUMBER_OF_RANK.search(raw[number])
        _add(found, replace(_best(body), line=number + 1, rank=_rank(rank)))
        after = number + len(body)
    return found


def _candidates(text: str) -> list[int]:
    """Lines that hold a word of a message, and the line before each, ascending: few of a log."""
    low = text.lower()
    found: set[int] = set()
    for word in WORDS:
        follows = MUST_FOLLOW.get(word)
        at = low.find(word)
        while at >= 0:
            if follows is None or follows.match(low, at + len(word)):
                found.add(at)
            at = low.find(word, at + 1)
    lines: set[int] = set()
    line = before = 0
    for at in sorted(found):
        line += low.count("\n", before, at)
        before = at
        lines |= {line - 1, line} if line else {0}
    return sorted(lines)


def _rank(found: re.Match[str] | None) -> int | None:
    return int(found[1] or found[2]) if found else None


def _plain(lines: list[str]) -> list[str]:
    """Lines without colours, boxes and what launchers and loggers put before each."""
    uncoloured = [ANSI.sub("", line) if "\x1b" in line else line for line in lines]
    return [_bare(line) for line in _unprefixed(uncoloured)]


def _unprefixed(lines: list[str]) -> list[str]:
    """Lines without what all begin with, numbers aside, up to where the first tells something."""
    first, rest = lines[0], lines[1:]
    body = BODY.search(first)
    tokens = TOKEN.findall(first[: body.start()] if body else first)
    cut = [_shared(tokens, line) for line in rest]
    most = max(cut[:1], default=0)
    return [
        first,
        *(line[at:] if at and most else line for at, line in zip(cut, rest, strict=True)),
    ]


def _shared(tokens: list[str], line: str) -> int:
    """Characters at the start of a line that are these tokens, but for the value of numbers.

    Up to the last that is no word: one that the message itself begins with stays whole.
    """
    at = end = 0
    for token in tokens:
        found = TOKEN.match(line, at)
        if found is None or not (found[0] == token or (found[0] + token).isdigit()):
            break
        at = found.end()
        if not token[0].isalnum():
            end = at
    return end


def _bare(line: str) -> str:
    if not line.isascii() or "|" in line:
        line = BOX.sub(" ", line)
    while (found := PREFIX.match(line)) and found.end() > 0:
        line = line[found.end() :]
    return line


def _starts(lines: list[str]) -> bool:
    """Whether a message starts on the first line; its first words may run over into the next."""
    line = lines[0]
    if ANCHORS.search(line):
        return True
    return any(_starts_across(lines[:count]) for count in range(2, len(lines) + 1))


def _starts_across(lines: list[str]) -> bool:
    end = len(lines[0].rstrip())
    for text in ("".join(lines), " ".join([lines[0].rstrip(), *map(str.strip, lines[1:])])):
        across = ANCHORS.search(text)
        if across and across.start() < end < across.end():
            return True
    return False


def _message(lines: list[str]) -> list[str]:
    """The lines that belong to the message that starts on the first."""
    taken = [lines[0]]
    for line in lines[1:]:
        ends = not line.strip() or (ANCHORS.search(line) and not _is_half(taken, line))
        if ends or not _goes_on(taken[-1], line):
            break
        taken.append(line)
    return taken


def _is_half(taken: list[str], line: str) -> bool:
    """Whether a line with an anchor of its own still belongs to this message."""
    so_far = _joined(taken)
    starts_again = NEXT_MESSAGE.search(line) or "DataLoader" in line
    return not starts_again and not FIELDS["requested"][0].search(so_far)


def _goes_on(before: str, line: str) -> bool:
    """Whether a line continues a wrapped message: it speaks of memory, or a word was broken off."""
    if NO_PART.search(line):
        return False
    return bool(CONTINUES.search(line)) or (not re.search(r"[.)]\s*$", before) and len(line) < 200)  # noqa: PLR2004 -- prose


def _joined(lines: list[str]) -> str:
    """One line; a hyphenless wrap inside a number or name is a space, which patterns allow."""
    return re.sub(r"[ \t]+", " ", " ".join(line.strip() for line in lines))


def _best(lines: list[str]) -> OomMessage:
    """The message in wrapped lines: broken between words, or anywhere by a terminal's width.

    Whichever way of joining finds more; of equal ones the second, which alone mends numbers.
    """
    soft = _parsed(_joined(lines)[:LONGEST])
    if len(lines) == 1:
        return soft
    hard = _parsed(re.sub(r"[ \t]+", " ", "".join(lines))[:LONGEST])
    return max(hard, soft, key=_fields_found)


def _fields_found(message: OomMessage) -> int:
    known = sum(getattr(message, name) is not None for name in FIELDS)
    told = (message.gpu is not None) + message.advises_expandable + (message.backend != "cuda")
    return known + len(message.others) + told


def _parsed(body: str) -> OomMessage:
    values: dict[str, Any] = {name: _size(patterns, body) for name, patterns in FIELDS.items()}
    kind, backend = _kind(body, values)
    others = {int(m[1]): _bytes(m[2], m[3]) for m in OTHERS.finditer(body)}
    if values["reserved"] is None and None not in (values["allocated"], values["unallocated"]):
        values["reserved"] = (values["allocated"] or 0) + (values["unallocated"] or 0)
    elif values["unallocated"] is None and None not in (values["allocated"], values["reserved"]):
        values["unallocated"] = max((values["reserved"] or 0) - (values["allocated"] or 0), 0)
    pool = re.search(r"on (private|shared) pool", body)
    gpu = GPU.search(body)
    return OomMessage(
        kind=kind,
        backend=backend,
        gpu=int(gpu[1]) if gpu else None,
        others=others,
        pool=pool[1] if pool else None,
        advises_expandable="expandable_segments:True" in body.replace(" ", ""),
        is_truncated=kind == "device" and values["allocated"] is None,
        **values,
    )


def _size(patterns: tuple[re.Pattern[str], ...], body: str) -> int | None:
    for pattern in patterns:
        found = pattern.search(body)
        if found:
            return _bytes(found[1], found[2])
    return None


def _bytes(number: str, unit: str) -> int:
    return round(float(number) * UNITS[unit.lower()])


KINDS: tuple[tuple[re.Pattern[str], str, str], ...] = (
    (re.compile(r"Bus\s*error|unable to [^<\n]*</", re.IGNORECASE), "shared", "cpu"),
    (
        re.compile(
            r"DataLoader worker|code:? ?-9|exitcode.*-9|\b137\b|Killed process|oom[ _-]?kill",
            re.IGNORECASE,
        ),
        "killed",
        "cpu",
    ),
    (re.compile(r"DefaultCPUAllocator|for an array"), "host", "cpu"),
    (re.compile(r"CU(?:BLAS|DNN|SOLVER)_STATUS_ALLOC_FAILED"), "library", "cuda"),
)
BACKENDS = ("MPS", "HIP", "XPU", "NPU", "MUSA", "MLU", "HPU")


def _kind(body: str, values: dict[str, Any]) -> tuple[str, str]:
    found = ANCHORS.search(body)
    start = body[found.start() : found.end() + 20] if found else body
    for pattern, kind, backend in KINDS:
        if pattern.search(start):
            return kind, backend
    backend = next((word.lower() for word in BACKENDS if re.search(rf"\b{word}\b", start)), "cuda")
    return ("device" if values["requested"] is not None else "device-bare"), backend


def _add(found: list[OomMessage], message: OomMessage) -> None:
    """Add a message, or count it where it repeats one (a traceback and a log line, ranks)."""
    for row, known in enumerate(found):
        if replace(known, line=message.line, count=1, rank=message.rank) == message:
            found[row] = replace(known, count=known.count + 1)
            return
    found.append(message)
