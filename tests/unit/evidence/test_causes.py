"""What refines a class."""

import pytest

from boundby.evidence.causes import find_causes
from boundby.evidence.signs import Signs
from boundby.evidence.tables import SyncRow
from cases import GROUPS, wait


def causes(*syncs, **signs):
    return find_causes(
        Signs(**{name: GROUPS[name](**values) for name, values in signs.items()}), syncs
    )


def test_nothing_known_is_no_cause():
    assert causes() == {}


@pytest.mark.parametrize(
    ("cause", "signs"),
    [
        ("optimizer", {"origins": {"optimizer": 0.7}}),
        ("optimizer", {"update": {"host_share": 0.6}}),
        ("allocator", {"allocations": {"host_share": 0.11}}),
        ("guard", {"mode": {"guards": 0.4}}),
        ("graph-break", {"mode": {"compiled_calls": 5.0}}),
        ("cast", {"origins": {"casts": 0.6}}),
    ],
)
def test_what_slows_the_host(cause, signs):
    assert causes(**signs) == {"launch-bound": cause, "python-bound": cause}


def test_graphs_have_no_breaks_between_them():
    assert causes(mode={"compiled_calls": 5.0, "in_graphs": True}) == {}


def test_the_most_frequent_wait_unless_another_costs_more():
    often, dear = SyncRow("item", 24, None, None), SyncRow("host-copy", 1, None, None)
    assert causes(often, dear)["sync-bound"] == "item"

    dear = SyncRow("host-copy", 1, None, 5.0)
    assert causes(often, dear)["sync-bound"] == "host-copy"


def test_shapes_that_depend_on_values_slow_launching_too():
    found = causes(wait("data-dependent-shape", 60))
    assert found == {"sync-bound": "data-dependent-shape", "launch-bound": "data-dependent-shape"}

    found = causes(wait("data-dependent-shape", 60), origins={"optimizer": 0.7})
    assert found["launch-bound"] == "optimizer"


def test_products_in_more_than_sixteen_bits_are_a_matter_of_precision():
    assert causes(precision={"products": 0.8, "fp32": 0.8})["compute-bound"] == "precision"
    assert causes(precision={"products": 0.8, "tf32": 0.7})["compute-bound"] == "precision"
    assert "compute-bound" not in causes(precision={"products": 0.8, "half": 0.8, "fp32": 0.0})


@pytest.mark.parametrize(
    ("cause", "signs"),
    [
        ("attention", {"attention": {"by_hand": 0.9}}),
        ("layout", {"layout": {"fighting": 0.6}}),
        ("cast", {"origins": {"casts_device": 0.5}}),
    ],
)
def test_what_leads_among_memory_traffic(cause, signs):
    assert causes(**signs)["memory-bound"] == cause


def test_a_third_of_the_time_is_no_lead():
    assert causes(origins={"casts_device": 0.31}) == {}
