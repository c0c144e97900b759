"""The decision from the shares of a step alone."""

import pytest

from boundby.read.recording import Quality
from boundby.replay.values import WaterfallPart
from boundby.timeline.summary import DeviceSummary, HostSummary, QueueDelay
from boundby.verdict.classes import class_of, device_share, leading_part, runner_up, shares_of
from boundby.verdict.decide import BECAUSE, Outlook, decide, undecided, voiding
from boundby.verdict.decision import RunnerUp, Verdict
from boundby.verdict.next import next_commands
from boundby.verdict.path import walk

PARTS = {
    "data": "data",
    "sync": "sync",
    "python": "python",
    "submission": "submission",
    "compute": "device-compute",
    "memory": "device-memory",
    "other": "device-other",
    "copy": "device-copy",
    "communication": "device-communication",
}


def step(**percent):
    """A waterfall of 1 ms; what is not named is nothing."""
    assert sum(percent.values()) == 100
    shares = {part: percent.get(name, 0) / 100 for name, part in PARTS.items()}
    return tuple(WaterfallPart(part, share, share) for part, share in shares.items())


def decided(clean, *, low=None, high=None, recorded=None, causes=(), known=()):
    outlook = Outlook(clean, low or clean, high or clean, recorded)
    return decide(outlook, dict(causes), frozenset(known))


# --- Class and cause ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shares", "name", "cause"),
    [
        pytest.param({"submission": 60, "python": 20, "memory": 20}, "launch-bound", None),
        pytest.param({"python": 60, "submission": 20, "memory": 20}, "python-bound", None),
        pytest.param({"sync": 60, "submission": 20, "memory": 20}, "sync-bound", None),
        pytest.param({"data": 60, "submission": 20, "memory": 20}, "sync-bound", "data-loading"),
        pytest.param({"memory": 95, "submission": 5}, "memory-bound", None),
        pytest.param({"compute": 95, "submission": 5}, "compute-bound", None),
        pytest.param({"copy": 60, "compute": 35, "sync": 5}, "sync-bound", "host-copy"),
        pytest.param({"communication": 60, "compute": 35, "sync": 5}, "communication-bound", None),
    ],
)
def test_the_leading_part_names_class_and_cause(shares, name, cause):
    verdict = decided(step(**shares))

    assert (verdict.name, verdict.cause) == (name, cause)
    assert verdict.undecided_reason is None


@pytest.mark.parametrize(
    ("shares", "lead"),
    [
        pytest.param({"submission": 10, "compute": 90}, "device-compute", id="device at 90%"),
        pytest.param({"submission": 11, "compute": 89}, "submission", id="device below 90%"),
        pytest.param(
            {"submission": 5, "python": 6, "compute": 89}, "python", id="the largest of the host"
        ),
        pytest.param(
            {"compute": 46, "memory": 45, "submission": 9},
            "device-compute",
            id="compute and memory together make the device lead",
        ),
        pytest.param({"other": 95, "memory": 5}, "device-memory", id="the unknown never leads"),
        pytest.param(
            {"communication": 40, "compute": 25, "submission": 35},
            "device-communication",
            id="exposed communication leads where it is the largest part",
        ),
        pytest.param(
            {"communication": 30, "compute": 30, "submission": 40},
            "submission",
            id="and does not where the host takes more",
        ),
    ],
)
def test_which_part_leads(shares, lead):
    assert leading_part(shares_of(step(**shares))) == lead


def test_every_part_names_a_class_and_knows_its_evidence():
    assert {class_of(part) for part in PARTS.values()} == {
        "sync-bound",
        "python-bound",
        "launch-bound",
        "compute-bound",
        "memory-bound",
        "communication-bound",
    }
    assert set(BECAUSE) == set(PARTS.values())


def test_the_device_share_is_all_device_parts():
    shares = step(submission=20, compute=20, memory=20, other=10, copy=10, communication=20)

    assert device_share(shares_of(shares)) == pytest.approx(0.8)


def test_a_cause_refines_its_own_class_alone():
    causes = {"launch-bound": "optimizer", "sync-bound": "item"}

    assert decided(step(submission=60, memory=40), causes=causes).cause == "optimizer"
    assert decided(step(sync=60, memory=40), causes=causes).cause == "item"
    assert decided(step(python=60, memory=40), causes=causes).cause is None


def test_waiting_for_data_is_data_loading_whatever_waits_there_are_besides():
    verdict = decided(step(data=60, memory=40), causes={"sync-bound": "item"})

    assert verdict.cause == "data-loading"


