"""The device's clock, on events that know their time."""

import pytest
import torch

from boundby.capture.device import DeviceClock
from boundby.capture.tape import RunFolder
from boundby.read.capture_folder import Row, read_capture

STEP_MS = 2.0


class Device:
    """Makes events that note when they were recorded; they are done up to a moment."""

    def __init__(self):
        self.now, self.done, self.made = 0.0, float("inf"), 0

    def event(self, **_options):
        self.made += 1
        return Event(self)


class Event:
    def __init__(self, device):
        self._device, self.at = device, None

    def record(self):
        self.at = self._device.now

    def query(self):
        return self.at <= self._device.done

    def elapsed_time(self, end):
        return end.at - self.at


@pytest.fixture
def device(monkeypatch):
    made = Device()
    monkeypatch.setattr(torch.cuda, "Event", made.event)
    return made


def marked(device, place, steps, begin=0):
    """A pass of so many steps after step ``begin``: the step, and ns a step, of each interval."""
    clock = DeviceClock(RunFolder(place), steps)
    clock.mark(begin, first=True)
    for step in range(begin + 1, begin + steps + 1):
        device.now += STEP_MS
        clock.mark(step)
    clock.resolve()
    clock._tape.put(Row.STEP, 1, 1, 1)
    (place / "run.json").write_text("{}")
    return [(a, b) for _, a, b in read_capture(place).of(Row.DEVICE).tolist()], clock


@pytest.mark.parametrize("begin", [0, 1, 12, 249])
@pytest.mark.parametrize(
    ("steps", "every"), [(1, 1), (5, 1), (7, 1), (8, 1), (15, 1), (30, 3), (2000, 250)]
)
def test_intervals_are_a_step_whatever_their_length(device, tmp_path, steps, every, begin):
    intervals, clock = marked(device, tmp_path, steps, begin)
    expected = [s for s in range(begin + 1, begin + steps + 1) if s % every == 0]

    assert intervals == [(step, STEP_MS * 1e6) for step in expected]
    assert not clock._pending


@pytest.mark.parametrize("steps", [1, 8, 15, 30, 2000])
def test_events_are_made_before_the_pass_and_few(device, tmp_path, steps):
    clock = DeviceClock(RunFolder(tmp_path), steps)
    made = device.made
    clock.mark(0, first=True)
    for step in range(1, steps + 1):
        clock.mark(step)

    assert device.made == made <= 17


def test_an_event_that_is_not_done_ends_what_is_known(device, tmp_path):
    device.done = 3 * STEP_MS
    intervals, clock = marked(device, tmp_path, 5)

    assert [step for step, _ in intervals] == [1, 2, 3]
    assert len(clock._pending) == 2


def test_marks_beyond_the_events_are_left_out(device, tmp_path):
    clock = DeviceClock(RunFolder(tmp_path), 2)
    for step in range(20):
        clock.mark(step)

    assert len(clock._pending) == 4
