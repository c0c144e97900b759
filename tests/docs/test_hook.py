"""What the hook of the site adds to a page; mkdocs itself is not needed here."""

import pytest

from boundby.prescribe.catalogue import RULES
from tools.manual import hook
from tools.manual.blocks import DOCS, gpu_blocks, output_file

NAV = [{"Home": "index.md"}, {"All": "PRESCRIPTIONS"}, {"Why": [{"Decisions": "DECISIONS"}]}]


def test_the_navigation_lists_every_prescription_and_decision():
    filled = hook.on_config({"nav": NAV})["nav"]

    assert filled[0] == {"Home": "index.md"}
    assert filled[1]["All"][0] == "prescriptions/index.md"
    assert len(filled[1]["All"]) == len(RULES) + 1
    decisions = filled[2]["Why"][0]["Decisions"]
    assert decisions == sorted(decisions)
    assert all((DOCS / page).is_file() for page in decisions)


def test_a_page_that_the_navigation_does_not_name_is_added(tmp_path, monkeypatch):
    for name in ("index.md", "new.md", "accuracy_notes.md"):
        (tmp_path / name).write_text(f"# {name}\n")
    monkeypatch.setattr(hook, "DOCS", tmp_path)

    nav = hook.on_config({"nav": [{"Home": "index.md"}, {"Practice": ["practice/ci.md", "REST"]}]})
    assert nav["nav"][1] == {"Practice": ["practice/ci.md", "new.md"]}


def test_a_figure_is_drawn_where_it_is_named():
    text = hook.drawn("before\n\n<!-- figure: timing -->\n\nafter\n")

    assert text.startswith("before\n\n<figure><svg ")
    assert text.endswith("</figcaption></figure>\n\nafter\n")
    assert "A clock on the host" in text


def test_a_figure_that_does_not_exist_is_an_error():
    with pytest.raises(KeyError):
        hook.drawn("<!-- figure: none-such -->\n")


def test_a_block_for_a_gpu_is_followed_by_its_output_and_others_are_left_alone(
    tmp_path, monkeypatch
):
    monkeypatch.setattr("tools.manual.blocks.OUTPUTS", tmp_path)
    needs, runs = "<!-- cuda -->\n```python\nx\n```\n", "```python\ny\n```\n"
    changed = needs.replace("x", "z")
    (block,) = gpu_blocks("a.md", needs)
    output_file(block).write_text("a card, torch 2\n42\n")

    text = hook.with_outputs(f"{needs}\n{changed}\n{runs}", "a.md")
    first, second, third = text.split("```python\n")[1:]

    assert "```text\n42\n```\n\n*a card, torch 2*" in first
    assert "No output of a GPU" in second
    assert third == "y\n```\n"


def test_links_to_files_of_the_repository_become_their_paths():
    text = "[a](../gpu/measure.py) [b](jvm.md) [c](../index.md) ![d](../pictures/e.png)"

    assert hook.without_repository(text, "tune.md").startswith("a (`gpu/measure.py`) [b](jvm.md) ")
    assert hook.without_repository(text, "start/tune.md") == text
