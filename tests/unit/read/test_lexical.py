"""Where members, arrays and events begin and end, told from tokens alone."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from boundby.read.lexical import Extent, event_extent, is_tail, members, value_end

TRICKY = {
    "a": 'traceEvents": [ {"',
    "b": {"traceEvents": [1, {"c": "}\\"}]},
    "\\": -1.5e3,
    "n": None,
    "": ["]", "{", "\\"],
}
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(alphabet='{}[],:"\\ a\n', max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text('a"\\', max_size=3), inner),
    max_leaves=12,
)


def spans(text, start=1, **how):
    return {m.key: m.end and text[m.start : m.end] for m in members(text, start, **how)}


@pytest.mark.parametrize("layout", [{}, {"indent": 2}, {"separators": (",", ":")}])
def test_members_are_found_whatever_their_values_hold(layout):
    found = spans(json.dumps(TRICKY, **layout).encode())

    assert {json.loads(b'"%s"' % key): json.loads(value) for key, value in found.items()} == TRICKY


def test_a_member_without_an_end_is_the_last():
    assert spans(b'{"a": 1, "b": [2, ') == {b"a": b"1", b"b": None}
    assert spans(b'{"a": 1, "b": "2') == {b"a": b"1", b"b": None}
    assert spans(b'{"a": 1, "b": 2') == {b"a": b"1", b"b": None}


def test_the_unmeasured_list_is_given_without_an_end():
    text = b'{"a": 1, "list": [1], "b": 2}'

    assert spans(text, unmeasured=b"list") == {b"a": b"1", b"list": None}
    assert spans(b'{"list": {}, "b": 2}', unmeasured=b"list") == {b"list": b"{}", b"b": b"2"}


def test_members_may_start_in_the_middle_of_an_object():
    assert spans(b', "a": {"b": 1}}', start=0) == {b"a": b'{"b": 1}'}


def test_text_that_is_no_object_has_no_members():
    assert spans(b"{]}}") == {}
    assert spans(b'{"a", "b"}') == {}
    assert spans(b"") == {}


@given(json_values)
def test_a_value_ends_where_the_json_writer_stopped(value):
    text = json.dumps(value).encode()

    assert value_end(text + b", 1]", 0) == len(text)


@settings(max_examples=30)
@given(
    st.lists(st.dictionaries(st.text(max_size=3), json_values, min_size=1), min_size=1, max_size=4)
)
def test_the_list_ends_after_its_last_event(events):
    text = json.dumps(events).encode()[1:]

    assert event_extent(text + b', "tail": [{}]}') == Extent(len(text) - 1, len(text) - 1)


def test_an_unclosed_list_ends_at_its_last_complete_event():
    assert event_extent(b'{"a": 1}, {"b": {"c": 2}}, {"d": [{}') == Extent(25, None)
    assert event_extent(b'{"a": 1}, {"b": "} ]') == Extent(8, None)


def test_depth_costs_time_but_no_stack():
    deep = b"[" * 100_000

    assert value_end(deep, 0) is None
    assert event_extent(b'{"a":' + deep) == Extent(0, None)
    assert value_end(deep + b"]" * 100_000, 0) == 200_000


@pytest.mark.parametrize("text", [b"", b" \n", b"}", b" }\n\0", b', "a": 1}', b' ,\n "": '])
def test_what_may_follow_the_list(text):
    assert is_tail(text)


@pytest.mark.parametrize(
    "text", [b' {"name": "b"}', b"}, {", b', {"a": 1}', b"]", b', "a", ', b', "a": [{"ph": 1}]}']
)
def test_what_may_not_follow_the_list(text):
    assert not is_tail(text)
