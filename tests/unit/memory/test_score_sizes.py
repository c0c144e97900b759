"""Attention scores whose functions say nothing: named by the sizes that a trace of the run saw."""

import shutil
from pathlib import Path

import pytest

from boundby.capture.device_memory import read_device_memory, score_sizes_of
from boundby.capture.findings import read_run
from boundby.capture.tape import RunFolder
from boundby.cli.memory_answers import told_by
from boundby.diagnose import diagnose
from boundby.memory.history import History
from boundby.read import read_recording
from boundby.read.capture_folder import SNAPSHOT

GIB, MIB = 1 << 30, 1 << 20
REAL = Path(__file__).resolve().parents[2] / "real"
ATTENDS, FEEDS = REAL / "handwritten_attention_long.json.gz", REAL / "bf16_ffn_train.json.gz"
"""Recordings of an H200: scores of 4 x 16 x 4096 x 4096 in bfloat16, and no attention."""


def attend(world, made, backward, scores=128, rest=4):
    """Three steps: at the peak the softmax, three gradients like it, and what leads to them."""
    for _ in range(3):
        inputs = world.alloc(rest, made)
        product = world.alloc(scores, made)
        softmax = world.alloc(scores, made)
        world.free(product)
        gradients = [world.alloc(scores, backward) for _ in range(3)]
        world.free(*gradients, softmax, inputs)


def cause(diagnosis):
    return diagnosis.case.peak.cause, diagnosis.case.peak.cause_bytes


@pytest.fixture
def plain(world, stack):
    """Attention of line 62 in a function without a telling name."""
    attend(world, stack["user"](62), stack["backward"])
    return world


def test_scores_are_named_by_their_size_in_forward_and_backward(plain, judged):
    found = judged(plain, score_sizes=(128 * MIB,))

    assert cause(found) == ("attention-scores", 4 * 128 * MIB)
    assert found.verdict.cause == "attention-scores"
    assert found.prescriptions[0].id == "sdpa"
    assert found.prescriptions[0].where[0].line == 62


@pytest.mark.parametrize("sizes", [(), (64 * MIB, 128 * MIB - 512, 128 * MIB + 1), (1 << 70,)])
def test_without_a_block_of_that_size_they_are_activations(plain, judged, sizes):
    assert cause(judged(plain, score_sizes=sizes)) == ("activations", 132 * MIB)


def test_each_type_that_scores_are_cast_to_counts(world, judged, stack):
    """Product and softmax of two types; blocks are multiples of 512 bytes."""
    made = stack["user"](62)
    for _ in range(3):
        blocks = [world.alloc(4, made), world.alloc(64, made), world.alloc(128, made)]
        world.free(world.alloc(8, stack["backward"]), *blocks)

    assert cause(judged(world, score_sizes=(64 * MIB - 511, 128 * MIB))) == (
        "attention-scores", 192 * MIB
    )  # fmt: skip


def test_a_loss_of_that_size_is_none(world, judged, stack):
    frames = [stack["frame"](9, "cross_entropy"), stack["frame"](62)]
    attend(world, frames, stack["backward"], rest=320)

    assert cause(judged(world, score_sizes=(128 * MIB,))) == ("logits", 448 * MIB)


def test_what_a_linear_layer_makes_of_that_size_is_none(world, judged, stack):
    for _ in range(3):
        blocks = [world.alloc(128, stack["forward"](62)), world.alloc(256, stack["user"](7))]
        world.free(world.alloc(8, stack["backward"]), *blocks)

    assert cause(judged(world, score_sizes=(128 * MIB,))) == ("activations", 384 * MIB)


def test_temporaries_of_an_optimizer_of_that_size_are_none(world, judged, stack):
    for _ in range(3):
        kept = world.alloc(128, stack["user"](62))
        world.free(world.alloc(8, stack["backward"]))
        world.free(*[world.alloc(128, stack["optimizer"](9)) for _ in range(2)], kept)

    assert cause(judged(world, score_sizes=(128 * MIB,))) == ("optimizer-step", 256 * MIB)


def test_small_blocks_say_nothing_by_their_size(world, judged, stack):
    attend(world, stack["user"](62), stack["backward"], scores=1, rest=2)

    assert cause(judged(world, score_sizes=(MIB,)))[0] == "activations"


def test_a_block_counts_as_what_was_asked_for(world, judged, read, stack):
    """The last block lives on in one that could not be split: 2 MiB larger."""
    world.alloc(4, stack["built"](1))
    attend(world, stack["user"](62), stack["backward"], scores=16)
    last = world.alloc(100, stack["user"](62))
    snapshot = world.snapshot()
    for segment in snapshot["segments"]:
        for block in segment["blocks"]:
            block["size"] += 2 * MIB * (block["address"] == last)
    history = History(read(snapshot), 0)

    assert (history.spans.size[-1], history.asked[-1]) == (102 * MIB, 100 * MIB)
    assert cause(judged(snapshot, score_sizes=(100 * MIB,))) == ("attention-scores", 102 * MIB)


def test_what_was_there_before_the_history_counts_by_its_block(world, history, stack):
    world.alloc(6, stack["user"](1))
    world.forget(2)

    assert history(world).asked.tolist() == [6 * MIB]


# --- From the trace of the same run ---------------------------------------------------------------


@pytest.mark.parametrize(("trace", "sizes"), [(ATTENDS, (2 * GIB,)), (FEEDS, ())])
def test_a_trace_with_shapes_tells_the_sizes(trace, sizes):
    assert score_sizes_of(diagnose(read_recording(trace))) == sizes
    assert told_by(None, str(trace))[1] == sizes
    assert score_sizes_of(None) == ()


def test_a_run_knows_the_sizes_from_its_own_trace(world, stack, write, tmp_path):
    attend(world, stack["user"](62), stack["backward"], scores=2048)
    place = tmp_path / "run"
    RunFolder(place).describe({"version": 1, "script": "train.py"})
    shutil.copy(write(world), place / SNAPSHOT)
    run, _ = read_run(place)
    alone, _ = read_device_memory(run, None)
    found, problems = read_device_memory(run, diagnose(read_recording(ATTENDS)))

    assert problems == ()
    assert alone.verdict.cause == "activations"
    assert found.verdict.cause == "attention-scores"
