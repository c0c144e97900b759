"""A text is cut into slices that decode alone, wherever its events and members lie."""

import json

import pytest

from boundby.read import slices
from boundby.read.events import EventDecoder
from boundby.read.slices import EventStream, NoEventsError

NESTED = {
    "name": "n",
    "args": {"list": [{"x": 1}, {"y": [{}, {}]}], "text": '}, {"name": "no"}, {'},
}
EVENTS = [{"name": "a"}, NESTED, {"name": "b"}, NESTED, {"name": "c" * 300}, {"name": "d"}]
NAMES = [event["name"] for event in EVENTS]


def read(text, size=64, piece=7):
    pieces = (text[at : at + piece] for at in range(0, len(text), piece))
    stream = EventStream(iter(pieces), EventDecoder(), size)
    stream.open()
    names = [event.name for events in stream for event in events]
    return names, stream


def dumped(document, **layout):
    return json.dumps(document, **layout).encode()


@pytest.mark.parametrize("size", [1, 10, 33, 64, 100, 500, 10_000])
@pytest.mark.parametrize("layout", [{}, {"indent": 4}, {"separators": (",", ":")}])
def test_cuts_inside_events_and_strings_are_seen_through(size, layout):
    names, stream = read(dumped({"a": 1, "traceEvents": EVENTS, "b": [{}, {}]}, **layout), size)

    assert names == NAMES
    assert (stream.lost, stream.mended, stream.cut_short) == (0, 0, False)
    assert json.loads(stream.head + b"0}") == {"a": 1, "traceEvents": 0}
    assert json.loads(b'{"":0' + stream.tail) == {"": 0, "b": [{}, {}]}


@pytest.mark.parametrize(
    "text",
    [
        dumped(EVENTS),
        b"\xef\xbb\xbf" + dumped(EVENTS),
        b" \n" * 200_000 + dumped(EVENTS),
        dumped({"note": 'traceEvents": [{"name": "no"}]', "traceEvents": EVENTS}),
        dumped({"other": {"traceEvents": [{"name": "no"}]}, "traceEvents": EVENTS}),
        dumped({"big": [{}, {}] * 100_000, "traceEvents": EVENTS}),
        dumped({"traceEvents": EVENTS, "other": {"traceEvents": [{"name": "no"}]}}),
        dumped({"traceEvents": None, "x": 1})[:-1] + b', "traceEvents": ' + dumped(EVENTS) + b"}",
    ],
    ids=[
        "bare",
        "mark",
        "space",
        "in a string",
        "nested",
        "long head",
        "in the tail",
        "null first",
    ],
)
def test_the_list_is_found(text):
    names, stream = read(text, piece=10_000)

    assert names == NAMES
    assert not stream.cut_short


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"", "empty"),
        (b" \n\0" * 50_000, "empty"),
        (b"<html>", "not-json"),
        (b'{"a": [1, 2]}', "no-list"),
        (b'{"a": ' * 100_000, "no-list"),
        (b'{"traceEvents": {}}', "no-list"),
        (b'{"traceEvents": [1, 2]}', "no-list"),
        (b"[" * 100_000, "no-list"),
        (b"{", "no-list"),
    ],
)
def test_what_holds_no_list_is_refused(text, reason):
    with pytest.raises(NoEventsError) as refusal:
        read(text)

    assert refusal.value.reason == reason


@pytest.mark.parametrize(
    "broken",
    [
        b'"config": "{"lr": 0.1, "traceEvents": [1]}"',
        b'"note": "he said /"x/" / "',
        b'"note": "5" wide"',
    ],
    ids=["JSON in a string", "escapes replaced", "an odd quote"],
)
@pytest.mark.parametrize("after", [b"", b', "b": {"c": [1, 2]}'])
def test_the_list_is_found_behind_a_member_that_is_no_json(broken, after):
    events = b"[" + b",".join(map(dumped, EVENTS)) + b"]"

    names, stream = read(b'{"a": 1, ' + broken + after + b',\n "traceEvents": ' + events + b"}")

    assert names == NAMES
    assert (stream.cut_short, stream.mended) == (False, 1)


