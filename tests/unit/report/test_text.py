"""The report as text: what stands in it, in which order, and how wide it gets."""

from dataclasses import replace

import pytest

from boundby.evidence.facts import Evidence
from boundby.read.recording import Quality
from boundby.replay.values import WaterfallPart, WhatIf
from boundby.report.sanitize import cells
from boundby.report.terminal import Look
from boundby.report.text import Tables, render
from boundby.verdict.decision import Fork, RunnerUp
from diagnoses import ALL, device_bound, launch_bound, sync_bound, undecided

SYNC_BOUND_100 = """\
verdict    sync-bound, moderate; cause: item; runner-up: launch-bound, 13% of the step
           The value of a tensor is read on the host, so the host waits for the device.

step       4.21 ms without the profiler (3.90 to 4.50 ms), set by --step-ms
           6.18 ms observed (6.16 ms with a full queue); 3 steps by ProfilerStep
device     busy 38% of the step (26% as recorded): 1.62 ms, 96 launches; NVIDIA H200, CUDA 13.0

waterfall  sync            1.85 ms   44%  |#########################                               |
           python         0.210 ms    5%  |                         ##                             |
           submission     0.530 ms   12%  |                           #######                      |
           device-compute  1.62 ms   38%  |                                  ######################|

because    sync-cost    24 waits a step cost 1.85 ms. (step, ~/train.py:42) [derived]
           device-busy  The device works 39% of the step. [estimated]
ladder     sync-bound 4.21 ms -> (no_sync) 2.35 ms

do first   batch-item: Read values back once in many steps.
           4.21 -> 2.35 ms (2.10 to 2.90 ms), 1.79x faster
           why   24 reads of a value a step wait for the device with an almost empty queue.
           how   running += loss.detach()
                 if step % 100 == 0:
                     log(running.item() / 100)
           stop  the waits cost less than 2% of the step.

beware     warning: cold-start  One launch call took 31 ms: the first step pays for initialisation;
                                record after a warm-up.
           and 1 more note: --verbose
tree       device lane: holes in turn with the host (24 waits a step) > sync-bound

next       boundby explain item  What reading a value costs.
"""

UNDECIDED_80 = """\
verdict    undecided
           The recording holds no device work, so there is no device line to
           compare with.

step       unknown without the profiler
           1.90 ms observed on the host; 8 steps by ProfilerStep
device     no device work in this recording

beware     fatal: no-kernels  No device work was recorded; record with CUDA
                              activities.

next       boundby explain no-kernels  How to record one that can be judged.
"""

DEVICE_BOUND_120_WATERFALL = "waterfall  device-compute  21.5 ms  100%  |" + "#" * 76 + "|\n"


def test_a_host_bound_report_at_100_columns():
    assert render(sync_bound(), Look(width=100)) == SYNC_BOUND_100


def test_an_undecided_report_at_80_columns():
    assert render(undecided(), Look(width=80)) == UNDECIDED_80


def test_a_wide_terminal_gets_wide_bars():
    assert DEVICE_BOUND_120_WATERFALL in render(device_bound(), Look(width=120))


@pytest.mark.parametrize("width", [80, 100, 120])
@pytest.mark.parametrize("make", ALL)
def test_no_line_is_wider_than_the_terminal(make, width):
    lines = render(make(), Look(width=width)).splitlines()

    assert [line for line in lines if cells(line) > width] == []
    assert [line for line in lines if line != line.rstrip()] == []


@pytest.mark.parametrize("make", ALL)
def test_the_report_fits_one_screen(make):
    assert len(render(make(), Look(width=100)).splitlines()) <= 40


@pytest.mark.parametrize("make", ALL)
def test_the_verdict_comes_first_and_the_next_command_last(make):
    made = make()
    blocks = render(made, Look()).strip().split("\n\n")

    assert blocks[0].startswith(f"verdict    {made.verdict.name}")
    assert blocks[-1].startswith("next" if made.next else "tree")


@pytest.mark.parametrize("make", ALL)
def test_into_a_pipe_everything_is_ascii(make):
    assert render(make(), Look(), Tables(ops=9, ranges=True)).isascii()


def test_styles_change_no_character():
    plain = render(launch_bound(), Look(width=90))
    styled = render(launch_bound(), Look(width=90, styled=True))
    unstyled = "".join(
        part.partition("m")[2] if at else part for at, part in enumerate(styled.split("\x1b["))
    )

    assert "\x1b[" in styled
    assert [line.rstrip() for line in unstyled.splitlines()] == plain.splitlines()


