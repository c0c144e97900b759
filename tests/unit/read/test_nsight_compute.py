"""Both pages of Nsight Compute become the same values, in any locale and with any unit."""

import gzip
import sys
from contextlib import suppress
from dataclasses import asdict, fields
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from boundby.errors import UnreadableError
from boundby.read import read_recording
from boundby.read.nsight_compute import read_kernels
from boundby.read.nsight_compute_numbers import Numerals, find_numerals, in_base_units
from boundby.read.nsight_compute_values import Metrics, Pipe
from ncu_pages import (
    COLUMNS,
    details_page,
    english,
    french,
    german,
    kernel,
    plain,
    raw_page,
    swiss,
)
from recordings import REAL

PAGES = [pytest.param(raw_page, id="raw"), pytest.param(details_page, id="details")]
MEASURED = kernel(
    us=1234.5,
    compute=8.07,
    memory=85.13,
    dram=85.12,
    l2=90.91,
    issue=6.25,
    bandwidth=4095.28,
    occupancy=85.28,
    theoretical=100,
    registers=32,
    waves=31.03,
    spills=1234,
)
EXPECTED = {
    "duration_ns": 1_234_500.0,
    "compute": 0.0807,
    "memory": 0.8513,
    "dram": 0.8512,
    "l2": 0.9091,
    "issue": 0.0625,
    "dram_bytes_per_s": 4.09528e12,
    "occupancy": 0.8528,
    "occupancy_limit": 1.0,
    "registers": 32.0,
    "waves": 31.03,
    "spills": 1234.0,
    "limit_registers": 16.0,
    "limit_shared": 32.0,
    "limit_warps": 16.0,
    "multiprocessors": 132.0,
}


@pytest.fixture
def read(tmp_path):
    def _read(text, name="kernels.csv"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_kernels(path)

    return _read


def known(metrics):
    return {name: value for name, value in asdict(metrics).items() if value is not None}


# --- Values ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("write", [english, german, french, swiss, plain])
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_both_pages_give_the_same_values_in_any_locale(read, page, write, delimiter):
    launch = read(page([MEASURED], write, delimiter)).launches[0]

    assert known(launch.metrics) == pytest.approx(EXPECTED)
    assert launch.name == "void kernel<float>(float *)"
    assert launch.grid == (13200, 1, 1)
    assert launch.block == (128, 1, 1)
    assert launch.blocks == 13200


@pytest.mark.parametrize(
    "encode",
    [
        pytest.param(lambda text: text.encode("utf-8-sig"), id="mark"),
        pytest.param(lambda text: text.encode("utf-16"), id="utf-16"),
        pytest.param(lambda text: gzip.compress(text.encode()), id="gzip"),
        pytest.param(lambda text: text.replace("\n", "\r\n").encode(), id="line ends"),
        pytest.param(lambda text: text.encode() + b"\x00\x00", id="zeros"),
    ],
)
@pytest.mark.parametrize("page", PAGES)
def test_encodings(read, page, encode):
    assert len(read(encode(page([MEASURED, kernel("b")]))).launches) == 2


def test_format_device_and_capability_are_told():
    raw = read_kernels(REAL / "nsight" / "ncu_raw.csv.gz")
    details = read_kernels(REAL / "nsight" / "ncu_details.csv.gz")

    assert (raw.format, raw.device, raw.capability) == ("nsight-compute-raw", "NVIDIA H200", "9.0")
    assert (details.format, details.device, details.capability) == (
        *("nsight-compute-details", None, "9.0"),
    )
    assert len(raw.launches) == 18
    assert len(details.launches) == 22


def test_unknown_is_none(read):
    launch = read(raw_page([kernel(us=None, dram=None), kernel()])).launches[0]

    assert launch.metrics.duration_ns is None
    assert launch.metrics.dram is None
    assert launch.metrics.tensor is None
    assert launch.pipe is None
    assert launch.stalls == {}


@pytest.mark.parametrize("value", ["n/a", "nan", "(!) nan", "-nan", "inf", "no data", ""])
def test_values_that_are_no_numbers(read, value):
    page = raw_page([kernel(us="X")], write=str).replace('"X"', f'"{value}"')

    assert read(page).launches[0].metrics.duration_ns is None


def test_accesses_of_another_kind_tell_nothing_of_sectors(read):
    launch = read(raw_page([kernel(load_bytes=0, load_sectors=0, load_requests=0)])).launches[0]

    assert launch.metrics.load_bytes is None


def test_stalls_are_shares_of_the_time_between_instructions(read):
    one = kernel(latency=20.0, long_scoreboard=5.0, barrier=10.0, selected=1.0)
    launch = read(raw_page([one])).launches[0]

    assert launch.stalls == {"barrier": 0.5, "long_scoreboard": 0.25}
    assert list(launch.stalls) == ["barrier", "long_scoreboard"]


def test_the_busiest_pipeline(read):
    launch = read(raw_page([kernel(fma=76.5, tensor=2.5)])).launches[0]

    assert launch.pipe == Pipe("FMA", pytest.approx(0.765))
    assert launch.metrics.tensor == pytest.approx(0.025)


def test_metrics_named_in_place_of_labels(read):
    page = details_page([kernel()]).replace("Compute (SM) Throughput", COLUMNS["compute"][0])

    assert read(page).launches[0].metrics.compute == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("old", "field"),
    [("SOL SM", "compute"), ("SM [%]", "compute"), ("Compute (SM) [%]", "compute")],
)
def test_labels_of_older_versions(read, old, field):
    page = details_page([kernel()]).replace("Compute (SM) Throughput", old)

    assert getattr(read(page).launches[0].metrics, field) == pytest.approx(0.1)


