"""The device table: found by name, told apart by memory, scaled for slices, never another's."""

import re

import pytest

from boundby.errors import UsageError
from boundby.roofline.ceilings import Ceilings, override, parse_peaks
from boundby.roofline.devices import device_table, match_device

GIB = 2**30

FOUND = {
    # name, memory bytes, multiprocessors: entry
    "SXM H200": ("NVIDIA H200", 150_109_880_320, 132, "H200 SXM"),
    "SXM H100": ("NVIDIA H100 80GB HBM3", 85_045_477_376, 132, "H100 SXM"),
    "PCIe H100": ("NVIDIA H100 PCIe", 85_031_714_816, 114, "H100 PCIe"),
    "H100 by its memory": ("NVIDIA H100", 102_085_492_736, 132, "H100 NVL"),
    "SXM A100 of 80": ("NVIDIA A100-SXM4-80GB", 85_095_874_560, 108, "A100 80GB SXM"),
    "PCIe A100 of 80": ("NVIDIA A100 80GB PCIe", 84_987_740_160, 108, "A100 80GB PCIe"),
    "PCIe A100 of 40": ("NVIDIA A100-PCIE-40GB", 42_346_610_688, 108, "A100 40GB"),
    "A100 by its memory": ("NVIDIA A100-PG509-200", 42_297_524_224, 108, "A100 40GB"),
    "V100": ("Tesla V100-SXM2-32GB", 34_089_730_048, 80, "V100 SXM2"),
    "V100S": ("Tesla V100S-PCIE-32GB", 34_089_730_048, 80, "V100S PCIe"),
    "T4": ("Tesla T4", 15_637_086_208, 40, "T4"),
    "A10": ("NVIDIA A10", 23_599_316_992, 72, "A10"),
    "A10G": ("NVIDIA A10G", 23_599_316_992, 80, "A10G"),
    "L4": ("NVIDIA L4", 23_599_316_992, 58, "L4"),
    "RTX": ("NVIDIA GeForce RTX 4090", 25_386_352_640, 128, "RTX 4090"),
    "GB200": ("NVIDIA GB200", 0, 0, "GB200 per GPU"),
    "MI300X": ("AMD Instinct MI300X", 206_141_652_992, 304, "MI300X"),
    "virtual MI300X": ("AMD Instinct MI300X VF", 205_571_227_648, 304, "MI300X"),
}

NOT_FOUND = [
    ("NVIDIA GeForce RTX 2080 Ti", 11_554_586_624, 68),
    ("NVIDIA GeForce RTX 3090 Ti", 25_386_352_640, 84),
    ("NVIDIA GeForce RTX 4090 D", 25_386_352_640, 114),
    ("NVIDIA GeForce RTX 4090 Laptop GPU", 17_171_480_576, 76),
    ("NVIDIA H200 NVL", 150_109_880_320, 132),
    ("NVIDIA GH200 480GB", 102_005_473_280, 132),
    ("NVIDIA L40", 47_810_936_832, 142),
    ("NVIDIA A100X", 85_095_874_560, 108),
    ("NVIDIA A30", 25_386_352_640, 56),
    ("AMD Radeon Graphics", 68_702_699_520, 104),
    ("AMD Instinct MI210", 68_702_699_520, 104),
    ("", 206_141_652_992, 304),
]


@pytest.mark.parametrize("case", FOUND)
def test_known_devices(case):
    name, memory, multiprocessors, entry = FOUND[case]
    match = match_device(name, memory, multiprocessors)

    assert match.ceilings is not None, match.reason
    assert match.ceilings.name == entry
    assert match.ceilings.source == "datasheet"
    assert match.ceilings.document == match.reason


@pytest.mark.parametrize(("name", "memory", "multiprocessors"), NOT_FOUND)
def test_an_unknown_device_says_so_and_takes_no_other_figures(name, memory, multiprocessors):
    match = match_device(name, memory, multiprocessors)

    assert match.ceilings is None
    assert (name or "does not name its device") in match.reason


@pytest.mark.parametrize("name", ["NVIDIA A100", "NVIDIA H100"])
def test_a_name_that_leaves_a_choice_is_not_guessed(name):
    match = match_device(name, 85_095_874_560, 0)

    assert match.ceilings is None
    assert " or " in match.reason


