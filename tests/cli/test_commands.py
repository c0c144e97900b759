"""Help, explain, demo, and what starting up costs."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import click
import pytest

from boundby.cli.demos import DEFAULT, DEMOS, demo_file
from boundby.cli.group import COMMANDS, boundby
from boundby.report.remedy import remedies
from boundby.topics import ids

HEAVY = {"torch", "pandas", "jinja2", "matplotlib", "plotly"}
MEGABYTE = 1_000_000


def commands():
    context = click.Context(boundby)
    return {name: boundby.get_command(context, name) for name in COMMANDS}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_summary_is_the_first_line_of_its_help(name):
    first = commands()[name].help.splitlines()[0]

    assert first == COMMANDS[name]
    assert len(first) <= 60


@pytest.mark.parametrize("name", COMMANDS)
def test_every_help_has_an_example_that_parses(name):
    command = commands()[name]
    examples = [line.split() for line in command.epilog.splitlines() if "boundby" in line]

    assert examples
    for _, command_name, *arguments in examples:
        assert command_name == name
        command.make_context(name, arguments)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_says_what_it_does(name):
    options = [each for each in commands()[name].params if isinstance(each, click.Option)]

    assert [each.name for each in options if not each.help] == []


def test_help_lists_all_commands_in_order(stubbed):
    text = stubbed("--help").stdout
    places = [text.index(f"  {name} ") for name in COMMANDS]

    assert places == sorted(places)


def test_version(stubbed):
    assert stubbed("--version").stdout.startswith("boundby ")


def test_explain_prints_the_topic(boundby):
    text = boundby("explain", "launch-bound").stdout

    assert text.startswith("launch-bound  (class)\n\nThe device waits for the next launch")
    assert "\nWhat to do\n" in text
    assert "## " not in text


def test_explain_lists_every_id_grouped(boundby):
    lines = boundby("explain").stdout.splitlines()
    listed = {line.split()[0] for line in lines if line.startswith("  ")}

    kinds = [line for line in lines if line and not line.startswith(" ")]

    assert listed == {*(name for group in ids().values() for name in group), *remedies()}
    assert kinds == [*ids(), "prescription"]
    assert max(map(len, lines)) <= 100


@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("sdpa", "sdpa  (prescription)"),
        ("fused-optimizer", "fused-optimizer  (prescription)"),
        ("fused_optimizer", "what-if  (term)"),
        ("cuda_graph", "cuda-graph  (prescription)"),
        ("because", "page  (term)"),
        ("do first", "page  (term)"),
        ("drained_ms", "json  (term)"),
    ],
)
def test_explain_knows_changes_and_the_words_of_a_page(boundby, name, start):
    assert boundby("explain", name).stdout.startswith(f"{start}\n")


def test_explain_as_json(boundby):
    topic = json.loads(boundby("explain", "item", "--json").stdout)
    every = json.loads(boundby("explain", "--json").stdout)

    assert list(topic) == ["schema_version", "id", "kind", "summary", "text"]
    assert topic["kind"] == "cause"
    assert "item" in every["topics"]["cause"]


def test_demos_are_listed_with_what_they_are(boundby):
    done = boundby("demo", "--list")

    assert [line.split()[0] for line in done.stdout.splitlines()] == list(DEMOS)


def test_demo_recordings_are_small_and_all_there():
    files = [Path(demo_file(name)) for name in DEMOS]

    assert DEFAULT in DEMOS
    assert sum(file.stat().st_size for file in files) < MEGABYTE


def modules_after(arguments):
    program = (
        f"import sys, boundby.cli; boundby.cli.main({arguments!r}); "
        "print(sorted({name.partition('.')[0] for name in sys.modules}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=True, text=True
    )
    return set(ast.literal_eval(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize(
    "arguments", [["--help"], ["explain", "item"], ["trace", "--help"], ["demo", "--list"]]
)
def test_help_imports_next_to_nothing(arguments):
    assert modules_after(arguments) & (HEAVY | {"numpy", "rich", "msgspec"}) == set()


def test_a_diagnosis_imports_no_heavy_library():
    imported = modules_after(["demo", "fp32-matmul"])

    assert "numpy" in imported
    assert imported & (HEAVY | {"rich"}) == set()


@pytest.mark.parametrize("name", DEMOS)
def test_every_demo_gets_a_verdict(boundby, name):
    done = boundby("demo", name)

    assert done.returncode == 0
    assert done.stdout.startswith("verdict    ")
    assert not done.stdout.startswith("verdict    undecided")
    assert done.stderr == f"demo {name}: {DEMOS[name]}\n\n"


def test_a_demo_does_not_tell_where_the_package_lies(boundby):
    done = boundby("demo", "fp32-matmul", "--json", "--quiet")
    document = json.loads(done.stdout)

    assert done.stderr == ""
    assert document["source"]["path"] == "demo fp32-matmul"
    assert "site-packages" not in done.stdout
    assert str(Path(demo_file("fp32-matmul")).parent) not in done.stdout


def test_commands_that_a_demo_suggests_can_be_typed(boundby):
    document = json.loads(boundby("demo", "small-batch-inference", "--json").stdout)
    own = [each["command"].split() for each in document["next"] if "boundby" in each["command"]]

    assert own
    for _, *arguments in own:
        assert boundby(*arguments).returncode == 0
