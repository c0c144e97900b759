"""A trace held against the roofs of its device, up to where the roofs are added up."""

from dataclasses import dataclass
from pathlib import Path

from boundby.evidence.launched import Launched, build_launched
from boundby.evidence.marks import mark_launches
from boundby.evidence.roofs import Held, hold
from boundby.read import read_recording
from boundby.replay.build import build_program
from boundby.replay.calibrate import MOST_POINTS
from boundby.replay.marks import Marks
from boundby.timeline.timeline import build_timeline
from builders import Trace


@dataclass
class Stage:
    """What ``read_roofline`` is given."""

    held: Held
    launched: Launched
    marks: Marks


def held(trace: Trace, folder: Path, *, device=None, peaks=None, measured=()) -> Stage:
    """All of a trace as one step; ``device`` replaces its H200: a dictionary, or a list of none."""
    if device is not None:
        trace.metadata["deviceProperties"] = [device] if isinstance(device, dict) else device
    trace.step(1, -1, max(event["ts"] + event["dur"] for event in trace.events) + 2)
    recording = read_recording(trace.write(folder / "trace.json"))
    timeline = build_timeline(recording)
    found = hold(timeline, build_program(timeline), MOST_POINTS, peaks, measured)
    launched = build_launched(timeline)
    return Stage(found, launched, mark_launches(launched, found.roofs, found.device))
