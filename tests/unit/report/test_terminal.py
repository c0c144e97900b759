"""What a stream and the environment allow."""

import io

import pytest

from boundby.report.terminal import Look, look_at


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self):
        return True


class AsciiTerminal(Terminal):
    encoding = "ascii"


@pytest.fixture(autouse=True)
def wide(monkeypatch):
    monkeypatch.setenv("COLUMNS", "93")


@pytest.mark.parametrize(
    ("stream", "environment", "styled"),
    [
        (Terminal(), {}, True),
        (Terminal(), {"TERM": "dumb"}, False),
        (Terminal(), {"NO_COLOR": "1"}, False),
        (Terminal(), {"NO_COLOR": ""}, True),
        (Terminal(), {"NO_COLOR": "1", "FORCE_COLOR": "1"}, False),
        (io.StringIO(), {}, False),
        (io.StringIO(), {"FORCE_COLOR": "1"}, True),
        (io.StringIO(), {"FORCE_COLOR": "0"}, False),
        (io.StringIO(), {"FORCE_COLOR": "3", "NO_COLOR": "1"}, False),
    ],
)
def test_styles(stream, environment, styled):
    assert look_at(stream, environment).styled is styled


def test_a_pipe_is_100_columns_of_ascii():
    assert look_at(io.StringIO(), {}) == Look(width=100, styled=False, unicode=False)
    assert not look_at(io.StringIO(), {"FORCE_COLOR": "1"}).unicode


def test_a_terminal_has_its_own_width_and_characters():
    assert look_at(Terminal(), {}).width == 93
    assert look_at(Terminal(), {}).unicode
    assert not look_at(AsciiTerminal(), {}).unicode


@pytest.mark.parametrize(
    ("columns", "width"), [("80", 80), ("20", 60), ("400", 120), ("", 100), ("0", 100), ("x", 100)]
)
def test_a_pipe_has_the_width_that_it_is_told(columns, width):
    assert look_at(io.StringIO(), {"COLUMNS": columns}).width == width


@pytest.mark.parametrize(("columns", "width"), [("20", 60), ("400", 120)])
def test_width_has_bounds(columns, width, monkeypatch):
    monkeypatch.setenv("COLUMNS", columns)

    assert look_at(Terminal(), {}).width == width
