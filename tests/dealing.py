"""Which worker of pytest-xdist runs which tests: a file is one worker's, as its fixtures are."""

from xdist.scheduler import LoadScopeScheduling

TOGETHER = {
    "real/test_recordings.py": "recordings",
    "unit/evidence/test_on_recordings.py": "recordings",
    "unit/evidence/test_signs_recorded.py": "recordings",
    "unit/read/test_shared.py": "recordings",
    "unit/roofline/test_families.py": "recordings",
    "unit/roofline/test_on_h200.py": "recordings",
}
"""Files that read the same recordings: the worker that runs them reads each once."""

APART = {
    "cli/test_host_memory.py",
    "cli/test_progress.py",
    "cli/test_run.py",
    "cli/test_run_memory.py",
}
"""Files whose tests take seconds each and share little: dealt out one by one, and last."""


class Dealing(LoadScopeScheduling):
    """Deals out files to workers, the one with most tests first."""

    def _split_scope(self, nodeid):
        path, _, _ = nodeid.partition("::")
        file = path.partition("tests/")[2]
        return nodeid if file in APART else TOGETHER.get(file, file)
