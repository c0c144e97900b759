"""The README shows what the program prints, and only commands that exist."""

import re
import shlex
import warnings
from pathlib import Path

import pytest

from boundby.diagnose import diagnose
from boundby.read import read_recording
from docs_console import parse, run
from docs_samples import place
from tools.readme import README, demo_output, with_output

TEXT = README.read_text("utf-8")
CONSOLE = [
    line.removeprefix("$ ").split("#")[0].split("|")[0].strip()
    for block in re.findall(r"```console\n(.*?)```", TEXT, re.DOTALL)
    for line in block.splitlines()
]


def test_the_demo_in_the_readme_is_what_it_prints():
    assert with_output(TEXT, demo_output()) == TEXT


def test_the_output_begins_within_the_first_25_lines():
    lines = TEXT.splitlines()
    assert any(line.startswith("waterfall") for line in lines[:25])
    assert len(lines) <= 150


COMMANDS = [shlex.split(c) for c in CONSOLE if c.startswith("boundby")]
READERS = {"trace", "memory", "kernel", "explain", "demo"}
"""Commands that only read, and so are quick everywhere."""


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_commands_in_the_readme_parse(words):
    parse(words)


def test_commands_in_the_readme_that_read_a_file_read_one(tmp_path, monkeypatch):
    place(tmp_path)
    monkeypatch.chdir(tmp_path)
    codes = {" ".join(words): run(words)[0] for words in COMMANDS if words[1] in READERS}

    assert len(codes) >= 8
    assert set(codes.values()) == {0}


def test_the_recording_it_shows_can_be_read(tmp_path, monkeypatch):
    import torch

    (code,) = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    names = {"torch": torch, "loader": [torch.ones(4)] * 8, "train_step": torch.Tensor.exp}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # as an error, what torch warns of ends the process
        exec(compile(code, "README.md", "exec"), names)  # noqa: S102
    steps = diagnose(read_recording(tmp_path / "trace.json.gz")).steps

    assert (steps.count, steps.source) == (3, "ProfilerStep")


@pytest.mark.parametrize(
    "target", [each for found in re.findall(r"`make ([a-z ]+)`", TEXT) for each in found.split()]
)
def test_targets_in_the_readme_exist(target):
    makefile = (README.parent / "Makefile").read_text("utf-8")
    assert re.search(rf"^{target}:", makefile, re.MULTILINE)


@pytest.mark.parametrize("target", re.findall(r"\]\(([^)#:]+)\)", TEXT))
def test_links_in_the_readme_lead_somewhere(target):
    assert (Path(README.parent) / target).exists()
