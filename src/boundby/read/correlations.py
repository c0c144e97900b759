"""Ids that several launches share, as in files of two processes or sessions: each id made unique.

A launch and its work are joined by correlation alone. Where an id was used twice, the work goes to
the launch that can have caused it: of the process that owns its device, launched before it, in
order of time. What remains open is left without a launch, never joined to the wrong one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from boundby.distribution import distinct
from boundby.frozen import frozen
from boundby.read.columns import Array
from boundby.read.recording import NONE, HostKind, Ints, Quality, Recording
from boundby.read.wording import counted
from boundby.units import NS_PER_US

TOLERANCE_NS = NS_PER_US
"""Both clocks are converted, each with an error below this."""
GRAVE_SHARE = 0.05
"""Share of the device rows or time joined by guess, or not at all, that weakens a verdict."""

_SUBMITS = re.compile(r"Launch(?!HostFunc)|Memcpy|Memset|job_prep_and_submit")
_ONE_EACH = re.compile(
    r"^(?:cuda|cu|hip)(?!\w*(?:Graph|MultiDevice|Batch))\w*Launch|^cu(?:da)?(?!\w*Batch)Mem(?:cpy|set)"
)
"""Calls that cause one device row each; graph launches cause many, others are not known."""


@frozen
class _Rows:
    """Calls and device rows that carry an id, in order of time.

    Attributes:
        call, work: int64 rows of ``Recording.host`` and ``.device``.
        process: For each host row the number of its process.
        is_single: Whether each name is of a call that causes one device row.
        submits: Whether each name is of a call that submits work.
    """

    recording: Recording
    call: Ints
    work: Ints
    process: Ints
    is_single: Array
    submits: Array


@dataclass
class _Found:
    """What was decided: (calls, works) that belong together, and rows that are not certain."""

    pairs: list[tuple[int, list[int]]] = field(default_factory=list)
    alone: list[int] = field(default_factory=list)
    guessed: list[int] = field(default_factory=list)


def with_unique_ids(recording: Recording) -> Recording:
    """The recording with an id of its own for each launch, and a finding where ids were shared."""
    rows = _rows(recording)
    shared = _shared(rows)
    if not len(shared):
        return recording
    found = _settle(rows, shared)
    return replace(
        _renumbered(recording, found),
        quality=(*recording.quality, _finding(recording, len(shared), found)),
    )


def _rows(recording: Recording) -> _Rows:
    host, device = recording.host, recording.device
    call = np.flatnonzero((host.kind == HostKind.CALL) & (host.correlation != NONE))
    processes = {thread.pid: number for number, thread in enumerate(recording.threads)}
    of_thread = np.array([processes[t.pid] for t in recording.threads] or [0], dtype=np.int64)
    return _Rows(
        recording=recording,
        call=_outermost(recording, call),
        work=np.flatnonzero(device.correlation != NONE),
        process=of_thread[host.thread],
        is_single=np.array([bool(_ONE_EACH.search(n)) for n in recording.names] or [False]),
        submits=np.array([bool(_SUBMITS.search(n)) for n in recording.names] or [False]),
    )


def _outermost(recording: Recording, call: Ints) -> Ints:
    """Calls without those that run inside another call of the same id and thread: one launch."""
    host = recording.host
    if len(distinct(host.correlation[call])) == len(call):
        return call
    order = call[np.lexsort((-host.dur[call], host.start[call], host.correlation[call]))]
    inside = np.zeros(len(order), dtype=bool)
    before, after = order[:-1], order[1:]
    inside[1:] = (
        (host.correlation[before] == host.correlation[after])
        & (host.thread[before] == host.thread[after])
        & (host.end[after] <= host.end[before])
    )
    return np.sort(order[~inside])


def _shared(rows: _Rows) -> Ints:
    """Ids of device rows that several calls carry, or several rows of a call that causes one."""
    host, device = rows.recording.host, rows.recording.device
    ids, first, uses = np.unique(host.correlation[rows.call], return_index=True, return_counts=True)
    if not len(ids) or not len(rows.work):
        return np.zeros(0, dtype=np.int64)
    carried, carriers = np.unique(device.correlation[rows.work], return_counts=True)
    at = np.minimum(np.searchsorted(ids, carried), len(ids) - 1)
    is_single = rows.is_single[host.name[rows.call[first[at]]]]
    doubtful = (uses[at] > 1) | (is_single & (carriers > 1))
    return carried[(ids[at] == carried) & doubtful]


def _owners(rows: _Rows, shared: Ints) -> dict[int, int]:
    """The process of each device whose work, as far as its ids are sure, one process launched."""
    host, device = rows.recording.host, rows.recording.device
    known = rows.work[~np.isin(device.correlation[rows.work], shared)]
    calls = rows.call[np.argsort(host.correlation[rows.call], kind="stable")]
    ids = host.correlation[calls]
    at = np.minimum(np.searchsorted(ids, device.correlation[known]), len(calls) - 1)
    joined = ids[at] == device.correlation[known]
    pairs = np.unique(
        np.stack((device.device[known[joined]], rows.process[calls[at[joined]]])), axis=1
    )
    numbers, processes = np.unique(pairs[0], return_counts=True)
    sole = set(numbers[processes == 1].tolist())
    return {int(d): int(p) for d, p in pairs.T.tolist() if d in sole}


def _settle(rows: _Rows, shared: Ints) -> _Found:
    """Each shared id on its own, split by the owner of the device where that is known."""
    found = _Found()
    owners = _owners(rows, shared)
    owning = set(owners.values())
    device = rows.recording.device
    calls, works = _grouped(rows, shared)
    for number in shared.tolist():
        of_owner: dict[int | None, list[int]] = {}
        for work in works[number]:
            of_owner.setdefault(owners.get(int(device.device[work])), []).append(work)
        for owner, mine in of_owner.items():
            taken = [c for c in calls[number] if _may_own(int(rows.process[c]), owner, owning)]
            _pair(rows, taken, mine, found)
    return found


def _may_own(process: int, owner: int | None, owning: set[int]) -> bool:
    return process not in owning if owner is None else process == owner


def _grouped(rows: _Rows, shared: Ints) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
    """Calls and device rows of each shared id, in order of time."""
    host, device = rows.recording.host, rows.recording.device
    calls: dict[int, list[int]] = {number: [] for number in shared.tolist()}
    works: dict[int, list[int]] = {number: [] for number in shared.tolist()}
    for row in rows.call[np.isin(host.correlation[rows.call], shared)].tolist():
        calls[int(host.correlation[row])].append(row)
    for row in rows.work[np.isin(device.correlation[rows.work], shared)].tolist():
        works[int(device.correlation[row])].append(row)
    return calls, works


def _pair(rows: _Rows, calls: list[int], works: list[int], found: _Found) -> None:
    """Give the work of one id to its launches, as far as physics leaves one way."""
    host, device = rows.recording.host, rows.recording.device
    submitting = [call for call in calls if rows.submits[host.name[call]]]
    calls = submitting or calls
    is_single = all(rows.is_single[host.name[call]] for call in calls)
    begun = host.start[calls] - TOLERANCE_NS
    latest = (np.searchsorted(begun, device.start[works], side="right") - 1).tolist()
    if len(calls) == 1 and is_single:
        _take_first(calls[0], works, latest, found)
    elif sorted(set(latest) - {NONE}) == list(range(len(calls))) and (
        not is_single or len(works) == len(calls)
    ):
        _take_latest(calls, works, latest, found)
        if not is_single and len(calls) > 1:
            found.guessed += works
    elif len(calls) == len(works) and bool((device.start[works] >= begun).all()):
        found.pairs += [(call, [work]) for call, work in zip(calls, works, strict=True)]
        found.guessed += works
    elif len(works) == 1 and latest[0] == 0:
        found.pairs.append((calls[0], works))
    else:
        found.alone += works


def _take_first(call: int, works: list[int], latest: list[int], found: _Found) -> None:
    """The first row after a call that causes one; the others carry an id that is not theirs."""
    later = [work for work, at in zip(works, latest, strict=True) if at != NONE] or works[:1]
    found.pairs.append((call, later[:1]))
    found.alone += [work for work in works if work != later[0]]
    found.guessed += later[:1] if len(works) > 1 else []


def _take_latest(calls: Sequence[int], works: list[int], latest: list[int], found: _Found) -> None:
    """Each row to the last launch before it."""
    groups: list[list[int]] = [[] for _ in calls]
    for work, at in zip(works, latest, strict=True):
        if at == NONE:
            found.alone.append(work)
        else:
            groups[at].append(work)
    found.pairs += zip(calls, groups, strict=True)


def _renumbered(recording: Recording, found: _Found) -> Recording:
    host, device = recording.host, recording.device
    of_call, of_work = host.correlation.copy(), device.correlation.copy()
    fresh = int(max(of_call.max(), of_work.max())) + 1
    for number, (call, works) in enumerate(found.pairs, fresh):
        of_call[call] = number
        of_work[works] = number
    of_work[found.alone] = NONE
    return replace(
        recording,
        host=replace(host, correlation=of_call),
        device=replace(device, correlation=of_work),
    )


def _finding(recording: Recording, shared: int, found: _Found) -> Quality:
    dur = recording.device.dur
    unsure = found.alone + found.guessed
    time = float(dur[unsure].sum()) / max(int(dur.sum()), 1)
    share = max(time, len(unsure) / len(dur))
    text = (
        f"{counted(shared, 'id')} of launches used more than once, as where two processes or "
        "sessions are in one file"
    )
    if share <= GRAVE_SHARE:
        return Quality("shared-ids", "info", shared, f"{text}: told apart by device and time.")
    text += (
        f": {counted(len(unsure), 'device event')} ({time:.0%} of the device time) joined by order "
        "of time or left without a launch. Distrust which step and operator they belong to; give "
        "one file a process."
    )
    return Quality("shared-ids", "warning", shared, text)
