"""Every command and every Python block on the pages that people write is run, or says why not."""

import contextlib
import io
import re
import subprocess
import sys
from dataclasses import replace

import click
import pytest

from docs_console import ANYTHING, OTHERS, parse, run, shows, typed
from docs_samples import USERS, place, results
from gpu import docs_blocks
from tools.manual.blocks import OUTPUTS, blocks, gpu_blocks, kept_output, output_file, written_pages
from tools.manual.topics import language

GENERATED = {"accuracy.md", "accuracy_live.md"}
"""Written by scripts that measure; their commands need recordings or a GPU."""
PAGES = {page: text for page, text in written_pages().items() if page not in GENERATED}
LANGUAGES = {"console", "python", "text", "shell"}
STARTERS = {"run", "tune", "record", "device"}
"""Commands that start a training or need a device: read, not run."""
TIMED = {0, 1, 125}
"""A comparison of real times may end with any of these, by the noise of the machine."""


def of(*languages):
    return [
        page
        for page, text in PAGES.items()
        if any(block.language in languages for block in blocks(page, text))
    ]


@pytest.fixture(scope="session")
def measured(tmp_path_factory):
    """A real result of ``boundby bench``, as text."""
    folder = tmp_path_factory.mktemp("bench")
    place(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        run(["boundby", "bench", "mine.py::step", "--min-run-time", "0.02", "-o", "kept.json"])
    return (folder / "kept.json").read_text("utf-8")


@pytest.fixture
def folder(tmp_path, monkeypatch, measured):
    """A folder with the files that pages name, and a terminal of 100 columns."""
    place(tmp_path)
    results(tmp_path, measured)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)
    yield tmp_path
    for name in USERS:
        sys.modules.pop(name, None)


@pytest.mark.parametrize("page", of("console"))
def test_commands_of_a_page_do_what_it_shows(page, folder):
    for block in blocks(page, PAGES[page]):
        if block.language == "console":
            for command in typed(block.code):
                follow(command, block.mark)


def test_commands_in_scripts_parse():
    lines = [
        line.partition("||")[0]
        for page, text in PAGES.items()
        for block in blocks(page, text)
        if block.language == "shell"
        for line in block.code.splitlines()
        if line.startswith("boundby ")
    ]

    assert len(lines) >= 2
    for line in lines:
        parse(line.split())


def follow(command, mark):
    """Run one command as its block says, and compare."""
    if command.words[0] != "boundby":
        assert command.words[0] in OTHERS
        return
    if mark.startswith("parse: ") or command.words[1] in STARTERS:
        parse(command.words)
        return
    code, printed = run(command.words)
    wanted = TIMED if mark == "timed" else {int(mark.removeprefix("exit ") or 0)}
    assert code in wanted, (command.words, printed)
    if command.shown:
        assert shows(printed, command.shown), "\n".join(
            (*command.words, *command.shown, "--- printed", printed)
        )


@pytest.mark.alone  # some of them time what they show
@pytest.mark.parametrize("page", of("python"))
def test_python_blocks_of_a_page_run_in_order(page):
    names = {"__name__": "page"}
    page_blocks = [*blocks(page, PAGES[page])]
    for block, following in zip(page_blocks, [*page_blocks[1:], None], strict=True):
        if block.language != "python" or block.needs_gpu:
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(block.code, f"{page} block {block.number}", "exec"), names)  # noqa: S102
        if printed.getvalue():
            assert following is not None
            assert following.language == "text"
            assert following.code == printed.getvalue()


@pytest.mark.parametrize("page", PAGES)
def test_what_is_special_about_a_block_is_said_in_known_words(page):
    known = re.compile(r"cuda|timed|exit \d+|parse: .+|table: \w+|output of .+|")
    for block in blocks(page, PAGES[page]):
        assert block.language in LANGUAGES
        assert known.fullmatch(block.mark)
        assert block.mark != "cuda" or block.language == "python"


def test_blocks_that_need_a_gpu_compile_and_print():
    found = [block for page, text in PAGES.items() for block in gpu_blocks(page, text)]

    assert len(found) >= 4
    for block in found:
        compile(block.code, block.name, "exec")
        assert "cuda" in block.code


