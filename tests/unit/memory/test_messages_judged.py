"""What an out-of-memory text proves, and what it only hints at."""
# ruff: noqa: C408, E501 (a table of fields by keyword)

import json

import pytest

from boundby.memory.message import diagnose_text
from boundby.read.oom_message import OomMessage, read_oom_messages

GIB, MIB = 1 << 30, 1 << 20


def message(**fields):
    known = dict(
        requested=GIB, capacity=24 * GIB, free=100 * MIB, allocated=12 * GIB, unallocated=0
    )
    known |= fields
    if known["allocated"] is not None:
        known.setdefault("reserved", known["allocated"] + (known["unallocated"] or 0))
    return OomMessage(known.pop("kind", "device"), known.pop("backend", "cuda"), **known)


@pytest.mark.parametrize(
    ("fields", "name", "cause"),
    [
        pytest.param(dict(allocated=23 * GIB), "really-full", None, id="full"),
        pytest.param(dict(unallocated=4 * GIB, allocated=19 * GIB), "fragmentation", None, id="pieces"),
        pytest.param(dict(requested=189 * GIB, capacity=47 * GIB), "request-too-large", None, id="shape"),
        pytest.param(
            dict(allocated=16 * GIB, capacity=12 * GIB, free=0), "really-full", "spilled", id="windows"
        ),
        pytest.param(
            dict(requested=960 * MIB, free=15 * GIB, allocated=7 * GIB), "reserved-elsewhere", "limit",
            id="lots-free",
        ),
        pytest.param(
            dict(allowed=13 * GIB, free=11 * GIB, allocated=12 * GIB + 900 * MIB), "really-full", "limit",
            id="fraction",
        ),
        pytest.param(
            dict(allocated=100 * MIB, free=20 * MIB), "reserved-elsewhere", "other-process", id="others"
        ),
        pytest.param(
            dict(backend="mps", capacity=None, free=None, allowed=9 * GIB, allocated=2 * GIB,
                 other=5 * GIB, unallocated=None),
            "reserved-elsewhere", "other-process", id="mps-others",
        ),
        pytest.param(dict(allocated=None, unallocated=None, capacity=None, free=None), "undecided", None, id="cut"),
        pytest.param(dict(kind="host", backend="cpu"), "really-full", "host-memory", id="host"),
        pytest.param(dict(kind="killed", requested=None), "really-full", "host-memory", id="killed"),
        pytest.param(dict(kind="shared", requested=None), "really-full", "shared-memory", id="shared"),
        pytest.param(dict(kind="library", requested=None), "undecided", None, id="library"),
    ],
)  # fmt: skip
def test_the_numbers_decide(fields, name, cause):
    verdict = diagnose_text([message(**fields)]).verdict

    assert (verdict.name, verdict.cause) == (name, cause)
    assert bool(verdict.undecided_reason) == (name == "undecided")


def test_in_a_container_the_process_named_may_be_this_one():
    own = message(allocated=22 * GIB, others={7: 23 * GIB})

    assert diagnose_text([own]).verdict.name == "really-full"


def test_a_stale_hint_is_not_repeated():
    pieces = message(unallocated=4 * GIB, allocated=19 * GIB, advises_expandable=True)
    hint = "try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid"
    is_off = diagnose_text([pieces], hint)
    is_on = diagnose_text([pieces], f"PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True\n{hint}")

    assert is_off.prescriptions[0].id == "expandable-segments"
    assert "expandable-segments" not in {remedy.id for remedy in is_on.prescriptions}


def test_the_messages_of_an_h200(shared):
    texts = json.loads((shared / "reference" / "oom_h200.json").read_text())
    found = {name: diagnose_text(read_oom_messages(text)).verdict for name, text in texts.items()}

    assert found["fragmentation_oom"].name == "fragmentation"
    assert (found["really_full"].name, found["really_full"].cause) == ("really-full", "limit")
