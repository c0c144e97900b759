"""A full disk is told of the place that is full."""

import errno
import json
import os
from pathlib import Path

from boundby import cli
from boundby.capture.host_watch import HostWatch


def full(*_args, **_keywords):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_it_is_not_stdout_that_is_full(monkeypatch, capsys):
    monkeypatch.setattr(cli.boundby, "main", full)

    assert cli.main(["demo"]) == 125
    assert capsys.readouterr().err.startswith("cannot write: No space left on device\n\nhint: ")


def test_readings_of_the_host_are_left_out_where_they_find_no_room(monkeypatch, tmp_path):
    watch = HostWatch(os.getpid())
    watch.look()
    watch.write(tmp_path)
    assert [len(json.loads(each.read_text())["samples"]) > 0 for each in tmp_path.iterdir()]

    monkeypatch.setattr(Path, "write_text", full)
    watch.write(tmp_path)
    assert list(tmp_path.iterdir()) == []
