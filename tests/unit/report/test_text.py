"""The report as text: what stands in it, in which order, and how wide it gets."""

from dataclasses import replace

import pytest

from boundby.report.sanitize import cells
from boundby.report.terminal import Look
from boundby.report.text import Tables, render
from diagnoses import ALL, device_bound, launch_bound, sync_bound, undecided

SYNC_BOUND_100 = """\
verdict    sync-bound, moderate; cause: item; runner-up: launch-bound, 13% of the step
           Host and device wait for each other: the host waits until the queue is empty, then the
           device until it is filled.

step       4.21 ms without the profiler (3.90 to 4.50), set by --step-ms
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
           4.21 -> 2.35 ms (2.10 to 2.90), 1.79x faster
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

DEVICE_BOUND_120_WATERFALL = "waterfall  device-compute  21.5 ms  >99%  |" + "#" * 76 + "|\n"


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

    assert "not yet    low-precision 3.83 ms (less than 2% now)" in text
    assert text.index("do first   cuda-graph") < text.index("not yet")


def test_without_a_change_that_pays_the_report_says_so():
    assert "do first   no known change gains 2% or more now" in render(device_bound(), Look())
    assert "do first" not in render(undecided(), Look())


def test_a_rung_that_gains_nothing_alone_is_marked():
    assert "(no_submit_cost, gains nothing yet)" in " ".join(render(device_bound(), Look()).split())


def test_the_last_rung_is_the_floor():
    text = " ".join(render(launch_bound(), Look()).split())

    assert "ladder launch-bound 3.84 ms -> (no_submit_cost) compute-bound 0.362 ms do first" in text


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


def test_how_the_profiler_was_scaled_out_is_a_detail():
    assert "host time x 0.328" in render(launch_bound(), Look(detail=True))
    assert "host time x" not in render(launch_bound(), Look())


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

    assert "line_3()" in text
    assert "... 5 more lines: boundby explain cuda-graph" in text
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
    assert "device busy 0.325 ms of 3.84 ms (8%) without the profiler, 3% of the recorded" in text
    assert "CUDAFunctor" not in text


def test_empty_tables_are_left_out():
    assert render(undecided(), Look(), Tables(ops=5, ranges=True)) == render(undecided(), Look())
