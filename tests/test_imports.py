"""What the trace path loads, and in which direction modules see each other, in a fresh process."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

import boundby
from recordings import REAL

SOURCE = Path(boundby.__file__).parent

HEAVY = {"torch", "pandas", "polars", "scipy", "jinja2", "matplotlib", "plotly", "pynvml", "psutil"}
"""Never loaded to read a trace and to print what it says."""

DRAWING = {"rich", "click", "jinja2"}
"""Only the report and the command line may draw."""

BASE = ("units", "intervals", "statistics", "errors", "topics", "frozen", "distribution", "shell")
LAYERS = ("read", "memory", "roofline", "timeline", "replay", "evidence", "verdict", "prescribe")
"""From the bottom up; import-linter checks every pair, this one the order of loading."""


def loaded(code):
    """Names of the modules that a fresh interpreter holds after running ``code``."""
    script = f"import sys\n{code}\nimport json\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return set(json.loads(done.stdout.splitlines()[-1]))


def tops(modules):
    return {name.partition(".")[0] for name in modules}


@pytest.mark.parametrize("arguments", [[], ["--json"]], ids=["text", "json"])
def test_tracing_a_file_loads_nothing_heavy(arguments):
    path = str(REAL / "pair_pageable_h2d.json.gz")
    code = (
        "from boundby.cli import main\n"
        f"sys.argv = ['boundby', 'trace', {path!r}, *{arguments!r}]\n"
        "try:\n    main()\n"
        "except SystemExit as end:\n    assert not end.code, end.code"
    )
    modules = loaded(code)

    assert "boundby.diagnose" in modules
    assert tops(modules) & HEAVY == set()
    assert "numpy.ma" not in modules, "a fifth of all imports: see boundby.distribution"


def test_diagnosing_draws_nothing():
    assert tops(loaded("import boundby.diagnose")) & (HEAVY | DRAWING) == set()


def test_asking_for_help_loads_neither_the_analysis_nor_numpy():
    modules = loaded(
        "from boundby.cli import main\nsys.argv = ['boundby', '--help']\n"
        "try:\n    main()\nexcept SystemExit:\n    pass"
    )

    assert tops(modules) & (HEAVY | {"numpy"}) == set()
    assert "boundby.diagnose" not in modules


def modules_of(name):
    """Dotted names of a module, and of all modules inside if it is a package."""
    folder = SOURCE / name
    if not folder.is_dir():
        return [f"boundby.{name}"] if (SOURCE / f"{name}.py").is_file() else []
    files = sorted(folder.rglob("*.py"))
    dotted = [".".join(file.relative_to(SOURCE.parent).with_suffix("").parts) for file in files]
    return [name.removesuffix(".__init__") for name in dotted]


def test_each_layer_loads_without_those_above_it():
    steps = "\n".join(
        f"for each in {modules_of(layer)!r}: importlib.import_module(each)\n"
        f"seen[{layer!r}] = [name for name in sys.modules if name.startswith('boundby.')]"
        for layer in (*BASE, *LAYERS)
    )
    code = f"import importlib, json, sys\nseen = {{}}\n{steps}\nprint(json.dumps(seen))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    seen = json.loads(done.stdout)

    allowed = set()
    for layer in (*BASE, *LAYERS):
        # Base modules lie side by side, and so do memory and roofline.
        allowed |= {layer, *(BASE if layer in BASE else ()), *(("roofline",) * (layer == "memory"))}
        assert {name.split(".")[1] for name in seen[layer]} <= allowed, layer


@pytest.mark.parametrize("name", BASE)
def test_a_base_module_imports_only_base_modules(name):
    for module in modules_of(name):
        file = SOURCE.parent / Path(*module.split("."))
        text = (file / "__init__.py" if file.is_dir() else file.with_suffix(".py")).read_text()
        ours = {
            each.split(".")[1]
            for node in ast.walk(ast.parse(text))
            for each in _imported(node)
            if each.startswith("boundby.")
        }
        assert ours <= set(BASE), module


def _imported(node):
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [node.module or ""]
    return []
