"""The facts a verdict rests on, each one plain sentence with its number."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from boundby.evidence.facts import Evidence
from boundby.replay.values import Calibration, StepTimes, WaterfallPart
from boundby.timeline.summary import DeviceSummary, HostSummary

NEGLIGIBLE = 0.005
"""A part below this share of the step is not worth a sentence."""


@dataclass(frozen=True)
class Measured:
    """What the sentences are made of."""

    steps: StepTimes
    calibration: Calibration
    device: DeviceSummary
    host: HostSummary
    waterfall: Sequence[WaterfallPart]


def measure(facts: Measured) -> tuple[Evidence, ...]:
    """All facts the recording supports, ordered as a reader would ask."""
    return (*_step(facts), *_device(facts.device), *_parts(facts.waterfall), *_host(facts.host))


def _step(facts: Measured) -> Iterator[Evidence]:
    step, observed = facts.steps.unprofiled_ms, facts.steps.drained_ms
    if step is None or observed is None:
        return
    prior = facts.calibration.source == "prior"
    yield Evidence(
        "step-time",
        step.estimate,
        "ms",
        f"a step takes {step.estimate:.3g} ms without the profiler "
        f"({step.low:.3g} to {step.high:.3g})",
        "estimated" if prior else "measured",
    )
    if observed > 0:
        yield Evidence(
            "observer",
            observed / step.estimate if step.estimate else None,
            "ratio",
            f"the recording shows {observed:.3g} ms a step: the profiler made it "
            f"{observed / step.estimate:.2g} times as long",
            "estimated" if prior else "measured",
        )


def _device(device: DeviceSummary) -> Iterator[Evidence]:
    busy, seen = device.busy_share_unprofiled, device.busy_share_observed
    if busy is not None and seen is not None:
        yield Evidence(
            "device-busy",
            busy,
            "share",
            f"the device works {device.ms_per_step:.3g} ms of the step: {busy:.0%} busy "
            f"without the profiler, {seen:.0%} in the recording",
            "estimated",
        )
        yield Evidence(
            "device-busy-observed", seen, "share", f"device {seen:.0%} busy as recorded", "measured"
        )
    if device.launches_per_step is not None:
        yield Evidence(
            "launches",
            device.launches_per_step,
            "count",
            f"{device.launches_per_step:.0f} launches a step put "
            f"{device.events_per_step:.0f} pieces of work on the device",
            "measured",
        )
    if device.median_kernel_us is not None:
        yield Evidence(
            "kernel-median",
            device.median_kernel_us,
            "us",
            f"the median kernel runs {device.median_kernel_us:.3g} us",
            "measured",
        )
    yield from _queue(device)


def _queue(device: DeviceSummary) -> Iterator[Evidence]:
    delay = device.queue_delay_us
    if delay.p50 is not None:
        yield Evidence(
            "queue-delay",
            delay.p50,
            "us",
            f"onto an idle device a kernel starts {delay.p50:.3g} us after its launch call begins "
            f"(99% within {delay.p99:.3g} us)",
            "measured",
        )
    if device.syncs_per_step:
        yield Evidence(
            "syncs",
            device.syncs_per_step,
            "count",
            f"the host waits for the device {device.syncs_per_step:.3g} times a step",
            "measured",
        )


_PART_FACTS = {
    "data": (
        "loader-wait",
        "waiting for the next batch costs {ms:.3g} ms of the step, {share:.0%}",
    ),
    "sync": (
        "sync-cost",
        "waits for the device, and refilling its queue, cost {ms:.3g} ms, {share:.0%} of the step",
    ),
    "python": (
        "python-time",
        "Python between the operators costs {ms:.3g} ms, {share:.0%} of the step",
    ),
    "submission": (
        "submission-time",
        "operators and launch calls on the host cost {ms:.3g} ms, {share:.0%} of the step",
    ),
    "device-compute": (
        "device-compute",
        "matrix products, convolutions and attention run {ms:.3g} ms, {share:.0%} of the step",
    ),
    "device-memory": (
        "device-memory",
        "elementwise work, reductions and other memory traffic run {ms:.3g} ms, {share:.0%}",
    ),
    "device-other": (
        "device-other",
        "device work of unknown kind and gaps between kernels take {ms:.3g} ms, {share:.0%}",
    ),
    "device-copy": ("device-copy", "copies run {ms:.3g} ms, {share:.0%} of the step"),
    "device-communication": (
        "device-communication",
        "communication that nothing else covers takes {ms:.3g} ms, {share:.0%} of the step",
    ),
}


def _parts(parts: Sequence[WaterfallPart]) -> Iterator[Evidence]:
    for part in parts:
        if part.share >= NEGLIGIBLE:
            identity, sentence = _PART_FACTS[part.part]
            text = sentence.format(ms=part.ms, share=part.share)
            yield Evidence(identity, part.ms, "ms", text, "estimated")


def _host(host: HostSummary) -> Iterator[Evidence]:
    if host.op_share is not None and host.launch_call_share is not None:
        yield Evidence(
            "op-time",
            host.op_share + host.launch_call_share,
            "share",
            f"operators take {host.op_share:.0%} of recorded host time, launch calls "
            f"{host.launch_call_share:.0%}",
            "measured",
        )
