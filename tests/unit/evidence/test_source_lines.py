import os

import pytest

from boundby.evidence.facts import Place
from boundby.evidence.places import describe
from boundby.evidence.source_lines import candidate_lines

SOURCE = """\
import torch


@torch.no_grad()
def step(model, batches):
    total = 0.0
    for batch in batches:
        loss = model(batch)
        total += loss.item()
        print(loss)

        def log(value):
            return value.item()

        while float(loss) > 1:
            torch.cuda.synchronize()
    return total


def select(x, mask):
    x = x[mask]
    y = x[x > 0]
    z = x[~y]
    return torch.unique(z), x[0], z.to("cuda").cpu()


norm = lambda x: x.norm().item()
torch.cuda.empty_cache()
"""


@pytest.fixture
def recording(tmp_path, monkeypatch):
    """Return the path of a recording, newer than the source ``train.py`` in its folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(SOURCE)
    os.utime(tmp_path / "train.py", (1000, 1000))
    trace = tmp_path / "trace.json"
    trace.write_text("{}")
    os.utime(trace, (2000, 2000))
    return str(trace)


def at(line, function="step", file="train.py"):
    return Place(file, line, function, exact=False)


STEP, SELECT, NORM, TOP = at(4), at(20, "select"), at(27, "<lambda>"), at(1, "<module>")


@pytest.mark.parametrize(
    ("place", "kind", "lines"),
    [
        (STEP, "item", (9, 10, 15)),
        (STEP, "explicit-sync", (16,)),
        (STEP, "loop", (7, 15)),
        (STEP, "data-dependent-shape", ()),
        (at(5), "item", (9, 10, 15)),
        (SELECT, "data-dependent-shape", (21, 22, 23, 24)),
        (SELECT, "host-copy", (24,)),
        (NORM, "item", (27,)),
        (TOP, "allocator", (28,)),
        (TOP, "item", ()),
        (STEP, "no such kind", ()),
        (at(17), "item", ()),
    ],
)
def test_lines_of_one_function_that_fit(recording, place, kind, lines):
    assert candidate_lines(place, kind, recording) == lines


def test_the_sentence_names_the_lines_if_they_are_known(recording):
    one, two, none = (
        describe(place, kind, recording)
        for place, kind in ((STEP, "explicit-sync"), (STEP, "loop"), (STEP, "allocator"))
    )

    assert one == "step in train.py (defined at line 4; see line 16)"
    assert two == "step in train.py (defined at line 4; see lines 7 and 15)"
    assert none == "step in train.py (defined at line 4)"


def test_a_file_below_the_working_folder_may_be_named_in_full(recording, tmp_path):
    place = at(4, file=str(tmp_path / "train.py"))

    assert candidate_lines(place, "explicit-sync", recording) == (16,)


def test_a_source_changed_after_the_recording_is_not_used(recording, tmp_path):
    os.utime(tmp_path / "train.py", (3000, 3000))

    assert candidate_lines(STEP, "item", recording) == ()


def test_nothing_outside_the_working_folder_is_read(recording, tmp_path, monkeypatch):
    inner = tmp_path / "inner"
    inner.mkdir()
    (inner / "link.py").symlink_to(tmp_path / "train.py")
    monkeypatch.chdir(inner)

    for file in ("../train.py", str(tmp_path / "train.py"), "link.py"):
        assert candidate_lines(at(4, file=file), "item", recording) == ()


@pytest.mark.parametrize(
    "content", [b"def step(:\n", b"\xff\xfe\x00", b"x = 1\0", b"(" * 5000, b"#" * (1 << 20) + b"\n"]
)
def test_a_file_that_is_no_usable_source_gives_no_lines(recording, tmp_path, content):
    (tmp_path / "train.py").write_bytes(content)
    os.utime(tmp_path / "train.py", (1000, 1000))

    assert candidate_lines(STEP, "item", recording) == ()


@pytest.mark.parametrize("file", ["gone.py", ".", "\0", "x" * 5000, "<ipython-input-3>"])
def test_a_file_that_is_not_there_gives_no_lines(recording, file):
    assert candidate_lines(at(4, file=file), "item", recording) == ()


def test_a_recording_that_is_gone_gives_no_lines(recording, tmp_path):
    assert candidate_lines(STEP, "item", str(tmp_path / "gone.json")) == ()
