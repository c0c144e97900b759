"""Recordings of programs whose limits are known."""

from pathlib import Path

import pytest

from boundby.read import read_recording
from boundby.timeline.timeline import build_timeline


@pytest.fixture(scope="session")
def recorded(shared):
    """Return a function that lays out a recording of the shared folder by its name."""

    def lay_out(name):
        return build_timeline(read_recording(shared / "traces" / "h200" / f"{name}.json.gz"))

    return lay_out


@pytest.fixture(scope="session")
def real():
    """Return the folder of the project's own recordings."""
    return Path(__file__).resolve().parents[2] / "real"