def test_a_summary_of_launches(read):
    columns = "Process ID,Kernel Name,Invocations,Section Name,Metric Name,Metric Unit"
    lines = [
        f"{columns},Minimum,Maximum,Average",
        '"1","a","3","GPU Speed Of Light Throughput","Duration","us","1","3","2"',
        '"1","a","3","GPU Speed Of Light Throughput","Memory Throughput","%","1","9","5.5"',
    ]
    launch = read("\n".join(lines)).launches[0]

    assert launch.launches == 3
    assert launch.metrics.duration_ns == 2000
    assert launch.metrics.memory == pytest.approx(0.055)
    assert launch.grid is None


# --- Rules on the details page --------------------------------------------------------------------

STALL = (
    "On average, each warp of this workload spends 6.0 cycles being stalled {}. Some advice "
    "follows. This stall type represents about 30.4% of the total average of 19.6 cycles."
)


@pytest.mark.parametrize(
    ("why", "reason"),
    [
        ("waiting for a scoreboard dependency on a L1TEX (local) operation", "long_scoreboard"),
        ("waiting for sibling warps at a CTA barrier", "barrier"),
        ("waiting on a fixed latency execution dependency", "wait"),
        ("waiting for the micro scheduler to select the warp to issue", "not_selected"),
        ("waiting for something that is not invented yet", "other"),
    ],
)  # fmt: skip
def test_the_rule_on_stalls_tells_the_leading_one(read, why, reason):
    page = details_page([kernel(rules={"CPIStall": STALL.format(why)})])

    assert read(page).launches[0].stalls == {reason: pytest.approx(0.304)}


@pytest.mark.parametrize(
    ("text", "pipe", "tensor"),
    [
        ("FMA is the highest-utilized pipeline (76.5%) based on cycles.", Pipe("FMA", 0.765), 0.0),
        ("ALU is the highest-utilized pipeline (38.2%) based on cycles.", Pipe("ALU", 0.382), None),
        (
            "Shared is the highest-utilized pipeline (90.2%). It's dominated by its Tensor (FP).",
            *(Pipe("Tensor", 0.902), 0.902),
        ),
        ("All compute pipelines are under-utilized.", None, None),
    ],
)
def test_the_rule_on_pipelines(read, text, pipe, tensor):
    launch = read(details_page([kernel(rules={"HighPipeUtilization": text})])).launches[0]

    assert launch.pipe == pipe
    assert launch.metrics.tensor == tensor