# --- Strength -------------------------------------------------------------------------------------

LAUNCH = step(submission=60, memory=40)
DEVICE = step(submission=1, memory=99)


@pytest.mark.parametrize(
    ("clean", "ends", "strength"),
    [
        pytest.param(step(submission=20, memory=80), {}, "strong", id="a fifth"),
        pytest.param(step(submission=19, memory=81), {}, "moderate", id="below a fifth"),
        pytest.param(
            step(submission=8, python=7, memory=85), {}, "weak", id="below a tenth, though largest"
        ),
        pytest.param(
            step(submission=40, python=35, memory=25), {}, "moderate", id="the next is close"
        ),
        pytest.param(
            step(submission=40, python=30, memory=30), {}, "strong", id="the next is not close"
        ),
        pytest.param(
            step(sync=35, data=34, memory=31), {}, "strong", id="the next is of the same class"
        ),
        pytest.param(LAUNCH, {"low": DEVICE}, "weak", id="the fast end says otherwise"),
        pytest.param(
            LAUNCH, {"high": step(sync=60, memory=40)}, "weak", id="the slow end says otherwise"
        ),
        pytest.param(
            LAUNCH,
            {"low": step(submission=12, memory=88), "high": step(submission=80, memory=20)},
            "strong",
            id="both ends agree",
        ),
        pytest.param(LAUNCH, {"recorded": DEVICE}, "moderate", id="only the recording differs"),
        pytest.param(
            step(sync=30, memory=70),
            {"low": step(data=30, memory=70)},
            "strong",
            id="another part of the same class",
        ),
    ],
)
def test_strength_of_a_host_class(clean, ends, strength):
    assert decided(clean, **ends).strength == strength


@pytest.mark.parametrize(
    ("clean", "ends", "strength"),
    [
        pytest.param(step(compute=95, submission=5), {}, "strong", id="95% device"),
        pytest.param(step(compute=94, submission=6), {}, "moderate", id="hardly above the rule"),
        pytest.param(step(compute=60, memory=40), {}, "strong", id="three fifths of the device"),
        pytest.param(step(compute=59, memory=41), {}, "moderate", id="the other roof is near"),
        pytest.param(DEVICE, {"high": LAUNCH}, "weak", id="a slower host would lead"),
        pytest.param(DEVICE, {"low": step(compute=99, sync=1)}, "weak", id="another device class"),
        pytest.param(DEVICE, {"recorded": LAUNCH}, "moderate", id="only the recording differs"),
    ],
)
def test_strength_of_a_device_class(clean, ends, strength):
    assert decided(clean, **ends).strength == strength


# --- Runner-up and reasons ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shares", "second"),
    [
        pytest.param(
            {"submission": 60, "python": 30, "memory": 10}, RunnerUp("python-bound", 0.3), id="host"
        ),
        pytest.param(
            {"data": 50, "sync": 30, "python": 20},
            RunnerUp("python-bound", 0.2),
            id="another part of the same class is none",
        ),
        pytest.param({"compute": 100}, None, id="nothing else there"),
        pytest.param({"compute": 40, "other": 60}, None, id="work of unknown kind is no class"),
    ],
)
def test_the_runner_up_is_the_next_class_that_is_there(shares, second):
    given = shares_of(step(**shares))
    found = runner_up(given, leading_part(given))

    assert found == (second and RunnerUp(second.name, pytest.approx(second.share)))


def test_a_device_whose_work_is_all_of_unknown_kind_has_no_class():
    verdict = decided(step(other=100))

    assert verdict.name == "undecided"
    assert "of a known kind" in verdict.undecided_reason
    assert verdict.runner_up is None


def test_how_fast_a_kernel_starts_decides_no_device_class():
    verdict = decided(step(compute=100), known=["device-busy", "queue-delay"])

    assert verdict.because == ("device-busy",)


def test_a_verdict_rests_on_the_evidence_at_hand_alone():
    verdict = decided(LAUNCH, known=["launches", "device-busy", "loader-wait"])

    assert verdict.because == ("launches", "device-busy")


# --- Undecided ------------------------------------------------------------------------------------


def test_the_first_grave_finding_voids():
    quality = [
        Quality("edge-sync", "info", 1, "told"),
        Quality("same-stream-overlap", "warning", 1, "careful"),
        Quality("no-kernels", "fatal", 1, "no kernel at all"),
        Quality("cold-start", "fatal", 1, "cold"),
    ]

    assert voiding(quality) == "no kernel at all"
    assert voiding(quality[:2]) is None


