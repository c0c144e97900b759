"""A comparison as text, JSON or Markdown: the verdict first."""

from __future__ import annotations

from boundby.bench.compare import Beside, ClockComparison, Comparison
from boundby.bench.diagnoses import DiagnosisComparison, OpChange
from boundby.report import numbers, sanitize
from boundby.report.bench import as_json, time
from boundby.report.layout import LABEL_WIDTH, Line, Span, lead, line, paragraph, section
from boundby.report.markdown import as_drawn, text
from boundby.report.terminal import Look, draw

SCHEMA_VERSION = 1
WORDS = {
    "faster": "faster",
    "slower": "slower",
    "same": "same",
    "too-noisy": "too noisy to say",
}
SHOWN = 8


def write(found: Comparison | DiagnosisComparison, form: str, look: Look) -> str:
    """A comparison in the form that was asked for."""
    if form == "json":
        return encode(found)
    if isinstance(found, DiagnosisComparison):
        drawn = render_diagnoses(found, look)
        return as_drawn(WORDS[found.effect], drawn) if form == "markdown" else drawn
    return markdown(found) if form == "markdown" else render(found, look)


def render(found: Comparison, look: Look) -> str:
    """The report of a comparison, ending in a newline."""
    width = look.width - LABEL_WIDTH
    lines = [
        *section("verdict", _headline(found, width)),
        *section("clocks", [row for each in found.clocks for row in _clock(each, width)]),
        *section("beside", [line(row) for row in _beside(found)]),
        *section(
            "across",
            [
                row
                for d in found.across
                for row in paragraph(sanitize.shown(f"{d.name}: {d.old} -> {d.new}"), width)
            ],
        ),
        *section(
            "notes",
            [row for note in found.notes for row in paragraph(sanitize.shown(note), width, "dim")],
        ),
    ]
    return draw(lines, look)


def encode(found: Comparison | DiagnosisComparison) -> str:
    """A comparison as JSON."""
    import msgspec  # noqa: PLC0415 -- one use

    kind = "diagnoses" if isinstance(found, DiagnosisComparison) else "results"
    fields = msgspec.to_builtins(found)
    return as_json({"schema_version": SCHEMA_VERSION, "kind": f"boundby-compare-{kind}", **fields})


def markdown(found: Comparison) -> str:
    """A comparison as Markdown, as for the summary of a CI step."""
    rows = [
        f"| {each.name} | {time(each.old_ns)} | {time(each.new_ns)} | {change(each)} | "
        f"{WORDS[each.effect]} |"
        for each in found.clocks
    ]
    beside = [f"- {text(' '.join(row.split()))}" for row in _beside(found)]
    notes = [f"- {text(note)}" for note in found.notes]
    head = [
        f"# {verdict(found)}: {text(found.new)} against {text(found.old)}",
        "",
        "| clock | old | new | change | verdict |",
        "| --- | ---: | ---: | ---: | --- |",
    ]
    lists = [*beside, *notes]
    return "\n".join([*head, *rows, *([""] if lists else []), *lists]) + "\n"


def verdict(found: Comparison) -> str:
    """The verdict in words: correctness comes before speed."""
    word = WORDS[found.effect]
    return f"{word}, but not correct" if found.is_correct is False else word


def change(clock: ClockComparison) -> str:
    """A relative change with its interval: ``+3.1% (+2.4% to +3.9%)``."""
    ratio = clock.ratio
    sure = f"{ratio.low - 1:+.1%} to {ratio.high - 1:+.1%}"
    return f"{ratio.estimate - 1:+.1%} ({sure}, {ratio.confidence:.0%})"


def render_diagnoses(found: DiagnosisComparison, look: Look) -> str:
    """The report of two diagnoses."""
    moved = [
        line(f"{each.part:22}{numbers.ms(each.old_ms):>10} -> {numbers.ms(each.new_ms):>10}")
        for each in found.parts
        if abs(each.change_ms) >= LEAST_MS
    ]
    before, after = (numbers.count(each) for each in found.launches)
    step: Line = (
        Span(WORDS[found.effect], "class"),
        Span(f": {numbers.ms(found.old_ms)} -> {numbers.ms(found.new_ms)} a step"),
    )
    classes = f"{found.old_class} -> {found.new_class}; launches a step {before} -> {after}"
    lines = [
        *section("verdict", [step, *paragraph(classes, look.width - LABEL_WIDTH)]),
        *section("moved", moved or [line("no part moved")]),
        *section("kernels", _ops(found.kernels, look)),
        *section("appeared", _ops(found.appeared, look)),
        *section("vanished", _ops(found.vanished, look)),
        *section("ops", _ops(found.moved, look)),
    ]
    return draw(lines, look)


LEAST_MS = 0.0005
"""Parts that move by less than half a microsecond did not."""
FIGURES = 44
"""Columns of the figures behind the name of an operator."""
LEAST_NAME = 16


def _ops(changes: tuple[OpChange, ...], look: Look) -> list[Line]:
    """Names and figures in a line each, below each other where one line does not hold both."""
    width = look.width - LABEL_WIDTH
    lines: list[Line] = []
    for each in changes[:SHOWN]:
        name = sanitize.shown(sanitize.kernel(each.name))
        if width < FIGURES + LEAST_NAME:
            lines += [line(sanitize.fit(name, width).rstrip()), line(_moved(each))]
        else:
            lines.append(line(f"{sanitize.fit(name, width - FIGURES)}{_moved(each)}"))
    more = len(changes) - SHOWN
    return [*lines, line(f"and {more} more", "dim")] if more > 0 else lines


def _moved(each: OpChange) -> str:
    return (
        f"{numbers.count(each.old_calls) if each.old_calls is not None else '-':>7} -> "
        f"{numbers.count(each.new_calls) if each.new_calls is not None else '-':>5} calls"
        f"{_figure(each.old_ms):>8} -> {_figure(each.new_ms)}"
    )


def _figure(value: float | None) -> str:
    return "-" if value is None else numbers.ms(value)


def _headline(found: Comparison, width: int) -> list[Line]:
    names = f"{sanitize.shown(found.new)} against {sanitize.shown(found.old)}"
    return lead(Span(verdict(found), "class"), f": {change(found.clocks[0])}; {names}", width)


def _clock(each: ClockComparison, width: int) -> list[Line]:
    """Figures, then the change: below them where one line does not hold both."""
    times = f"{each.name:8}{time(each.old_ns):>10} -> {time(each.new_ns):>10}"
    said = f"{change(each)}  {WORDS[each.effect]}"
    if len(times) + 2 + len(said) <= width:
        return [line(f"{times}  {said}")]
    return [line(times), line(f"{'':8}{said}")]


def _beside(found: Comparison) -> list[str]:
    known = [each for each in found.beside if each.old is not None or each.new is not None]
    return [
        f"{each.name:12}{_quantity(each, each.old):>12} -> {_quantity(each, each.new)}"
        for each in known
    ]


def _quantity(beside: Beside, value: float | None) -> str:
    if value is None:
        return "-"
    if beside.unit == "bytes":
        return numbers.quantity(value / 2**20, "MiB")
    return time(value) if beside.unit == "ns" else f"{value:.2g}"
