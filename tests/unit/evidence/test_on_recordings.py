"""What the evidence says of H200 recordings, against what is known of their programs."""

import json

import pytest

from boundby.evidence.operators import operator_rows
from boundby.evidence.optree import build_op_tree
from boundby.evidence.patterns import pattern_facts
from boundby.evidence.places import top_python
from boundby.evidence.ranges import device_meter, range_rows
from boundby.evidence.syncs import sync_facts, sync_rows
from boundby.read import read_recording
from boundby.timeline.timeline import build_timeline
from boundby.units import ms
from recordings import recording_of


@pytest.fixture(scope="session")
def truth(shared):
    """Return what was measured without the profiler, by name of the recording."""
    lines = (shared / "traces" / "truth.jsonl").read_text().splitlines()
    return {row["file"]: row for row in map(json.loads, lines)}


@pytest.mark.parametrize(
    ("name", "kind", "count"),
    [
        ("item_every_op", "item", 24),
        ("pair_item_each_layer", "item", 24),
        ("harmless_item_deep_queue", "item", 1),
        ("data_dependent_shapes", "data-dependent-shape", 60),
        ("pageable_copies", "host-copy", 1),
        ("pair_pageable_h2d", "host-copy", 1),
        ("pair_dqn_small_loop", "host-copy", 4),
        ("empty_cache_every_step", "allocator", 14),
        ("synchronize_every_layer", "explicit-sync", pytest.approx(72, abs=0.5)),
    ],
)
def test_the_kind_of_wait_a_program_was_built_with(recorded, name, kind, count):
    row = sync_rows(recorded(name))[0]

    assert (row.kind, row.count_per_step) == (kind, count)


@pytest.mark.parametrize(
    "name", ["elementwise_chain", "seed_block_batch64_best", "cuda_graph_replay", "matmul_fp32"]
)
def test_a_program_built_without_waits_has_none(recorded, name):
    assert sync_rows(recorded(name)) == ()


def test_a_wait_under_a_deep_queue_has_much_outstanding(recorded):
    deep, shallow = (
        sync_rows(recorded(n))[0] for n in ("harmless_item_deep_queue", "item_every_op")
    )

    assert deep.outstanding_device_ms > 100 * shallow.outstanding_device_ms


@pytest.mark.parametrize(
    ("name", "identity", "function"),
    [
        ("pair_hooks_with_json.stack", "python-function", "<lambda>"),
        ("pair_loader_inline.stack", "loader-function", "__getitem__"),
        ("rnn_python_loop", "python-function", "step"),
    ],
)
def test_the_function_a_program_spends_its_time_in(recorded, name, identity, function):
    first = next(fact for fact in top_python(recorded(name)) if fact.id == identity)

    assert first.where[0].function == function


@pytest.mark.parametrize(
    ("name", "identities"),
    [
        ("elementwise_chain", {"fusion-candidates"}),
        ("loop_optimizer", {"fusion-candidates", "phase-optimizer"}),
        ("loader_two_slow_workers", {"idle-period"}),
        ("compiled_small", set()),
        ("cuda_graph_replay", {"fusion-candidates"}),
        ("small_batch_inference", {"composite-op", "fusion-candidates"}),
    ],
)
def test_patterns_a_program_was_built_with(recorded, name, identities):
    found = {fact.id for fact in pattern_facts(recorded(name))}

    assert identities <= found
    if not identities:
        assert found == {"launch-calls"}


def test_times_agree_with_what_was_measured_on_every_recording(shared, truth):
    for file, known in truth.items():
        timeline = build_timeline(recording_of(shared / "traces" / file))
        steps = len(timeline.steps)

        rows = operator_rows(timeline)
        ranges = {row.name: row for row in range_rows(timeline)}

        device = ms(device_meter(timeline).upto[-1]) / steps
        assert device == pytest.approx(known["gpu_ms"], rel=1e-3), file
        inside = timeline.recording.device.dur[timeline.rows[timeline.row_step >= 0]]
        summed = sum(row.self_device_ms for row in rows)
        assert summed == pytest.approx(ms(inside.sum()) / steps), file
        phases = [ranges[n].device_ms for n in ranges if n.startswith("phase: ")]
        assert sum(phases) <= device * 1.001, file


@pytest.mark.parametrize(
    "file", ["pair_dqn_small_loop.stack", "pair_pageable_h2d", "bf16_ffn_train"]
)
def test_the_same_forest_gives_the_same_facts(real, file):
    timeline = build_timeline(read_recording(real / f"{file}.json.gz"))
    tree = build_op_tree(timeline)

    assert operator_rows(timeline, tree) == operator_rows(timeline)
    assert sync_rows(timeline, tree) == sync_rows(timeline)
    assert pattern_facts(timeline, tree) == pattern_facts(timeline)


def test_a_recording_with_stacks_says_where_it_waits(real):
    timeline = build_timeline(read_recording(real / "pair_dqn_small_loop.stack.json.gz"))

    texts = [fact.text for fact in sync_facts(timeline.recording, sync_rows(timeline))]

    assert [text.split(", with")[0] for text in texts] == [
        "the host waits 4 times a step for a copy from or to its memory",
        "the host waits once a step to read a value",
    ]
    assert all(text.endswith("in base in twins.py (defined at line 250)") for text in texts)