def test_undecided_says_why_and_nothing_else():
    assert undecided("no kernel at all") == Verdict(
        "undecided", None, None, (), None, "no kernel at all"
    )


# --- The method's tree ----------------------------------------------------------------------------


def walked(verdict, *, busy, host=(0.1, 0.2, 0.6, 0.1), **shares):
    """``host``: launch calls, operators, Python, waits."""
    device = DeviceSummary(
        busy_share_observed=busy,
        busy_share_unprofiled=busy,
        ms_per_step=1,
        events_per_step=1,
        launches_per_step=1,
        syncs_per_step=0,
        median_kernel_us=1,
        queue_delay_us=QueueDelay(None, None),
        shares=None,
    )
    return walk(verdict, device, HostSummary(*host), shares_of(step(**shares)))


def test_a_dense_lane_asks_which_work_leads():
    verdict = decided(step(compute=80, memory=16, submission=4))
    path = walked(verdict, busy=0.96, compute=80, memory=16, submission=4)

    assert [fork.question for fork in path.forks] == ["device lane", "which work leads"]
    assert [fork.answer for fork in path.forks] == ["dense, 96% busy", "compute, 83%"]
    assert path.leaf == "compute-bound"
    assert path.disagreement is None


@pytest.mark.parametrize(
    ("host", "shares", "lane", "doing", "leaf"),
    [
        (
            (0.3, 0.4, 0.2, 0.1),
            {"submission": 80, "memory": 20},
            "sparse, 20% busy",
            "submitting, 70%",
            "launch-bound",
        ),
        (
            (0.1, 0.2, 0.6, 0.1),
            {"python": 80, "memory": 20},
            "sparse, 20% busy",
            "in Python, 60%",
            "python-bound",
        ),
        (
            (0.1, 0.2, 0.1, 0.6),
            {"sync": 80, "memory": 20},
            "alternating with the host, 20% busy",
            "waiting, 60%",
            "sync-bound",
        ),
    ],
)
def test_a_sparse_lane_asks_what_the_host_does(host, shares, lane, doing, leaf):
    path = walked(decided(step(**shares)), busy=0.2, host=host, **shares)

    assert path.forks[0].answer == lane
    assert path.forks[1].answer == f"{doing} of its time as recorded"
    assert path.leaf == leaf
    assert path.disagreement is None


def test_where_tree_and_replay_differ_on_the_host_the_path_says_why():
    verdict = decided(step(submission=60, python=20, memory=20))
    path = walked(verdict, busy=0.2, submission=60, python=20, memory=20)

    assert path.leaf == "python-bound"
    assert "recorded host time (python-bound)" in path.disagreement
    assert "observer subtracted (launch-bound)" in path.disagreement


def test_where_tree_and_replay_differ_on_the_device_the_path_says_why():
    verdict = decided(step(sync=12, compute=88))
    path = walked(verdict, busy=0.91, sync=12, compute=88)

    assert path.leaf == "compute-bound"
    assert "(sync-bound)" in path.disagreement


def test_without_a_verdict_or_a_lane_there_is_no_path():
    verdict = decided(LAUNCH)
    dark = (None, None, None, None)

    assert walked(undecided("no"), busy=0.2, submission=60, memory=40) is None
    assert walked(verdict, busy=None, submission=60, memory=40) is None
    assert walked(verdict, busy=0.2, host=dark, submission=60, memory=40) is None


# --- What to type next ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("clean", "first", "count"),
    [
        (LAUNCH, "boundby explain launch-bound", 2),
        (DEVICE, "boundby explain memory-bound", 3),
    ],
)
def test_the_next_command_explains_the_class(clean, first, count):
    commands = next_commands(decided(clean), "trace.json")

    assert commands[0].command == first
    assert len(commands) == count
    assert all(command.question for command in commands)


def test_a_path_with_a_space_can_be_typed_as_printed():
    commands = next_commands(decided(LAUNCH), "my trace.json")

    assert "'my trace.json'" in commands[1].command


def test_without_a_verdict_the_next_command_says_what_to_record():
    assert [c.command for c in next_commands(undecided("no"), "trace.json")] == [
        "boundby explain undecided"
    ]


@pytest.mark.parametrize(
    ("device", "tool"),
    [("NVIDIA H200", "ncu"), (None, "ncu"), ("AMD Instinct MI300X", "rocprof-compute")],
)
def test_kernels_are_measured_with_the_tool_of_the_devices_vendor(device, tool):
    commands = next_commands(decided(DEVICE), "trace.json", device)

    assert commands[-1].command.startswith(f"{tool} ")
