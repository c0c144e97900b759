"""Files and functions stay small enough to read in one go. Ruff has no rule for either."""

import ast
import functools
import math
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent / "src" / "boundby"

LONGEST_FILE = 400
LONGEST_FUNCTION = 60
LONG_FUNCTION = 30  # 95 of 100 functions are no longer than this


def function_lengths(text: str) -> dict[str, int]:
    """Lines from ``def`` to the last statement, docstring included, by name and line."""
    return {
        f"{node.name}:{node.lineno}": node.end_lineno - node.lineno + 1
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }


def percentile_95(lengths: list[int]) -> int:
    """Return the smallest length that at least 95 of 100 functions do not exceed."""
    return sorted(lengths)[math.ceil(0.95 * len(lengths)) - 1]


def source_files() -> dict[str, str]:
    files = sorted(SOURCE.rglob("*.py"))
    return {path.relative_to(SOURCE).as_posix(): path.read_text("utf-8") for path in files}


@functools.cache
def source_functions() -> dict[str, int]:
    return {
        f"{file}:{name}": lines
        for file, text in source_files().items()
        for name, lines in function_lengths(text).items()
    }


def test_a_function_counts_from_def_to_its_last_line():
    text = "@decorated\ndef outer():\n    '''Says so.'''\n\n    async def inner():\n        pass\n"

    assert function_lengths(text) == {"outer:2": 5, "inner:5": 2}


def test_percentile_is_a_length_that_occurs():
    assert percentile_95([10] * 95 + [50] * 5) == 10
    assert percentile_95([10] * 94 + [50] * 6) == 50


def test_no_source_file_is_longer_than_one_sitting():
    lengths = {file: len(text.splitlines()) for file, text in source_files().items()}

    assert lengths
    assert {file: lines for file, lines in lengths.items() if lines > LONGEST_FILE} == {}


def test_no_function_is_longer_than_a_screen():
    functions = source_functions()

    assert functions
    assert {name: lines for name, lines in functions.items() if lines > LONGEST_FUNCTION} == {}


def test_nearly_all_functions_are_short():
    functions = source_functions()
    longest_first = dict(sorted(functions.items(), key=lambda item: -item[1])[:20])

    assert percentile_95(list(functions.values())) <= LONG_FUNCTION, longest_first
