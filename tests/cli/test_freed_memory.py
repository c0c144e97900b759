"""Freed memory stays in the process: read again, a trace touches far fewer new pages."""

import json
import subprocess
import sys

import pytest

CODE = """
import json, resource, sys
from boundby.cli.freed_memory import keep_freed_memory
import numpy as np

keeps = keep_freed_memory() if sys.argv[1] == "kept" else None
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(200):
    parts = [np.ones(12_000) for _ in range(20)]
    del parts
print(json.dumps([keeps, resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before]))
"""


def faults(mode):
    done = subprocess.run(
        [sys.executable, "-c", CODE, mode], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="a setting of glibc")
def test_pages_are_touched_once():
    keeps, kept = faults("kept")
    if not keeps:
        pytest.skip("this C library has no such setting")
    _, plain = faults("plain")

    assert kept < plain / 4


def test_where_there_is_no_such_setting_nothing_happens(monkeypatch):
    import ctypes

    from boundby.cli.freed_memory import keep_freed_memory

    monkeypatch.setattr(ctypes, "CDLL", lambda _name: object())
    assert not keep_freed_memory()
