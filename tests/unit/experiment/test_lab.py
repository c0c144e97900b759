"""One device, several processes: what is measured in turns, and what alone for want of memory."""

import pytest

from boundby.experiment.journal import Journal
from boundby.experiment.lab import ProcessLab
from boundby.experiment.process import TrialError
from boundby.experiment.settings import Settings
from boundby.experiment.values import Facts

CAPACITY = 10
STEP_NS = {"baseline": 100e6, "small": 90e6, "large": 80e6, "huge": 70e6}
SIZE = {"baseline": 3, "small": 5, "large": 9, "huge": 11}
NAMES = {(): "baseline", **{(("tf32", each),): each for each in STEP_NS}}
GATE = {
    "gate": {"passed": True},
    "memory": {"peak": 1},
    "first_s": 1.0,
    "compile_s": None,
    "frames": 0,
}


class Held:
    """A process that takes its memory at its first request, and dies where there is too little."""

    def __init__(self, device, name):
        self.device, self.name = device, name
        self.is_over = False

    def ask(self, operation, _limit, steps=1, **_more):
        used = sum(SIZE[each.name] for each in self.device.alive - {self})
        if used + SIZE[self.name] > CAPACITY:
            self.end()
            raise TrialError("oom", f"{self.name} found {used} in use")
        self.device.alive.add(self)
        self.device.asked.append((self.name, operation))
        answers = {"gate": GATE, "warm": {"step_ns": STEP_NS[self.name]}}
        return answers.get(operation) or {"ns": STEP_NS[self.name] * steps, "recompiled": 0}

    def end(self):
        self.is_over = True
        self.device.alive.discard(self)


class Device(ProcessLab):
    """A lab whose processes are made up."""

    def __init__(self, folder):
        settings = Settings("mine:Workload")
        super().__init__(settings, Journal(folder, settings))
        self.alive, self.asked = set(), []
        self._references = self

    def at(self, _size):
        return "reference", []

    def facts(self):
        return Facts(batch=1)

    def _open(self, configuration, _name):
        return Held(self, NAMES[configuration])

    def made(self, name):
        configuration = next(each for each, known in NAMES.items() if known == name)
        return configuration, self.trial(configuration, ())


@pytest.fixture
def device(tmp_path):
    made = Device(tmp_path)
    made.trial((), None)
    made.keep()
    return made


def gates(device, name):
    return device.asked.count((name, "gate"))


def test_two_that_fit_are_measured_in_turns(device):
    _, found = device.made("small")

    assert found.interleaved
    assert found.ratio.estimate == pytest.approx(0.9)


def test_a_candidate_that_does_not_fit_beside_the_best_is_measured_alone(device):
    _, found = device.made("large")

    assert (found.failure, found.interleaved) == (None, False)
    assert found.ratio.estimate == pytest.approx(0.8)
    assert gates(device, "large") == 1


def test_a_best_that_does_not_start_beside_the_candidate_stands_by_its_samples(device):
    device._park()  # as a recording does that finds no room
    _, found = device.made("large")

    assert (found.failure, found.interleaved) == (None, False)
    assert found.ratio.estimate == pytest.approx(0.8)
    assert gates(device, "large") == 1


def test_a_candidate_that_does_not_fit_alone_has_failed(device):
    _, found = device.made("huge")

    assert (found.failure, found.message) == ("oom", "huge found 0 in use")
    assert gates(device, "huge") == 0


def test_what_was_kept_alone_is_compared_with_what_comes_next(device):
    configuration, _ = device.made("large")
    device.keep()
    found = device.trial((("tf32", "small"),), configuration)

    assert found.ratio.estimate == pytest.approx(9 / 8)


@pytest.mark.parametrize(
    ("cap", "memory", "held_to"), [(7, 100, 7), (0, 100, 0), (None, 100, 90), (None, None, None)]
)
def test_a_process_of_a_cpu_is_held_to_the_cap_that_was_asked_for(tmp_path, cap, memory, held_to):
    lab = Device(tmp_path)
    lab.known = Facts(memory_bytes=memory)

    assert lab._host_cap(cap) == held_to