def test_the_rules_on_global_accesses(read):
    rules = {
        "UncoalescedGlobalAccess": "This kernel has uncoalesced global accesses resulting in a "
        "total of 70 excessive sectors (70% of the total 100 sectors).",
        "MemoryCacheAccessPattern": "The memory access pattern for global loads from L2 might not "
        "be optimal. On average, only 7.1 of the 32 bytes transmitted per sector are utilized.",
    }
    metrics = read(details_page([kernel(rules=rules)])).launches[0].metrics

    assert metrics.excess_share == pytest.approx(0.7)
    assert metrics.load_bytes == pytest.approx(7.1)


def test_the_same_facts_on_the_raw_page(read):
    one = kernel(excess=70, load_sectors=100, load_requests=25, load_bytes=7.1)
    metrics = read(raw_page([one])).launches[0].metrics

    assert metrics.excess_share == pytest.approx(0.7)
    assert metrics.load_sectors / metrics.load_requests == 4


# --- What stands around the table -----------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES)
def test_lines_of_ncu_and_of_the_program_stand_between_the_rows(read, page):
    lines = page([MEASURED, kernel("b")]).splitlines()
    noise = [
        "loss 0.5",
        '"open quote',
        '==PROF== Profiling "b": 0%....100% - 9 passes',
        "a, b, c",
        "",
        'say "hi',
    ]
    mixed = [line for row in lines for line in (row, *noise)]
    profile = read("\n".join(["Epoch 1, loss, 0.5", *mixed]))

    assert [launch.name for launch in profile.launches] == [MEASURED["name"], "b"]
    assert known(profile.launches[0].metrics) == pytest.approx(EXPECTED)
    assert profile.quality == ()


def test_a_header_that_comes_twice(read):
    page = raw_page([kernel("a")])
    again = page.splitlines()[2]

    assert len(read(f"{page}{again}\n{page.splitlines()[-1]}\n").launches) == 2


def test_a_cell_over_several_lines(read):
    text = STALL.format("waiting for sibling warps at a CTA barrier").replace(". ", ".\n")
    launch = read(details_page([kernel(rules={"CPIStall": text})])).launches[0]

    assert launch.stalls == {"barrier": pytest.approx(0.304)}


def test_kernels_that_ncu_could_not_profile_are_told(read):
    log = '==ERROR== Failed to profile "softmax" in process 7\n'
    profile = read(raw_page([kernel()], log=log))

    assert [(q.id, q.severity, q.count) for q in profile.quality] == [
        ("kernels-failed", "warning", 1)
    ]


# --- Cut short ------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("cut", [3, 40, 90])
def test_a_kernel_that_the_end_cuts_is_left_out_and_told(read, page, cut):
    whole = page([kernel("a"), kernel("b"), kernel("c")])
    profile = read(whole[:-cut])

    assert [launch.name for launch in profile.launches] == ["a", "b"]
    assert [(q.id, q.severity) for q in profile.quality] == [("truncated", "warning")]


