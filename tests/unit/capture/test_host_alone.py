"""What to type next for a program that uses no device."""

from types import SimpleNamespace

import pytest

from boundby.capture.host_alone import next_commands
from boundby.read.recording import Quality


def asked(share, finding="cpu-only"):
    loader = None if share is None else SimpleNamespace(share=share)
    quality = [Quality("no-steps", "info", 1, ""), Quality(finding, "fatal", 0, "")]
    return [each.command for each in next_commands(SimpleNamespace(loader=loader), quality)]


@pytest.mark.parametrize("share", [None, 0.09])
def test_a_loader_that_takes_little_is_not_asked_about(share):
    assert asked(share) == ["boundby explain cpu-only"]


def test_a_loader_that_takes_a_tenth_of_the_step_is_measured_first():
    assert asked(0.1)[0] == "boundby loader FILE::FUNCTION"


def test_a_device_that_was_left_idle_is_told_as_that():
    assert asked(None, "device-unused") == ["boundby explain device-unused"]
