"""The three clocks, from marks written by hand."""

import pytest

from boundby.capture.clocks import (
    read_clocks,
    read_passes,
    read_warm_up,
    recompiled,
    with_traced,
)
from boundby.capture.tape import RunFolder
from boundby.read.capture_folder import Row, read_capture

MS = 1_000_000


class Run:
    """A run on a clock of its own; each call adds to it."""

    def __init__(self, place):
        self.folder, self.place = RunFolder(place), place
        self.folder.describe({"version": 1})
        self.now, self.steps, self.passes, self.frames = 0, 0, 0, 0

    def warm(self, *steps_ms):
        self._steps(steps_ms, 0)
        return self

    def passed(self, name, *steps_ms, frames=0, ends=True):
        self.passes += 1
        self.folder.note("pass", id=self.passes, name=name, steps=len(steps_ms))
        self.folder.tape.put(Row.PASS, self.now, self.passes, self.frames)
        self._steps(steps_ms, self.passes)
        self.frames += frames
        if ends:
            self.folder.tape.put(Row.END, self.now, self.passes, self.frames)
        return self

    def device(self, *steps_ms):
        first = self.steps - len(steps_ms)
        for index, ms in enumerate(steps_ms, 1):
            self.folder.tape.put(Row.DEVICE, 0, first + index, round(ms * MS))
        return self

    def submitted(self, *steps_ms):
        for ms in steps_ms:
            self.folder.tape.put(Row.SUBMIT, self.now, round(ms * MS), self.steps)
        return self

    def _steps(self, steps_ms, number):
        for ms in steps_ms:
            self.now += round(ms * MS)
            self.steps += 1
            self.folder.tape.put(Row.STEP, self.now, self.steps, number)

    def read(self):
        return read_capture(self.place)


def test_wall_is_the_median_stretch_without_the_first_steps(tmp_path):
    run = Run(tmp_path).warm(50, 3, 2).passed("clean", 9, 9, *[2] * 7, 40)

    assert read_clocks(run.read()).wall == pytest.approx(2)


def test_the_device_clock_is_the_step_where_there_is_one(tmp_path):
    run = Run(tmp_path).passed("clean", *[1] * 6).device(*[5] * 6).submitted(0.9, 1.1, 1.0)
    clocks = read_clocks(run.read())

    assert (clocks.wall, clocks.submit, clocks.device) == pytest.approx((1, 1, 5))
    assert clocks.step == clocks.device


def test_bursts_are_averaged(tmp_path):
    """Two batches at once, then a wait: the step is neither 0 nor 20 ms."""
    run = Run(tmp_path).passed("clean", *[0.5, 19.5] * 16)

    assert read_clocks(run.read()).step == pytest.approx(10, rel=0.35)


def test_what_a_trace_leaves_behind_does_not_count_as_clean(tmp_path):
    run = Run(tmp_path).passed("clean", *[2] * 8).passed("after", *[3] * 8)
    clocks = read_clocks(run.read())

    assert clocks.step == pytest.approx(2)
    assert clocks.after == pytest.approx(1.5)


def test_steps_after_a_trace_are_told_by_the_clock_of_those_before_it(tmp_path):
    """By the host's marks they are short until the queue that the trace emptied has filled."""
    run = Run(tmp_path).passed("clean", *[5] * 8).device(*[5] * 8)
    run.passed("after", *[2] * 8).device(*[5.5] * 8)
    capture = run.read()
    clocks = read_clocks(capture)

    assert clocks.after == pytest.approx(1.1)
    assert read_passes(capture, clocks)[-1].ratio == pytest.approx(1.1)


def test_steps_after_a_trace_without_the_clock_of_those_before_it_are_not_compared(tmp_path):
    run = Run(tmp_path).passed("clean", *[5] * 8).device(*[5] * 8).passed("after", *[2] * 8)

    capture = run.read()
    clocks = read_clocks(capture)
    assert clocks.after is None
    assert (read_passes(capture, clocks)[-1].ms, read_passes(capture, clocks)[-1].ratio) == (
        None,
        None,
    )


def test_each_pass_has_its_ratio(tmp_path):
    capture = Run(tmp_path).passed("clean", *[2] * 8).passed("trace", *[3] * 5).read()
    clean, trace = read_passes(capture, read_clocks(capture))

    assert (clean.ratio, trace.ratio) == pytest.approx((1, 1.5))


def test_an_unfinished_run_has_what_there_is(tmp_path):
    capture = Run(tmp_path).warm(5, 4).read()
    clocks, warm = read_clocks(capture), read_warm_up(capture)

    assert (clocks.step, clocks.submit, clocks.after) == (None, None, None)
    assert (warm.steps, warm.first_ms, warm.settled) == (2, pytest.approx(4), None)


@pytest.mark.parametrize(
    ("clean", "traced", "voids"), [(0, 0, False), (0, 2, True), (1, 2, False), (1, 0, False)]
)
def test_frames_compiled_under_observation_alone_void_the_verdict(tmp_path, clean, traced, voids):
    run = Run(tmp_path).passed("clean", 1, 1, 1, frames=clean)
    capture = run.passed("trace", 1, 1, 1, frames=traced).read()

    assert (recompiled(read_passes(capture, read_clocks(capture))) is not None) is voids


def test_the_step_of_the_trace_pass_is_what_its_recording_holds(tmp_path):
    """Of few steps before a full queue, host marks tell the submission alone."""
    capture = Run(tmp_path).passed("clean", *[12] * 8).passed("trace", *[4] * 5).read()
    rows = read_passes(capture, read_clocks(capture))
    clean, trace = with_traced(rows, 15.0, 12.0)
    unknown = with_traced(rows, None, 12.0)[1]

    assert clean == rows[0]
    assert (trace.ms, trace.ratio, trace.steps) == (15.0, 1.25, rows[1].steps)
    assert (unknown.ms, unknown.ratio) == (None, None)
