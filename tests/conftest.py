"""What every test may rely on: one thread, no deadlines, shared recordings, a counted GPU skip."""

import importlib.util
import os
import shutil
import signal
import sys
import warnings
from pathlib import Path

import hypothesis
import pytest

from turns import turn
from warm import Starter

REPOSITORY = Path(__file__).resolve().parent.parent
NO_GPU = "needs a CUDA device, and torch finds none here"
NO_BROWSER = "needs chromium and chromedriver, and they are not here"

# Before torch is imported by anyone, child processes included: results and times of one thread.
os.environ.setdefault("OMP_NUM_THREADS", "1")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # what a shell leaves to background jobs
    signal.signal(signal.SIGINT, signal.default_int_handler)

# A busy machine is no reason to fail: properties are about values, not about time.
# Developers search at random, CI tries the same examples each time.
hypothesis.settings.register_profile(
    "boundby", deadline=None, print_blob=True, derandomize=bool(os.environ.get("CI"))
)
hypothesis.settings.load_profile("boundby")

skipped_for_want = pytest.StashKey[dict[str, tuple[int, str]]]()
"""Tests that could not run here: how many and why, by marker."""


def has_cuda() -> bool:
    """Whether torch is installed and sees a CUDA device; imports torch, so ask only when needed."""
    if importlib.util.find_spec("torch") is None:
        return False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a broken driver warns; here it only means "none"
        import torch

        return torch.cuda.is_available()


def has_browser() -> bool:
    """Whether a browser that selenium can drive is installed."""
    known = importlib.util.find_spec("selenium") is not None
    return known and all(map(shutil.which, ("chromium", "chromedriver")))


NEEDS = {"gpu": (has_cuda, NO_GPU), "browser": (has_browser, NO_BROWSER)}


def pytest_addoption(parser):
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="write what is found to tests/golden/*/expected.json (read why.md first)",
    )


def pytest_collection_modifyitems(config, items):
    skipped = config.stash[skipped_for_want] = {}
    for name, (is_here, reason) in NEEDS.items():
        wanting = [item for item in items if item.get_closest_marker(name)]
        if not wanting or is_here():
            continue
        skipped[name] = len(wanting), reason
        for item in wanting:
            item.add_marker(pytest.mark.skip(reason=reason))


def pytest_terminal_summary(terminalreporter, config):
    for name, (count, reason) in config.stash.get(skipped_for_want, {}).items():
        terminalreporter.write_line(f"{name}: {count} not run: {reason}")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    from dealing import Dealing

    return Dealing(config, log)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    with turn(item.config, alone=item.get_closest_marker("alone") is not None):
        return (yield)


def pytest_runtest_setup():
    # OMP_NUM_THREADS covers a later import; this covers a torch that was already there.
    torch = sys.modules.get("torch")
    if torch is not None and torch.get_num_threads() != 1:
        torch.set_num_threads(1)


@pytest.fixture(scope="session")
def starters():
    """Return a function that gives the process which forks commands; of each there is one."""
    made = {}

    def starter(*modules):
        if modules not in made:
            made[modules] = Starter(modules, dict(os.environ))
        return made[modules]

    yield starter
    for each in made.values():
        each.end()


@pytest.fixture(scope="session")
def shared() -> Path:
    """Return the folder of shared recordings (traces, snapshots, Nsight exports): read only."""
    folder = Path(os.environ.get("BOUNDBY_SHARED", REPOSITORY.parent / "shared"))
    if not (folder / "traces" / "truth.jsonl").is_file():
        pytest.skip(f"no shared recordings in {folder}; set BOUNDBY_SHARED to their folder")
    return folder
