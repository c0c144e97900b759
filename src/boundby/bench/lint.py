"""Source lines that lose precision: what a reader would stop at, found without running them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from boundby.errors import UnreadableError

LOW = {"half", "bfloat16"}
LOW_DTYPES = {"float16", "half", "bfloat16"}
REDUCTIONS = {"sum", "mean", "norm", "var", "std", "logsumexp", "cumsum", "prod"}
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


def lint_file(path: str | Path) -> tuple[Finding, ...]:
    """Findings in a Python file, by line.

    Raises:
        UnreadableError: There is none, or it is no Python.
    """
    try:
        text = Path(path).read_text("utf-8")
        return lint(text, str(path))
    except OSError as error:
        raise UnreadableError(f"{path}: {error.strerror}", "check the path") from None
    except (SyntaxError, ValueError) as error:
        raise UnreadableError(f"{path}: no Python source: {error}", "check the path") from None


def lint(text: str, file: str = "") -> tuple[Finding, ...]:
    """Findings in Python source, by line; raises SyntaxError where it is none."""
    tree = ast.parse(text)
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
    """Last part of the name of a called function or method; empty for anything else."""
    if not isinstance(node, ast.Call):
        return ""
    function = node.func
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


def _log_of_softmax(node: ast.expr, names: Names) -> bool:
    inner = _operand(node) if _called(node) in {"log", "log_"} else None
    return inner is not None and _called(_resolve(inner, names)) == "softmax"


def _exp_without_max(node: ast.expr, names: Names) -> bool:
    """``exp(x) / exp(x).sum()`` where nothing is subtracted from x."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Div):
        return False
    top = _resolve(node.left, names)
    if _called(top) != "exp":
        return False
    bottom = _resolve(node.right, names)
    inner = _operand(bottom) if _called(bottom) == "sum" else None
    if inner is None or ast.dump(_resolve(inner, names)) != ast.dump(top):
        return False
    argument = _operand(top)
    argument = None if argument is None else _resolve(argument, names)
    return not (isinstance(argument, ast.BinOp) and isinstance(argument.op, ast.Sub))


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
    name = _called(node)
    if name != "nll_loss" and not name.endswith(("_loss", "cross_entropy")):
        return False
    return isinstance(node, ast.Call) and any(_is_low(each, names) for each in node.args)


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
            if _called(call) in OPTIMIZERS and call.args and _mentions(call.args[0], low):
                yield call.lineno
        if isinstance(node, ast.Assign) and _is_low(node.value, {}):
            low |= {each.id for each in node.targets if isinstance(each, ast.Name)}


def _statements(tree: ast.AST) -> Iterator[ast.stmt]:
    simple = (ast.Assign, ast.Expr, ast.Return, ast.AnnAssign)
    return (node for node in ast.walk(tree) if isinstance(node, simple))


def _mentions(node: ast.expr, names: set[str]) -> bool:
    return any(isinstance(each, ast.Name) and each.id in names for each in ast.walk(node))
