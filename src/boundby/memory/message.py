"""The verdict on an out-of-memory text: what its numbers prove, and what they only hint at."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from boundby.memory import remedies as known
from boundby.memory.decide import FULL_SHARE, OTHERS_SHARE
from boundby.memory.facts import MIB, Fact, Trust, size_text
from boundby.memory.pace import Pace
from boundby.memory.remedies import Remedy
from boundby.memory.trade import traded
from boundby.memory.verdicts import Strength, Verdict, undecided
from boundby.read.oom_message import OomMessage

CONTEXT = 600 * MIB
"""CUDA context and libraries of one process; measured 0.5 to 0.7 GiB on an H200 with torch 2.11."""

HINTED = re.compile(
    r"try\s+setting\s+PYTORCH_(?:CUDA_|HIP_)?ALLOC_CONF\s*=\s*expandable_segments:True"
)
SET = re.compile(r"expandable_segments\W{1,3}True")


@dataclass(frozen=True)
class TextDiagnosis:
    """The answer about a text.

    Attributes:
        message: The one that was judged: the first that says how much was asked for.
        messages: All that the text holds.
    """

    message: OomMessage
    messages: tuple[OomMessage, ...]
    verdict: Verdict
    evidence: tuple[Fact, ...]
    prescriptions: tuple[Remedy, ...]
    pace: Pace | None = None


def diagnose_text(
    messages: list[OomMessage], text: str = "", pace: Pace | None = None
) -> TextDiagnosis:
    """Judge the first message with numbers: what follows it is mostly its consequence.

    Args:
        text: Where they come from: it may tell which settings were in force.
        pace: What bounds the step in time, where known: advice depends on it.
    """
    told = [each for each in messages if each.kind == "device"] or messages
    message = told[0]
    verdict = next(v for rule in RULES if (v := rule(message)) is not None)
    is_on = bool(SET.search(HINTED.sub("", text)))
    return TextDiagnosis(
        message, tuple(messages), verdict, tuple(_facts(message)),
        tuple(
            traded(each, None, pace)
            for each in _remedies(message, verdict, expandable_is_on=is_on)
        ), pace,
    )  # fmt: skip


OF_THE_HOST = ("host-memory", "shared-memory")
"""Causes that say nothing of the device."""


def _host(message: OomMessage) -> Verdict | None:
    if message.kind not in ("host", "killed"):
        return None
    facts = ("memory-request",) if message.requested else ()
    return Verdict(
        "really-full", "host-memory", "strong" if message.kind == "host" else "moderate", facts
    )


def _shared(message: OomMessage) -> Verdict | None:
    is_shared = message.kind == "shared"
    return Verdict("really-full", "shared-memory", "strong", ()) if is_shared else None


def _silent(message: OomMessage) -> Verdict | None:
    if message.requested is not None:
        return None
    what = (
        "a library failed to allocate"
        if message.kind == "library"
        else "the message holds no sizes"
    )
    return undecided(
        f"Only this is known: {what}. A snapshot, or the message of the allocator, tells more."
    )


def _too_large(message: OomMessage) -> Verdict | None:
    limit = message.capacity or message.allowed
    if limit is None or (message.requested or 0) <= limit:
        return None
    return Verdict("request-too-large", None, "strong", ("memory-request", "memory-capacity"))


def _spilled(message: OomMessage) -> Verdict | None:
    if not message.capacity or (message.allocated or 0) <= message.capacity:
        return None
    return Verdict("really-full", "spilled", "strong", ("memory-live", "memory-capacity"))


def _pieces(message: OomMessage) -> Verdict | None:
    if message.unallocated is None or message.unallocated < (message.requested or 0):
        return None
    is_plain = message.unallocated >= 2 * (message.requested or 0)
    facts = ("memory-request", "memory-unallocated")
    return Verdict("fragmentation", None, "moderate" if is_plain else "weak", facts)


def _limit(message: OomMessage) -> Verdict | None:
    request, allocated = message.requested or 0, message.allocated or 0
    if message.allowed is not None and allocated >= FULL_SHARE * message.allowed:
        return Verdict("really-full", "limit", "strong", ("memory-live", "memory-allowed"))
    if message.free is not None and message.free >= request:
        strength: Strength = "moderate" if message.allowed else "weak"
        return Verdict(
            "reserved-elsewhere", "limit", strength, ("memory-request", "memory-device-free")
        )
    return None


def _others(message: OomMessage) -> Verdict | None:
    others, whole = other_use(message), message.capacity or message.allowed
    if (
        others is None
        or whole is None
        or others < max(message.requested or 0, OTHERS_SHARE * whole)
    ):
        return None
    facts = ("memory-other-use", "memory-live", "memory-device-free")
    return Verdict(
        "reserved-elsewhere", "other-process", "strong" if message.others else "moderate", facts
    )


def _full(message: OomMessage) -> Verdict:
    if message.allocated is None:
        return undecided("The text ends before it says how much is allocated.", ("memory-request",))
    whole = message.capacity or message.allowed or message.reserved
    share = message.allocated / whole if whole else 0.0
    strength: Strength = "strong" if share >= 0.8 else "moderate" if share >= 0.5 else "weak"  # noqa: PLR2004 -- grades
    return Verdict(
        "really-full", None, strength, ("memory-request", "memory-live", "memory-device-free")
    )


RULES: tuple[Callable[[OomMessage], Verdict | None], ...] = (
    _host, _shared, _silent, _too_large, _spilled, _pieces, _limit, _others, _full,
)  # fmt: skip


def other_use(message: OomMessage) -> int | None:
    """Bytes of the device that neither are free nor this process's; None where unknown.

    In a container the process named may be this one, so the sum of the device decides.
    """
    if message.backend == "mps":
        return message.other
    if message.capacity is None or message.free is None or message.reserved is None:
        return None
    own = message.in_use or message.reserved + CONTEXT
    return max(message.capacity - message.free - own, 0)


def _facts(message: OomMessage) -> Iterator[Fact]:
    for name, value, text in (
        ("memory-request", message.requested, "{} were asked for and refused"),
        ("memory-capacity", message.capacity, "{} is what the device has"),
        ("memory-allowed", message.allowed, "{} is what the process may use"),
        ("memory-device-free", message.free, "{} were free on the device"),
        ("memory-live", message.allocated, "{} were in use"),
        ("memory-unallocated", message.unallocated, "{} were reserved by the allocator and free"),
        ("memory-private-pools", message.private_pools, "{} were in private pools (CUDA graphs)"),
        ("memory-other-use", other_use(message), "{} were used by others on the device"),
    ):
        if value is not None:
            trust: Trust = "derived" if name == "memory-other-use" else "measured"
            yield Fact(name, float(value), "bytes", text.format(size_text(value)), trust)


def _remedies(message: OomMessage, verdict: Verdict, *, expandable_is_on: bool) -> Iterator[Remedy]:
    request = size_text(message.requested or 0)
    if verdict.cause == "shared-memory":
        yield known.SHARED_MEMORY.because("batches travel from workers in shared memory")
    elif verdict.cause == "host-memory":
        yield known.HOST_MEMORY.because("the host, not the device, ran out of memory")
    elif verdict.name == "request-too-large":
        yield known.CHECK_SHAPE.because(
            f"{request} in one tensor; no setting of the allocator helps"
        )
    elif verdict.name == "fragmentation":
        why = (
            f"{size_text(message.unallocated or 0)} are reserved and free, {request} were asked for"
        )
        if not expandable_is_on:
            yield known.EXPANDABLE.because(why, message.unallocated)
        yield known.STABLE_SHAPES.because(why)
    elif verdict.cause == "limit":
        yield known.RAISE_LIMIT.because(
            f"{size_text(message.free or 0)} were free; expandable segments will not help"
        )
    elif verdict.name == "reserved-elsewhere":
        yield known.FREE_DEVICE.because(f"{size_text(other_use(message) or 0)} are used by others")
    if verdict.name == "really-full" and verdict.cause not in OF_THE_HOST:
        why = f"{size_text(message.allocated or 0)} are in use by live tensors"
        yield known.MICRO_BATCHES.because(why)
        yield known.CHECKPOINTING.because(why)
        yield known.AUTOCAST.because(why)
    if verdict.name in ("really-full", "fragmentation", "undecided") and message.backend == "cuda":
        yield known.RECORD.because("a text says how much, not who holds it")
