"""Every kind of damage on real recordings: the same rows, a stated loss, or one line of refusal."""

import numpy as np
import pytest

import damage
from boundby.errors import UnreadableError
from boundby.read import read_recording
from recordings import REAL, all_rows, findings, load

TRACES = ("pair_dqn_small_loop.stack", "pair_pageable_h2d", "bf16_ffn_train")


def names(kinds):
    return [kind.__name__ for kind in kinds]


@pytest.fixture(scope="module", params=TRACES)
def sound(request):
    path = REAL / f"{request.param}.json.gz"
    return load(path), read_recording(path)


@pytest.fixture
def read_damaged(sound, tmp_path):
    def read(kind):
        path = tmp_path / f"{kind}.json"
        path.write_bytes(damage.damaged(kind, sound[0]))
        return read_recording(path)

    return read


def test_a_sound_recording_has_no_loss(sound):
    assert set(findings(sound[1])) <= {"launched-before-recording"}


@pytest.mark.parametrize("kind", names(damage.HARMLESS))
def test_another_layout_changes_nothing(sound, read_damaged, kind):
    recording = read_damaged(kind)

    assert all_rows(recording) == all_rows(sound[1])
    assert findings(recording) == findings(sound[1])


def test_metadata_counts_after_the_events_too(sound, read_damaged):
    recording = read_damaged("metadata_last")

    assert recording.caliber == sound[1].caliber
    assert recording.origin_ns == sound[1].origin_ns
    assert recording.devices == sound[1].devices


def test_numbers_json_does_not_have_cost_nothing(sound, read_damaged):
    recording = read_damaged("nan")

    assert all_rows(recording) == all_rows(sound[1])
    assert findings(recording) == {**findings(sound[1]), "repaired": "info"}
    assert next(q.count for q in recording.quality if q.id == "repaired") == 120


@pytest.mark.parametrize(
    ("kind", "prefix"),
    [
        ("control", "  "),
        ("backslash", "D:\\Work\\"),
        ("latin1", "caf\N{REPLACEMENT CHARACTER} "),
        ("surrogate", "\N{REPLACEMENT CHARACTER} "),
    ],
)
def test_a_broken_name_is_repaired_and_said(sound, read_damaged, kind, prefix):
    recording = read_damaged(kind)

    sound_names = [sound[1].names[name] for name in sound[1].host.name]
    expected = [prefix + name if name.startswith("aten::") else name for name in sound_names]
    assert [recording.names[name] for name in recording.host.name] == expected
    assert np.array_equal(recording.device.start, sound[1].device.start)
    assert findings(recording) == {**findings(sound[1]), "repaired": "info"}


@pytest.mark.parametrize("kind", ["no_commas", "double_commas"])
def test_events_without_or_with_too_many_commas_are_all_read(sound, read_damaged, kind):
    recording = read_damaged(kind)

    assert all_rows(recording) == all_rows(sound[1])
    assert findings(recording) == {**findings(sound[1]), "repaired": "info"}


def test_a_file_cut_inside_its_events_keeps_what_came_before_and_voids(sound, read_damaged):
    recording = read_damaged("truncated")

    assert 0 < len(recording.host) < len(sound[1].host)
    assert findings(recording)["truncated"] == "fatal"
    assert "device-unused" not in findings(recording)


@pytest.mark.parametrize(
    ("kind", "expected", "severity"),
    [
        ("cpu_only", "device-unused", "fatal"),
        ("device_only", "no-host-events", "fatal"),
        ("huge_kernel", "kernel-longer-than-recording", "fatal"),
        ("bad_clock", "bad-clock", "fatal"),
        ("lost_launches", "kernels-without-launch", "fatal"),
        ("lost_kernels", "no-kernels", "fatal"),
        ("duplicate_events", "duplicate-events", "warning"),
    ],
)
def test_a_loss_is_named(read_damaged, kind, expected, severity):
    assert findings(read_damaged(kind))[expected] == severity


def test_no_steps_is_no_damage(sound, read_damaged):
    assert findings(read_damaged("no_steps")) == findings(sound[1])


def test_events_written_twice_count_once(sound, read_damaged):
    assert all_rows(read_damaged("duplicate_events")) == all_rows(sound[1])


def test_an_impossible_kernel_is_left_out(sound, read_damaged):
    recording = read_damaged("huge_kernel")

    assert len(recording.device) == len(sound[1].device) - 1
    assert recording.device.dur.max() == sound[1].device.dur.max()


def test_kernels_of_another_day_are_left_out(sound, read_damaged):
    recording = read_damaged("bad_clock")

    assert len(recording.device) == len(sound[1].device) - 20
    assert recording.device.start.min(initial=0) >= 0


@pytest.mark.parametrize("kind", names(damage.HOPELESS))
def test_nothing_to_read_is_refused_in_one_line(read_damaged, kind):
    with pytest.raises(UnreadableError) as refusal:
        read_damaged(kind)

    assert refusal.value.exit_code == 125
    assert "\n" not in refusal.value.message
    assert refusal.value.hint


def test_there_are_24_kinds():
    assert len(damage.KINDS) == 24
