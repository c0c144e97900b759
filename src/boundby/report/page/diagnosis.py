"""The page of a diagnosed recording."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from boundby.diagnose import Diagnosis
from boundby.evidence.excerpts import Excerpt
from boundby.evidence.lanes import Lanes
from boundby.read.checks_devices import OTHER_DEVICES
from boundby.replay.values import StepTimes
from boundby.report import numbers, sanitize, sentences
from boundby.report.document import document
from boundby.report.layout import plural
from boundby.report.page import roofs, step, tables
from boundby.report.page.lanes import gap_sentence, lane_data, lanes_block
from boundby.report.page.parts import (
    Block,
    Page,
    Panel,
    columns,
    folded,
    heading,
    listing,
    missing,
    pairs,
    prose,
)
from boundby.report.page.unmeasured import unmeasured
from boundby.units import ms

SEVERITIES = ("fatal", "warning", "info")
NO_MEMORY = (
    "No memory over time: the recording holds no allocations. A snapshot does "
    "(`torch.cuda.memory._record_memory_history`), and `boundby memory` reads it."
)


@dataclass(frozen=True)
class Extras:
    """What a page may hold beyond the diagnosis.

    Attributes:
        excerpts: Lines of the user's source; empty where they are not wanted.
        live: Panels of a live run.
        memory: Panels on memory; empty where nothing is known.
        charts, lanes: What those panels draw.
        trials: The panel of changes that were tried.
    """

    excerpts: Sequence[Excerpt] = ()
    live: tuple[Panel, ...] = ()
    memory: tuple[Panel, ...] = ()
    charts: dict[str, Any] | None = None
    lanes: dict[str, Any] | None = None
    trials: tuple[Panel, ...] = ()
    document: dict[str, Any] | None = None


NOTHING_MORE = Extras()


def page_of(diagnosis: Diagnosis, extras: Extras = NOTHING_MORE) -> Page:
    """The whole page, verdict first."""
    charts: dict[str, Any] = dict(extras.charts or {})
    lanes: dict[str, Any] = dict(extras.lanes or {})
    if diagnosis.lanes is not None:
        lanes["step"] = lane_data(diagnosis.lanes)
    panels = (
        verdict(diagnosis),
        _where(diagnosis, charts),
        _timelines(diagnosis),
        *_buys(diagnosis, charts),
        Panel("roofline", "Roofline", tuple(roofs.roofline(diagnosis, charts))),
        *_tables(diagnosis, extras),
        *extras.live,
        *(extras.memory or (Panel("memory", "Memory", (missing(NO_MEMORY),)),)),
        *extras.trials,
        *_trust(diagnosis, extras),
    )
    source = sanitize.shown(PurePath(diagnosis.source.path).name or diagnosis.source.path)
    return Page(
        title=f"{diagnosis.verdict.name}: {source}",
        source=source,
        panels=panels,
        charts=charts,
        lanes=lanes,
        document=extras.document or document(diagnosis),
    )


def verdict(diagnosis: Diagnosis) -> Panel:
    """The class in words, the figures that carry it, and what to do first."""
    found, second = diagnosis.verdict, sentences.runner_up(diagnosis)
    title = found.name + (f", {found.strength}" if found.strength else "")
    doubt, ranks = sentences.doubt(diagnosis), sentences.ranks(diagnosis)
    said = [
        sentences.meaning(diagnosis),
        f"Cause: `{sanitize.shown(found.cause)}`." if found.cause else "",
        f"Runner-up: {second}." if second else "",
        sentences.rule(diagnosis),
        f"Beware: {doubt.replace('--step-ms', '`--step-ms`')}." if doubt else "",
        f"Recording: {ranks}." if ranks else "",
        _first(diagnosis),
    ]
    head: Block = {
        "kind": "headline",
        "words": [text for text in said if text],
        "figures": _figures(diagnosis),
    }
    facts = sentences.deciding(diagnosis)[:3]
    because = [heading("Because"), tables.fact_list(facts)] if facts else []
    return Panel("verdict", title, (head, *because), short="Verdict")


def _first(diagnosis: Diagnosis) -> str:
    paying = [change for change in diagnosis.prescriptions if change.pays]
    if not paying:
        return ""
    first = paying[0]
    title = sanitize.shown(first.title)
    return f"Do first: {title} `{sanitize.shown(first.id)}` {sentences.gain(diagnosis, first)}."


def _figures(diagnosis: Diagnosis) -> list[dict[str, str]]:
    """Step, device and observation as large figures."""
    times, device = diagnosis.steps, diagnosis.device
    free = times.unprofiled_ms
    spread = numbers.between(free.low, free.high) if free else ""
    how = sentences.CALIBRATIONS[diagnosis.calibration.source]
    done, launches = numbers.ms(device.ms_per_step), _count(device.launches_per_step)
    of_steps = device.ms_per_step is not None
    work = f"; {done} of work, {launches} launches a step" if of_steps else ""
    return [
        {
            "name": "step without the profiler",
            "value": numbers.ms(free.estimate if free else None),
            "note": f"{spread}, {how}" if free else "not estimated",
        },
        {
            "name": "device busy",
            "value": numbers.share(device.busy_share_unprofiled),
            "note": "no device work was recorded"
            if not device.has_work
            else f"{numbers.share(device.busy_share_observed)} as recorded{work}",
        },
        {
            "name": "step as observed",
            "value": numbers.ms(times.drained_ms),
            "note": _steps(times),
        },
    ]


def _steps(times: StepTimes) -> str:
    """``3 steps by ProfilerStep; 6.20 ms with a full queue``."""
    text = f"{plural(times.count, 'step')} by {sanitize.shown(times.source)}"
    steady = numbers.ms(times.steady_ms)
    is_told = times.steady_ms is not None and steady != numbers.ms(times.drained_ms)
    return f"{text}; {steady} with a full queue" if is_told else text


def _count(value: float | None) -> str:
    return numbers.count(value)


def _where(diagnosis: Diagnosis, charts: dict[str, Any]) -> Panel:
    left = [heading("Waterfall"), *step.waterfall(diagnosis, charts)]
    right = [heading("Ladder"), *step.ladder(diagnosis, charts)]
    return Panel("step", "Where the step goes", (columns(left, right),), short="Step")


def _timelines(diagnosis: Diagnosis) -> Panel:
    """Host and device of a typical step."""
    title, lanes = "Two timelines of a typical step", diagnosis.lanes
    if lanes is None or not (len(lanes.host) or len(lanes.work)):
        reason = "No timelines: the recording holds no event inside a step."
        return Panel("timelines", title, (missing(reason),), short="Timelines")
    label = f"{title}: {len(lanes.host)} events on the host, {len(lanes.work)} on the device"
    block = lanes_block("step", label, "As recorded, with the profiler.")
    told = [each.message for each in diagnosis.quality if each.id == OTHER_DEVICES]
    idle = gap_sentence(lanes) if len(lanes.work) else ""
    shown = [prose(text) for text in (idle, *told) if text]
    return Panel("timelines", title, (*shown, block), short="Timelines", lead=_drawn(lanes))


def _drawn(lanes: Lanes) -> str:
    """Which step is drawn, and what of it is not."""
    span = numbers.ms(ms(lanes.end - lanes.start))
    which = f"Step {(lanes.step or 0) + 1} of {len(lanes.steps.start)}, {span} as recorded"
    streams = len(set(lanes.work.stream.tolist()))
    text = f"{which}: the host, and no device, as no work of one was recorded."
    if streams:
        text = f"{which}: the host above, {plural(streams, 'device stream')} below, "
        text += "and what the idle device waits for."
    if lanes.whole_end > lanes.end:
        whole = numbers.ms(ms(lanes.whole_end - lanes.start))
        text += f" Only the first {span} of {whole} are drawn: {lanes.left_out} events are not."
    elif lanes.left_out:
        text += f" {lanes.left_out} events nested deeper than can be shown are left out."
    return text


def _buys(diagnosis: Diagnosis, charts: dict[str, Any]) -> list[Panel]:
    figures = step.what_if_table(diagnosis)
    blocks = [
        *step.what_if(diagnosis, charts),
        *([folded("The same as figures", *figures)] if figures else []),
    ]
    return [
        Panel("what-if", "What each cost removed would buy", tuple(blocks), short="What-if"),
        Panel("changes", "What to do", tuple(step.changes(diagnosis)), short="Changes"),
    ]


def _tables(diagnosis: Diagnosis, extras: Extras) -> list[Panel]:
    found = diagnosis.roofline
    more = [*roofs.operators(found), *roofs.uncounted(found)]
    both = (
        heading("Operators"),
        *tables.operators(diagnosis),
        heading("Kernels"),
        *roofs.kernels(diagnosis),
        *([folded("Operators under the roofs, and what is not counted", *more)] if more else []),
        *tables.ranges(diagnosis),
    )
    waits = tuple(tables.waits(diagnosis, extras.excerpts))
    return [
        Panel("operators", "Operators and kernels", both, short="Operators"),
        Panel("waits", "Where the host waits", waits, short="Waits"),
    ]


def _trust(diagnosis: Diagnosis, extras: Extras) -> list[Panel]:
    commands = [
        f"`{sanitize.shown(each.command)}`  {sanitize.shown(each.question)}"
        for each in diagnosis.next
    ]
    has_memory, has_lines = "memory" in (extras.charts or {}), bool(extras.live)
    not_measured = listing(unmeasured(diagnosis, has_memory=has_memory, has_lines=has_lines))
    return [
        Panel("evidence", "Evidence", (*tables.facts(diagnosis), *_path(diagnosis))),
        quality(diagnosis),
        Panel("not-measured", "What was not measured", (not_measured,), short="Not measured"),
        *([Panel("next", "Next", (listing(commands),))] if commands else []),
    ]


def quality(diagnosis: Diagnosis) -> Panel:
    """What is wrong with the recording, worst first, and what makes its numbers comparable."""
    found = sorted(diagnosis.quality, key=lambda each: SEVERITIES.index(each.severity))
    rows = [
        {
            "id": sanitize.shown(each.id),
            "text": numbers.in_words(sanitize.shown(each.message)),
            "tag": each.severity,
            "style": each.severity,
        }
        for each in found
    ]
    findings: Block = (
        {"kind": "facts", "rows": rows}
        if rows
        else prose("Nothing is wrong with the recording as far as can be seen.")
    )
    return Panel(
        "quality",
        "Quality and caliber",
        (findings, heading("Caliber"), pairs(_caliber(diagnosis))),
        short="Quality",
    )


def _caliber(diagnosis: Diagnosis) -> list[tuple[str, str]]:
    caliber, source = diagnosis.caliber, diagnosis.source
    calibration = diagnosis.calibration
    how = sentences.CALIBRATIONS[calibration.source] + sentences.scales(calibration)
    answers = {True: "yes", False: "no", None: numbers.UNKNOWN}
    rank = f"{caliber.rank} of {caliber.world_size or numbers.UNKNOWN}"
    return [
        ("device", sanitize.shown(caliber.device or numbers.UNKNOWN)),
        ("devices used", str(caliber.device_count)),
        ("torch", sanitize.shown(caliber.torch or numbers.UNKNOWN)),
        ("CUDA", sanitize.shown(caliber.cuda or numbers.UNKNOWN)),
        ("rank", rank if caliber.rank is not None else ""),
        ("sizes recorded", answers[caliber.record_shapes]),
        ("stacks recorded", answers[caliber.with_stack]),
        ("calibration", how if diagnosis.steps.unprofiled_ms else "none: nothing was estimated"),
        ("recording", f"{sanitize.shown(source.format)}, {source.events} events"),
    ]


def _path(diagnosis: Diagnosis) -> list[Block]:
    path = diagnosis.path
    if path is None:
        return []
    steps = [*map(sentences.fork, path.forks), sanitize.shown(path.leaf)]
    differs = (
        [prose(f"It differs: {sanitize.shown(path.disagreement)}")] if path.disagreement else []
    )
    return [heading("Path through the decision tree"), listing(steps), *differs]
