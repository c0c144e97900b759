"""What reading changed, gave up or left out, as findings for the user."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

from boundby.frozen import frozen
from boundby.read.clock import Misdated
from boundby.read.recording import Quality, Severity
from boundby.read.wording import counted

FATAL_SHARE = 0.1
"""With this share of the events left out, no statement about the program holds."""


@frozen
class Losses:
    """Counts from reading one file.

    Attributes:
        is_cut_short: The file ends before its list of events does.
        has_window: The recorder's own window was read, which it writes after all other events.
        unreadable: Events given up, of ``events``: damaged, cut, or without a usable time.
        mended: Strings and numbers rewritten to legal JSON.
        unknown: Complete events of a category that is not known.
        signatures: Operators whose arguments were not kept, for want of room.
        misdated: Rows left out for their time, of ``device_rows`` and ``host_rows`` rows in all.
        overlong: Device rows left out for their duration.
        repeats: Rows written twice.
    """

    is_cut_short: bool = False
    has_window: bool = False
    events: int = 0
    unreadable: int = 0
    mended: int = 0
    unknown: int = 0
    signatures: int = 0
    misdated: Misdated = field(default_factory=Misdated)
    device_rows: int = 0
    host_rows: int = 0
    overlong: int = 0
    repeats: int = 0


def loss_findings(losses: Losses) -> tuple[Quality, ...]:
    """One finding for each kind of loss that happened."""
    return tuple(finding for tell in _TOLD if (finding := tell(losses)) is not None)


def _cut_short(losses: Losses) -> Quality | None:
    if not losses.is_cut_short:
        return None
    if losses.has_window:
        message = (
            "The file ends after its last event, before its own end: nothing seems to be lost."
        )
        return Quality("truncated", "info", 1, message)
    message = (
        "The file ends inside its list of events, which is not in order of time: any kind of event "
        "may be missing. Export or copy the trace again."
    )
    return Quality("truncated", "fatal", 1, message)


def _unreadable(losses: Losses) -> Quality | None:
    if not losses.unreadable:
        return None
    events = counted(losses.unreadable, "event")
    message = f"{events} could not be read (damaged, cut or without a time) and left out."
    severity: Severity = "fatal" if losses.unreadable > FATAL_SHARE * losses.events else "warning"
    return Quality("unreadable-events", severity, losses.unreadable, message)


def _mended(losses: Losses) -> Quality | None:
    if not losses.mended:
        return None
    values = counted(losses.mended, "value")
    message = f"{values} repaired that JSON forbids: stray characters or commas, NaN, not UTF-8."
    return Quality("repaired", "info", losses.mended, message)


def _misdated(losses: Losses) -> Quality | None:
    found = losses.misdated
    if not found.total:
        return None
    is_grave = found.device > FATAL_SHARE * losses.device_rows
    is_grave |= found.host > FATAL_SHARE * losses.host_rows
    severity: Severity = "fatal" if is_grave else "warning"
    at_zero = f", {found.at_zero} of them at time 0" if found.at_zero else ""
    message = (
        f"{counted(found.total, 'event')} ({found.device} of {losses.device_rows} device events) "
        f"dated far outside the recording{at_zero}: left out. Record again with one profiler "
        "session per process."
    )
    return Quality("bad-clock", severity, found.total, message)


def _overlong(losses: Losses) -> Quality | None:
    if not losses.overlong:
        return None
    message = (
        f"{counted(losses.overlong, 'device event')} longer than the whole recording although "
        "others follow on the stream: left out, and device times are not to be trusted. Record "
        "again."
    )
    return Quality("kernel-longer-than-recording", "fatal", losses.overlong, message)


def _repeats(losses: Losses) -> Quality | None:
    if not losses.repeats:
        return None
    message = f"{counted(losses.repeats, 'event')} written twice; each is counted once."
    return Quality("duplicate-events", "warning", losses.repeats, message)


def _signatures(losses: Losses) -> Quality | None:
    if not losses.signatures:
        return None
    message = (
        f"The argument shapes of {counted(losses.signatures, 'operator call')} were not kept: "
        "there are too many different ones."
    )
    return Quality("signatures-dropped", "info", losses.signatures, message)


def _unknown(losses: Losses) -> Quality | None:
    if not losses.unknown:
        return None
    message = f"{counted(losses.unknown, 'event')} of a category this reader does not know: unused."
    return Quality("unknown-category", "info", losses.unknown, message)


_TOLD: tuple[Callable[[Losses], Quality | None], ...] = (
    _cut_short,
    _unreadable,
    _mended,
    _misdated,
    _overlong,
    _repeats,
    _signatures,
    _unknown,
)
