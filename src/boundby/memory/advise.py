"""Which remedies a case calls for, in the order in which to try them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from boundby.memory import remedies as known
from boundby.memory.case import Case
from boundby.memory.composition import Part
from boundby.memory.evidence import lines
from boundby.memory.facts import Place, size_text
from boundby.memory.pace import Pace
from boundby.memory.remedies import Remedy
from boundby.memory.trade import traded
from boundby.memory.verdicts import MemoryClass, Verdict

WORTH = 0.05
"""A part below this share of the peak is not worth a remedy."""

MOST = 6


def advise(case: Case, verdict: Verdict, pace: Pace | None = None) -> tuple[Remedy, ...]:
    """Remedies for the verdict, the cheapest that may be enough first; none twice.

    Those that cost time and buy none back come last, with the reason.
    """
    chosen: dict[str, Remedy] = {}
    for remedy in RULES.get(verdict.name, _nothing)(case, verdict):
        chosen.setdefault(remedy.id, traded(remedy, case, pace))
    ordered = sorted(chosen.values(), key=lambda remedy: remedy.pays is False)
    return tuple(ordered[:MOST])


def _nothing(_case: Case, _verdict: Verdict) -> Iterator[Remedy]:
    yield from ()


def _leak(case: Case, verdict: Verdict) -> Iterator[Remedy]:
    growth = case.growth
    where = tuple(row.origin.place for row in growth.rows if row.origin.place)[:3]
    why = f"{size_text(growth.total)} more after {growth.steps} steps"
    by_cause = {
        "loss-graph": (known.DETACH, known.DROP),
        "kept-outputs": (known.DROP, known.DETACH),
        "hook": (known.HOOK, known.DROP),
        "exception": (known.EXCEPTION,),
        "reference-cycles": (known.CYCLES,),
    }
    for remedy in by_cause.get(verdict.cause or "", (known.DETACH, known.DROP, known.CYCLES)):
        yield remedy.because(why, growth.total, where)


def _fragmentation(case: Case, verdict: Verdict) -> Iterator[Remedy]:
    pool, settings = case.fragmentation, case.settings
    if pool.at == "oom":
        why = (
            f"{size_text(pool.state.free)} are free in pieces of at most "
            f"{size_text(pool.state.largest)}; {size_text(pool.request or 0)} were asked for"
        )
    else:
        why = f"{pool.avoidable_requests} segments were reserved beside enough free memory"
    excess = pool.state.free if pool.at == "oom" else pool.reserved_peak - pool.live_peak
    saves = max(excess, 0) or None
    if not settings.expandable:
        together = "; remove max_split_size_mb" if settings.limits_splitting else ""
        yield known.EXPANDABLE.because(why + together, saves)
    if verdict.cause != "pinned-segments":
        yield known.STABLE_SHAPES.because(why, saves, lines(case.peak.holders))
    else:
        yield known.KEEP_LATE.because(why, pool.state.pinned, lines(case.peak.holders))
    if not settings.limits_splitting and not settings.expandable:
        yield known.SPLIT_LIMIT.because("where expandable segments cannot be used")
    whole = pool.state.free - pool.state.pinned
    if whole > 0:
        yield known.EMPTY_CACHE.because(f"{size_text(whole)} are free in whole segments", whole)


def _peak(case: Case, verdict: Verdict) -> Iterator[Remedy]:
    peak = case.peak
    where, amount = _moving(case), peak.cause_bytes
    why = f"{size_text(amount)} at the peak"
    by_cause = {
        "evaluation-without-no-grad": known.NO_GRAD,
        "attention-scores": known.SDPA,
        "optimizer-step": known.FUSED_OPTIMIZER,
        "logits": known.CHUNKED_LOSS,
    }
    leading = by_cause.get(verdict.cause or "")
    if leading:
        yield leading.because(why, amount, where)
    yield from _smaller_activations(case)


def _full(case: Case, verdict: Verdict) -> Iterator[Remedy]:
    if verdict.cause == "limit":
        free = size_text(case.refusal.device_free or 0) if case.refusal else "memory"
        yield known.RAISE_LIMIT.because(f"the device had {free} free")
    yield from _peak(case, verdict)
    state = _part(case, "optimizer")
    if state:
        yield known.SMALLER_STATE.because(f"{size_text(state)} of optimizer state", state * 3 // 4)
    held = state + _part(case, "parameters") + _part(case, "gradients")
    if held:
        yield known.SHARD.because(f"{size_text(held)} of parameters, gradients and states")
    yield known.OFFLOAD.because("what is left when nothing else fits")


def _smaller_activations(case: Case) -> Iterator[Remedy]:
    """Remedies for activations, only where these are worth it; halved by each at best."""
    amount = _part(case, "activations")
    if not amount:
        return
    why = f"{size_text(amount)} of activations at the peak"
    where = _moving(case)
    yield known.AUTOCAST.because(f"{why}, where they are fp32", amount // 2, where)
    yield known.MICRO_BATCHES.because(why, amount * 3 // 4, where)
    yield known.CHECKPOINTING.because(why, amount * 3 // 4, where)


def _part(case: Case, part: Part) -> int:
    """Bytes of a part; 0 where it is not worth a remedy."""
    found = sum(share.bytes or 0 for share in case.composition if share.part == part)
    return found if found >= WORTH * case.peak.live else 0


def _moving(case: Case) -> tuple[Place, ...]:
    chosen = (h for h in case.peak.holders if h.part in ("activations", "temporaries", "gradients"))
    return lines(tuple(chosen)) or lines(case.peak.holders)


def _elsewhere(case: Case, verdict: Verdict) -> Iterator[Remedy]:  # noqa: ARG001 -- one signature
    by_cause = {
        "limit": known.RAISE_LIMIT,
        "private-pool": known.SHARE_POOL,
        "other-stream": known.RECORD_STREAM,
    }
    remedy = by_cause.get(verdict.cause or "", known.FREE_DEVICE)
    yield remedy.because("the memory exists, but this request could not have it")
    if remedy is known.RAISE_LIMIT:
        yield known.FREE_DEVICE.because("a container, MIG or the system may set the limit")


def _too_large(case: Case, verdict: Verdict) -> Iterator[Remedy]:  # noqa: ARG001 -- one signature
    size = size_text(case.refusal.size) if case.refusal else "the request"
    yield known.CHECK_SHAPE.because(f"{size} exceed what the device has")


def _healthy(case: Case, verdict: Verdict) -> Iterator[Remedy]:  # noqa: ARG001 -- one signature
    if case.capacity is not None and case.history.live_curve.max() * 2 < case.capacity:
        yield known.LARGER_BATCH.because("less than half of the device is in use at the peak")


RULES: dict[MemoryClass, Callable[[Case, Verdict], Iterator[Remedy]]] = {
    "leak": _leak,
    "fragmentation": _fragmentation,
    "transient-peak": _peak,
    "really-full": _full,
    "reserved-elsewhere": _elsewhere,
    "request-too-large": _too_large,
    "healthy": _healthy,
}