def test_bars_use_blocks_where_the_terminal_has_them():
    assert "\u2588" in render(launch_bound(), Look(unicode=True))


def test_a_change_that_gains_nothing_now_is_named_with_its_number():
    text = render(launch_bound(), Look())

    assert "not yet    less than 2% now: low-precision 3.83 ms\n" in text
    assert text.index("do first   cuda-graph") < text.index("not yet")


def test_without_a_change_that_pays_the_report_says_so():
    assert "do first   no known change gains 2% or more now" in render(device_bound(), Look())
    assert "do first" not in render(undecided(), Look())


def test_without_sizes_it_is_said_that_not_every_change_could_be_looked_at():
    made = device_bound()
    unknown = replace(made, caliber=replace(made.caliber, record_shapes=False))

    text = " ".join(render(unknown, Look()).split())

    assert "as far as can be told without sizes: record with record_shapes=True" in text
    assert "without sizes" not in render(made, Look())


def test_a_rung_that_gains_nothing_alone_is_marked():
    assert "(no_submit_cost, gains nothing yet)" in " ".join(render(device_bound(), Look()).split())


def test_the_last_rung_is_the_floor():
    text = " ".join(render(launch_bound(), Look()).split())

    assert "ladder launch-bound 3.84 ms -> (no_submit_cost) compute-bound 362 us do first" in text


def test_the_reason_of_an_abstention_is_said_once():
    made = undecided()
    verdict = replace(made.verdict, undecided_reason=made.quality[0].message)
    text = render(replace(made, verdict=verdict), Look())

    assert text.count("No device work was recorded") == 1
    assert "fatal: no-kernels  voids the verdict: boundby explain no-kernels" in text


def test_a_step_that_nobody_timed():
    made = undecided()
    steps = replace(made.steps, range_ms=replace(made.steps.range_ms, median=None))

    assert "no step time observed; 8 steps" in render(replace(made, steps=steps), Look())


def test_a_long_price_ends_in_dots():
    made = launch_bound()
    costs = replace(made.prescriptions[0].costs, memory="a pool and a pool " * 20)
    dear = replace(made.prescriptions[0], costs=costs)

    lines = render(replace(made, prescriptions=(dear,)), Look()).splitlines()
    price = next(at for at, line in enumerate(lines) if "cost  memory: a pool" in line)

    assert lines[price + 1].endswith(" ...")
    assert "a pool" not in lines[price + 2]


def test_how_the_profiler_was_scaled_out_is_a_detail_where_nothing_hangs_on_it():
    assert "set by --step-ms, host time x 0.610" in render(sync_bound(), Look(detail=True))
    assert "host time x" not in render(sync_bound(), Look())


def with_scale(made, scale, strength="strong", **device):
    return replace(
        made,
        calibration=replace(made.calibration, source="prior", host_scale=scale),
        verdict=replace(made.verdict, strength=strength),
        device=replace(made.device, **device),
    )


@pytest.mark.parametrize(
    ("made", "told"),
    [
        pytest.param(
            with_scale(launch_bound(), 0.07),
            "           the step time depends on what the profiler cost (host time x 0.07): give",
            id="little is left of the host time",
        ),
        pytest.param(
            with_scale(launch_bound(), 0.9, "weak"),
            "           the class depends on what the profiler cost (host time x 0.900): give",
            id="an end of the range names another class",
        ),
        pytest.param(
            with_scale(device_bound(), 0.9, "moderate", busy_share_observed=0.6),
            "           the class depends on what the profiler cost (host time x 0.900): give",
            id="as recorded it is another class",
        ),
        pytest.param(with_scale(device_bound(), 0.9, "moderate"), "", id="dense as recorded"),
        pytest.param(with_scale(launch_bound(), 0.9, "moderate"), "", id="a host class"),
        pytest.param(with_scale(launch_bound(), None), "", id="no host line"),
        pytest.param(with_scale(device_bound(), 0.07), "", id="the step does not feel it"),
        pytest.param(undecided(), "", id="no step to doubt"),
    ],
)
def test_what_hangs_on_the_estimate_is_said_in_one_line(made, told):
    text = render(made, Look())

    assert told in text
    assert ("give --step-ms" in text) == bool(told)


def test_a_verdict_that_the_recording_itself_weakens_is_not_said_to_hang_on_the_profiler():
    weak = with_scale(launch_bound(), 0.9, "weak")
    uneven = replace(weak, quality=(Quality("uneven-steps", "warning", 1, "One is long."),))

    assert "give --step-ms" in render(weak, Look())
    assert "give --step-ms" not in render(uneven, Look())


