"""What the roofs say, sentence by sentence, on rooflines written by hand."""

from dataclasses import replace

import pytest

import roofs
from boundby.evidence.roof_facts import FACT_OF, roof_facts
from boundby.evidence.roofs import UncountedRow
from boundby.evidence.wastes import Waste
from boundby.topics import ids


def facts(roofline, *, host_sets_step=False):
    return {fact.id: fact for fact in roof_facts(roofline, host_sets_step=host_sets_step)}


def test_a_known_device():
    found = facts(roofs.known())

    assert found["mfu"].text == (
        "at the peaks of their types the products (1.1 TFLOP) would take 76% of the step, 5% at "
        "the half-precision peak"
    )
    assert (found["mfu"].value, found["mfu"].unit, found["mfu"].trust) == (
        0.761,
        "share",
        "derived",
    )
    assert found["roof-compute"].text == (
        "work limited by arithmetic runs 21.4 ms a step at 77% of its roof; aten::mm reaches 51.4 "
        "TFLOP/s"
    )
    assert "roof-memory" not in found  # its only row was refused
    assert found["fp32-products"].text == (
        "fp32 products off the matrix unit take 21.4 ms a step, 96% of device time; at the same "
        "share of their roof it would be 2.90 ms in TF32 and 1.45 ms in bf16"
    )
    assert "chain-traffic" not in found  # too little of it


def test_a_step_that_waits_for_its_host_gains_nothing():
    text = facts(roofs.known(), host_sets_step=True)["fp32-products"].text

    assert text.endswith("; while the step waits for its host, shorter kernels gain nothing")


def test_float32_work_under_the_memory_roof():
    lower = replace(roofs.known().lower_precision, memory_ms=5.0, memory_half_ms=2.5)
    some = replace(roofs.known(), lower_precision=lower)

    assert facts(some)["fp32-traffic"].text == (
        "float32 work limited by memory takes 5.00 ms a step; in 16 bits it would be 2.50 ms"
    )
    waiting = facts(some, host_sets_step=True)["fp32-traffic"].text
    assert waiting.endswith("shorter kernels gain nothing")
    assert "fp32-traffic" not in facts(roofs.known())
    assert "fp32-traffic" not in facts(replace(some, lower_precision=None))


def test_a_refused_figure_is_said():
    fact = facts(roofs.known())["roof-exceeded"]

    assert fact.value == 0.108
    assert "would run above a roof" in fact.text


def test_an_unknown_device_is_said_and_nothing_taken_in_its_place():
    found = facts(roofs.unknown())

    assert set(found) == {"roof-unknown"}
    assert found["roof-unknown"].text == (
        "Some Card is not in the device table: work is counted, and shares of a roof are unknown "
        "(--peak gives them)"
    )


def test_work_limited_by_memory():
    row = replace(roofs.REFUSED, doubt="", gbs=4200.0, memory_share=0.875, ms=2.0, name="aten::add")
    slow = replace(row, gbs=None, memory_share=0.25, ms=2.0, name="aten::cat")
    found = facts(replace(roofs.known(), operators=(row, slow)))
    other = facts(replace(roofs.known(), operators=(slow, row)))

    assert found["roof-memory"].value == pytest.approx((0.875 + 0.25) / 2)
    assert found["roof-memory"].text == (
        "work limited by memory runs 4.00 ms a step at 56% of the bandwidth, at least; aten::add "
        "moves 4200 GB/s"
    )
    assert other["roof-memory"].text.endswith("at least")


def test_what_is_not_counted_is_said_from_a_twentieth_on():
    rows = tuple(UncountedRow(f"op{i}", 1.0, "no-rule") for i in range(4))
    some = facts(replace(roofs.known(), counted=0.7, uncounted=rows))["uncounted-work"]

    assert some.value == pytest.approx(0.3)
    assert "most of it op0, op1 and op2;" in some.text
    assert "uncounted-work" not in facts(replace(roofs.known(), counted=0.96))


def test_kernels_are_named_without_their_arguments():
    names = (
        "void at::native::(anonymous namespace)::layer_norm_kernel<float>(int, float)",
        "aten::_foreach_add_",
        "torch::autograd::CppNode<Lookup>",
    )
    rows = tuple(UncountedRow(name, 1.0, "no-operator") for name in names)
    text = facts(replace(roofs.known(), counted=0.0, uncounted=rows))["uncounted-work"].text

    assert "most of it layer_norm_kernel, aten::_foreach_add_ and CppNode;" in text


@pytest.mark.parametrize(
    ("waste", "expected"),
    [
        (
            Waste("attention", 2, 5.5, 0.9, bytes=12.9e9, saved_ms=4.9),
            (
                "attention written out takes 5.50 ms a step, 90% of device time and moves 12.9 GB "
                "of scores, of which a fused kernel moves none; cured, it saves up to 4.90 ms"
            ),
        ),
        (
            Waste("attention", 2, 5.5, 0.9),
            "attention written out takes 5.50 ms a step, 90% of device time",
        ),
        (
            Waste("chain", 3, 5.0, 0.5, bytes=20e9, least_bytes=12e9, saved_ms=2.0),
            (
                "chains of kernels over the same array take 5.00 ms a step, 50% of device time and "
                "move 20 GB, where one kernel each would move 12 GB; cured, it saves up to 2.00 ms"
            ),
        ),
        (
            Waste("layout", 8, 5.0, 0.5, saved_ms=3.0),
            (
                "operators whose operands run along different dimensions take 5.00 ms a step, "
                "50% of device time, in 8 kernels; cured, it saves up to 3.00 ms"
            ),
        ),
        (
            Waste("conversion", 1, 0.5, 0.1, saved_ms=0.5),
            (
                "work that only changes a layout takes 500 us a step, 10% of device time, in 1 "
                "kernel; cured, it saves up to 500 us"
            ),
        ),
        (
            Waste("cast", 2.5, 0.5, 0.1, saved_ms=0.5),
            (
                "work that only changes the element type takes 500 us a step, 10% of device time, "
                "in 2.5 kernels; cured, it saves up to 500 us"
            ),
        ),
        (
            Waste("small-product", 24, 0.12, 0.3, saved_ms=0.1, few_blocks=20),
            (
                "products that fill less than a tenth of either roof take 120 us a step, 30% of "
                "device time, in 24 kernels, 20 of them with fewer thread blocks than the device "
                "has multiprocessors"
            ),
        ),
        (
            Waste("small-product", 24, 0.12, 0.3, saved_ms=0.1),
            (
                "products that fill less than a tenth of either roof take 120 us a step, 30% of "
                "device time, in 24 kernels"
            ),
        ),
        (
            Waste("special-function", 6, 0.8, 0.2, saved_ms=0.3),
            (
                "operators limited by special functions (exp, erf, tanh) and not by memory take "
                "800 us a step, 20% of device time, in 6 kernels"
            ),
        ),
    ],
)
def test_each_kind_of_waste(waste, expected):
    fact = facts(replace(roofs.known(), wastes=(waste,)))[FACT_OF[waste.kind]]

    assert fact.text == expected
    assert (fact.value, fact.unit) == (waste.ms, "ms")


def test_on_a_device_without_faster_units_fp32_is_only_counted():
    lower = replace(roofs.known().lower_precision, tf32_ms=None, bfloat16_ms=None)
    text = facts(replace(roofs.known(), lower_precision=lower))["fp32-products"].text

    assert text.endswith("96% of device time")


def test_every_fact_about_waste_has_a_topic():
    assert set(FACT_OF.values()) <= set(ids()["evidence"])
