"""The report of a live run as Markdown: that of a diagnosis, and the live part as it is in text."""

from __future__ import annotations

from boundby.capture.device_memory import DeviceMemory
from boundby.capture.findings import LiveRun
from boundby.diagnose import Diagnosis
from boundby.report import markdown, run_memory, run_sections
from boundby.report.layout import plain
from boundby.report.run_text import why_no_trace
from boundby.report.terminal import PIPE_WIDTH


def render(run: LiveRun, diagnosis: Diagnosis | None, memory: DeviceMemory | None = None) -> str:
    """The whole report, ending in a newline."""
    opening = [f"{name.capitalize()}: {text}." for name, text in run_sections.of_host(run)]
    if diagnosis is not None:
        head = markdown.render(diagnosis, opening)
    else:
        known = "".join(f"\n{each}" for each in markdown.items(opening))
        head = f"# undecided\n\n{why_no_trace(run)}\n{known and known + chr(10)}"
    head += f"\n{run_memory.markdown(memory)}" if memory else ""
    groups = [
        run_sections.measured(run, PIPE_WIDTH),
        *run_sections.details(run, PIPE_WIDTH, all_of_it=True),
    ]
    body = "\n\n".join("\n".join(map(plain, group)) for group in groups if group)
    return f"{head}\n## Live\n\n```\n{body}\n```\n"
