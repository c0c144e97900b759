"""The report as Markdown holds the values of the others, and no markup but its own."""

from dataclasses import replace

import pytest

from boundby.report.markdown import code, render, text
from diagnoses import ALL, launch_bound, sync_bound, undecided


def test_values_are_those_of_the_terminal():
    report = render(launch_bound())

    assert report.startswith("# launch-bound, strong\n")
    assert "| Step without the profiler | 3.84 ms (3.10 to 4.70 ms) |" in report
    assert "| submission | 2.59 ms | 67% |" in report
    assert "- **decides** `launches` 108 launches a step, one every 36 us. (derived)" in report
    assert "| launch-bound | `no_submit_cost` | 362 us | yes |" in report
    assert "| compute-bound |  | 362 us | the floor |" in report
    assert "- Step after it alone: 3.84 -> 3.83 ms (3.10 to 4.60 ms); gains less than" in report
    assert '```python\nmodel = torch.compile(model, mode="reduce-overhead")\n```\n' in report
    assert "The step time depends on what the profiler cost (host time x 0.328): give" in report
    assert "| `vectorized_elementwise_kernel<CUDAFunctor_add>` | 12 |" in report


def test_sections_without_content_are_left_out():
    report = render(undecided())

    assert "## Where the step goes" not in report
    assert "## Operators" not in report
    assert "- fatal: `no-kernels`" in report
    assert "\n\n\n" not in report


@pytest.mark.parametrize("make", ALL)
def test_it_is_ascii_and_ends_in_one_newline(make):
    report = render(make())

    assert report.isascii()
    assert report.endswith("\n")
    assert not report.endswith("\n\n")


def test_code_is_fenced_and_cannot_close_its_fence():
    made = launch_bound()
    evil = replace(made.prescriptions[0], how="x = 1\n```\n# not a heading")
    report = render(replace(made, prescriptions=(evil,)))

    assert "````python\nx = 1\n```\n# not a heading\n````\n" in report


def test_a_sentence_of_a_topic_keeps_its_code():
    made = sync_bound()
    verdict = replace(made.verdict, cause="explicit-sync")

    assert "to wait: `torch.cuda.synchronize()` or an event" in render(
        replace(made, verdict=verdict)
    )


def test_places_hide_home_folders():
    assert "\\~/train.py:42 `step`" in render(sync_bound())


def test_names_bring_no_markup():
    assert text("<script>|*x*\x1b") == r"\<script\>\|\*x\*\\x1b"
    assert code("a`b|c") == r"`a'b\|c`"


def test_a_hostile_operator_name_stays_in_its_cell():
    made = launch_bound()
    evil = replace(made.ops[0], name="`|<img src=x>\u202e\n| x |")
    report = render(replace(made, ops=(evil,)))

    assert "\u202e" not in report
    assert "`'\\|<img src=x>\\u202e\\x0a\\| x \\|` | 24 |" in report
