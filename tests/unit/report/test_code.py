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
        pytest.param("if x:\n\ty()\n", 40, ["if x:", "    y()"], id="tabs"),
        pytest.param("", 40, [], id="nothing"),
    ],
)
def test_fold(code, width, lines):
    assert fold(code, width) == lines