def test_a_measured_step_leaves_no_doubt():
    made = with_scale(launch_bound(), 0.07)
    measured = replace(made, calibration=replace(made.calibration, source="step-ms"))

    assert "give --step-ms" not in render(measured, Look())


def test_a_rival_is_named_and_a_trifle_is_not():
    made = sync_bound()
    trifle = replace(made.verdict, runner_up=RunnerUp("launch-bound", 0.049))

    assert "; runner-up: launch-bound, 13% of the step" in render(made, Look())
    assert "runner-up" not in render(replace(made, verdict=trifle), Look())


def test_the_rule_is_told_where_the_runner_up_is_larger():
    made = launch_bound()
    crowded = (
        WaterfallPart("submission", 0.2, 0.05),
        WaterfallPart("device-compute", 3.2, 0.82),
        WaterfallPart("sync", 0.5, 0.13),
    )
    verdict = replace(made.verdict, runner_up=RunnerUp("compute-bound", 0.82))
    text = " ".join(render(replace(made, waterfall=crowded, verdict=verdict), Look()).split())

    assert "below 90% of the step, so the largest host part names the class." in text
    assert "names the class" not in render(made, Look())


def test_the_fact_of_the_cause_is_among_those_that_decide():
    made = sync_bound()
    wait = Evidence("wait-item", 24, "count", "It waits 24 times, in 0.0004 ms.", "measured")
    others = tuple(replace(made.evidence[1], id=name) for name in ("a", "b"))
    verdict = replace(made.verdict, because=("sync-cost", "a", "b"))
    text = render(replace(made, verdict=verdict, evidence=(*made.evidence, *others, wait)), Look())
    shown = text[text.index("because") + len("because") : text.index("ladder")].splitlines()

    assert [row.split()[0] for row in shown] == ["sync-cost", "wait-item", "a"]
    assert "It waits 24 times, in 0.400 us." in text


def test_a_place_that_the_sentence_names_is_not_repeated():
    made = sync_bound()
    fact = replace(made.evidence[0], text="It waits in step in /home/alice/train.py (line 42).")

    assert "(step, ~/train.py:42)" in render(made, Look())
    assert "(step, ~" not in render(replace(made, evidence=(fact,)), Look())


@pytest.mark.parametrize("rank", [3, None])
def test_of_several_ranks_the_one_that_was_read_is_always_named(rank):
    made = launch_bound()
    told = Quality("several-ranks", "info", 7, "The folder holds 7 other traces.")
    caliber = replace(made.caliber, rank=rank)
    text = render(replace(made, quality=(told,), caliber=caliber), Look(width=80))
    name = "small_encoder.json.gz" if rank is None else "rank 3"

    assert f"recording  {name} of 8 traces read; name the file of another" in text
    assert "7 other traces" not in text
    assert "7 other traces" in render(replace(made, quality=(told,)), Look(detail=True))


def test_a_larger_batch_is_told_in_samples():
    made = launch_bound()
    batch = replace(made.prescriptions[1], edit="batch_x8", predicted_ms=3.15, low=3.0, high=3.5)
    what_if = (*made.what_if, WhatIf("batch_x8", 25.2, 24.0, 28.0, 8.0))
    first = replace(made, what_if=what_if, prescriptions=(batch,))
    second = replace(first, prescriptions=(made.prescriptions[0], batch))
    told = "25.2 ms (24.0 to 28.0 ms) for 8x the samples: 8.00x more samples a second"

    assert f"           {told}\n" in render(first, Look())
    assert "larger-batch  alone: 8.00x more samples/s  Give" in render(second, Look())


def test_other_changes_are_told_alone_and_in_the_order_they_need():
    made = launch_bound()
    first = made.prescriptions[0]
    graph = replace(first, why="It is slow. First remove its waits (2.5 times a step): none. So.")
    fused = replace(first, id="fused-optimizer", title="Fuse it.")
    text = render(replace(made, prescriptions=(fused, graph, fused)), Look())

    assert "or         cuda-graph       362 us         Replay the step as one CUDA graph.\n" in text
    assert (
        "\n                            First remove its waits (2.5 times a step): none.\n" in text
    )
    assert "           fused-optimizer  alone: 362 us  Fuse it.\n" in text


def test_shares_of_kernels_say_what_they_are_shares_of():
    made = device_bound()
    path = replace(made.path, forks=(Fork("which work leads", "compute, 64%"),))

    assert "which work leads: compute, 64% of its time >" in render(
        replace(made, path=path), Look()
    )


