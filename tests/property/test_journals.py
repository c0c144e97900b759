"""Whatever a key of a journal holds, its report is one, or ends in one line of boundby."""

import functools
import json
from dataclasses import replace

import pytest

from boundby.cli.report import is_journal
from boundby.errors import BoundbyError, CannotTellError
from boundby.experiment.ending import read_outcome
from boundby.experiment.journal import FILE, Journal
from boundby.experiment.records import record_in
from boundby.experiment.resuming import best_in
from boundby.experiment.settings import Settings
from boundby.experiment.values import Diagnosed
from boundby.report import tune, tune_markdown
from boundby.report.page.tune import tune_page
from boundby.report.terminal import Look
from tuning import CUDA, GIB, WRONG, FakeLab, run

ODD = {
    "nothing": "null",
    "yes": "true",
    "words": '"x"',
    "no words": '""',
    "a surrogate": '"\\ud800"',
    "digits": '"' + "9" * 5000 + '"',
    "a list": "[]",
    "a list of odd things": '["x", 1]',
    "lists of lists": "[[], [[]]]",
    "an object": "{}",
    "another object": '{"a": 1}',
    "a negative number": "-1",
    "zero": "0",
    "a fraction": "0.5",
    "a large number": "1e308",
    "a small number": "1e-320",
    "a smaller factor": "1e-300",
    "a large whole number": "1" + "0" * 18,
    "400 digits": "9" * 400,
    "an infinity": "1e999",
}
MARK = "replace me"
KNOWN = {"torch": "2.11.0", "cuda": "13.0", "flags": {"matmul_precision": "high"}}


@pytest.fixture(scope="module")
def journal(tmp_path_factory):
    """Every kind of record: of a run, and of one that took it up."""
    folder = tmp_path_factory.mktemp("whole")
    settings = {"only": ("larger-batch", "sdpa", "compile-model"), "allow": ("batch",)}
    facts = replace(CUDA, caliber=KNOWN, flops=1e12)
    for most in (None, 0):
        lab = FakeLab(
            {"sdpa": 1.2},
            {"sdpa=default": WRONG, "compile-model=default": "crash"},
            batches={16: 0.5, 32: 0.4, 64: None},
            diagnoses={0: Diagnosed("launch-bound", ranges={"larger-batch": (14.0, 18.0)},
                                    predicted={"larger-batch": 16.0})},
            facts=facts,
        )  # fmt: skip
        run(lab, folder, **settings, trials=most, memory_cap=100 * GIB)
    return [json.loads(line) for line in (folder / FILE).read_text("ascii").splitlines()]


def places(value, at=()):
    """Where every key of a record is, those of nested ones too."""
    for key, inner in value.items() if isinstance(value, dict) else ():
        yield (*at, key)
        yield from places(inner, (*at, key))


def replaced(value, at, new):
    key, *rest = at
    return {**value, key: replaced(value[key], rest, new) if rest else new}


def without(value, at):
    key, *rest = at
    if rest:
        return {**value, key: without(value[key], rest)}
    return {name: each for name, each in value.items() if name != key}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("odd")


@functools.cache
def told(folder, raw):
    """What is said of a journal, in every form; what cannot be said ends in one line."""
    (folder / FILE).write_bytes(raw)
    try:
        outcome = read_outcome(folder)
    except BoundbyError as error:
        return str(error)
    best_in(outcome.records)
    page = tune_page(outcome)
    json.dumps(page.document, allow_nan=False)
    json.dumps(page.charts, allow_nan=False)
    return tune.render(outcome, Look()), tune_markdown.render(outcome), page


def check(folder, lines, number, line):
    """Tell a journal with one line replaced; of lines that are left out one stands for all."""
    if number and record_in(line) is None:
        line = b"{}"
    told(folder, b"\n".join([*lines[:number], line, *lines[number + 1 :], b""]))


