"""Every prescription: one program for which it is called, and one for which it is not."""

import re
from pathlib import Path

import pytest

import boundby.prescribe.catalogue
from boundby.cli.group import COMMANDS
from boundby.evidence.facts import Evidence
from boundby.prescribe.catalogue import RULES
from cases import PARTS, collective, place, program, wait

WAITS_FOR_DATA = {"data": 0.8, "device-compute": 0.1, "submission": 0.1}
INFERENCE = {"training": False}
FIXED = {"shapes_vary": False}

CASES = {
    "detach-debugger": (
        program("python-bound", live={"debugger": "pydevd"}),
        program("python-bound", live={"debugger": None}),
    ),
    "free-device": (
        program("compute-bound", live={"other_processes": 1}),
        program("compute-bound", live={"other_processes": 0}),
    ),
    "full-clocks": (
        program("compute-bound", live={"clock_share": 0.6, "clock_reasons": ("heat",)}),
        program("compute-bound", live={"clock_share": 0.6, "clock_reasons": ()}),
    ),
    "grad-scaler": (
        program("compute-bound", live={"unscaled_fp16": True}),
        program("compute-bound", live={"unscaled_fp16": False}),
    ),
    "debug-switches": (
        program(switches={"blocking_launches": True}),
        program(switches={"blocking_launches": False, "anomaly": False}),
    ),
    "cudnn-benchmark-off": (
        program("compute-bound", layout={"autotunes": True}),
        program("compute-bound", layout={"autotunes": False}, mode=FIXED),
    ),
    "loader-workers": (
        program("sync-bound", parts=WAITS_FOR_DATA, loading={"in_process": True}),
        program("launch-bound", loading={"in_process": True}),
    ),
    "persistent-workers": (
        program(loading={"in_process": False, "restarts": 4}),
        program(loading={"in_process": False, "wait_ms": 40.0, "longest_ms": 60.0}),
    ),
    "prefetch-deeper": (
        program(
            "sync-bound",
            parts=WAITS_FOR_DATA,
            loading={"in_process": False, "late_share": 0.2, "longest_ms": 80.0},
        ),
        program(
            "sync-bound",
            parts=WAITS_FOR_DATA,
            loading={"in_process": False, "late_share": 1.0, "longest_ms": 80.0},
        ),
    ),
    "augment-on-device": (
        program("sync-bound", parts=WAITS_FOR_DATA),
        program("sync-bound", parts={"data": 0.3, "device-compute": 0.7}),
    ),
    "offline-preprocessing": (
        program("sync-bound", parts=WAITS_FOR_DATA, loading={"wait_ms": 8.0}),
        program("sync-bound", parts={"data": 0.1, "sync": 0.5, "device-compute": 0.4}),
    ),
    "thread-limit": (
        program(live={"cores": 8, "threads": 8, "workers": 8}),
        program(live={"cores": 16, "threads": 8, "workers": 8}),
    ),
    "work-out-of-loop": (
        program("python-bound"),
        program("compute-bound"),
    ),
    "inference-mode": (
        program(mode={"training": False, "records_grad": True}),
        program(mode={"training": True, "records_grad": True}),
    ),
    "gc-schedule": (
        program("python-bound", switches={"collections": 0.5, "collection_ms": 0.6}),
        program("python-bound", switches={"collections": 0.5, "collection_ms": 0.01}),
    ),
    "build-on-device": (
        program("sync-bound", uploads={"small": 12.0}),
        program("sync-bound", uploads={"small": 0.2}),
    ),
    "fewer-readbacks": (
        program("sync-bound", syncs=(wait("item", 24, 0.01, "train.py:42"),)),
        program("sync-bound", syncs=(wait("explicit-sync"),)),
    ),
    "remove-synchronize": (
        program("sync-bound", syncs=(wait("explicit-sync", 24),)),
        program("sync-bound", syncs=(wait("item"),)),
    ),
    "fixed-shapes": (
        program("sync-bound", syncs=(wait("data-dependent-shape", 60),)),
        program("sync-bound", syncs=(wait("item"),)),
    ),
    "pinned-copies": (
        program("sync-bound", uploads={"pageable": 1.0, "pageable_ms": 4.0}),
        program("sync-bound", uploads={"pageable": 0.0, "pageable_ms": 0.0, "pinned": 1.0}),
    ),
    "stream-overlap": (
        program(
            "memory-bound",
            uploads={"pinned": 1.0, "pinned_ms": 4.0, "pageable": 0.0, "alone_share": 1.0},
        ),
        program(
            "memory-bound",
            uploads={"pinned": 1.0, "pinned_ms": 4.0, "pageable": 0.0, "alone_share": 0.1},
        ),
    ),
    "async-readback": (
        program(
            "sync-bound",
            syncs=(wait("host-copy", 1),),
            uploads={"to_host": 1.0, "to_host_ms": 2.0},
        ),
        program("sync-bound", syncs=(wait("host-copy", 1),), uploads={"to_host": 0.0}),
    ),
    "find-syncs": (
        program("sync-bound", syncs=(wait("item", 24),)),
        program("sync-bound", syncs=(wait("item", 24, 0.01, "train.py:42"),)),
    ),
    "find-slow-rank": (
        program("communication-bound"),
        program("compute-bound"),
    ),
    "overlap-communication": (
        program("communication-bound", mode={"training": True}),
        program("communication-bound", mode=INFERENCE),
    ),
    "fewer-messages": (
        program("communication-bound", mode={"training": True}),
        program("compute-bound", mode={"training": True}),
    ),
    "compress-gradients": (
        program(
            "communication-bound",
            mode={"training": True},
            ops=(collective("c10d::allreduce_", device_ms=5.0),),
        ),
        program(
            "communication-bound",
            mode={"training": True},
            ops=(collective("c10d::alltoall_base_", device_ms=5.0),),
        ),
    ),
    "remove-empty-cache": (
        program(allocations={"calls": 14.0, "frees": 7.0, "host_share": 0.11}),
        program(allocations={"calls": 0.0, "frees": 0.0, "host_share": 0.0}),
    ),
    "larger-batch": (
        program("launch-bound", what_if={"batch_x2": 10.5, "batch_x4": 12.0, "batch_x8": 20.0}),
        program("compute-bound", what_if={"batch_x2": 20.0}),
    ),
    "dynamic-batching": (
        program("launch-bound", mode=INFERENCE),
        program("launch-bound", mode={"training": True}),
    ),
    "fused-optimizer": (
        program(update={"kind": "foreach", "launches": 24.0}),
        program(update={"kind": "fused", "launches": 6.0}),
    ),
    "foreach-optimizer": (
        program(update={"kind": "loop", "launches": 1920.0}),
        program(update={"kind": "foreach", "launches": 24.0}),
    ),
    "sdpa": (
        program("memory-bound", attention={"by_hand": 0.9, "score_bytes": float(1 << 31)}),
        program("memory-bound", attention={"by_hand": 0.0, "fused": True}),
    ),
    "fused-norm": (
        program("memory-bound", norms={"by_hand": 49.0, "device_share": 0.15}),
        program("memory-bound", norms={"by_hand": 0.0, "device_share": 0.0}),
    ),
    "compile-model": (
        program("launch-bound", mode={"compiled": False}, origins={"elementwise": 0.3}),
        program("launch-bound", mode={"compiled": True}, origins={"elementwise": 0.3}),
    ),
    "larger-graphs": (
        program("python-bound", mode={"compiled": True, "compiled_calls": 12.0}),
        program("python-bound", mode={"compiled": True, "compiled_calls": 1.0}),
    ),
    "vectorize-loop": (
        program(origins={"python_loop": 0.9, "loop_repeats": 256.0}),
        program(origins={"python_loop": 0.0}),
    ),
    "tf32": (
        program("compute-bound", precision={"fp32": 0.8}),
        program("compute-bound", precision={"fp32": 0.0, "tf32": 0.8}),
    ),
    "bf16": (
        program("compute-bound", precision={"fp32": 0.0, "tf32": 0.8}),
        program("compute-bound", precision={"fp32": 0.0, "tf32": 0.0, "half": 0.8}),
    ),
    "fp16": (
        program("compute-bound", device="Tesla V100-SXM2-16GB", precision={"fp32": 0.8}),
        program("compute-bound", device="NVIDIA H200", precision={"fp32": 0.8}),
    ),
    "contiguous": (
        program("memory-bound", layout={"fighting": 1.0, "fights": 8.0, "pays_from": 1.6}),
        program("memory-bound", layout={"fighting": 0.0, "fights": 0.0}),
    ),
    "channels-last": (
        program("compute-bound", layout={"transposes": 0.18}, precision={"tf32": 0.6}),
        program("compute-bound", layout={"transposes": 0.0}, precision={"tf32": 0.6}),
    ),
    "pad-sizes": (
        program("compute-bound", precision={"odd_sizes": 0.3}),
        program("compute-bound", precision={"odd_sizes": 0.0}),
    ),
    "cudnn-benchmark": (
        program(
            "compute-bound",
            layout={"convolutions": 0.8},
            mode=FIXED,
            live={"cudnn_benchmark": False},
        ),
        program(
            "compute-bound",
            layout={"convolutions": 0.8},
            mode=FIXED,
            live={"cudnn_benchmark": True},
        ),
    ),
    "drop-checkpointing": (
        program("compute-bound", mode={"recomputed": 0.25}),
        program("compute-bound", mode={"recomputed": 0.25}, live={"memory_used": 0.95}),
    ),
    "checkpointing": (
        program(
            "launch-bound",
            mode={"training": True},
            what_if={"batch_x4": 12.0},
            live={"memory_used": 0.95},
        ),
        program(
            "launch-bound",
            mode={"training": True},
            what_if={"batch_x4": 12.0},
            live={"memory_used": 0.3},
        ),
    ),
    "kv-cache": (
        program("compute-bound", mode=INFERENCE, attention={"recomputes_prefix": True}),
        program("compute-bound", mode=INFERENCE, attention={"recomputes_prefix": False}),
    ),
    "preallocate": (
        program(allocations={"calls": 3.0, "frees": 0.0}, mode=FIXED),
        program(allocations={"calls": 3.0, "frees": 3.0}, mode=FIXED),
    ),
    "allocator-settings": (
        program(allocations={"calls": 3.0, "frees": 0.0}, mode={"shapes_vary": True}),
        program(allocations={"calls": 3.0, "frees": 0.0}, mode=FIXED),
    ),
    "cudnn-workspace": (
        program(
            "compute-bound",
            layout={"convolutions": 0.8},
            live={"memory_used": 0.3, "cudnn_benchmark": True},
        ),
        program(
            "compute-bound",
            layout={"convolutions": 0.8},
            live={"memory_used": 0.9, "cudnn_benchmark": True},
        ),
    ),
    "cuda-graph": (
        program("launch-bound", what_if={"no_submit_cost": 2.0}),
        program("launch-bound", what_if={"no_submit_cost": 2.0}, mode={"in_graphs": True}),
    ),
}

