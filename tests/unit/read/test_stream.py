"""The bytes of a file in pieces, whatever the compression."""

import gzip
import random
import sys

import pytest

from boundby.read.stream import Pieces

TEXT = random.Random(0).randbytes(300_000).hex().encode()  # noqa: S311 - a test, not a secret


@pytest.fixture(params=["isal", "zlib"])
def _inflater(request, monkeypatch):
    if request.param == "zlib":
        monkeypatch.setitem(sys.modules, "isal", None)
    else:
        pytest.importorskip("isal")


def read(path, content, piece_bytes=1000):
    path.write_bytes(content)
    pieces = Pieces(path, piece_bytes)
    parts = list(pieces)
    assert all(0 < len(part) <= piece_bytes for part in parts)
    return b"".join(parts), pieces.cut_short


def test_plain_bytes_come_as_they_are(tmp_path):
    assert read(tmp_path / "a", TEXT) == (TEXT, False)


def test_an_empty_file_has_no_pieces(tmp_path):
    assert read(tmp_path / "a", b"") == (b"", False)


@pytest.mark.usefixtures("_inflater")
@pytest.mark.parametrize(
    ("content", "text"),
    [
        pytest.param(gzip.compress(TEXT), TEXT, id="one member"),
        pytest.param(gzip.compress(b""), b"", id="nothing inside"),
        pytest.param(
            gzip.compress(TEXT) + gzip.compress(b"more"), TEXT + b"more", id="two members"
        ),
        pytest.param(gzip.compress(TEXT) + b"\0" * 512, TEXT, id="padding"),
        pytest.param(gzip.compress(b" " * 5_000_000), b" " * 5_000_000, id="very dense"),
    ],
)
def test_gzip_is_unpacked(tmp_path, content, text):
    assert read(tmp_path / "a", content) == (text, False)


@pytest.mark.usefixtures("_inflater")
@pytest.mark.parametrize("kept", [20, 1_000, 150_000])
def test_a_cut_gzip_gives_what_it_holds_and_says_so(tmp_path, kept):
    text, cut_short = read(tmp_path / "a", gzip.compress(TEXT)[:kept])

    assert TEXT.startswith(text)
    assert cut_short
    assert len(text) > kept - 200


@pytest.mark.usefixtures("_inflater")
@pytest.mark.parametrize("at", [2_000, 60_000, 70_000, 200_000])
def test_a_broken_gzip_gives_what_came_before(tmp_path, at):
    """To within one block of the compression, which is coded as a whole."""
    content = bytearray(gzip.compress(TEXT))
    content[at : at + 100] = b"\xff" * 100

    text, cut_short = read(tmp_path / "a", bytes(content))

    assert cut_short
    assert len(text) > at
    assert text[:at] == TEXT[:at]


@pytest.mark.usefixtures("_inflater")
def test_a_second_member_that_is_broken_gives_what_came_before(tmp_path):
    second = bytearray(gzip.compress(TEXT))
    second[3_000:3_100] = b"\xff" * 100

    text, cut_short = read(tmp_path / "a", gzip.compress(b"first" * 99) + bytes(second))

    assert cut_short
    assert text.startswith(b"first" * 99 + TEXT[:3_000])
