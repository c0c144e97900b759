"""The verdict on memory inside the report of a live run."""

from __future__ import annotations

from collections.abc import Iterator

from boundby.capture.device_memory import DeviceMemory
from boundby.memory.diagnose import MemoryDiagnosis
from boundby.report import memory_markdown, memory_text
from boundby.report.layout import Line, section
from boundby.report.memory_next import next_commands
from boundby.report.memory_pictures import Canvas, curve


def groups(memory: DeviceMemory, canvas: Canvas, *, detail: bool) -> Iterator[list[Line]]:
    """The verdict with its lines, then what to do; labels are those of the report on memory.

    Figures of single steps and pictures of segments are left to ``boundby memory``.
    """
    width = canvas.width
    found = memory_text.verdict(memory.verdict, width, "memory")
    if not isinstance(memory, MemoryDiagnosis):
        yield [*found, *memory_text.because(memory, width, detail=True)]
        yield memory_text.remedies(memory.prescriptions, width, detail=detail)
        return
    yield [
        *found,
        *memory_text.figures(memory, width, "use"),
        *memory_text.composition(memory.case.composition),
        *memory_text.holders(memory, width),
        *memory_text.because(memory, width, detail=detail),
    ]
    if detail and len(memory.case.history.events):
        yield section("over time", curve(memory.timeline, canvas))
    yield memory_text.remedies(memory.prescriptions, width, detail=detail)
    if detail:
        yield memory_text.quality(memory.quality, width)
    yield memory_text.following(next_commands(memory), width, "look at")


def markdown(memory: DeviceMemory) -> str:
    """The verdict as a part of the report in Markdown, one heading lower."""
    return memory_markdown.render(memory, "Memory: ", "##")
