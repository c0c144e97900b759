import pytest
from hypothesis import given
from hypothesis import strategies as st

from boundby.evidence.frames import user_frames
from boundby.evidence.places import places_of, top_python
from builders import Trace
from worlds import timeline_of


def functions_of(timeline, identity="python-function"):
    return {
        fact.where[0].function: fact.value for fact in top_python(timeline) if fact.id == identity
    }


def hooked():
    """One step of 1,000 us: ``step`` calls ``hook``, which calls json and one operator."""
    trace = Trace()
    trace.step(1, 0, 1000)
    trace.frame("train.py(10): <module>", 0, 1000)
    trace.frame("train.py(42): step", 100, 800)
    trace.frame("train.py(7): hook", 200, 400)
    trace.frame("json/encoder.py(183): encode", 300, 100)
    op = trace.op("aten::mul", 450, 50)
    trace.submit("mul", 460, start=470, dur=10, op=op)
    return trace


def test_a_functions_time_includes_libraries_but_no_operators_and_no_other_function():
    functions = functions_of(timeline_of(hooked()))

    assert functions == pytest.approx({"step": 0.400, "hook": 0.350, "<module>": 0.200})


def test_the_costliest_function_comes_first_with_its_definition():
    first = top_python(timeline_of(hooked()))[0]

    assert (first.where[0].file, first.where[0].line, first.where[0].exact) == (
        "train.py", 42, False,
    )  # fmt: skip
    assert first.text == (
        "step in train.py (defined at line 42) spends 0.4 ms a step in Python, library code it "
        "calls included"
    )


def test_waiting_for_another_threads_backward_is_no_python():
    trace = hooked()
    op = trace.op("autograd::engine::evaluate_function: MulBackward0", 650, 200, thread=2)
    trace.submit("mul", 660, start=680, dur=10, op=op)
    call = trace.launch(670, op=op, thread=2)
    trace.kernel("mul", 700, 10, launch=call)

    assert functions_of(timeline_of(trace))["step"] == pytest.approx(0.200)


def test_python_of_a_hook_on_the_autograd_thread_counts_once():
    trace = hooked()
    call = trace.launch(655, thread=2)
    trace.kernel("mul", 700, 10, launch=call)
    trace.frame("train.py(90): on_backward", 650, 200, thread=2)

    functions = functions_of(timeline_of(trace))

    assert functions["on_backward"] == pytest.approx(0.195)
    assert functions["step"] == pytest.approx(0.200)


def test_loading_is_told_apart_and_keeps_its_operators():
    trace = hooked()
    trace.range("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 650, 200)
    trace.frame("data.py(5): __getitem__", 660, 180)
    trace.op("aten::stack", 700, 100)

    timeline = timeline_of(trace)

    assert functions_of(timeline, "loader-function") == pytest.approx({"__getitem__": 0.180})
    assert functions_of(timeline)["step"] == pytest.approx(0.200)


def test_time_outside_the_steps_is_nobodys():
    trace = hooked()
    trace.frame("setup.py(1): load", 2000, 500)

    assert "load" not in functions_of(timeline_of(trace))


def test_without_stacks_there_is_nothing_to_name():
    trace = Trace()
    trace.step(1, 0, 100)
    op = trace.op("aten::mul", 10, 20)
    trace.submit("mul", 12, start=20, dur=10, op=op)
    timeline = timeline_of(trace)

    assert top_python(timeline) == ()
    assert (
        places_of(timeline.recording, timeline.launches.row, user_frames(timeline.recording)) == ()
    )


def test_a_row_belongs_to_the_innermost_frame_of_its_thread_else_of_the_main_one():
    trace = hooked()
    for at in (610, 620):
        call = trace.launch(at, thread=2)
        trace.kernel("mul", at + 50, 10, launch=call)
    timeline = timeline_of(trace)
    recording = timeline.recording

    places = places_of(recording, timeline.launches.row, user_frames(recording))

    assert [place.function for place in places] == ["step", "hook"]


@given(
    st.lists(st.tuples(st.integers(1, 98), st.integers(1, 98), st.sampled_from("abc")), max_size=8),
    st.integers(10, 90),
)
def test_functions_share_out_the_python_of_a_step(bounds, at):
    trace = Trace()
    trace.step(1, 0, 100)
    trace.frame("train.py(1): main", 0, 100)
    nested = sorted({tuple(sorted((a, b))): name for a, b, name in bounds if a != b}.items())
    begin, end = 0, 100
    for (low, high), name in nested:
        if begin <= low and high <= end:
            begin, end = low, high
            trace.frame(f"train.py({ord(name)}): {name}", low, high - low)
    op = trace.op("aten::mul", at, 6)
    trace.submit("mul", at + 1, start=at + 3, dur=2, op=op)

    total = sum(fact.value for fact in top_python(timeline_of(trace)))

    assert total == pytest.approx(0.094)
