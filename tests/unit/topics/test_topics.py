"""Topics: every word of a report can be explained, offline, in one shape."""

import ast
import functools
import re
from pathlib import Path
from typing import get_args

import pytest

import boundby
import boundby.memory.remedies as memory_remedies
from boundby.memory.remedies import Remedy
from boundby.memory.verdicts import MemoryClass
from boundby.replay.ladder import AT_ROOFLINE, FIX
from boundby.replay.observer import MODEL
from boundby.replay.whatif import EDITS, MARKED
from boundby.report.remedy import remedies
from boundby.report.schema import schema
from boundby.timeline.steps import StepSource
from boundby.topics import find, ids, listing, named, near, summary
from boundby.verdict.decision import BoundClass

SOURCE = Path(boundby.__file__).parent
EVERY = [(kind, name) for kind, group in ids().items() for name in group]
HEADINGS = {
    "What it means",
    "How boundby knows",
    "What to do",
    "When to stop",
    "When it does not help",
    "See also",
}
OF_CLASSES = {"How it looks", "How to be wrong about it"}


def test_every_class_has_a_topic():
    assert set(ids()["class"]) == set(get_args(BoundClass))


def test_an_id_means_one_thing():
    names = [name for _, name in EVERY]

    assert sorted(names) == sorted(set(names))


@pytest.mark.parametrize(("kind", "name"), EVERY)
def test_a_topic_has_title_summary_and_known_headings(kind, name):
    topic = find(name)
    headings = re.findall(r"^## (.*)$", topic.text, re.MULTILINE)

    assert topic.kind == kind
    assert topic.text.startswith(f"# {name}\n\n")
    assert topic.summary.endswith(".")
    assert len(topic.summary) <= 140
    assert set(headings) <= HEADINGS | OF_CLASSES
    assert len(headings) == len(set(headings))
    assert "What it means" in headings


@pytest.mark.parametrize(("kind", "name"), EVERY)
def test_a_topic_is_ascii_and_fits_80_columns(kind, name):
    text = find(name).text

    assert text.isascii()
    assert [line for line in text.splitlines() if len(line) > 79] == []
    assert text.endswith("\n")


@pytest.mark.parametrize(("kind", "name"), EVERY)
def test_what_it_refers_to_exists(kind, name):
    _, _, related = find(name).text.partition("## See also\n")
    named = [each for each in re.split(r"[,\s]+", related) if each]

    assert [each for each in named if find(each) is None] == []
    assert name not in named


@pytest.mark.parametrize("name", [*ids()["class"], *get_args(MemoryClass)])
def test_classes_say_how_they_look_what_to_do_when_to_stop_and_when_not(name):
    assert all(f"## {heading}\n" in find(name).text for heading in HEADINGS | OF_CLASSES)


REMEDIES = [each for each in vars(memory_remedies).values() if isinstance(each, Remedy)]


@pytest.mark.parametrize("remedy", REMEDIES, ids=lambda remedy: remedy.id)
def test_a_remedy_for_memory_is_explained_with_its_code(remedy):
    topic = named(remedy.id)
    shown = topic.text if topic else remedies()[remedy.id].text

    assert "## What to do\n\n    " in shown
    assert topic is None or all(f"    {line}".rstrip() in shown for line in remedy.how.splitlines())


def test_lookup_forgives_case_and_underscores():
    assert find(" Launch_Bound ").id == "launch-bound"
    assert find("../classes/launch-bound") is None
    assert find("") is None


@pytest.mark.parametrize(
    ("word", "term"),
    [
        ("no_sync", "what-if"),
        ("batch_x8", "what-if"),
        ("submission", "waterfall"),
        ("prior", "calibration"),
        ("Do  First", "page"),
        ("moderate", "strength"),
        ("profilerstep", "step"),
        ("least_bytes", "json"),
    ],
)
def test_a_word_that_a_term_lists_leads_there(word, term):
    assert find(word).id == term


def test_an_entry_of_a_list_comes_before_a_word_inside_another():
    assert "`cost`" in named("page").text
    assert find("cost").id == "tables"


def test_a_word_of_no_list_leads_nowhere():
    assert listing("no_such_word") is None
    assert listing("") is None


WORDS_OF_A_PAGE = """verdict step device roofline waterfall because ladder tree next observed or
alone why how stop cost beware recording runner-up cause gaps trust measured derived estimated
strong moderate weak drained steady host evidence tables json page"""


@pytest.mark.parametrize(
    "word", [*WORDS_OF_A_PAGE.split(), "do first", "not yet", MODEL, *get_args(StepSource)]
)
def test_every_word_of_a_page_can_be_explained(word):
    assert find(word)


@pytest.mark.parametrize("edit", sorted({*EDITS, *MARKED, *FIX.values(), AT_ROOFLINE}))
def test_every_edit_can_be_explained(edit):
    assert listing(edit).id == "what-if"


def words_of(part):
    """Keys and fixed values of a JSON schema."""
    if isinstance(part, list):
        return set().union(*map(words_of, part))
    if not isinstance(part, dict):
        return set()
    fixed = {word for word in part.get("enum", []) if isinstance(word, str)}
    return fixed.union(part.get("properties", {}), *map(words_of, part.values()))


def test_every_word_of_the_document_can_be_explained():
    words = words_of(schema())

    assert {"drained_ms", "moderate", "batch"} - words == {"batch"}
    assert sorted(word for word in words if not find(word)) == []


def test_the_same_schedule_everywhere():
    told = [find(name).text for _, name in EVERY if "schedule(" in find(name).text]

    assert len(told) >= 3
    assert all("schedule(wait=1, warmup=3, active=3)" in text for text in told)


@functools.cache
def calls():
    """All calls in the package."""
    trees = [ast.parse(file.read_text("utf-8")) for file in SOURCE.rglob("*.py")]
    return [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Call)]


def called_with(function):
    """First arguments of all calls of a function in the package, where they are plain text."""
    named = [call for call in calls() if getattr(call.func, "id", "") == function and call.args]
    return {call.args[0].value for call in named if isinstance(call.args[0], ast.Constant)}


@pytest.mark.parametrize(("function", "kind"), [("Quality", "quality"), ("Evidence", "evidence")])
def test_every_finding_and_fact_in_the_code_has_a_topic(function, kind):
    used = called_with(function)

    assert used
    assert used - set(ids()[kind]) == set()


def test_near_misses_are_suggested():
    assert near("lunch-bound")[0] == "launch-bound"
    assert near("loading")[0] == "data-loading"
    assert near("xyzzy") == []
    assert near("") == []


def test_summary_is_empty_where_there_is_no_topic():
    assert summary("launch-bound").startswith("The device waits")
    assert summary("nothing") == ""