@pytest.mark.parametrize("page", PAGES)
def test_half_a_gzip(read, page):
    content = gzip.compress(page([kernel(str(n), us=n * 1.37) for n in range(400)]).encode())
    profile = read(content[: len(content) // 2])

    assert 0 < len(profile.launches) < 400
    assert [q.id for q in profile.quality] == ["truncated"]


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("seed", range(12))
def test_damage_is_told_or_skipped(read, page, seed):
    dice = np.random.default_rng(seed)
    content = bytearray(page([MEASURED, kernel("b"), kernel("c")]).encode())
    for place in dice.integers(len(content), size=dice.choice([1, 10, 100])):
        content[place] = dice.choice([*b'",\n09.=\x00\xff;'])

    with suppress(UnreadableError):
        assert read(bytes(content)).launches


# --- Refused --------------------------------------------------------------------------------------

HEADER = raw_page([kernel()]).splitlines()[2]
GERMAN = '"ID","Prozess-ID","Prozessname","Hostname","Kernelname","Kontext","Stream"'
NO_RIGHTS = "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access counters"


@pytest.mark.parametrize(
    ("text", "words", "hint"),
    [
        pytest.param("", "is empty", "ncu --set full", id="empty"),
        pytest.param("\n\n", "is empty", "ncu --set full", id="blank"),
        pytest.param("==PROF== Connected\n", "holds no table", "ncu --set full", id="log only"),
        pytest.param(
            "==WARNING== No kernels were profiled.\n", "profiled none", "--kernel-name", id="none"
        ),
        pytest.param(f"{NO_RIGHTS}\n", "may not read the counters", "root", id="no rights"),
        pytest.param(f"{HEADER}\n", "a header and no kernel", "--kernel-name", id="header"),
        pytest.param(f"{NO_RIGHTS}\n{HEADER}\n", "no kernel", "root", id="header, no rights"),
        pytest.param(
            f'{HEADER}\n"0","7","python3","12', "a header and no kernel", "", id="half a row"
        ),
        pytest.param(
            details_page([kernel()])[:-40], "before the end of its first", "again", id="half"
        ),
        pytest.param(f"{GERMAN}\n", "in another language", "LC_ALL=C", id="German columns"),
        pytest.param("a,b,c,d,e,f\n1,2,3,4,5,6\n", "of another tool", "LC_ALL=C", id="other table"),
        pytest.param("  k (1, 1, 1)\n    Section: Occupancy\n", "text report", "--csv", id="text"),
        pytest.param("hello\n", "holds no table", "ncu --set full", id="prose"),
        pytest.param(b"SQLite format 3\x00", "no recording of", "boundby trace", id="sqlite"),
        pytest.param('{"traceEvents": []}', "no recording of", "boundby trace", id="trace"),
        pytest.param(bytes(range(256)) * 9, "holds no table", "ncu --set full", id="binary"),
    ],
)  # fmt: skip
def test_refused(read, text, words, hint):
    with pytest.raises(UnreadableError) as refused:
        read(text)

    message = refused.value.message.replace("is a recording of", "is no recording of")
    assert words in message
    assert hint in refused.value.hint
    assert "\n" not in refused.value.message
    assert refused.value.exit_code == 125


def test_a_missing_file_and_a_folder(tmp_path):
    with pytest.raises(UnreadableError, match="no such file"):
        read_kernels(tmp_path / "missing.csv")
    with pytest.raises(UnreadableError, match="is a folder"):
        read_kernels(tmp_path)


@pytest.mark.parametrize("page", PAGES)
def test_tracing_a_table_of_kernels_leads_to_the_other_command(tmp_path, page):
    path = tmp_path / "kernels.csv"
    path.write_text(page([kernel()]))

    with pytest.raises(UnreadableError, match="table of Nsight Compute") as refused:
        read_recording(path)
    assert refused.value.hint == f"boundby kernel {path}"


# --- Binary reports -------------------------------------------------------------------------------


def test_a_report_says_how_to_convert_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ncu_report", None)
    path = tmp_path / "run.ncu-rep"
    path.write_bytes(b"NVR\x00rest")

    with pytest.raises(UnreadableError, match="binary report") as refused:
        read_kernels(path)
    assert f"ncu --import {path} --csv --page raw" in refused.value.hint


def report_module(kernels, error=None):
    """A stand-in for the module that comes with Nsight Compute."""

    def metric(value, unit):
        return SimpleNamespace(
            has_value=lambda: value is not None,
            as_double=lambda: value,
            as_string=lambda: str(value),
            unit=lambda: unit,
        )

    def action(one):
        metrics = {COLUMNS[k][0]: metric(one[k], COLUMNS[k][1]) for k in COLUMNS if k in one}
        metrics["device__attribute_display_name"] = metric("NVIDIA H200", "")
        for what in ("grid", "block"):
            for axis, size in zip("xyz", one[what], strict=True):
                metrics[f"launch__{what}_dim_{axis}"] = metric(size, "")
        return SimpleNamespace(
            name=lambda: one["name"],
            metric_names=lambda: list(metrics),
            metric_by_name=metrics.get,
        )

    actions = [action(one) for one in kernels]
    group = SimpleNamespace(num_actions=lambda: len(actions), action_by_idx=actions.__getitem__)

    def load_report(_path):
        if error:
            raise error
        return SimpleNamespace(num_ranges=lambda: 1, range_by_idx=lambda _number: group)

    module = ModuleType("ncu_report")
    module.load_report = load_report
    return module


def test_a_report_is_read_where_its_module_is_there(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ncu_report", report_module([MEASURED]))
    path = tmp_path / "run.ncu-rep"
    path.write_bytes(b"NVR\x00rest")
    profile = read_kernels(path)

    assert profile.format == "nsight-compute-report"
    assert profile.device == "NVIDIA H200"
    assert known(profile.launches[0].metrics) == pytest.approx(EXPECTED)
    assert profile.launches[0].grid == (13200, 1, 1)


@pytest.mark.parametrize(
    ("module", "words"),
    [
        (report_module([]), "holds no kernel"),
        (report_module([], RuntimeError("bad version")), "cannot be read by ncu_report: bad"),
    ],
)
def test_reports_that_cannot_be_read(tmp_path, monkeypatch, module, words):
    monkeypatch.setitem(sys.modules, "ncu_report", module)
    path = tmp_path / "run.ncu-rep"
    path.write_bytes(b"NVR\x00rest")

    with pytest.raises(UnreadableError, match=words):
        read_kernels(path)


# --- Numbers --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "decimal"),
    [
        (["1,234.56"], "."),
        (["1.234,56"], ","),
        (["85,12", "1.234"], ","),
        (["85.12", "1,234"], "."),
        (["1.234.567"], ","),
        (["1,234,567"], "."),
        (["0,123"], ","),
        (["0.123"], "."),
        (["1234.567"], "."),
        (["12", "1,234"], "."),
        (["1\u202f234,5", "1.5"], "."),
        (["PolicySpread", "all", "85,1"], ","),
        ([], "."),
    ],
)
def test_the_decimal_mark_is_told_by_the_whole_file(values, decimal):
    assert find_numerals(values) == Numerals(decimal)


@pytest.mark.parametrize(
    ("text", "decimal", "number"),
    [
        ("1,234.5", ".", 1234.5),
        ("1.234,5", ",", 1234.5),
        ("1 234,5", ",", 1234.5),
        ("1\u00a0234", ".", 1234),
        ("1'234.5", ".", 1234.5),
        (" 7 ", ".", 7),
        ("-0.02", ".", -0.02),
        ("1.5e+03", ".", 1500),
        ("12,34,567", ".", 1234567),
        ("PolicySpread", ".", None),
        ("9.0 GHz", ".", None),
        ("", ".", None),
        ("1.2.3,4,5", ",", None),
    ],
)
def test_numbers(text, decimal, number):
    assert Numerals(decimal).read(text) == number


@pytest.mark.parametrize(
    ("unit", "value"),
    [
        ("ns", 1), ("nsecond", 1), ("us", 1e3), ("usecond", 1e3), ("ms", 1e6), ("msecond", 1e6),
        ("s", 1e9), ("second", 1e9), ("%", 0.01), ("Gbyte/s", 1e9), ("Tbyte/second", 1e12),
        ("Kbyte/block", 1e3), ("byte", 1), ("Mbyte", 1e6), ("Ghz", 1e9), ("hz", 1), ("SM", 1),
        ("cycle", 1), ("sector", 1), ("register/thread", 1), ("", 1), ("Kinst", 1e3),
    ],
)  # fmt: skip
def test_units(unit, value):
    assert in_base_units(1.0, unit) == pytest.approx(value)


def test_every_value_can_be_read_from_the_raw_page():
    found = {entry.name for entry in fields(Metrics)}
    launches = read_kernels(REAL / "nsight" / "ncu_raw.csv.gz").launches

    seen = {name for launch in launches for name in known(launch.metrics)}
    assert seen == found