TOLD_BY_PARTS = {
    "larger-batch", "work-out-of-loop", "compile-model", "cuda-graph", "find-syncs",
    "find-slow-rank",
}  # fmt: skip
"""These rest on the parts of the step, which every verdict comes with."""

PROSE = {"knows"}
"""What follows the name of the program in a sentence."""

BY_ID = {rule.id: rule for rule in RULES}
FOLDER = Path(boundby.prescribe.catalogue.__file__).parent
TOPICS = FOLDER.parent.parent / "topics" / "prescriptions"


@pytest.mark.parametrize("identity", CASES)
def test_it_is_called_for_where_the_evidence_shows_its_precondition(identity):
    why = BY_ID[identity].applies(CASES[identity][0])

    assert why is not None
    assert why.endswith((".", ")"))
    assert "None" not in why


@pytest.mark.parametrize("identity", CASES)
def test_it_is_not_called_for_otherwise(identity):
    assert BY_ID[identity].applies(CASES[identity][1]) is None


@pytest.mark.parametrize("identity", [each for each in CASES if each not in TOLD_BY_PARTS])
@pytest.mark.parametrize("bound", PARTS)
def test_a_recording_that_tells_nothing_is_no_reason(identity, bound):
    assert BY_ID[identity].applies(program(bound)) is None


