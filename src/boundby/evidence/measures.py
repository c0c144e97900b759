"""The facts a verdict rests on, each one plain sentence with its number."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from boundby.evidence.facts import Evidence, Trust
from boundby.evidence.words import counted, duration, per_step
from boundby.frozen import frozen
from boundby.replay.values import Calibration, StepTimes, WaterfallPart
from boundby.timeline.summary import DeviceSummary, HostSummary

NEGLIGIBLE = 0.005
"""A part below this share of the step is not worth a sentence."""
US_PER_MS = 1000
ALIKE = 0.05
"""A step that the profiler changed by less is as long as without it."""


@frozen
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
    trust: Trust = "estimated" if facts.calibration.source == "prior" else "measured"
    spread = f"{_plain(step.low, step.high)} to {duration(step.high)}"
    text = f"a step takes {duration(step.estimate)} without the profiler ({spread})"
    yield Evidence("step-time", step.estimate, "ms", text, trust)
    if observed > 0:
        ratio = observed / step.estimate if step.estimate else None
        text = f"the recording shows {duration(observed)} a step{_longer(ratio)}"
        yield Evidence("observer", ratio, "ratio", text, trust)


def _longer(ratio: float | None) -> str:
    """How the recorded step compares with the one without the profiler."""
    if ratio is None:
        return ""
    if abs(ratio - 1) < ALIKE:
        return ", about what it takes without the profiler"
    return f": the profiler made it {ratio:.2g} times as long"


def _plain(ms: float, like: float) -> str:
    """A time without its unit, which is that of another one."""
    return duration(ms, like).partition(" ")[0]


def _device(device: DeviceSummary) -> Iterator[Evidence]:
    busy, seen = device.busy_share_unprofiled, device.busy_share_observed
    if busy is not None and seen is not None:
        yield Evidence(
            "device-busy",
            busy,
            "share",
            f"{duration(device.ms_per_step or 0.0)} of work keep the device {busy:.0%} busy "
            f"({seen:.0%} as recorded)",
            "estimated",
        )
        yield Evidence(
            "device-busy-observed", seen, "share", f"device {seen:.0%} busy as recorded", "measured"
        )
    if device.launches_per_step is not None:
        yield Evidence("launches", device.launches_per_step, "count", _launches(device), "measured")
    if device.median_kernel_us is not None:
        yield Evidence(
            "kernel-median",
            device.median_kernel_us,
            "us",
            f"the median kernel runs {duration(device.median_kernel_us / US_PER_MS)}",
            "measured",
        )
    yield from _queue(device)


def _launches(device: DeviceSummary) -> str:
    launches, events = device.launches_per_step or 0.0, device.events_per_step
    told = f"{counted(launches, 'launch', 'launches')} a step"
    if events is None:
        return told
    if round(events) == round(launches):
        return f"{told}, one piece of work each"
    return f"{told} put {counted(events, 'piece')} of work on the device"


def _queue(device: DeviceSummary) -> Iterator[Evidence]:
    delay = device.queue_delay_us
    if delay.p50 is not None and delay.p99 is not None:
        typical, most = (duration(us / US_PER_MS) for us in (delay.p50, delay.p99))
        yield Evidence(
            "queue-delay",
            delay.p50,
            "us",
            f"from an empty queue a kernel starts in {typical} (99% within {most})",
            "measured",
        )
    if device.syncs_per_step:
        yield Evidence(
            "syncs",
            device.syncs_per_step,
            "count",
            f"the host waits for the device {per_step(device.syncs_per_step)}",
            "measured",
        )


_PART_FACTS = {
    "data": ("loader-wait", "waiting for the next batch costs {time}, {share:.0%} of the step"),
    "sync": ("sync-cost", "waits and refilling the queue cost {time}, {share:.0%} of the step"),
    "python": (
        "python-time",
        "Python between the operators costs {time}, {share:.0%} of the step",
    ),
    "submission": (
        "submission-time",
        "operators and launch calls cost {time}, {share:.0%} of the step",
    ),
    "device-compute": (
        "device-compute",
        "kernels that compute run {time}, {share:.0%} of the step",
    ),
    "device-memory": (
        "device-memory",
        "kernels that move data run {time}, {share:.0%} of the step",
    ),
    "device-other": (
        "device-other",
        "unknown kernels, and gaps that no host causes, take {time}, {share:.0%} of the step",
    ),
    "device-copy": ("device-copy", "copies run {time}, {share:.0%} of the step"),
    "device-communication": (
        "device-communication",
        "exposed communication takes {time}, {share:.0%} of the step",
    ),
}


def _parts(parts: Sequence[WaterfallPart]) -> Iterator[Evidence]:
    for part in parts:
        if part.share >= NEGLIGIBLE:
            identity, sentence = _PART_FACTS[part.part]
            text = sentence.format(time=duration(part.ms), share=part.share)
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
