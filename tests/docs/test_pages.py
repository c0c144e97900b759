"""Everything there is has its place in the documentation, and every link leads somewhere."""

import json
import posixpath
import re
from itertools import pairwise
from pathlib import Path

import click
import pytest

import boundby
from boundby.cli.group import COMMANDS
from boundby.cli.group import boundby as group
from boundby.report.remedy import remedies
from boundby.topics import find, ids
from tools.manual import tables, trust
from tools.manual.blocks import DOCS, written_pages
from tools.manual.drawings import FIGURES, LANES
from tools.manual.pages import pages
from tools.manual.places import places
from tools.manual.roofchart import chart, x_of, y_of
from tools.manual.roofs import EXAMPLES, LARGE, fusion, roofs

SOURCE = Path(boundby.__file__).parent
WRITTEN = written_pages()
GENERATED = pages()
EVERY = WRITTEN | GENERATED
LINK = re.compile(r"\]\(([^)\s]+)\)")
FENCES = re.compile(r"^( *)```.*?^\1```$", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)


def anchors(text):
    """Anchors of the headings of a page, as the site makes them."""
    words = (re.sub(r"[^\w\s-]", "", each).strip().lower() for each in HEADING.findall(text))
    return {re.sub(r"[-\s]+", "-", each) for each in words}


ANCHORS = {page: anchors(text) for page, text in EVERY.items()}


def test_no_generated_page_is_written_by_hand():
    assert set(WRITTEN) & set(GENERATED) == set()


PICTURES = {".png", ".svg"}


def leads_somewhere(page, target):
    """Whether a link leads to a page and one of its headings, a picture, or a file beside docs."""
    path, _, anchor = target.partition("#")
    there = posixpath.normpath(posixpath.join(posixpath.dirname(page), path)) if path else page
    if Path(there).suffix in PICTURES or there.startswith("../"):
        return (DOCS / there).exists()  # the second is a file of the repository
    return there in EVERY and (not anchor or anchor in ANCHORS[there])


def dead_links(page):
    """Links of a page that lead nowhere; those to other sites are not followed."""
    targets = LINK.findall(FENCES.sub("", EVERY[page]))
    inside = [target for target in targets if not re.match(r"[a-z]+://", target)]
    return [f"{page}: {target}" for target in inside if not leads_somewhere(page, target)]


def test_links_lead_to_pages_and_headings():
    assert [link for page in EVERY for link in dead_links(page)] == []


def test_a_dead_link_would_be_found(monkeypatch):
    links = ("none.md", "start/jvm.md#none", "#here", "no.png", "../no.py", "../README.md")
    text = " ".join(f"[a]({each})" for each in links) + "\n\n## Here\n"
    monkeypatch.setitem(EVERY, "some.md", text)
    monkeypatch.setitem(ANCHORS, "some.md", anchors(text))

    found = [each.removeprefix("some.md: ") for each in dead_links("some.md")]
    assert found == ["none.md", "start/jvm.md#none", "no.png", "../no.py"]


def test_a_page_has_one_title():
    titles = {
        page: re.findall(r"^# (.+)$", FENCES.sub("", text), re.MULTILINE)
        for page, text in EVERY.items()
    }

    assert [page for page, found in titles.items() if len(found) != 1] == []


def test_every_page_but_the_generated_lists_is_in_the_navigation():
    told = (DOCS.parent / "mkdocs.yml").read_text("utf-8")
    listed = {"prescriptions", "decisions"}

    absent = {page for page in EVERY if page.split("/")[0] not in listed and page not in told}
    assert {page for page in absent if "/" in page} == set()
    assert {"PRESCRIPTIONS", "DECISIONS"} <= set(re.findall(r": ([A-Z]+)$", told, re.MULTILINE))


def test_every_explained_word_has_a_place_with_its_text():
    flat = {page: " ".join(text.split()) for page, text in EVERY.items()}
    lost = []
    for name, place in places().items():
        page, _, anchor = place.partition("#")
        topic = remedies().get(name) or find(name)
        if topic.summary not in flat[page] or (anchor and anchor not in ANCHORS[page]):
            lost.append(name)

    assert lost == []


def paragraphs(topic):
    """The paragraphs of a topic that are no code and no list of links."""
    text = topic.text.partition("## See also")[0]
    return [each for each in text.split("\n\n") if not each.startswith(("#", " "))]