def test_a_block_without_output_says_so_and_one_with_output_shows_it(tmp_path, monkeypatch):
    text = "<!-- cuda -->\n```python\nx = 1\n```\n"
    (block,) = gpu_blocks("measuring/some.md", text)
    monkeypatch.setattr("tools.manual.blocks.OUTPUTS", tmp_path)

    assert output_file(block).name.startswith("measuring_some-")
    assert "No output" in kept_output(block)
    output_file(block).write_text("NVIDIA H200, torch 2.11\n3 ms\n")
    assert kept_output(block) == "```text\n3 ms\n```\n\n*NVIDIA H200, torch 2.11*\n"
    output_file(block).write_text("NVIDIA H200, torch 2.11\n")
    assert kept_output(block) == "*Ran on NVIDIA H200, torch 2.11; it prints nothing.*\n"
    assert "No output" in kept_output(replace(block, code="x = 2\n"))


def test_every_block_that_needs_a_gpu_has_the_output_of_its_present_code():
    wanted = {
        output_file(block) for page, text in PAGES.items() for block in gpu_blocks(page, text)
    }

    assert set(OUTPUTS.iterdir()) == wanted, "python -m gpu.docs_blocks on a machine with a GPU"
    assert all(file.read_text("utf-8").startswith("NVIDIA ") for file in wanted)


def test_blocks_are_found_with_their_marks_also_inside_lists():
    text = "- so:\n\n    ```console\n    $ boundby demo\n    ```\n\n<!-- exit 1 -->\n```text\n```\n"
    first, second = blocks("a/b.md", text)

    assert (first.code, first.mark, first.name) == ("$ boundby demo\n", "", "a_b-1")
    assert (second.number, second.mark, second.code) == (2, "exit 1", "")


@pytest.mark.parametrize(
    ("printed", "expected", "alike"),
    [
        ("a\nb\n", ["a", "b"], True),
        ("a\nb\nc\n", ["a", ANYTHING], True),
        ("a\nb\nc\n", ["a", ANYTHING, "c"], True),
        ("a\nb\nc\n", ["a"], False),
        ("a\nb\nc\n", [ANYTHING, "b"], False),
        ("a\nb\n", ["a", "c"], False),
        ("", [ANYTHING], True),
    ],
)
def test_dots_stand_for_any_lines_and_nothing_else_does(printed, expected, alike):
    assert shows(printed, expected) is alike


def test_an_option_that_does_not_exist_is_found():
    with pytest.raises(click.UsageError):
        parse(["boundby", "trace", "x.json", "--no-such-option"])


@pytest.mark.parametrize(
    ("code", "is_written_in"),
    [
        ("boundby demo --list", "shell"),
        ("loss.backward()", "python"),
        ("host [op]...[op]", "text"),
        ("export A=1", "shell"),
    ],
)
def test_the_language_of_a_block_is_guessed(code, is_written_in):
    assert language(code) == is_written_in


def test_the_script_for_a_gpu_finds_every_block_that_needs_one():
    pages = [(page, text) for page, text in PAGES.items() if "<!-- cuda -->" in text]

    found = docs_blocks.collect()
    assert [block.page for block in found] == [
        page for page, text in pages for _ in range(text.count("<!-- cuda -->"))
    ]
    assert docs_blocks.collect(found[1].name) == [found[1]]
    assert len({output_file(block) for block in found}) == len(found)


def test_the_script_lists_blocks_without_running_them(capsys):
    assert docs_blocks.main(["--list"]) == 0
    assert all(block.name in capsys.readouterr().out for block in docs_blocks.collect()[:1])


def test_it_keeps_what_a_block_prints_below_its_caliber(tmp_path, monkeypatch):
    monkeypatch.setattr("tools.manual.blocks.OUTPUTS", tmp_path / "gpu_output")
    (block,) = gpu_blocks("a.md", "<!-- cuda -->\n```python\nprint(1 + 1)\n```\n")

    assert docs_blocks.keep(block, "a card").read_text("utf-8") == "a card\n2\n"
    assert docs_blocks.output_of("import sys; sys.stderr.write('told\\n')") == "told\n"
    assert docs_blocks.output_of("import sys; print(1); sys.stderr.write('told')") == "1\n"
    with pytest.raises(subprocess.CalledProcessError):
        docs_blocks.output_of("raise SystemExit(3)")
    assert docs_blocks.main(["--only", "no-such-block"]) == 2
