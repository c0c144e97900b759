"""Lines of a function, read from the user's source, that may be the call a finding is about.

Only files under the current working directory are read, and only those no newer than the recording:
later edits would move the lines.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from pathlib import Path

from boundby.evidence.facts import Place

LARGEST_SOURCE = 1 << 20
"""Bytes above which a file is taken as generated and left alone."""

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
LOOPS = (ast.For, ast.AsyncFor, ast.While)

READS = frozenset({"item", "tolist", "cpu", "numpy", "float", "int", "bool", "print"})
COPIES = frozenset(
    {"to", "cuda", "cpu", "numpy", "tolist", "copy_", "tensor", "as_tensor", "from_numpy", "print"}
)
SHAPES = frozenset(
    {"nonzero", "argwhere", "where", "masked_select", "unique", "unique_consecutive"}
    | {"repeat_interleave", "bincount"}
)


def candidate_lines(place: Place, kind: str, recording: str) -> tuple[int, ...]:
    """Lines inside the function at ``place`` whose code fits the kind of finding, rising.

    Empty where the source is not at hand, has changed since, or holds nothing that fits.

    Args:
        place: A function, by the line of its definition.
        kind: A kind of wait (``item``, ``host-copy``, ``explicit-sync``, ``data-dependent-shape``,
            ``allocator``) or ``loop``.
        recording: Path of the recording, whose age the source must have.
    """
    fits = FITS.get(kind)
    text = source_at_hand(place.file, recording) if fits else None
    if fits is None or text is None:
        return ()
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    bodies = _bodies(tree, place)
    return tuple(sorted({node.lineno for node in bodies if fits(node)}))


def source_at_hand(file: str, recording: str) -> str | None:
    """The text of a file below the working directory that is no newer than the recording."""
    here = Path.cwd().resolve()
    try:
        path = (here / file).resolve()
        if not path.is_relative_to(here) or not path.is_file():
            return None
        state = path.stat()
        if state.st_size > LARGEST_SOURCE or state.st_mtime > Path(recording).stat().st_mtime:
            return None
        return path.read_text("utf-8")
    except (OSError, ValueError):
        return None


def _bodies(tree: ast.Module, place: Place) -> Iterator[ast.expr | ast.stmt]:
    """Expressions and statements of the functions that begin at the place, not of inner ones."""
    if place.function == "<module>":
        yield from _own_nodes(tree)
        return
    for node in ast.walk(tree):
        if isinstance(node, FUNCTIONS) and _first_line(node) <= place.line <= node.lineno:
            yield from _own_nodes(node)


def _first_line(function: Function) -> int:
    """The line Python gives a function: that of its first decorator."""
    decorators = [] if isinstance(function, ast.Lambda) else function.decorator_list
    return min([function.lineno, *(decorator.lineno for decorator in decorators)])


def _own_nodes(parent: ast.AST) -> Iterator[ast.expr | ast.stmt]:
    for node in ast.iter_child_nodes(parent):
        if isinstance(node, FUNCTIONS):
            continue
        if isinstance(node, ast.expr | ast.stmt):
            yield node
        yield from _own_nodes(node)


def _calls(names: frozenset[str]) -> Callable[[ast.AST], bool]:
    """A test for calls of functions or methods with these names."""

    def fits(node: ast.AST) -> bool:
        if not isinstance(node, ast.Call):
            return False
        called = node.func
        name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", None)
        return name in names

    return fits


def _shapes(node: ast.AST) -> bool:
    """A call whose result has a shape of its own, or indexing with a boolean mask."""
    if not isinstance(node, ast.Subscript):
        return _calls(SHAPES)(node)
    index = node.slice
    if isinstance(index, ast.Name):
        return "mask" in index.id.lower()
    inverts = isinstance(index, ast.UnaryOp) and isinstance(index.op, ast.Invert)
    return inverts or isinstance(index, ast.Compare)


FITS: dict[str, Callable[[ast.AST], bool]] = {
    "item": _calls(READS),
    "host-copy": _calls(COPIES),
    "explicit-sync": _calls(frozenset({"synchronize", "barrier"})),
    "data-dependent-shape": _shapes,
    "allocator": _calls(frozenset({"empty_cache"})),
    "loop": lambda node: isinstance(node, LOOPS),
}
