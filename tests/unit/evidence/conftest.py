"""Recordings of programs whose limits are known."""

import functools
from pathlib import Path

import pytest

from boundby.timeline.timeline import build_timeline
from recordings import recording_of


@pytest.fixture(scope="session")
def recorded(shared):
    """Return a function that lays out a recording of the shared folder by its name."""

    @functools.cache
    def lay_out(name):
        return build_timeline(recording_of(shared / "traces" / "h200" / f"{name}.json.gz"))

    return lay_out


@pytest.fixture(scope="session")
def real():
    """Return the folder of the project's own recordings."""
    return Path(__file__).resolve().parents[2] / "real"
