"""What stands under the roofs, as a line, as tables, as Markdown and as JSON."""

import json
from dataclasses import replace

import jsonschema
import pytest

import roofs
from boundby.evidence.roofs import UncountedRow, Use
from boundby.report import markdown
from boundby.report.document import encode
from boundby.report.roofline_table import summary
from boundby.report.schema import schema
from boundby.report.terminal import Look
from boundby.report.text import Tables, render
from diagnoses import device_bound, launch_bound

TABLES_100 = """\
roofs, GB/s and TFLOP/s                                           GB/s      fp32      tf32      bf16
H200 SXM (datasheet)                                              4800      67.0       494       990
attainable                                                        4220      50.7       370       759
ridge, FLOP per byte                                                        14.0       103       206
MFU 76%, memory 1% at least, 97% of computing time counted, kernels 21.5 ms, 16.5 ms at their roofs;
H200 SXM (datasheet)

operators, a step (2 of 2)         calls        ms   TFLOP/s      GB/s   of roof     limit   lost ms
aten::mm                               1      21.4      51.4      37.6       77%   compute      4.99
elementwise_kernel<`|evil>             2     0.108         -         -   refused    memory         0

kernels, a step (1 of 1)           calls        ms   TFLOP/s      GB/s   of roof     limit   lost ms
aten::mm                               1      21.4      51.4      37.6       77%   compute      4.99

by family: matmul 99%, elementwise 1%

costs more than it needs, a step             count        ms of device        GB  GB least  saves ms
fp32-product                                     1      21.4       96%         -         -      18.5
chain                                            2     0.108        1%      4.00      2.40      0.04

not counted, a step (1 of 1)                                                            ms       why
mylib::fancy                                                                         0.054   no rule
"""


def tables(made, **look):
    return render(made, Look(**look), Tables(roofline=True))


def test_tables_of_a_known_device():
    text = tables(device_bound())

    found = text[text.index("roofs, GB/s") :].rstrip() + "\n"
    assert "\n".join(line.rstrip() for line in found.splitlines()) + "\n" == TABLES_100


def test_detail_adds_the_note():
    assert "cache as its driver reports it" in tables(device_bound(), detail=True)


def test_an_unknown_device_says_so_and_shows_rates():
    text = tables(replace(device_bound(), roofline=roofs.unknown()))

    assert "roofs: unknown: Some Card is not in the device table" in text
    assert "51.4      37.6         -         -         -" in text
    assert "roofline   unknown: Some Card is not in the device table\n" in text


@pytest.mark.parametrize(
    ("why", "said"),
    [
        ("no-operator", "no operator launched the kernels"),
        ("no-shapes", "no sizes were recorded"),
        ("no-rule", "there is no rule for the operators"),
    ],
)
def test_where_nothing_is_counted_nothing_is_zero(why, said):
    use = Use(None, None, None, None, None)
    row = UncountedRow("kernel", 21.4, why)
    nothing = replace(roofs.known(), counted=0.0, use=use, uncounted=(row,))

    assert summary(nothing).startswith(f"nothing is counted: {said}")
    assert summary(replace(nothing, uncounted=())).startswith("nothing is counted: no kernel")
    document = json.loads(encode(replace(device_bound(), roofline=nothing)))
    jsonschema.Draft202012Validator(schema()).validate(document)
    assert document["roofline"]["use"]["bytes"] is None


def test_without_anything_under_the_roofs_the_table_says_so():
    assert "roofline: nothing was held against the roofs" in tables(launch_bound())


def test_the_report_has_a_line_only_where_the_device_bounds_the_step():
    bound = render(device_bound(), Look(width=140))
    hosted = render(replace(launch_bound(), roofline=roofs.known()), Look(width=140))

    assert f"roofline   {summary(roofs.known())[:60]}" in bound
    assert "roofline " not in hosted


def test_rows_are_limited_unless_detail_is_wanted():
    many = replace(roofs.known(), operators=(roofs.PRODUCT,) * 30)
    made = replace(device_bound(), roofline=many)

    assert "operators, a step (10 of 30)" in tables(made)
    assert "operators, a step (30 of 30)" in tables(made, detail=True)


def test_the_markdown_shows_the_same():
    text = markdown.render(device_bound())

    assert "## Roofline\n\nMFU 76%, memory 1% at least" in text
    assert "Ceilings: NVIDIA H200 datasheet." in text
    assert "| `aten::mm` | 1 | 21.4 | 51.4 | 37.6 | 77% | compute | 4.99 |" in text
    assert "| fp32-product | 1 | 21.4 | 96% | 18.5 |" in text
    assert "| `mylib::fancy` | 0.054 | no-rule |" in text
    assert "`|evil" not in text
    assert "\n\n\n" not in text
    assert "## Roofline" not in markdown.render(launch_bound())


@pytest.mark.parametrize("make", [roofs.known, roofs.unknown])
def test_the_document_follows_the_schema(make):
    document = json.loads(encode(replace(device_bound(), roofline=make())))

    jsonschema.Draft202012Validator(schema()).validate(document)


def test_the_document_holds_the_values():
    found = json.loads(encode(device_bound()))["roofline"]

    assert found["device"] == "NVIDIA H200"
    assert found["ceilings"]["ridge_flop_per_byte"]["tf32"] == pytest.approx(103.02, abs=0.01)
    assert found["attainable"]["source"] == "measured"
    assert (found["unknown_reason"], found["use"]["mfu"]) == (None, 0.761)
    assert found["operators"][0]["tflops"] == 51.4
    assert (found["operators"][0]["doubt"], found["operators"][1]["doubt"]) == (None, "above-roof")
    assert found["operators"][1]["flops"] is None
    assert found["families"][1] == {"family": "elementwise", "ms": 0.108}
    assert found["uncounted"] == [{"name": "mylib::fancy", "ms": 0.054, "why": "no-rule"}]
    assert found["wastes"][1]["least_bytes"] == 2.4e9
    assert found["lower_precision"]["bfloat16_ms"] == 1.45
