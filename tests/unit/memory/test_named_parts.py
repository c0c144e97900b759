"""Parts of the memory that the running program named itself: exact, and only what it meant."""

import shutil

from boundby.capture.device_memory import read_device_memory
from boundby.capture.findings import read_run
from boundby.capture.tape import RunFolder
from boundby.memory.pointers import write_rows
from boundby.read.capture_folder import POINTERS, SNAPSHOT


def trained(world, stack):
    """Return a world after three steps: its two weights, and a state of the optimizer."""
    weights = [world.alloc(4, stack["built"](3)), world.alloc(6, stack["user"](4))]
    state = []
    for _ in range(3):
        activation = world.alloc(8, stack["forward"](7))
        gradient = world.alloc(4, stack["backward"])
        world.free(activation)
        if not state:
            state.append(world.alloc(5, stack["optimizer"](9)))
        world.free(gradient)
    return weights, state[0]


def shares(memory):
    return {share.part: (share.bytes >> 20, share.confidence) for share in memory.case.composition
            if share.bytes}  # fmt: skip


def test_the_side_file_of_a_run_makes_its_parts_exact(world, stack, write, tmp_path):
    (built, made_by_hand), state = trained(world, stack)
    place = tmp_path / "run"
    RunFolder(place).describe({"version": 1, "script": "train.py"})
    shutil.copy(write(world), place / SNAPSHOT)
    inferred, _ = read_device_memory(read_run(place)[0], None)
    rows = [(0, built, "parameters", "a"), (0, made_by_hand, "parameters", "b")]
    write_rows(place / POINTERS, [*rows, (0, state, "optimizer", "a.exp_avg")])
    named, problems = read_device_memory(read_run(place)[0], None)

    assert problems == ()
    assert shares(inferred)["parameters"] == (4, "high")
    assert shares(named)["parameters"] == (10, "exact")
    assert shares(named)["optimizer"][1] == "exact"
    assert shares(named)["activations"] == shares(inferred)["activations"]
    parts = {holder.origin.place.line: holder.part for holder in named.case.peak.holders
             if holder.origin.place}  # fmt: skip
    assert parts[4] == "parameters"


def test_what_an_address_held_before_is_not_named_after_what_holds_it_now(world, judged, stack):
    """A buffer lies where activations lay at the peak; the names are those of the end."""
    activation = world.alloc(16, stack["forward"](7))
    world.free(activation)
    buffer = world.alloc(2, stack["user"](9))
    found = judged(world, names={0: {buffer: "parameters"}})

    assert buffer == activation
    assert "parameters" not in shares(found)


def test_names_of_another_device_say_nothing(world, judged, stack):
    (built, _), _ = trained(world, stack)
    found = judged(world, names={1: {built: "gradients"}})

    assert "exact" not in {each[1] for part, each in shares(found).items() if part != "cache"}