def test_pages_hold_the_text_that_explain_prints():
    pages_of = {name: places()[name].partition("#")[0] for name in places()}
    lost = [
        (name, each)
        for name, page in pages_of.items()
        for each in paragraphs(remedies().get(name) or find(name))
        if each not in EVERY[page]
    ]

    assert lost == []


def test_every_key_of_a_document_is_listed_with_what_it_may_be():
    page = GENERATED["reference/json.md"]

    assert "| `verdict.strength` |" in page
    assert "| `quality[].severity` | `info`, `warning`, `fatal` |" in page
    assert "| `steps.unprofiled_ms` | object, null |" in page
    assert "| `kernels[]." in page


def test_every_topic_and_prescription_has_a_place():
    assert set(places()) == {*(name for group in ids().values() for name in group), *remedies()}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_of_a_command_is_in_the_reference(name):
    page = GENERATED["reference/commands.md"]
    section = page.partition(f"## boundby {name}\n")[2].partition("\n## ")[0]
    command = group.get_command(click.Context(group), name)
    options = {word for each in command.params for word in each.opts if word.startswith("-")}

    assert {word for word in options if not re.search(rf"[` ]{word}[`, ]", section)} == set()
    assert "```shell\nboundby" in section


def test_every_function_for_python_is_documented():
    rows = re.findall(r"^\| (.+?) \|", WRITTEN["reference/python.md"], re.MULTILINE)

    assert set(boundby.LAZY) - set(re.findall(r"`(\w+)", " ".join(rows))) == set()


def test_every_option_of_the_plugin_is_documented():
    plugin = (SOURCE / "pytest_plugin.py").read_text("utf-8")
    options = set(re.findall(r"addoption\(\s*\"(--[\w-]+)", plugin))

    assert len(options) >= 3
    assert {each for each in options if f"`{each} " not in WRITTEN["practice/ci.md"]} == set()


VARIABLE = re.compile(
    r"environ\w*(?:\.get\(|\[)\s*\"([A-Z_]+)\"|^[A-Z_]+ = \"(BOUNDBY\w*)\"", re.MULTILINE
)


def test_every_variable_of_the_environment_is_documented():
    texts = [path.read_text("utf-8") for path in SOURCE.rglob("*.py")]
    used = {name or other for text in texts for name, other in VARIABLE.findall(text)}
    told = set(re.findall(r"`([A-Z_]+)(?:=\w+)?`", WRITTEN["reference/exit-codes.md"]))

    assert {"NO_COLOR", "BOUNDBY", "RANK"} <= used
    assert used - told - {"PYTHONPATH"} == set()


def test_fusion_saves_what_the_page_says():
    page = WRITTEN["measuring/roofline.md"]
    apart, fused = fusion(4096**2)

    assert (apart / 4096**2, fused / 4096**2) == (20, 12)
    assert round(apart / fused, 2) == 1.67
    assert "20 N over 12 N is 1.67 times" in " ".join(page.split())


def test_the_tables_are_what_is_computed_now():
    documents = tables.documents()
    stale = [path.name for path, text in documents.items() if tables.renewed(text) != text]
    shown = {name for text in documents.values() for name in tables.TABLE.findall(text)}

    assert stale == [], "python -m tools.manual.tables renews them"
    assert shown == set(tables.TABLES)


def test_a_stale_table_is_renewed_and_the_text_around_it_stays():
    text = "a\n\n<!-- table: recipes -->\n| old |\n| --- |\n| 1 |\n\nb\n"

    assert tables.renewed(text) == f"a\n\n<!-- table: recipes -->\n{tables.recipes()}\n\nb\n"


def test_a_question_that_was_not_measured_is_an_error():
    with pytest.raises(LookupError):
        trust.table("# Accuracy\n")


CASES = re.compile(
    r"^\| [^|]+ \| ([\d.]+)[^|]* \| (\d+) \| (?:(\d+) \| [\d.]+ \| )?(\d+) \|", re.MULTILINE
)


