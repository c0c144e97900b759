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
    clock = DeviceClock(RunFolder(place), begin, steps)
    for step in range(begin + 1, begin + steps + 1):
        device.now += STEP_MS
        clock.mark(step)
    clock.resolve()
    clock._tape.put(Row.STEP, 1, 1, 1)
    (place / "run.json").write_text("{}")
    return [(a, b) for _, a, b in read_capture(place).of(Row.DEVICE).tolist()], clock


@pytest.mark.parametrize("begin", [0, 1, 12, 249])
@pytest.mark.parametrize(
    ("steps", "ends"),
    [
        (1, [1]),
        (2, [2]),
        (3, [3]),
        (5, [3, 4, 5]),
        (8, [3, 4, 5, 6, 7, 8]),
        (30, [7, 12, 17, 22, 27]),
        (2000, [401, 800, 1199, 1598, 1997]),
    ],
)
def test_intervals_begin_once_the_pass_has_settled(device, tmp_path, steps, ends, begin):
    intervals, clock = marked(device, tmp_path, steps, begin)

    assert intervals == [(begin + end, STEP_MS * 1e6) for end in ends]
    assert not clock._pending


@pytest.mark.parametrize("steps", [1, 8, 15, 30, 2000])
def test_events_are_made_before_the_pass_and_few(device, tmp_path, steps):
    clock = DeviceClock(RunFolder(tmp_path), 0, steps)
    made = device.made
    for step in range(1, steps + 1):
        clock.mark(step)

    assert device.made == made <= 9
    assert not clock._free


def test_an_event_that_is_not_done_ends_what_is_known(device, tmp_path):
    device.done = 4 * STEP_MS
    intervals, clock = marked(device, tmp_path, 6)

    assert [step for step, _ in intervals] == [3, 4]
    assert len(clock._pending) == 2


def test_marks_beyond_the_events_are_left_out(device, tmp_path):
    clock = DeviceClock(RunFolder(tmp_path), 0, 2)
    for step in range(20):
        clock.mark(step)

    assert len(clock._pending) == 2
