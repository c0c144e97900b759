"""The facts of one device, each with its number and the lines behind it."""

from __future__ import annotations

from collections.abc import Iterator

from boundby.memory.case import Case
from boundby.memory.facts import Fact, Place, Trust, size_text
from boundby.memory.peak import Holder
from boundby.memory.stacks import Phase

LINES = 3
WHEN = {
    Phase.UNKNOWN: "where no stack tells",
    Phase.USER: "in the program's own lines",
    Phase.BUILD: "where the model is made",
    Phase.FORWARD: "in forward",
    Phase.BACKWARD: "in backward",
    Phase.RECOMPUTE: "in a forward computed again in backward",
    Phase.OPTIMIZER: "in the optimizer step",
    Phase.WORKSPACE: "where a library takes its workspace",
    Phase.COMMUNICATION: "in communication",
}


def facts(case: Case) -> tuple[Fact, ...]:
    """All facts, those of the moment first."""
    return tuple(
        fact for part in (_refusal, _peak, _growth, _fragmentation, _pools) for fact in part(case)
    )


def _bytes(
    name: str,
    value: float | None,
    text: str,
    trust: Trust = "measured",
    where: tuple[Place, ...] = (),
) -> Fact:
    known = "unknown" if value is None else size_text(value)
    return Fact(
        name, None if value is None else float(value), "bytes", text.format(known), trust, where
    )


def _refusal(case: Case) -> Iterator[Fact]:
    refusal = case.refusal
    if refusal is None:
        return
    yield _bytes("memory-request", refusal.size, "{} were asked for and refused")
    yield _bytes("memory-device-free", refusal.device_free, "{} were free on the device then")
    yield _bytes("memory-visible", case.visible, "{} were this process's or free", "derived")
    if case.capacity is not None:
        text = "{} of the device were used by others and by the CUDA context"
        yield _bytes("memory-other-use", case.other_use, text, "derived")


def _peak(case: Case) -> Iterator[Fact]:
    peak, history = case.peak, case.history
    where = lines(peak.holders)
    yield _bytes(
        "memory-peak", int(history.live_curve.max()), "{} in use at most", "measured", where
    )
    yield _bytes("memory-live", peak.live, "{} in use at that moment", "measured", where)
    yield _bytes("memory-reserved", int(history.reserved_curve.max()), "{} reserved at most")
    text = f"{{}} of it come and go ({peak.share:.0%}); the moment lies {WHEN[peak.phase]}"
    yield _bytes("memory-transient", peak.transient, text, "derived", where)
    if peak.cause:
        cause = peak.cause.replace("-", " ")
        told = tuple(h for h in peak.holders if h.part in ("activations", "temporaries", "other"))
        yield _bytes(
            "memory-peak-cause", peak.cause_bytes, f"{{}} by: {cause}", "derived", lines(told)
        )


def _growth(case: Case) -> Iterator[Fact]:
    growth = case.growth
    yield Fact(
        "memory-steps", float(len(case.steps)), "count",
        f"{len(case.steps)} steps, by {case.steps.source}" if case.steps else "no steps were found",
        "derived",
    )  # fmt: skip
    if not growth.is_tested:
        yield Fact(
            "memory-growth", None, "bytes/step",
            f"too few steps for a test of growth: {growth.steps} after the first", "derived",
        )  # fmt: skip
        return
    slope = sum(row.bytes_per_step for row in growth.rows)
    where = tuple(row.origin.place for row in growth.rows if row.origin.place)[:LINES]
    text = f"{size_text(slope)} more each step over {growth.steps} steps"
    text += f", {size_text(growth.total)} in all"
    if growth.rows:
        text += f"; by chance {growth.rows[0].chance:.1g}"
    else:
        text = "nothing grows from step to step"
    yield Fact(
        "memory-growth", slope, "bytes/step", text,
        "derived", where,
    )  # fmt: skip


def _fragmentation(case: Case) -> Iterator[Fact]:
    pool = case.fragmentation
    where = "in the pool that was asked" if pool.at == "oom" else "when most was reserved"
    yield _bytes("memory-pool-free", pool.state.free, f"{{}} free {where}", "derived")
    yield _bytes(
        "memory-largest-free", pool.state.largest, "{} in its largest free block", "derived"
    )
    text = "{} free in segments that a block in use keeps from being returned"
    yield _bytes("memory-pinned", pool.state.pinned, text, "derived")
    text = (
        f"{pool.avoidable_requests} of {pool.segment_requests} segments were requested while the "
        f"pool held as much in pieces: {size_text(pool.avoidable_bytes)}"
    )
    yield Fact(
        "memory-avoidable-segments", float(pool.avoidable_requests), "count", text, "derived"
    )


def _pools(case: Case) -> Iterator[Fact]:
    for name, state, text in (
        ("memory-private-pools", case.private_pools, "{} free in private pools (CUDA graphs)"),
        ("memory-other-streams", case.other_streams, "{} free in pools of other streams"),
    ):
        if state.reserved:
            yield _bytes(name, state.free, text, "derived")
    if case.history.contradictions:
        count = case.history.contradictions
        yield Fact(
            "memory-contradictions", float(count), "count", f"{count} entries contradict others"
        )


def lines(holders: tuple[Holder, ...]) -> tuple[Place, ...]:
    """The user's lines that hold most, each once."""
    places = (holder.origin.place for holder in holders)
    return tuple(dict.fromkeys(place for place in places if place))[:LINES]
