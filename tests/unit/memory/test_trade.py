"""What a remedy for memory costs in time, by what bounds the step."""

import pytest

from boundby.memory import remedies as known
from boundby.memory.pace import CLASSES, Pace
from boundby.memory.trade import RULES, UNKNOWN, traded

OF_HOST, OF_DEVICE, COPYING = Pace("launch-bound", 0.2), Pace("compute-bound", 0.98), Pace(
    "sync-bound", 0.99
)  # fmt: skip


@pytest.fixture
def peaking(world, judged, stack):
    """Return the case of a training step of 16 MiB that holds and 96 that come and go."""
    world.alloc(16, stack["built"](2))
    for _ in range(6):
        activations = [world.alloc(16, stack["forward"](5)) for _ in range(6)]
        world.alloc(1, stack["backward"])
        world.free(*activations)
    return lambda capacity_mib=None: (
        judged(world, capacity=None if capacity_mib is None else capacity_mib << 20).case
    )


@pytest.mark.parametrize(
    ("remedy", "host", "device"),
    [
        (known.MICRO_BATCHES, False, None),
        (known.AUTOCAST, False, True),
        (known.LARGER_BATCH, True, False),
        (known.OFFLOAD, False, None),
    ],
    ids=lambda each: getattr(each, "id", str(each)),
)
def test_what_pays_depends_on_who_sets_the_pace(remedy, host, device, peaking):
    case = peaking()

    assert traded(remedy, case, OF_HOST).pays is host
    assert traded(remedy, case, OF_DEVICE).pays is device
    assert (traded(remedy, case, None).pays, traded(remedy, case, None).trade) == (None, UNKNOWN)


def test_a_device_busy_with_copies_is_no_host_that_is_slow(peaking):
    assert traded(known.AUTOCAST, peaking(), COPYING).pays is None
    assert traded(known.LARGER_BATCH, peaking(), COPYING).pays is False


def test_checkpointing_is_weighed_with_the_room_of_the_device(peaking):
    """With 72 MiB saved of 96 a step moves 24: a device of 400 MiB holds 16 of those, or 4 now."""
    remedy = known.CHECKPOINTING.because("", 72 << 20)
    idle = traded(remedy, peaking(400), Pace("launch-bound", 0.05))
    half = traded(remedy, peaking(400), Pace("launch-bound", 0.5))

    assert idle.pays is True
    assert half.pays is False
    assert traded(remedy, peaking(400), OF_DEVICE).pays is False
    assert traded(remedy, peaking(), OF_HOST).pays is None


def test_what_makes_room_is_not_dismissed_when_memory_ran_out():
    """A message alone: the batch does not fit, so time is the smaller question."""
    for remedy in (known.MICRO_BATCHES, known.AUTOCAST):
        found = traded(remedy, None, OF_HOST)
        assert found.pays is None
        assert "does not fit" in found.trade
    assert traded(known.CHECKPOINTING, None, None).pays is True


@pytest.mark.parametrize("name", CLASSES)
def test_every_class_has_an_answer(name, peaking):
    case = peaking(400)
    for remedy in known.EVERY:
        found = traded(remedy, case, Pace(name, 0.5))
        assert bool(found.trade) is (remedy.id in RULES or remedy.id == "checkpointing")


def test_what_does_not_pay_comes_last(judged, world, stack):
    for _ in range(6):
        activations = [world.alloc(400, stack["forward"](5)) for _ in range(6)]
        world.alloc(1, stack["backward"])
        world.free(*activations)
    found = judged(world, pace=OF_HOST)
    paying = [remedy.pays is not False for remedy in found.prescriptions]

    assert found.verdict.name == "transient-peak"
    assert paying == sorted(paying, reverse=True)
    assert False in paying
