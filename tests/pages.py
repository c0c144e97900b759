"""Pages as the browser gets them: made once, from recordings and from hostile or huge input."""

from dataclasses import replace
from functools import cache

import numpy as np

from boundby.cli.demos import demo_file
from boundby.diagnose import Options, diagnose
from boundby.evidence.gaps import Gaps
from boundby.evidence.lane_rows import HostRows, WorkRows
from boundby.evidence.lanes import Depths, Lanes, Segments
from boundby.intervals import Intervals
from boundby.read import read_recording
from boundby.read.recording import NONE, Signature
from boundby.report.page.diagnosis import page_of
from boundby.report.page.render import render
from worlds import World, read

HOSTILE = (
    "</script><script>window.hacked = 1</script><img src=x onerror='window.hacked = 2'>"
    "\"'&`\U0001f600\u202enimda\u2028{{ 7 * 7 }}"
)
"""Everything that could turn a name into markup, code or another name."""


@cache
def demo_page(name="item-each-layer"):
    """The page of a recording that comes with boundby."""
    return render(page_of(diagnosed(name)))


@cache
def diagnosed(name="item-each-layer"):
    return diagnose(read_recording(demo_file(name)), Options(lanes="typical"))


def hostile_page():
    """A page whose operators, kernels and ranges are all named by an enemy."""
    world = World()
    for _ in world.steps(4):
        for _ in range(30):
            world.op(20, kernel=30, name=HOSTILE, work=HOSTILE)
    recording = read(world.finish())
    return render(page_of(diagnose(recording, Options(lanes="typical"))))


def huge_page(events):
    """A page with so many events on host and device together."""
    diagnosis = diagnosed()
    return render(page_of(replace(diagnosis, lanes=many_lanes(events))))


def many_lanes(events):
    """Half of the events on the host in three levels, half on two streams of the device."""
    host, work = events // 2, events // 2
    slot = 3000
    start = np.arange(host, dtype=np.int64) // 3 * slot * 3
    depth = np.arange(host, dtype=np.int64) % 3
    none = np.full(host, NONE, dtype=np.int64)
    rows = HostRows(
        start=start + depth * 500,
        dur=slot * 2 - depth * 1000,
        kind=depth,
        name=np.arange(host, dtype=np.int64) % 40,
        thread=np.zeros(host, dtype=np.int64),
        depth=depth,
        signature=np.arange(host, dtype=np.int64) % 7,
        place=none,
        row=none,
    )
    begin = np.arange(work, dtype=np.int64) * slot
    device = WorkRows(
        start=begin,
        dur=np.full(work, 1800, dtype=np.int64),
        family=np.arange(work, dtype=np.int64) % 9,
        name=np.arange(work, dtype=np.int64) % 40,
        stream=np.arange(work, dtype=np.int64) % 2 + 7,
        own=np.ones(work, dtype=np.bool_),
        host=np.arange(work, dtype=np.int64) % host,
    )
    end = int(max(begin[-1], rows.start[-1])) + slot * 3
    edges = np.arange(0, end, slot * 3, dtype=np.int64)
    return Lanes(
        step=0,
        start=0,
        end=end,
        whole_end=end,
        steps=Intervals(np.array([0]), np.array([end])),
        line=Segments(edges, np.append(edges[1:], end), np.arange(len(edges)) % 8),
        host=rows,
        work=device,
        gaps=Gaps(begin + 1800, begin + slot, (np.arange(work) % 6).astype(np.int8)),
        queue=Depths(edges[:2000], np.arange(len(edges[:2000])) % 9),
        names=[f"aten::operator_{at}" for at in range(40)],
        threads=["main thread"],
        signatures=[Signature(f"[[{at}, 8]]".encode(), b"", b"", b"") for at in range(7)],
        places=(),
        left_out=0,
    )
