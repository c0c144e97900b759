"""Run the command as a process and look at what comes out of it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from warm import TORCH

HERE = Path(__file__).parent
OUR_VARIABLES = {"NO_COLOR", "FORCE_COLOR", "COLUMNS", "PYTHONIOENCODING", "LC_ALL"}

IN_TORCH = {"bench", "check", "loader", "--live", "--model"}
"""Commands and options that need torch in the process of the command."""

SETTINGS = {"cwd", "env", "input"}
VARIABLES = {"COLUMNS", "CUDA_VISIBLE_DEVICES", "FORCE_COLOR", "NO_COLOR", "XDG_CACHE_HOME"}
"""What a process that was forked takes over; anything else asks for one from nothing."""


def variables(own=()):
    """The environment of a command: what this process has and the user wrote, and its own."""
    kept = {name: value for name, value in os.environ.items() if name not in OUR_VARIABLES}
    return kept | dict(own)


def run(command, arguments, env=(), **settings):
    return subprocess.run(
        [sys.executable, *command, *map(str, arguments)],
        capture_output=True,
        check=False,
        env=variables(env),
        **{"text": True, "encoding": "utf-8", **settings},
    )


def can_fork(env=(), **settings):
    return sys.platform == "linux" and settings.keys() <= SETTINGS and {*env} <= VARIABLES


@pytest.fixture(scope="session")
def cold():
    """Run ``boundby ARGUMENTS`` as installed, from nothing."""
    return lambda *arguments, **settings: run(["-m", "boundby"], arguments, **settings)


@pytest.fixture
def boundby(starters, cold):
    """Run ``boundby ARGUMENTS``, in a process that was forked where one can be."""

    def start(*arguments, **settings):
        if not can_fork(**settings):
            return cold(*arguments, **settings)
        words = [str(each) for each in arguments]
        starter = starters(*(TORCH if IN_TORCH & {*words} else ()))
        return starter.run(words, **settings | {"env": variables(settings.get("env", ()))})

    return start


@pytest.fixture
def stubbed(starters):
    """Run ``boundby ARGUMENTS`` over the diagnoses of ``tests/diagnoses.py``."""

    def start(*arguments, **settings):
        if not can_fork(**settings):
            return run([str(HERE / "stubbed.py")], arguments, **settings)
        words, own = [str(each) for each in arguments], settings.get("env", ())
        return starters("cli.stubbed").run(words, **settings | {"env": variables(own)})

    return start
