"""Text that is not JSON becomes JSON, changing only what was illegal."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boundby.read import repair
from boundby.read.events import EventDecoder
from boundby.read.repair import mend, salvage

ODD = st.text(alphabet='ab\\"\x01\n\t:,{}NaInfity- \u00e9', max_size=12)


@pytest.mark.parametrize(
    ("broken", "value", "count"),
    [
        (b'{"a": NaN, "b": -nan, "c": Infinity, "d": inf}', dict.fromkeys("abcd"), 4),
        (b'{"a": nan(ind), "b": [+Inf]}', {"a": None, "b": [None]}, 2),
        (b'"two\x01\twords"', "two  words", 1),
        (b'"C:\\Temp\\new"', "C:\\Temp\new", 1),
        (b'"\\u00e9 \\uzzzz"', "\u00e9 \\uzzzz", 1),
        (b'"caf\xe9"', "caf\N{REPLACEMENT CHARACTER}", 1),
        (b'"it is \\"NaN\\"", NaN', None, 1),
    ],
)
def test_what_producers_break_is_mended_and_counted(broken, value, count):
    mended, changed = mend(broken)

    assert changed == count
    parsed = json.loads(b"[" + mended + b"]")
    assert value is None or parsed == [value]


def test_words_inside_strings_are_left_alone():
    text = b'{"name": "NaN inf -nan", "x": 1}'

    assert mend(text) == (text, 0)


@pytest.mark.parametrize(
    "unfinished",
    [
        b'{"a": "NaN \x01',
        b'{"a": "x\\',
        b'{"a": "C:\\T',
        b'{"a": "\\"NaN \x01',
        "\u00e9".encode()[:1],
    ],
)
def test_what_the_text_cuts_off_is_left_for_its_rest(unfinished):
    assert mend(unfinished) == (unfinished, 0)


@given(st.lists(ODD, max_size=6))
def test_legal_json_is_never_changed(strings):
    text = json.dumps(strings, ensure_ascii=False).encode()

    assert mend(text) == (text, 0)


@given(st.lists(ODD, max_size=6))
def test_mending_twice_changes_nothing_more(strings):
    once, _ = mend("".join(f'"{text}",NaN' for text in strings).encode())

    assert mend(once) == (once, 0)


@given(st.lists(st.text(alphabet="ab\\T\x01\n:,{}NaInf- ", max_size=12), max_size=6))
def test_the_quick_way_and_the_general_way_agree(strings):
    text = ", ".join(f'"{text}" : NaN' for text in strings).encode()

    if b'\\"' not in text:
        assert repair._mend_halves(text) == repair._mend_tokens(text)


def names(saved):
    return [event.name for event in saved.events]


def test_one_broken_event_costs_only_itself():
    text = b'{"name": "a"}, {"name": b}, {"name": "c", "args": {"x": [{}, {}]}}'

    saved = salvage(text, EventDecoder(), is_last=True)

    assert (names(saved), saved.lost, saved.ended) == (["a", "c"], 1, False)


@pytest.mark.parametrize(
    "name",
    ['say "hi"', 'cfg {"lr": 0.1, "on": true}', '"', '5" x', 'a},{"b": 1', '"ends"', 'x \\" "y"'],
)
def test_quotes_inside_a_name_are_escaped(name):
    broken = f'{{"ph": "X", "cat": "c", "name": "{name}",\n "pid": 1, "args": {{"x": {{}}}}}}'
    text = f'{{"name": "a"}}, {broken}, {{"name": "b"}}'.encode()

    saved = salvage(text, EventDecoder(), is_last=True)

    assert (names(saved), saved.lost) == (["a", name.replace('\\"', '"'), "b"], 0)
    assert saved.mended == 1
    assert saved.events[1].pid == 1


def test_the_end_of_the_list_is_seen_after_damage():
    text = b'{"name": b}, {"name": "c"}], "x": [{"name": "d"}, {"name": "e"}]}'

    saved = salvage(text, EventDecoder(), is_last=True)

    assert (names(saved), saved.lost, saved.ended) == (["c"], 1, True)
    assert saved.rest.startswith(b', "x"')


def test_an_unfinished_event_waits_for_its_rest_until_the_last():
    text = b'{"name": "a"}, {"name": "b", "args": {'

    waiting = salvage(text, EventDecoder(), is_last=False)
    final = salvage(text, EventDecoder(), is_last=True)

    assert (names(waiting), waiting.rest, waiting.lost) == (["a"], b'{"name": "b", "args": {', 0)
    assert (names(final), final.rest, final.lost) == (["a"], b"", 1)


def test_an_endless_event_is_given_up(monkeypatch):
    monkeypatch.setattr(repair, "MAX_CARRIED_BYTES", 10)

    saved = salvage(b'{"name": "b", "args": {', EventDecoder(), is_last=False)

    assert (saved.rest, saved.lost) == (b"", 1)