def test_a_head_without_end_is_given_up(monkeypatch):
    monkeypatch.setattr(slices, "HEAD_LIMIT_BYTES", 1000)

    with pytest.raises(NoEventsError):
        read(dumped({"big": "x" * 300_000, "traceEvents": EVENTS}), piece=1000)


@pytest.mark.parametrize(
    "text", [b"[]", b'{"traceEvents": []}', b'{"traceEvents": [ \n ], "a": 1}']
)
def test_an_empty_list_is_complete(text):
    names, stream = read(text)

    assert (names, stream.cut_short, stream.lost) == ([], False, 0)


@pytest.mark.parametrize("size", [1, 64, 10_000])
def test_every_cut_of_the_text_keeps_the_events_before_it(size):
    text = dumped({"traceEvents": EVENTS})
    ends = [text.index(dumped(event)) + len(dumped(event)) for event in EVENTS[:1]]
    for kept in range(text.index(b"[") + 2, len(text) - 2):
        names, stream = read(text[:kept], size)
        names = [name for name in names if name]  # without those of objects inside an event
        assert names == NAMES[: len(names)]
        assert stream.cut_short
        assert stream.lost <= 1
        assert len(names) >= sum(end <= kept for end in ends)


@pytest.mark.parametrize("size", [20, 64, 10_000])
def test_a_broken_event_costs_only_itself_at_any_slice(size):
    text = dumped({"traceEvents": EVENTS, "b": [{}, {}]}).replace(b'"name": "b"', b'"name": b')

    names, stream = read(text, size)

    assert names == [name for name in NAMES if name != "b"]
    assert (stream.lost, stream.cut_short) == (1, False)


def test_a_trailing_comma_is_no_loss():
    names, stream = read(dumped(EVENTS)[:-1] + b",]")

    assert (names, stream.lost, stream.cut_short) == (NAMES, 0, False)


def test_an_event_deeper_than_the_decoder_goes_is_lost_alone():
    deep = b'{"name": "x", "args": {"y": ' + b"[" * 50_000 + b"]" * 50_000 + b"}}"
    text = b'[{"name": "a"}, ' + deep + b', {"name": "b"}]'

    names, stream = read(text, 1 << 20, 1 << 20)

    assert (names, stream.lost) == (["a", "b"], 1)


@pytest.mark.parametrize("size", [64, 10_000])
@pytest.mark.parametrize(
    ("sound", "broken"),
    [
        (b'{"name": "b"}, ', b'{"name": "b}, '),
        (b'{"name": "b"}, ', b'{"name": "b"}] '),
        (b'{"name": "b"}, ', b'{"name": "b"]}, '),
        (b'{"name": "b"}, ', b'{"name": "b"}]}, '),
        (b'{"name": "b"}, ', b'{"name": "b"\0\0, '),
        (b'{"name": "b"}, ', b'"name": "b"}, '),
    ],
    ids=["a quote", "an early end", "crossed", "a whole end", "zeros", "no begin"],
)
def test_what_is_broken_in_one_event_does_not_spread(size, sound, broken):
    many = [{"name": f"n{row}"} for row in range(50)]
    text = dumped({"traceEvents": [*many, {"name": "b"}, *many], "b": [{}, {}]})

    names, stream = read(text.replace(sound, broken), size)

    assert len([name for name in names if name.startswith("n")]) >= 99
    assert stream.lost in (1, 2)
    assert not stream.cut_short


def test_a_lost_last_event_does_not_hide_the_end_of_the_list():
    names, stream = read(b'{"traceEvents": [{"name": "a"}, {"name": b}], "x": 1}')

    assert (names, stream.lost, stream.cut_short) == (["a"], 1, False)
    assert stream.tail == b', "x": 1}'
