"""Whatever a field of an event holds, a recording ends in a diagnosis and not in a traceback."""

import functools
import json
import pickle
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boundby.diagnose import Options, diagnose
from boundby.read.detect import read_file
from boundby.report.document import encode
from builders import Trace

WILD = {
    "an infinity": "1e999",
    "400 digits": "9" * 400,
    "5000 digits": "9" * 5000,
    "5000 digits as text": '"' + "9" * 5000 + '"',
    "an exponent as text": '"1e999999999"',
    "a small exponent as text": '"1e-999999999"',
    "285 years": "8.9e15",
    "a negative number": "-5",
    "nothing": "null",
    "a list": "[]",
    "lists of lists": "[[], [[]]]",
    "more elements than addresses": "[[4294967296, 4294967296, 4294967296]]",
    "infinities as scalars": '["inf", "-inf", "nan"]',
    "an object": "{}",
    "words": '"x"',
    "a superscript": '"\\u00b2"',
}
FIELDS = ("ph", "cat", "name", "pid", "tid", "ts", "dur", "args")
ARGUMENTS = (
    "External id",
    "correlation",
    "stream",
    "device",
    "grid",
    "block",
    "bytes",
    "Input Dims",
    "Input type",
    "Input Strides",
    "Concrete Inputs",
)
OPERATORS = ("aten::sum", "aten::topk", "aten::_softmax", "aten::bmm", "aten::convolution")
MARK = "replace me"


def a_loop(operator="aten::_softmax"):
    """Three python-bound steps of a product, the operator and a product, each with a kernel."""
    trace = Trace()
    dims, types = [[4, 64, 64], [4, 64, 64]], ["float", "float"]
    for step in range(3):
        begin = step * 1000
        trace.step(step, at=begin, dur=1000)
        for number, name in enumerate(("aten::bmm", operator, "aten::bmm")):
            at = begin + 10 + number * 300
            op = trace.op(name, at=at, dur=60, dims=dims, types=types)
            launch = trace.launch(at=at + 5, dur=5, op=op)
            trace.kernel("kernel", at=at + 20, dur=200, launch=launch)
    return trace.document()


def as_read(document, value, tmp_path):
    """All that is read of a document but its path and size, as bytes: most wild values are lost."""
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(document).replace(json.dumps(MARK), value))
    recording = read_file(path)
    return pickle.dumps(replace(recording, source=replace(recording.source, path="", bytes=0)))


@functools.cache
def diagnosis_of(pickled):
    return diagnose(pickle.loads(pickled), Options())  # noqa: S301 -- our own


def diagnosed(document, value, tmp_path):
    return diagnosis_of(as_read(document, value, tmp_path))


def bad_number(name):
    raise AssertionError(name)


@functools.cache
def findings_of(pickled):
    """What is said to whoever reads it, as JSON proper: neither NaN nor an infinity."""
    return json.loads(encode(diagnosis_of(pickled)), parse_constant=bad_number)


def findings(document, value, tmp_path):
    return findings_of(as_read(document, value, tmp_path))


def places(document, field, where):
    """The objects of the events of one category that may hold a field."""
    events = [event for event in document["traceEvents"] if event.get("cat") == where]
    return [event if field in FIELDS else event["args"] for event in events]


@pytest.mark.parametrize("value", WILD.values(), ids=WILD)
@pytest.mark.parametrize("field", [*FIELDS, *ARGUMENTS])
@pytest.mark.parametrize("where", ["cpu_op", "kernel", "cuda_runtime", "user_annotation"])
def test_one_wild_value_changes_no_verdict_in_silence(where, field, value, tmp_path):
    document = a_loop()
    holders = places(document, field, where)
    holders[len(holders) // 2][field] = MARK

    found = findings(document, value, tmp_path)

    assert found["verdict"]["class"] == "python-bound" or found["quality"]


@pytest.mark.parametrize("value", WILD.values(), ids=WILD)
@pytest.mark.parametrize("field", ["Input Dims", "Input type", "Input Strides", "Concrete Inputs"])
@pytest.mark.parametrize("operator", OPERATORS)
def test_operators_with_wild_arguments_are_uncounted(operator, field, value, tmp_path):
    document = a_loop(operator)
    for holder in places(document, field, "cpu_op"):
        holder[field] = MARK

    assert findings(document, value, tmp_path)["steps"]["count"] == 3


@pytest.mark.parametrize("category", ["python_function", "cuda_sync", "user_annotation", "kernel"])
def test_rows_of_one_kind_alone_are_undecided(category, tmp_path):
    trace = Trace()
    for row in range(9):
        trace.add(category, "main.py(3): run", at=1000 + row * 10, dur=5)

    assert diagnosed(trace.document(), "0", tmp_path).verdict.name == "undecided"


def test_steps_that_take_no_time_are_no_steps(tmp_path):
    document = a_loop()
    for event in document["traceEvents"]:
        if event["name"].startswith("ProfilerStep"):
            event["dur"] = 0
            event["ts"] = 0

    assert diagnosed(document, "0", tmp_path).steps.source != "ProfilerStep"


@given(data=st.data())
def test_many_wild_values_at_once(data, tmp_path_factory):
    document = a_loop()
    events = document["traceEvents"]
    wild = st.one_of(
        st.none(), st.integers(), st.floats(), st.text(max_size=3), st.lists(st.integers())
    )
    for _ in range(data.draw(st.integers(1, 12))):
        event = data.draw(st.sampled_from(events))
        field = data.draw(st.sampled_from([*FIELDS, *ARGUMENTS]))
        holder = event if field in FIELDS else event.get("args")
        if isinstance(holder, dict):
            holder[field] = data.draw(wild)

    assert "verdict" in findings(document, "0", tmp_path_factory.mktemp("wild"))
