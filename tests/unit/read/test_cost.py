"""Reading imports nothing heavy."""

import subprocess
import sys

from builders import training_steps

PROGRAM = """
import sys
from boundby.read import read_recording
read_recording(sys.argv[1])
print(*sorted({name.partition(".")[0] for name in sys.modules}))
"""
HEAVY = {"torch", "pandas", "rich", "jinja2", "click", "hypothesis"}


def test_reading_imports_nothing_heavy(tmp_path):
    path = training_steps().write(tmp_path / "trace.json.gz")

    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(path)], capture_output=True, text=True, check=True
    )

    assert not HEAVY & set(done.stdout.split())
