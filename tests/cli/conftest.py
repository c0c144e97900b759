"""Run the command as a process and look at what comes out of it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

STUBBED = Path(__file__).with_name("stubbed.py")
OUR_VARIABLES = {"NO_COLOR", "FORCE_COLOR", "COLUMNS", "PYTHONIOENCODING", "LC_ALL"}


def run(command, arguments, **settings):
    environment = {name: value for name, value in os.environ.items() if name not in OUR_VARIABLES}
    environment |= settings.pop("env", {})
    return subprocess.run(
        [sys.executable, *command, *map(str, arguments)],
        capture_output=True,
        check=False,
        env=environment,
        **{"text": True, "encoding": "utf-8", **settings},
    )


@pytest.fixture
def boundby():
    """Run ``boundby ARGUMENTS`` as installed."""
    return lambda *arguments, **settings: run(["-m", "boundby"], arguments, **settings)


@pytest.fixture
def stubbed():
    """Run ``boundby ARGUMENTS`` over the diagnoses of ``tests/diagnoses.py``."""
    return lambda *arguments, **settings: run([str(STUBBED)], arguments, **settings)