def test_an_observed_step_has_the_unit_of_the_step():
    made = sync_bound()
    steps = replace(made.steps, drained_ms=1195.4, steady_ms=None)

    assert "1195 ms observed; 3 steps" in render(replace(made, steps=steps), Look())


def test_a_step_that_is_the_same_with_a_full_queue_is_told_once():
    made = sync_bound()
    steps = replace(made.steps, steady_ms=made.steps.drained_ms)

    assert "6.18 ms observed; 3 steps" in render(replace(made, steps=steps), Look())


@pytest.mark.parametrize("width", [80, 100])
def test_a_long_title_and_versions_stay_within_the_width(width):
    made = launch_bound()
    long = replace(made.prescriptions[0], title="Give operands that meet often one layout. " * 3)
    device = replace(made.devices[0], name="A device of a name that is rather long")
    text = render(replace(made, prescriptions=(long,), devices=(device,)), Look(width=width))

    assert max(map(len, text.splitlines())) <= width
    assert "CUDA 13.0" not in text


def test_a_table_with_little_room_has_its_title_above_it():
    text = render(launch_bound(), Look(width=60), Tables(ops=3))

    assert "\nops, ms a step (3 of 3)\n                     calls host self" in text


def test_on_a_narrow_terminal_names_have_room():
    narrow, wide = (render(launch_bound(), Look(width=each), Tables(ops=3)) for each in (80, 100))

    assert "vectorized_ele...AFunctor_add>" in narrow
    assert "host us" not in narrow
    assert "host us" in wide


def test_where_tree_and_verdict_differ_the_reason_is_given():
    assert "differs: one kernel is too few" in render(device_bound(), Look())


def test_detail_prints_every_fact_and_every_change_in_full():
    brief, full = (render(launch_bound(), Look(detail=detail)) for detail in (False, True))

    assert "The profiler adds 7.88 ms" not in brief
    assert "The profiler adds 7.88 ms" in full
    assert "no prediction: measure it" in full
    assert "info: edge-sync" in render(sync_bound(), Look(detail=True))


def test_long_code_and_many_changes_are_cut_and_counted():
    made = launch_bound()
    first, second, _ = made.prescriptions
    long = replace(first, how="\n".join(f"line_{at}()" for at in range(9)))
    many = (long, *(replace(second, id=f"change-{at}") for at in range(5)))
    text = render(replace(made, prescriptions=many), Look())

    assert "line_2()" in text
    assert "... 6 more lines: boundby explain cuda-graph" in text
    assert "and 2 more changes: --verbose" in text
    assert "line_8()" in render(replace(made, prescriptions=many), Look(detail=True))


def test_hostile_names_are_never_printed_raw():
    evil = "\x1b]0;title\x07\u202e"
    made = launch_bound()
    made = replace(
        made,
        devices=(replace(made.devices[0], name=evil),),
        caliber=replace(made.caliber, torch=evil),
        steps=replace(made.steps, source=evil),
        ops=tuple(replace(row, name=evil) for row in made.ops),
        ranges=tuple(replace(row, name=evil) for row in made.ranges),
        syncs=tuple(replace(row, kind=evil) for row in made.syncs),
        evidence=tuple(replace(fact, text=evil) for fact in made.evidence),
        prescriptions=tuple(
            replace(each, why=evil, how=evil, title=evil) for each in made.prescriptions
        ),
        next=tuple(replace(each, command=evil, question=evil) for each in made.next),
    )

    text = render(made, Look(detail=True), Tables(ops=9, ranges=True))

    assert text.replace("\n", "").isprintable()
    assert text.isascii()


def test_tables_follow_the_report():
    text = render(launch_bound(), Look(width=100), Tables(ops=2, ranges=True))
    rows = {line.split()[0]: line.split()[1:] for line in text.splitlines() if line}

    assert rows["aten::addmm"] == ["24", "1.20", "1.90", "0.200", "0.200", "50.0", "8.33"]
    assert rows["explicit-sync"] == ["1", "0", "0.012"]
    assert rows["forward"] == ["1", "10.9", "0.325"]
    assert "ops, ms a step (2 of 3)" in text
    assert "device busy 324 us of 3.84 ms (8%) without the profiler, 3% of the recorded" in text
    assert "CUDAFunctor" not in text


def test_empty_tables_are_left_out():
    assert render(undecided(), Look(), Tables(ops=5, ranges=True)) == render(undecided(), Look())
