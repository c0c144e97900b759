"""The allocator replayed: lifetimes, curves, and the state at any moment."""

import numpy as np

from boundby.memory.lifetimes import BEFORE
from boundby.report.memory_document import document

MIB = 1 << 20


def test_live_and_reserved_follow_the_events(world, history, stack):
    first = world.alloc(4, stack["user"](1))
    world.alloc(6, stack["user"](2))
    world.free(first)
    found = history(world)

    assert (found.live_curve // MIB).tolist() == [0, 0, 4, 10, 10, 6]
    assert (found.reserved_curve // MIB).tolist() == [0, 20, 20, 20, 20, 20]
    assert found.live_at(found.peak_moment) == 10 * MIB


def test_a_block_lives_until_its_free_is_completed(world, history, stack):
    address = world.alloc(4, stack["user"](1))
    world.free(address)
    found = history(world)

    assert found.spans.birth.tolist() == [1]
    assert found.spans.death.tolist() == [3]


def test_without_completed_frees_the_requested_ones_count(world, history, stack):
    world.free(world.alloc(4, stack["user"](1)))
    world.events = [event for event in world.events if event["action"] != "free_completed"]

    assert history(world).spans.death.tolist() == [2]


def test_an_overrun_ring_buffer_leaves_what_was_there_before(world, history, stack):
    early, late = world.alloc(4, stack["user"](1)), world.alloc(6, stack["user"](2))
    world.forget(3)
    world.free(early)
    found = history(world)

    assert found.spans.birth.tolist() == [BEFORE, BEFORE]
    assert (found.live_curve // MIB).tolist() == [10, 10, 6]
    assert (found.reserved_curve // MIB).tolist() == [20, 20, 20]
    assert late in found.spans.address


def test_free_blocks_are_the_gaps(world, history, stack):
    blocks = [world.alloc(5, stack["user"](1)) for _ in range(4)]
    world.free(blocks[1], blocks[3])
    found = history(world)
    state = found.pool_state(len(found.events) - 1)

    assert (state.free, state.largest, state.pinned) == (10 * MIB, 5 * MIB, 10 * MIB)
    assert state.index == 0.5
    assert state.live + state.free == state.reserved


def test_a_rest_of_a_mib_cannot_be_split_off_a_large_block(world, history, stack):
    world.alloc(19, stack["user"](1))
    found = history(world)

    assert found.pool_state(1).free == 0


def test_pages_of_expandable_segments_come_and_go(history):
    base, page = 1 << 40, 2 * MIB

    def entry(action, at, size):
        return {"action": action, "addr": base + at, "size": size, "stream": 0, "frames": []}

    events = [
        entry("segment_map", 0, 4 * page),
        entry("alloc", 0, page),
        entry("segment_map", 4 * page, 2 * page),
        entry("segment_unmap", 2 * page, 3 * page),
    ]
    blocks = [{"address": base, "size": page, "state": "active_allocated"}]
    segments = [
        {
            "device": 0,
            "address": base,
            "total_size": 2 * page,
            "is_expandable": True,
            "blocks": blocks,
        },
        {
            "device": 0,
            "address": base + 5 * page,
            "total_size": page,
            "segment_type": "large",
            "is_expandable": True,
            "blocks": [],
        },
    ]
    found = history({"segments": segments, "device_traces": [events]})

    assert (found.reserved_curve // page).tolist() == [0, 4, 4, 6, 3]
    assert found.pool_state(2).largest == 5 * page
    assert found.pool_state(3).largest == page


def test_unmapped_pages_that_nobody_saw_mapped_were_there_before(history):
    event = {"action": "segment_unmap", "addr": 1 << 40, "size": 2 * MIB, "stream": 0}
    found = history({"segments": [], "device_traces": [[event]]})

    assert (found.reserved_curve // MIB).tolist() == [2, 0]


def test_each_device_is_apart(new_world, read, stack):
    from boundby.memory.history import History

    first, second = new_world(), new_world(device=1)
    first.alloc(4, stack["user"](1))
    second.alloc(8, stack["user"](1))
    both = first.snapshot()
    both["segments"] += second.snapshot()["segments"]
    both["device_traces"].append(second.events)
    snapshot = read(both)

    assert snapshot.devices == [0, 1]
    assert [int(History(snapshot, n).live_curve.max()) // MIB for n in (0, 1)] == [4, 8]


def test_contradictions_are_counted_not_trusted(world, history, stack):
    address = world.alloc(4, stack["user"](1))
    world.free(address)
    world.events.append(dict(world.events[-1]))

    assert history(world).contradictions == 1


def test_the_curves_never_fall_below_zero(world, history, stack):
    for line in range(1, 40):
        address = world.alloc(line % 7 + 1, stack["user"](line))
        if line % 3:
            world.free(address)
    world.forget(25)
    found = history(world)

    assert np.all(found.live_curve >= 0)
    assert np.all(found.reserved_curve >= found.live_curve)


def test_the_state_at_each_refusal_is_told(world, judged, stack):
    """Two requests fail, at 30 and at 10 MiB in use: the verdict is about the last."""
    first = world.alloc(30, stack["user"](3))
    world.refuse(500)
    world.free(first)
    world.alloc(10, stack["user"](4))
    world.refuse(400, device_free_mib=7)
    told = document(judged(world), "memory.pickle")["refusals"]

    assert [row["bytes"] >> 20 for row in told] == [500, 400]
    assert [row["live_bytes"] >> 20 for row in told] == [30, 10]
    assert [row["device_free_bytes"] >> 20 for row in told] == [0, 7]
