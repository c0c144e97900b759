"""The page without a browser: one file, shut to the outside, with the values of the JSON."""

import base64
import hashlib
import html
import json
import re
from dataclasses import replace

import pytest

from boundby.cli.demos import DEMOS
from boundby.evidence.excerpts import Excerpt
from boundby.evidence.facts import Place
from boundby.report import numbers
from boundby.report.document import document, encode
from boundby.report.page.diagnosis import Extras, page_of
from boundby.report.page.plain import text_page
from boundby.report.page.render import as_json, render
from boundby.report.page.trials import Trial, trials_panel
from boundby.report.page.unmeasured import unmeasured
from diagnoses import ALL, launch_bound, sync_bound, undecided
from pages import HOSTILE, diagnosed, hostile_page, huge_page

MIB = 1 << 20
ORDER = [
    "verdict",
    "step",
    "timelines",
    "what-if",
    "changes",
    "roofline",
    "operators",
    "waits",
    "memory",
    "evidence",
    "quality",
    "not-measured",
]


def data_of(page):
    """What the page hands to its scripts."""
    (raw,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page)
    return json.loads(raw)


def markup_of(page):
    """The page without what stands in its scripts and styles."""
    return re.sub(r"(<(script|style)\b[^>]*>).*?</\2>", r"\1", page, flags=re.DOTALL)


def text_of(page):
    """What a reader sees of a page without its scripts."""
    body = markup_of(page)
    return html.unescape(re.sub(r"<[^>]+>", " ", body))


def panel(page, identity):
    """The HTML of one panel."""
    return page.split(f'<section class="panel" id="{identity}"')[1].split("</section>")[0]


# --- One file, shut -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", DEMOS)
def test_a_page_is_small_and_names_nothing_to_load(name):
    page = render(page_of(diagnosed(name)))

    assert len(page.encode()) < 3 * MIB
    loads = re.findall(r'(?:src|href)\s*=\s*"([^"]*)"', markup_of(page))
    assert [each for each in loads if not each.startswith(("#", "data:"))] == []


def test_fifty_thousand_events_fit():
    assert len(huge_page(50_000).encode()) < 3 * MIB


def test_only_our_scripts_may_run():
    page = render(page_of(launch_bound()))
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    hashes = [
        f"'sha256-{base64.b64encode(hashlib.sha256(each.encode()).digest()).decode()}'"
        for each in scripts
    ]

    rules = dict(rule.split(" ", 1) for rule in html.unescape(policy).split("; "))
    assert rules["default-src"] == "'none'"
    assert rules["script-src"].split() == hashes
    assert rules["img-src"] == "data:"
    assert len(hashes) == 2


def test_json_inside_a_script_can_neither_end_it_nor_break_a_line():
    raw = as_json({"name": HOSTILE})

    assert not set("<>&\u2028\u2029") & set(raw)
    assert raw.isascii()
    assert json.loads(raw) == {"name": HOSTILE}


def test_a_hostile_name_is_escaped_everywhere():
    page = hostile_page()
    markup = markup_of(page)

    assert markup.count("<script") == 3  # the data, the library, our own
    assert "<img" not in markup
    assert "onerror='" not in markup
    assert "\u202e" not in page
    assert "{{ 7 * 7 }}" in text_of(page)


def test_nothing_of_a_home_folder_is_shown():
    made = sync_bound()
    place = Place("/home/jane/train.py", 42, "step", exact=False)
    syncs = tuple(replace(row, where=(place,)) for row in made.syncs)

    page = render(page_of(replace(made, syncs=syncs)))

    assert "jane" not in page
    assert "~/train.py:42" in panel(page, "waits")


# --- The same values ------------------------------------------------------------------------------


@pytest.mark.parametrize("make", ALL)
def test_the_document_inside_is_the_json_report(make):
    assert data_of(render(page_of(make())))["document"] == json.loads(encode(make()))


@pytest.mark.parametrize("make", ALL)
def test_panels_come_in_the_same_order_for_every_verdict(make):
    found = [each.id for each in page_of(make()).panels]

    assert [each for each in found if each in ORDER] == ORDER
    assert found[0] == "verdict"


