"""Code that is too long for the report: comments give way, statements stay whole."""

import pytest

from boundby.report.code import fold

SHORT = "loss.backward()     # as it is"


@pytest.mark.parametrize(
    ("code", "width", "lines"),
    [
        pytest.param(SHORT, 30, [SHORT], id="fits"),
        pytest.param(SHORT, 29, ["loss.backward()  # as it is"], id="closes up"),
        pytest.param("  step()  # after it", 12, ["  # after it", "  step()"], id="comment above"),
        pytest.param("  # one two three", 10, ["  # one", "  # two", "  # three"], id="comment"),
        pytest.param("without_comment()", 10, ["without_comment()"], id="whole"),
        pytest.param(
            "y = f(a, g(b, c), d)", 14, ["y = f(a,", "      g(b, c),", "      d)"], id="commas"
        ),
        pytest.param("f('a, b', c)  # so", 10, ["# so", "f('a, b',", "  c)"], id="no string"),
        pytest.param("a, b = c(d)", 6, ["a, b = c(d)"], id="no bracket around the comma"),
        pytest.param("if x:\n\ty()\n", 40, ["if x:", "    y()"], id="tabs"),
        pytest.param("", 40, [], id="nothing"),
    ],
)
def test_fold(code, width, lines):
    assert fold(code, width) == lines