def one_of_each(journal):
    """Numbers and records: of those of one kind and decision the first."""
    seen = {}
    for number, record in enumerate(journal):
        seen.setdefault((record["kind"], record.get("decision")), number)
    kinds = {"header", "program", "baseline", "probe", "trial", "again", "end"}
    assert {kind for kind, _ in seen} == kinds
    return [(number, journal[number]) for number in seen.values()]


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
def test_an_odd_value_of_a_journal_is_told_in_one_line_or_left_out(journal, folder, odd):
    lines = [json.dumps(each).encode() for each in journal]
    for number, record in one_of_each(journal):
        for at in places(record):
            text = json.dumps(replaced(record, at, MARK)).replace(json.dumps(MARK), odd)
            check(folder, lines, number, text.encode())


def test_a_missing_key_of_a_journal_is_told_in_one_line_or_left_out(journal, folder):
    lines = [json.dumps(each).encode() for each in journal]
    for number, record in one_of_each(journal):
        for at in places(record):
            check(folder, lines, number, json.dumps(without(record, at)).encode())


LEFT_OUT = [
    ("kept", "ratio.estimate", 0),
    ("kept", "ratio.estimate", -1),
    ("kept", "ratio.estimate", 1e-300),
    ("kept", "gate", -1),
    ("kept", "gate.error", "x"),
    ("kept", "first_s", "x"),
    ("kept", "predicted_range_ms", -1),
    ("kept", "predicted_range_ms", ["x", 1]),
    ("kept", "step_ms", 1e308),
    ("kept", "step_ms", 1e-320),
    ("kept", "step_ms", 0),
    ("kept", "samples", 0),
    ("kept", "seconds", "x"),
    ("kept", "configuration", [["larger-batch", "abc"]]),
    ("kept", "configuration", [["larger-batch", "0"]]),
]


@pytest.mark.parametrize(("decision", "where", "odd"), LEFT_OUT)
def test_a_record_that_cannot_be_is_named_by_its_line(journal, tmp_path, decision, where, odd):
    number = next(at for at, each in enumerate(journal) if each.get("decision") == decision)
    lines = [json.dumps(each) for each in journal]
    lines[number] = json.dumps(replaced(journal[number], where.split("."), odd))
    (tmp_path / FILE).write_text("\n".join([*lines, ""]), "ascii")

    said = f"line {number + 1} of the journal is no record of a trial: left out"
    assert said in read_outcome(tmp_path).notes


def test_a_journal_whose_only_batch_is_no_number_is_taken_up_from_its_start(journal, tmp_path):
    kept = [each for each in journal if each.get("decision") == "kept"]
    odd = [{**each, "configuration": [["larger-batch", "abc"]]} for each in kept]
    lines = [json.dumps(each) for each in (journal[0], *odd)]
    (tmp_path / FILE).write_text("\n".join([*lines, ""]), "ascii")
    header = journal[0]
    found = Journal(tmp_path, Settings(header["target"], memory_cap=header["memory_cap"]))

    assert best_in(found.records) == ()
    assert len(found.notes) == len(odd) > 0


def test_a_journal_without_any_record_that_can_be_tells_nothing(journal, tmp_path):
    odd = [{**each, "step_ms": 0} for each in journal[2:]]
    lines = [json.dumps(each) for each in (*journal[:2], *odd)]
    (tmp_path / FILE).write_text("\n".join([*lines, ""]), "ascii")

    with pytest.raises(CannotTellError, match="no baseline: line 3 of the journal is no record"):
        read_outcome(tmp_path)


@pytest.mark.parametrize("odd", ["x", [], -1, 0])
def test_a_journal_whose_cap_cannot_be_is_called_damaged(journal, tmp_path, odd):
    lines = [json.dumps(each) for each in ({**journal[0], "memory_cap": odd}, *journal[1:])]
    (tmp_path / FILE).write_text("\n".join([*lines, ""]), "ascii")

    assert is_journal(tmp_path)
    with pytest.raises(CannotTellError, match="first line of the journal is damaged"):
        read_outcome(tmp_path)
