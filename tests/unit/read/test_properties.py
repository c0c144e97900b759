"""What must hold for any trace: order and cutting change nothing, and what was written is read."""

import json
import random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from boundby.read.kineto import read_kineto
from boundby.read.recording import NONE, HostKind
from builders import PROCESS, Trace
from recordings import all_rows

times = st.integers(0, 10**9).map(lambda ns: ns / 1000)
spans = st.integers(0, 10**6).map(lambda ns: ns / 1000)
words = st.text(alphabet='ab:}{],["\\\n\u00e9\U0001f600', min_size=1, max_size=6)
events = st.lists(
    st.tuples(st.sampled_from(["op", "submit", "frame", "range", "call"]), words, times, spans),
    min_size=1,
    max_size=12,
)

TWINS = [("submit", "a", 0.0, 6.001)] * 2
"""Of two kernels at one time one is overlong."""


def built(kinds):
    trace = Trace()
    for kind, name, at, dur in kinds:
        if kind == "submit":
            trace.submit(name, at, start=at + 6, dur=dur)
        else:
            getattr(trace, kind)(name, at, dur)
    return trace


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("properties") / "trace.json"


def sorted_rows(recording):
    return [sorted(rows, key=repr) for rows in all_rows(recording)]


@given(events, st.randoms())
@example(TWINS, random.Random(1))  # noqa: S311 -- an order, no secret
def test_the_order_of_events_changes_nothing(path, kinds, order):
    trace = built(kinds)
    plain = read_kineto(trace.write(path))
    order.shuffle(trace.events)
    shuffled = read_kineto(trace.write(path))

    assert sorted_rows(shuffled) == sorted_rows(plain)
    assert [row[0] for row in all_rows(shuffled)[0]] == sorted(plain.host.start.tolist())
    assert (shuffled.origin_ns, shuffled.window_ns) == (plain.origin_ns, plain.window_ns)
    assert [(q.id, q.count) for q in shuffled.quality] == [(q.id, q.count) for q in plain.quality]


@given(events, st.integers(1, 400))
def test_the_size_of_slices_changes_nothing(path, kinds, size):
    trace = built(kinds)
    plain = read_kineto(trace.write(path))

    sliced = read_kineto(path, slice_bytes=size)

    assert all_rows(sliced) == all_rows(plain)
    assert sliced.quality == plain.quality


@given(events, st.sampled_from([None, 1, 4]))
@example([("op", "a", 0.0, 0.001), ("submit", "a", 1000.001, 0.0)], None)  # no work lasts
@example([("op", "a", 0.0, 0.0), ("submit", "a", 1000.001, 5.0)], None)
def test_what_was_written_is_read(path, kinds, indent):
    trace = built(kinds)
    path.write_text(json.dumps(trace.document(), indent=indent), "utf-8")

    recording = read_kineto(path)

    shown = {
        "cpu_op": HostKind.OP,
        "cuda_runtime": HostKind.CALL,
        "user_annotation": HostKind.RANGE,
    }
    base = trace.metadata["baseTimeNanoseconds"]
    expected = sorted(
        (
            round(event["ts"] * 1000) + base,
            round(event["dur"] * 1000),
            event["name"],
            int(shown[event["cat"]]),
            event["args"].get("correlation", NONE),
        )
        for event in trace.events
        if event["cat"] in shown
    )
    host = recording.host
    rows = zip(
        host.start.tolist(), host.dur.tolist(), host.name, host.kind, host.correlation, strict=True
    )
    assert expected == sorted(
        (start + recording.origin_ns, dur, recording.names[name], int(kind), int(correlation))
        for start, dur, name, kind, correlation in rows
    )
    assert {thread.pid for thread in recording.threads} <= {str(PROCESS)}


def test_a_large_shuffled_trace_reads_alike(path):
    draw = random.Random(1)  # noqa: S311 - a test, not a secret
    trace = built(
        (
            draw.choice(["op", "submit", "frame"]),
            f"n{draw.randrange(9)}",
            draw.randrange(10**4),
            3.5,
        )
        for _ in range(3000)
    )
    plain = read_kineto(trace.write(path))
    draw.shuffle(trace.events)

    assert sorted_rows(read_kineto(trace.write(path), slice_bytes=5000)) == sorted_rows(plain)


@given(st.randoms(use_true_random=False), st.sampled_from([300, 1 << 20]))
def test_broken_bytes_cost_events_and_nothing_else(path, draw, size):
    trace = built(("submit", f"n{row}", row * 20, 9) for row in range(40))
    text = bytearray(trace.write(path).read_bytes())
    at = draw.randrange(text.index(b"traceEvents") + 14, len(text) - 40)
    text[at : at + draw.randrange(4)] = bytes(
        draw.choices(b'"\\{}[],:\x00\xffn0', k=draw.randrange(5))
    )
    path.write_bytes(text)

    recording = read_kineto(path, slice_bytes=size)

    assert len(recording.host) >= 38
    assert len(recording.device) >= 38
