"""The batch search: doubling, while it pays and fits; only tested sizes are taken."""

import pytest

from boundby.experiment.batch import search
from boundby.experiment.values import Memory, Trial

GIB = 1 << 30


def probe_of(table):
    def probe(size):
        found = table.get(size)
        if isinstance(found, str):
            return Trial(found)
        if found is None:
            return None
        rate, gib = found
        return Trial(step_ms=size / rate * 1e3, samples=size, memory=Memory(peak=int(gib * GIB)))

    return probe


@pytest.mark.parametrize(
    ("table", "size", "ended"),
    [
        pytest.param(
            {16: (200, 1), 32: (201, 2)}, 16, "saturated", id="the smallest near the best"
        ),
        pytest.param({16: (200, 1), 32: (300, 2), 64: "oom"}, 32, "memory", id="out of memory"),
        pytest.param({16: (200, 1), 32: (300, 9.5)}, 16, "memory", id="no headroom"),
        pytest.param({16: (200, 1), 32: "hang"}, 16, "failed", id="a size that hangs"),
        pytest.param({16: (200, 1)}, 16, "budget", id="no time"),
        pytest.param({16: (101, 1)}, None, "saturated", id="nothing gained"),
        pytest.param({16: "oom"}, None, "memory", id="no room at all"),
    ],
)
def test_search(table, size, ended):
    found = search(8, 100.0, probe_of(table), 10 * GIB)

    assert (found.size, found.ended) == (size, ended)
    assert found.size is None or found.size in table
    assert found.why


def test_unknown_capacity_stops_nothing():
    found = search(8, 100.0, probe_of({16: (200, 500), 32: (200, 900)}), None)

    assert found.size == 16
