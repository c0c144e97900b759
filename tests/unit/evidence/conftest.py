"""A tiny trace as both lines."""

import itertools

import pytest

from boundby.read import read_recording
from boundby.timeline.timeline import build_timeline


@pytest.fixture(scope="session")
def timeline_of(tmp_path_factory):
    """Return a function that reads a built trace back and lays out its timeline."""
    folder = tmp_path_factory.mktemp("traces")
    number = itertools.count()

    def lay_out(trace):
        return build_timeline(read_recording(trace.write(folder / f"{next(number)}.json")))

    return lay_out


@pytest.fixture(scope="session")
def recorded(shared):
    """Return a function that lays out a recording of the shared folder by its name."""

    def lay_out(name):
        return build_timeline(read_recording(shared / "traces" / "h200" / f"{name}.json.gz"))

    return lay_out
