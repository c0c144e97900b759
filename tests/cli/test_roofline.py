"""``--roofline`` and ``--peak`` on the recordings that come with boundby."""

import json

import pytest


@pytest.fixture
def demo(boundby, tmp_path):
    """Run a demo where no device was ever measured."""
    environment = {"XDG_CACHE_HOME": str(tmp_path)}
    return lambda *arguments: boundby("demo", *arguments, "--quiet", env=environment).stdout


def test_tables_follow_the_report(demo):
    plain, tables = demo("fp32-matmul"), demo("fp32-matmul", "--roofline")

    assert "roofs, GB/s and TFLOP/s" not in plain
    assert "H200 SXM (datasheet)                          4800      67.0" in tables
    assert "aten::mm                               1      21.5      51.1" in tables
    assert "\nfp32-product   " in tables


def test_a_device_bound_report_has_a_line_on_its_roofs(demo):
    assert "\nroofline   MFU 76%, memory 1% at least" in demo("fp32-matmul")
    assert "\nroofline " not in demo("item-each-layer")


def test_the_ladder_ends_at_the_roofs(demo):
    assert "-> (kernels_at_roofline) compute-bound 16.4 ms" in demo("fp32-matmul")


def test_peaks_of_the_user_replace_those_of_the_table(demo):
    known = json.loads(demo("fp32-matmul", "--json"))["roofline"]
    asked = json.loads(demo("fp32-matmul", "--json", "--peak", "fp32=60,bw=4000"))["roofline"]

    assert (known["ceilings"]["source"], asked["ceilings"]["source"]) == ("datasheet", "override")
    assert asked["ceilings"]["memory_gbs"] == 4000
    share = known["operators"][0]["compute_share"]
    assert asked["operators"][0]["compute_share"] == pytest.approx(share * 67 / 60)


def test_a_peak_below_what_was_reached_is_refused(demo):
    found = json.loads(demo("fp32-matmul", "--json", "--peak", "fp32=40"))
    row = found["roofline"]["operators"][0]

    assert (row["doubt"], row["tflops"], row["compute_share"]) == ("above-roof", None, None)
    assert "roof-exceeded" in {fact["id"] for fact in found["evidence"]}


def test_operators_show_their_work(demo):
    rows = {row["name"]: row for row in json.loads(demo("fp32-matmul", "--json"))["ops"]}

    assert rows["aten::mm"]["flops"] == 2 * 8192**3
    assert rows["aten::mm"]["bytes"] == 3 * 4 * 8192**2
    assert {row["flops"] for name, row in rows.items() if name.startswith("cuda")} == {None}
