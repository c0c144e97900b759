"""A path in a printed command is read back by a shell as the same path."""

import shutil
import subprocess

import pytest

from boundby.shell import quoted

BASH = shutil.which("bash") or ""


@pytest.mark.skipif(not BASH, reason="no bash here")
@pytest.mark.parametrize(
    "path",
    [
        "trace.json",
        "a b.json",
        "-x.json",
        "-",
        "a\nb.json",
        "it's\t.json",
        "\x1b[1m",
        "caf\xe9\u202e",
    ],
)
def test_a_shell_reads_the_path_back(path):
    assert quoted(path).isprintable()
    script = [BASH, "-c", f"printf %s {quoted(path)}"]
    done = subprocess.run(script, capture_output=True, check=True)

    assert done.stdout.decode() == (f"./{path}" if path.startswith("-") else path)
