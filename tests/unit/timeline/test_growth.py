"""Work grows about linearly with the recording, also where its shape is unusual.

Each size is run once in this process and compared with a quarter of it. Times of so few
milliseconds are noisy, so four times the rows may take eight times as long; where work grew with
the square, they would take sixteen.
"""

import time

import numpy as np
import pytest

from boundby.evidence.operators import operator_rows
from boundby.evidence.optree import build_op_tree, launches_inside, operators_inside
from boundby.replay.engine import replay
from boundby.roofline.owners import launching_operators
from boundby.timeline.nesting import parents
from builders import Trace
from worlds import Script, read, timeline_of

LARGER = 4
MOST = 8.0


def growth(make, work, size):
    """How much longer ``work`` takes on four times the size; the best of three."""

    def seconds(rows):
        given = make(rows)
        best = float("inf")
        for _ in range(3):
            begin = time.process_time()
            work(given)
            best = min(best, time.process_time() - begin)
        return best

    return seconds(LARGER * size) / seconds(size)


def of_many_streams(rows):
    script = Script()
    for row in range(rows):
        script.launch(10, 5, stream=row)
    return script.program()


def of_ranges(rows):
    """Ranges of many names, each of which occurs twice."""
    trace = Trace()
    for row in range(rows):
        letters = "".join(chr(97 + int(digit)) for digit in str(row // 2))
        trace.range(f"range {letters}", row * 10, 9)
        trace.submit(f"kernel {letters}", row * 10 + 1, start=row * 10 + 7, dur=2)
    return read(trace)


def of_operators_at_one_time(rows):
    trace = Trace()
    for _ in range(rows):
        trace.op("aten::empty", 10, 0)
    for row in range(rows):
        trace.submit("kernel", 20 + row * 20, start=28 + row * 20, dur=2)
    return read(trace)


def deep(rows):
    """Operators nested ``rows`` deep, and as many side by side after them."""
    trace = Trace()
    trace.step(1, 0, 100 * rows)
    for row in range(rows):
        trace.op("nested", row * 0.01, 5 * rows - row * 0.02)
    for row in range(rows):
        at = 6 * rows + row * 20
        trace.op("after", at, 15)
        trace.submit("kernel", at + 1, start=at + 8, dur=2)
    return timeline_of(trace)


def of_threads(rows):
    """As many threads as a quarter of the operators."""
    trace = Trace()
    for row in range(rows):
        thread = 1 + row % (rows // 4)
        trace.op("aten::mul", row * 20, 15, thread=thread)
        call = trace.launch(row * 20 + 1, 5, thread=thread)
        trace.kernel("kernel", row * 20 + 8, 2, launch=call)
    return read(trace)


def launching_nest(rows):
    """Operators nested ``rows`` deep, and a launch in each of them."""
    trace = Trace()
    trace.step(1, 0, 100 * rows)
    for row in range(rows):
        trace.op(f"level {row % 7}", row * 10, 90 * rows - row * 20)
        trace.submit("kernel", row * 10 + 1, start=row * 10 + 8, dur=2)
    return timeline_of(trace)


def _tree(timeline):
    tree = build_op_tree(timeline)
    return operators_inside(tree), launches_inside(tree), tree.outermost


@pytest.mark.alone
@pytest.mark.parametrize(
    ("make", "work", "size"),
    [
        pytest.param(of_many_streams, replay, 4000, id="streams"),
        pytest.param(of_operators_at_one_time, launching_operators, 2000, id="one time"),
        pytest.param(deep, _tree, 2000, id="nested"),
        pytest.param(launching_nest, operator_rows, 6000, id="launches in a nest"),
        pytest.param(of_threads, launching_operators, 8000, id="threads"),
    ],
)
def test_four_times_the_rows_take_about_four_times_as_long(make, work, size):
    assert growth(make, work, size) < MOST


@pytest.mark.alone
def test_ranges_of_many_names_are_looked_at_once():
    from boundby.timeline.launches import join_launches
    from boundby.timeline.steps import find_steps

    def work(recording):
        return find_steps(recording, join_launches(recording, 0))

    assert growth(of_ranges, work, 2000) < MOST


def test_rows_nested_too_deep_to_look_at_at_once_have_the_same_parents():
    depth, after = 300, 200
    start = np.concatenate((np.arange(depth), 2000 + 10 * np.arange(after)))
    end = np.concatenate((1900 - np.arange(depth), start[depth:] + 5))
    found = parents(start, end, np.zeros(len(start), dtype=np.int64))

    assert found[:depth].tolist() == list(range(-1, depth - 1))
    assert (found[depth:] == -1).all()