def test_every_prescription_has_a_pair_of_cases():
    assert set(CASES) == set(BY_ID)


def test_every_file_of_the_folder_is_listed_under_its_own_name():
    files = {path.stem for path in FOLDER.glob("*.py")} - {"__init__"}

    assert {rule.id.replace("-", "_") for rule in RULES} == files
    assert len(RULES) == len(files)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_every_change_states_its_price_in_memory(rule):
    assert rule.costs.memory


@pytest.mark.parametrize("identity", CASES)
def test_it_says_all_a_user_must_know(identity):
    rule = BY_ID[identity]

    assert rule.title.endswith(".")
    assert rule.how.strip()
    assert rule.stop_when
    assert rule.does_not_help
    assert rule.attacks
    assert (rule.edit is None) <= bool(rule.no_estimate), "no edit, and no reason why"


@pytest.mark.parametrize("identity", CASES)
def test_it_says_what_it_means_and_repeats_nothing_of_the_rule(identity):
    text = (TOPICS / f"{identity}.md").read_text("utf-8")
    code = [line for line in BY_ID[identity].how.splitlines() if line.strip()]

    assert text.startswith("## What it means\n")
    assert [line for line in code if line in text] == []


@pytest.mark.parametrize("identity", CASES)
def test_the_code_for_a_program_is_code_of_the_rule(identity):
    case = CASES[identity][0]

    assert BY_ID[identity].code(case).endswith("\n")
    assert max(map(len, BY_ID[identity].code(case).splitlines())) < 95


@pytest.mark.parametrize(
    "text",
    [rule.how for rule in RULES] + [path.read_text("utf-8") for path in TOPICS.glob("*.md")],
)
def test_commands_it_names_exist(text):
    named = set(re.findall(r"boundby ([a-z]+)", text))

    assert named - PROSE <= set(COMMANDS)


def test_a_known_place_in_the_code_is_named():
    case = program(
        "python-bound",
        evidence=(Evidence("python-function", 3.0, "ms", "", "measured", (place("hooks.py:7"),)),),
    )

    assert "hooks.py:7" in BY_ID["work-out-of-loop"].applies(case)