@pytest.mark.parametrize("name", DEMOS)
def test_charts_and_words_show_the_values_of_the_document(name):
    diagnosis = diagnosed(name)
    page, told = render(page_of(diagnosis)), document(diagnosis)
    charts, text = data_of(page)["charts"], text_of(page)

    parts = {row["name"]: row for row in charts["waterfall"]["rows"]}
    expected = {part["part"]: part["ms"] for part in told["waterfall"] if part["ms"] > 0}
    unit = charts["waterfall"]["axis"].split()[0]
    scale = {"s": 1000, "ms": 1, "us": 0.001}[unit]
    assert {key: row["size"] * scale for key, row in parts.items()} == pytest.approx(expected)
    edits = [row for key in ("what-if", "batches") for row in charts.get(key, {"rows": []})["rows"]]
    assert {row["name"]: row["value"] * scale for row in edits} == pytest.approx(
        {edit["id"]: edit["step_ms"] for edit in told["what_if"]}
    )
    assert told["verdict"]["class"] in text
    assert numbers.ms(told["steps"]["unprofiled_ms"]["estimate"]) in text
    for row in told["ops"][:5]:
        assert numbers.number(row["self_host_ms"]) in panel(page, "operators")


def test_parts_of_the_waterfall_follow_each_other():
    rows = page_of(diagnosed()).charts["waterfall"]["rows"]

    ends = [row["from"] + row["size"] for row in rows]
    assert [row["from"] for row in rows] == pytest.approx([0, *ends[:-1]])


def test_the_lanes_are_those_of_the_diagnosis():
    diagnosis = diagnosed()
    lanes = data_of(render(page_of(diagnosis)))["lanes"]["step"]
    drawn = {track["name"]: track for track in lanes["tracks"]}

    assert lanes["length"] == diagnosis.lanes.end - diagnosis.lanes.start
    assert len(drawn["main thread"]["s"]) == len(diagnosis.lanes.host)
    assert len(drawn["stream 7"]["s"]) == len(diagnosis.lanes.work)
    assert sum(drawn["device idle"]["d"]) == sum(diagnosis.lanes.gaps.total().values())
    thread = lanes["tracks"][drawn["stream 7"]["ht"][0]]
    call = thread["n"][drawn["stream 7"]["hi"][0]]
    assert lanes["names"][call].startswith("cudaLaunchKernel")


# --- What is not there ----------------------------------------------------------------------------


def test_a_panel_without_a_figure_says_why_in_one_line():
    page = render(page_of(undecided()))

    for identity in ("step", "timelines", "what-if", "changes", "roofline", "memory"):
        (reason, *_) = re.findall(r'<p class="missing">(.*?)</p>', panel(page, identity))
        assert reason.startswith("No ")


def test_what_was_not_measured_is_listed():
    found = unmeasured(diagnosed())
    of_undecided = unmeasured(undecided())

    assert any("`--step-ms`" in text for text in found)
    assert any("with_stack=True" in text for text in found)
    assert any("Memory" in text for text in found)
    assert not any("Memory" in text for text in unmeasured(diagnosed(), has_memory=True))
    assert not any("with_stack" in text for text in unmeasured(diagnosed(), has_lines=True))
    assert any("could not be estimated" in text for text in of_undecided)


def test_lines_of_the_source_are_shown_only_where_given():
    rows = ((41, "for x in loader:", False), (42, "    total += loss.item()  # <b>", True))
    found = Excerpt("item", Place("train.py", 40, "step", exact=False), rows)
    without = render(page_of(sync_bound()))
    page = render(page_of(sync_bound(), Extras(excerpts=(found,))))

    assert "total += loss.item()" not in without
    assert "   42 &gt;" in panel(page, "waits")
    assert "total += loss.item()  # &lt;b&gt;" in panel(page, "waits")


# --- Trials, and reports without pictures ---------------------------------------------------------


def test_trials_are_charts_and_a_table():
    charts = {}
    trials = [
        Trial("as it was", 4.05, 2 << 30),
        Trial("compile", 2.5, None, decision="kept", why="1.62x faster"),
        Trial("bf16", None, None, decision="rejected", why="the loss left its band"),
    ]
    made = trials_panel(trials, charts)

    assert [row["size"] for row in charts["trial-steps"]["rows"]] == [4.05, 2.5]
    assert [row["text"] for row in charts["trial-steps"]["rows"]] == ["4.05 ms", "2.50 ms  kept"]
    assert [row["text"] for row in charts["trial-memory"]["rows"]] == ["2.00 GiB"]
    (table,) = (block for block in made.blocks if block["kind"] == "table")
    assert [[cell.text for cell in row][:5] for row in table["rows"]][2] == [
        "bf16",
        "-",
        "-",
        "-",
        "rejected",
    ]


def test_no_trials_say_so():
    (block,) = trials_panel([], {}).blocks

    assert block["kind"] == "missing"


def test_a_report_without_pictures_keeps_its_text():
    page = text_page("boundby bench", "verdict  <b>faster</b>\n  same columns\n")

    assert "verdict  &lt;b&gt;faster&lt;/b&gt;\n  same columns" in page
    assert page.startswith("<!DOCTYPE html>")
    assert ">&lt;b&gt;faster&lt;/b&gt;</h1>" in page
    assert ">boundby device</h1>" in text_page("boundby device", "device  H200\n")
