"""Source lines that lose precision: what a reader would stop at, found without running them."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from boundby.errors import UnreadableError

LOW = {"half", "bfloat16"}
LOW_DTYPES = {"float16", "half", "bfloat16"}
REDUCTIONS = {"sum", "mean", "norm", "var", "std", "logsumexp", "cumsum", "prod"}
LOSSES = ("_loss", "cross_entropy")
OPTIMIZERS = {"Adam", "AdamW", "SGD", "RMSprop", "Adagrad", "Adamax", "NAdam", "RAdam", "Lion"}


@dataclass(frozen=True)
class Finding:
    """One line.

    Attributes:
        id: ``log-softmax``, ``exp-without-max``, ``low-precision-loss``,
            ``low-precision-reduction``, ``low-precision-parameters``.
        message: What is lost and what to write instead.
    """

    id: str
    file: str
    line: int
    message: str


def lint_files(
    paths: Iterable[str | Path],
) -> tuple[tuple[Finding, ...], tuple[UnreadableError, ...]]:
    """Findings in Python files, and what was wrong with those that could not be read."""
    found: list[Finding] = []
    unread = []
    for path in paths:
        try:
            found += lint_file(path)
        except UnreadableError as error:
            unread.append(error)
    return tuple(found), tuple(unread)


def lint_file(path: str | Path) -> tuple[Finding, ...]:
    """Findings in a Python file, by line.

    Raises:
        UnreadableError: There is none, or it is no Python.
    """
    try:
        return lint(Path(path).read_bytes(), str(path))
    except OSError as error:
        raise UnreadableError(f"{path}: {error.strerror}", "check the path") from None
    except SyntaxError as error:
        where = f"{path}:{error.lineno}" if error.lineno else f"{path}"
        raise UnreadableError(f"{where}: no Python source: {error.msg}", "check the path") from None
    except ValueError as error:
        raise UnreadableError(f"{path}: no Python source: {error}", "check the path") from None
    except (RecursionError, MemoryError):
        raise UnreadableError(
            f"{path}: nested too deeply to be read", "leave generated code out"
        ) from None


def lint(source: str | bytes, file: str = "") -> tuple[Finding, ...]:
    """Findings in Python source, by line; raises SyntaxError where it is none.

    Args:
        source: Text, or bytes in the encoding that they declare.
        file: Its name, for the findings.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)  # of the user's own escapes
        tree = ast.parse(source)
    names = _assigned(tree)
    found = [
        Finding(id_, file, node.lineno, message)
        for node in ast.walk(tree)
        if isinstance(node, ast.expr)
        for id_, message, is_so in RULES
        if is_so(node, names)
    ]
    found += [
        Finding("low-precision-parameters", file, line, PARAMETERS)
        for line in _low_optimizers(tree)
    ]
    return tuple(sorted(found, key=lambda each: (each.line, each.id)))


Names = dict[str, ast.expr]


def _assigned(tree: ast.AST) -> Names:
    """The last expression that each plain name was given: enough for one step back."""
    return {
        target.id: node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }


def _resolve(node: ast.expr, names: Names) -> ast.expr:
    return names.get(node.id, node) if isinstance(node, ast.Name) else node


def _called(node: ast.AST) -> str:
    """Last part of the name of a called function or method; empty for anything else.

    A call of what a call made is that of the inner one: ``nn.Softmax(-1)(x)``.
    """
    if not isinstance(node, ast.Call):
        return ""
    function = node.func
    if isinstance(function, ast.Call):
        return _called(function)
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _operand(node: ast.expr) -> ast.expr | None:
    """What a call works on: the object of a method, or the first argument of a function."""
    if not isinstance(node, ast.Call):
        return None
    function = node.func
    if isinstance(function, ast.Attribute) and not _is_module(function.value):
        return function.value
    return node.args[0] if node.args else None


def _is_module(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in {"torch", "F", "nn", "np", "math"}


SOFTMAX = {"softmax", "Softmax"}
LOG = {"log", "log_"}


def _log_of_softmax(node: ast.expr, names: Names) -> bool:
    """Also where a small number is added before the logarithm, which only hides it."""
    inner = _operand(node) if _called(node) in LOG else None
    if inner is None:
        return False
    inner = _resolve(inner, names)
    terms = [inner]
    if isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.Add):
        terms = [_resolve(each, names) for each in (inner.left, inner.right)]
    return any(_called(each) in SOFTMAX for each in terms)


