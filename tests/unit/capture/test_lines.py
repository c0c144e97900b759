"""Lines, the split of time and the audit of the loop, from stacks written by hand."""

import pytest

from boundby.capture.lines import (
    Code,
    Samples,
    audit_loop,
    must_run,
    part_of,
    read_waits,
    split_time,
)
from boundby.capture.tape import RunFolder
from boundby.read.capture_folder import WAITS, Frame, Row, read_capture

LIB = "/lib/site-packages"
CODE = Code("/work", (LIB, "/usr/lib/python3"))
MODULE = Frame(f"{LIB}/torch/nn/modules/module.py", 1780, "Module._call_impl", 1700)
LINEAR = Frame(f"{LIB}/torch/nn/modules/linear.py", 130, "Linear.forward", 125)
BACKWARD = Frame(f"{LIB}/torch/_tensor.py", 600, "Tensor.backward", 570)
ADAM = Frame(f"{LIB}/torch/optim/adam.py", 220, "Adam.step", 200)
FETCH = Frame(f"{LIB}/torch/utils/data/_utils/fetch.py", 50, "fetch", 40)
TENSORBOARD = Frame(f"{LIB}/torch/utils/tensorboard/writer.py", 300, "add_scalar", 290)
JSON = Frame("/usr/lib/python3/json/encoder.py", 200, "encode", 180)
HEAP = Frame("/usr/lib/python3/heapq.py", 200, "merge", 180)


def user(line, function="main", first=1):
    return Frame("/work/train.py", line, function, first)


@pytest.mark.parametrize(
    ("stack", "kind"),
    [
        ((user(7),), "user"),
        ((HEAP, user(7)), "user"),
        ((LINEAR, MODULE, user(7)), "framework"),
        ((JSON, user(7)), "logging"),
        ((JSON, ADAM, user(7)), "framework"),
        ((JSON, TENSORBOARD, user(7)), "logging"),
        ((user(30, "__getitem__", 29), FETCH, user(5)), "preprocessing"),
    ],
)
def test_what_the_host_does_is_told_by_the_frames(stack, kind):
    split, lines = split_time(Samples(((stack, 4_000_000),), 2), CODE, ())

    assert [(row.kind, row.ms, row.share) for row in split] == [(kind, 2.0, 1.0)]
    assert lines[0].place.exact
    assert lines[0].place.file == "train.py"


def test_a_line_and_the_lambda_in_it_are_one_line():
    inner = Frame("/work/train.py", 7, "main.<locals>.<lambda>", 7)
    stacks = (((user(7),), 1_000_000), ((inner, user(7)), 3_000_000))
    _, lines = split_time(Samples(stacks, 1), CODE, ())

    assert [(row.place.line, row.place.function, row.ms) for row in lines] == [(7, "main", 4.0)]


@pytest.mark.parametrize(
    ("inner", "part"),
    [
        ((LINEAR, MODULE), "forward"),
        ((BACKWARD,), "backward"),
        ((ADAM,), "optimizer"),
        ((FETCH,), "loader"),
        ((JSON,), "other"),
        ((), "other"),
    ],
)
def test_parts_of_a_step(inner, part):
    assert part_of(inner) == part


@pytest.mark.parametrize(
    ("part", "text", "answer"),
    [
        ("forward", "y = model(x)", "yes"),
        ("other", "optimizer.zero_grad()", "yes"),
        ("other", "total += loss.item()", "no: every so many steps"),
        ("other", "print(loss)", "no: every so many steps"),
        ("other", "scale = torch.tensor(0.5)", "no: build it once, or on the device"),
        ("other", "x = augment(x)", "must it?"),
        ("loader", "for x in loader:", "yes, but workers can do its work"),
    ],
)
def test_whether_a_line_must_run_at_each_step(part, text, answer):
    assert must_run(part, text) == answer


def run_with_loop(place, name="main", first=1):
    folder = RunFolder(place)
    folder.describe({"version": 1})
    folder.note("loop", frame=("/work/train.py", 3, name, first))
    return read_capture(place)


def test_the_loop_is_told_line_by_line(tmp_path):
    stacks = (
        ((LINEAR, MODULE, user(4)), 4_000_000),
        ((BACKWARD, user(5)), 6_000_000),
        ((user(20, "log", 19), user(7)), 2_000_000),
    )
    rows = audit_loop(run_with_loop(tmp_path), Samples(stacks, 2), CODE)

    assert [(row.place.line, row.part, row.ms) for row in rows] == [
        (5, "backward", 3.0),
        (4, "forward", 2.0),
        (7, "other", 1.0),
    ]


def test_a_loop_that_calls_one_function_is_followed_into_it(tmp_path):
    inside = [user(line, "train_step", 10) for line in (11, 12)]
    stacks = (
        ((LINEAR, MODULE, inside[0], user(3)), 4_000_000),
        ((BACKWARD, inside[1], user(3)), 6_000_000),
    )
    rows = audit_loop(run_with_loop(tmp_path), Samples(stacks, 1), CODE)

    assert [(row.place.line, row.part) for row in rows] == [(12, "backward"), (11, "forward")]


def test_waits_are_counted_by_line_and_step(tmp_path):
    folder = RunFolder(tmp_path)
    folder.describe({"version": 1})
    folder.note("pass", id=1, name="syncs", steps=2)
    folder.note("stack", id=0, frames=[(*vars(user(9)).values(),)])
    folder.tape.put(Row.PASS, 0, 1, 0)
    for step in (1, 2):
        for _ in range(3):
            folder.tape.put(Row.WAIT, step, 0, WAITS.index("item"))
        folder.tape.put(Row.STEP, step, step, 1)

    (row,) = read_waits(read_capture(tmp_path), CODE)
    assert (row.kind, row.place.line, row.count_per_step) == ("item", 9, 3.0)