def test_the_numbers_of_the_case_study_are_those_that_were_measured(shared):
    file = shared / "reference" / "h200_case_study.jsonl"
    if not file.is_file():
        pytest.skip(f"no measurements of the case study in {shared}")
    measured = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    known = {
        (
            f"{each['ms']:#.3g}".rstrip("."),
            round(each["samples_s"]),
            each["peak_MiB"],
            each["kernels"],
        )
        for each in measured
    }
    shown = CASES.findall(WRITTEN["practice/case-study.md"])

    assert len(shown) >= 20
    for ms, samples, kernels, peak in shown:
        assert any(
            (ms, int(samples), int(peak)) == row[:3] and kernels in ("", str(row[3]))
            for row in known
        ), (ms, samples, kernels, peak)


def test_every_figure_is_shown_and_every_shown_one_exists():
    shown = set(re.findall(r"<!-- figure: ([a-z-]+) -->", "\n".join(WRITTEN.values())))

    assert shown == set(FIGURES)


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_takes_the_colour_of_the_page_and_stays_inside(name):
    drawn = FIGURES[name].svg
    xs = [float(x) for x in re.findall(r' x\d?="([\d.]+)"', drawn)]

    assert 'fill="currentColor"' in drawn
    assert not re.search(r"<(image|script|style|foreignObject|link)|http(?!://www.w3.org)", drawn)
    assert max(xs) <= 720
    assert FIGURES[name].says.endswith(".")


@pytest.mark.parametrize("name", LANES)
def test_the_blocks_of_a_lane_follow_each_other(name):
    figure = LANES[name]

    assert all(each.start < each.end <= figure.length for each in figure.blocks)
    for lane in range(len(figure.lanes)):
        ends = [(each.start, each.end) for each in figure.blocks if each.lane == lane]
        assert all(end <= start for (_, end), (start, _) in pairwise(sorted(ends)))


def test_the_roofs_stand_where_their_figures_say():
    ceilings = roofs()
    ridge = ceilings.ridge("bfloat16")

    assert f'x2="{x_of(ridge):.1f}" y2="{y_of(ceilings.tflops("bfloat16")):.1f}"' in chart()
    assert chart().count("<circle") == sum(each.side == LARGE for each in EXAMPLES)


INCLUDED = {"aten/src/ATen/": "include/ATen/", "c10/": "include/c10/"}
ROW = re.compile(r"^\| [^|]+ \| `([^`]+)` \| `(\w+)` \|$", re.MULTILINE)
SOURCES = ROW.findall(WRITTEN["reference/pytorch-source.md"])
COMPILED = (".cpp", ".cu")
"""Sources of these kinds are not installed; their paths were looked up in the repository."""


@pytest.mark.parametrize(
    ("path", "symbol"), [each for each in SOURCES if not each[0].endswith(COMPILED)]
)
def test_paths_of_pytorch_exist_where_the_installed_one_has_them(path, symbol):
    import torch

    here = path.removeprefix("torch/") if path.endswith(".py") else f"include/{path}"
    for start, there in INCLUDED.items():
        if path.startswith(start):
            here = path.replace(start, there, 1)

    assert symbol in (Path(torch.__file__).parent / here).read_text("utf-8")


def test_pages_speak_of_the_project_alone():
    told = "\n".join(WRITTEN.values())

    assert re.findall(r"/work/\w+|/home/\w+|/root\b", told) == []


AUTOCAST = {
    "low": ["LOWER_PRECISION_FP"],
    "float32": ["FP32", "FP32_SET_OPT_DTYPE", "DIFFERENT_REDISPATCH_SIGNATURE"],
    "the widest of its inputs": ["PROMOTE"],
}


@pytest.mark.parametrize("runs_in", AUTOCAST)
def test_the_lists_of_autocast_are_those_of_the_installed_torch(runs_in):
    import torch

    header = Path(torch.__file__).parent / "include" / "ATen" / "autocast_mode.h"
    macros = "|".join(AUTOCAST[runs_in])
    lists = re.findall(
        rf"#define AT_FORALL_(?:{macros})\(_\)(.*?)\n\n", header.read_text("utf-8"), re.DOTALL
    )
    names = {name for each in lists for name in re.findall(r"_\((?:ADD_NS\()?([a-z]\w*)", each)}
    page = WRITTEN["measuring/numerics.md"]
    row = re.search(rf"^\| {runs_in} \| (`.+`) \|$", page, re.MULTILINE)

    assert len(lists) == len(AUTOCAST[runs_in])
    assert set(re.findall(r"`(\w+)`", row[1])) == names