def _log_of_sum_of_exp(node: ast.expr, names: Names) -> bool:
    """``log(exp(x).sum())`` where nothing is subtracted from x."""
    total = _operand(node) if _called(node) in LOG else None
    total = None if total is None else _resolve(total, names)
    inner = _operand(total) if total is not None and _called(total) == "sum" else None
    return inner is not None and _is_bare_exp(_resolve(inner, names), names)


def _is_bare_exp(node: ast.expr, names: Names) -> bool:
    """Whether an expression is ``exp`` of something from which nothing is subtracted."""
    if _called(node) != "exp":
        return False
    argument = _operand(node)
    argument = None if argument is None else _resolve(argument, names)
    return not (isinstance(argument, ast.BinOp) and isinstance(argument.op, ast.Sub))


def _exp_without_max(node: ast.expr, names: Names) -> bool:
    """``exp(x) / exp(x).sum()`` where nothing is subtracted from x."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Div):
        return False
    top = _resolve(node.left, names)
    if not _is_bare_exp(top, names):
        return False
    bottom = _resolve(node.right, names)
    inner = _operand(bottom) if _called(bottom) == "sum" else None
    return inner is not None and ast.dump(_resolve(inner, names)) == ast.dump(top)


def _is_low(node: ast.expr | None, names: Names) -> bool:
    """Whether an expression was just cast to half precision."""
    if node is None:
        return False
    node = _resolve(node, names)
    if _called(node) in LOW:
        return True
    if _called(node) not in {"to", "type"} or not isinstance(node, ast.Call):
        return False
    arguments = [*node.args, *(each.value for each in node.keywords)]
    return any(isinstance(a, ast.Attribute) and a.attr in LOW_DTYPES for a in arguments)


def _low_loss(node: ast.expr, names: Names) -> bool:
    """A function of losses, or what a class of losses made, given half precision."""
    if not isinstance(node, ast.Call):
        return False
    maker = _resolve(node.func, names)
    is_loss = _called(node).endswith(LOSSES) or _called(maker).endswith("Loss")
    return is_loss and any(_is_low(each, names) for each in node.args)


def _low_reduction(node: ast.expr, names: Names) -> bool:
    if _called(node) not in REDUCTIONS or not isinstance(node, ast.Call):
        return False
    if any(each.arg == "dtype" for each in node.keywords):
        return False
    return _is_low(_operand(node), names)


PARAMETERS = (
    "the optimizer holds parameters and state in half precision: small updates are lost; "
    "keep float32 parameters and use autocast"
)

Test = Callable[[ast.expr, Names], bool]
RULES: tuple[tuple[str, str, Test], ...] = (
    (
        "log-softmax",
        "log(softmax(x)) loses small probabilities: use log_softmax, or cross_entropy on logits",
        _log_of_softmax,
    ),
    (
        "exp-without-max",
        "exp(x) / exp(x).sum() overflows for large x: use softmax, or subtract the maximum",
        _exp_without_max,
    ),
    (
        "exp-without-max",
        "log(exp(x).sum()) overflows for large x: use logsumexp, or subtract the maximum",
        _log_of_sum_of_exp,
    ),
    (
        "low-precision-loss",
        "the loss is computed in half precision: cast its inputs to float32",
        _low_loss,
    ),
    (
        "low-precision-reduction",
        "a reduction of half precision values: give it dtype=torch.float32",
        _low_reduction,
    ),
)


def _low_optimizers(tree: ast.AST) -> Iterator[int]:
    """Lines that make an optimizer of a model that was cast to half precision before."""
    low: set[str] = set()
    for node in sorted(_statements(tree), key=lambda each: each.lineno):
        for call in (each for each in ast.walk(node) if isinstance(each, ast.Call)):
            operand = call.func.value if isinstance(call.func, ast.Attribute) else None
            if isinstance(operand, ast.Name) and _is_low(call, {}):
                low.add(operand.id)
            given = [*call.args[:1], *(k.value for k in call.keywords if k.arg == "params")]
            if _called(call) in OPTIMIZERS and any(_mentions(each, low) for each in given):
                yield call.lineno
        if isinstance(node, ast.Assign) and _is_low(node.value, {}):
            low |= {each.id for each in node.targets if isinstance(each, ast.Name)}


def _statements(tree: ast.AST) -> Iterator[ast.stmt]:
    simple = (ast.Assign, ast.Expr, ast.Return, ast.AnnAssign)
    return (node for node in ast.walk(tree) if isinstance(node, simple))


def _mentions(node: ast.expr, names: set[str]) -> bool:
    return any(isinstance(each, ast.Name) and each.id in names for each in ast.walk(node))
