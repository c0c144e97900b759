"""Progress is for who watches: on a terminal, when it takes long, and gone when done."""

import io
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from boundby.cli import progress
from boundby.cli.demos import demo_file
from boundby.cli.output import Output
from boundby.read import read_recording, stream
from boundby.read.capture_folder import captures_in, read_so_far
from boundby.read.stream import watched

AT_ONCE = """\
import sys
import boundby.cli.progress as progress
progress.PATIENCE_S = {patience}
from boundby.cli import main
code = main(sys.argv[1:])
print("rich.progress" in sys.modules, file=sys.stdout)
sys.exit(code)
"""


def run_on_a_terminal(arguments, patience=0, **settings):
    """What a command writes to a terminal on stderr, and its stdout."""
    ours, theirs = pty.openpty()
    done = subprocess.Popen(
        [sys.executable, "-c", AT_ONCE.format(patience=patience), *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "80", **settings},
    )
    os.close(theirs)
    shown = b""
    try:
        while piece := os.read(ours, 4096):
            shown += piece
    except OSError:  # the terminal is gone with the process
        pass
    out, _ = done.communicate()
    os.close(ours)
    return shown.decode(), out.decode()


def test_reading_shows_a_bar_that_is_gone_in_the_end():
    shown, out = run_on_a_terminal(["trace", demo_file("item-each-layer"), "--json"])

    assert "reading" in shown or "diagnosing" in shown
    assert shown.rstrip().endswith(("\x1b[2K", "\x1b[?25h"))  # the line is erased, the cursor back
    assert out.endswith("True\n")
    assert "reading" not in out


@pytest.mark.parametrize(
    ("options", "settings", "patience"),
    [(["--quiet"], {}, 0), ([], {"TERM": "dumb"}, 0), ([], {}, 600)],
    ids=["quiet", "dumb terminal", "short work"],
)
def test_nothing_is_shown_where_nothing_should_be(options, settings, patience):
    path = demo_file("item-each-layer")
    shown, out = run_on_a_terminal(["trace", path, "--json", *options], patience, **settings)

    assert shown == ""
    assert out.endswith("False\n")


SLOW = """\
import time, torch
model = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(120):
    model(torch.randn(2, 4)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
    time.sleep(0.03)
print("done")
"""


def test_a_program_that_runs_shows_its_steps_where_its_output_goes_elsewhere(tmp_path):
    (tmp_path / "train.py").write_text(SLOW)
    place, page = tmp_path / "kept", tmp_path / "run.html"
    shown, out = run_on_a_terminal(
        ["run", "--folder", place, "-o", page, tmp_path / "train.py"], patience=600
    )

    assert "steps seen, " in shown
    assert out.startswith("done\n")
    assert "steps seen, " not in out
    assert f"wrote {page}" in shown.replace("\r\n", "")
    (process,) = captures_in(place)
    far = read_so_far(process)
    assert far.steps >= 100
    assert 'id="lines"' in page.read_text("utf-8")

    shown, _ = run_on_a_terminal(["report", place, "-o", tmp_path / "again.html"], patience=600)
    assert "wrote" in shown
    assert page.read_text("utf-8") == (tmp_path / "again.html").read_text("utf-8")


def test_a_folder_without_a_run_is_no_steps(tmp_path):
    assert read_so_far(tmp_path) is None


def test_a_pipe_sees_nothing_and_does_not_pay(boundby):
    done = boundby("trace", demo_file("item-each-layer"), "--json")

    assert done.stderr == ""


def test_bytes_rise_to_the_size_of_the_file():
    path, told = demo_file("item-each-layer"), []
    with watched(lambda done, size: told.append((done, size))):
        read_recording(path)

    size = Path(path).stat().st_size
    assert {each[1] for each in told} == {size}
    assert told[-1] == (size, size)
    assert [done for done, _ in told if done == size] == [size]
    read_recording(path)
    assert told[-1] == (size, size)


def test_a_stream_that_is_no_terminal_is_not_watched(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())

    with progress.reading(Output("text", None, force=False, verbose=False, quiet=False)):
        assert stream._watcher.get() is None