def test_a_slice_is_scaled_and_says_so():
    whole = match_device("NVIDIA A100-SXM4-40GB", 40 * GIB, 108).ceilings
    part = match_device("NVIDIA A100-SXM4-40GB MIG 1g.5gb", 5 * GIB, 14).ceilings

    assert part.tflops("bfloat16") == pytest.approx(whole.tflops("bfloat16") * 14 / 108)
    assert part.memory_gbs == pytest.approx(whole.memory_gbs / 8)
    assert "14 of 108 multiprocessors" in part.note
    assert whole.note == ""


def test_a_slice_of_unknown_memory_scales_bandwidth_with_its_multiprocessors():
    part = match_device("NVIDIA H200 MIG 3g.71gb", 0, 60).ceilings

    assert part.memory_gbs == pytest.approx(4800 * 60 / 132)


def test_a_slice_of_unknown_size_has_no_figures():
    assert match_device("NVIDIA A100-SXM4-40GB MIG 1g.5gb", 0, 0).ceilings is None


def test_every_entry_is_complete_and_names_its_document():
    for entry in device_table():
        assert entry.document
        assert entry.status
        assert entry.multiprocessors > 0
        assert entry.memory_gbs > 0
        assert entry.peak_tflops["float32"] > 0
        assert all(re.compile(pattern) for pattern in entry.match)


def test_no_name_in_the_table_matches_two_entries():
    for name, memory, multiprocessors, entry in FOUND.values():
        assert match_device(name, memory, multiprocessors).ceilings.name == entry


def test_rates_are_dense():
    h200 = match_device("NVIDIA H200").ceilings

    assert h200.tflops("bfloat16") == 989.5
    assert h200.tflops("float8") == 1979
    assert h200.memory_gbs == 4800


def test_ridge_points_of_the_roofs():
    h200 = match_device("NVIDIA H200").ceilings

    assert h200.ridge("bfloat16") == pytest.approx(206, abs=0.5)
    assert h200.ridge("float32") == pytest.approx(14, abs=0.1)
    assert set(h200.ridges()) == {"float32", "tf32", "float16", "bfloat16", "float8"}
    assert h200.ridge("float4") is None


def test_float32_accuracy_in_three_passes_is_a_third_of_tf32():
    assert match_device("NVIDIA H200").ceilings.tflops("3xtf32") == pytest.approx(494.5 / 3)
    assert match_device("Tesla T4").ceilings.tflops("3xtf32") is None


def test_elementwise_work_in_half_precision_runs_at_the_rate_of_float32():
    h200 = match_device("NVIDIA H200").ceilings

    assert h200.vector_tflops("bfloat16") == h200.tflops("float32")
    assert h200.vector_tflops("float64") is None


# --- --peak ---------------------------------------------------------------------------------------


def test_figures_given_by_the_user():
    peaks = parse_peaks("bf16=989, bw=4800,fp32=67")

    assert peaks.memory_gbs == 4800
    assert peaks.peak_tflops == {"bfloat16": 989, "float32": 67}


@pytest.mark.parametrize(
    "text",
    ["", "bf16", "bf16=", "bf16=fast", "bf16=-1", "bf16=0", "bf16=inf", "int3=5", "bw=1,bw=2"],
)
def test_figures_that_cannot_be_read(text):
    with pytest.raises(UsageError) as raised:
        parse_peaks(text)

    assert raised.value.hint.startswith("for example --peak bf16=989")


def test_the_same_rate_under_two_names_is_given_twice():
    with pytest.raises(UsageError, match="twice"):
        parse_peaks("half=1,fp16=2")


def test_an_override_replaces_what_it_names():
    h200 = match_device("NVIDIA H200").ceilings
    changed = override(h200, parse_peaks("bw=4200"))

    assert (changed.source, changed.memory_gbs) == ("override", 4200)
    assert changed.tflops("bfloat16") == h200.tflops("bfloat16")
    assert "changed with --peak" in changed.document


def test_an_override_gives_an_unknown_device_its_figures():
    ceilings = override(None, parse_peaks("bf16=100"), "my card")

    assert (ceilings.name, ceilings.memory_gbs) == ("my card", None)
    assert ceilings.ridge("bfloat16") is None
    assert ceilings.ridges() == {}


def test_measured_ceilings_are_told_apart():
    measured = Ceilings("H200", "measured", "this device", 4220, {"bfloat16": 759})

    assert measured.ridge("bfloat16") == pytest.approx(180, abs=0.5)
