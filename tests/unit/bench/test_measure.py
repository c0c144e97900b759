"""``bench`` from end to end: on a machine whose times are known, and on this one."""

import functools
import json

import pytest
import torch
from torch.utils.benchmark import Compare, Timer

import boundby
from boundby.bench.caliber import Caliber, differences, gather, under_test
from boundby.bench.measure import bench, name_of
from boundby.bench.measurement import from_measurement, to_measurement
from boundby.bench.result import decode, encode, load
from boundby.bench.shapes import varying_shapes
from boundby.errors import UnreadableError, UsageError
from boundby.report.bench import compare_table, markdown, reading, render, time
from boundby.report.sanitize import cells
from boundby.report.terminal import Look
from fakes_of_bench import FakeMachine

QUICK = {"min_run_time": 0.002, "warmup": 1}


def fake_bench(submit, device, **options):
    machine = FakeMachine()
    return bench(machine.call(submit, device), machine=machine, **{**QUICK, **options})


def test_three_clocks_of_a_known_call():
    found = fake_bench(5_000, 50_000, label="known")

    assert found.submit.summary.median == 5_000
    assert found.device.summary.median == 50_000
    assert found.wall.summary.median == pytest.approx(50_000, rel=0.01)
    assert found.median == pytest.approx(50e-6, rel=0.01)
    assert found.n == len(found.times) >= 10
    assert found.is_trusted
    assert "known" in str(found)


@pytest.mark.parametrize(
    ("submit", "device", "sentence"),
    [
        (5_000, 50_000, "the device is busy"),
        (50_000, 5_000, "the host sets the pace"),
    ],
)
def test_the_clocks_together_say_who_sets_the_pace(submit, device, sentence):
    assert sentence in reading(fake_bench(submit, device))


def test_names_of_torch_and_triton_are_taken():
    weight = torch.nn.Parameter(torch.ones(3))
    machine = FakeMachine()
    seen = []

    def step():
        seen.append(weight.grad)
        weight.grad = torch.ones(3)
        machine.work(1_000, 10_000)

    found = bench(step, warmup=1, rep=1, quantiles=[0.2, 0.5, 0.8], grad_to_none=[weight],
                  machine=machine)  # fmt: skip

    assert found == pytest.approx([0.01] * 3)
    assert set(seen) == {None}


def test_a_real_function_on_the_cpu():
    x = torch.randn(32, 32)
    found = boundby.bench(torch.mm, x, x, label="mm", **QUICK)

    assert found.device is None
    assert found.median > 0
    assert found.caliber.shapes == ("32x32", "32x32")
    assert found.caliber.dtype == "float32"
    assert found.caliber.torch == torch.__version__
    assert found.warm_up.first[0].name == "first-call"
    assert "one clock decides" in reading(found)


def test_a_compiled_function_whose_output_no_one_sees():
    compiled = torch.compile(lambda _: None, backend="eager")

    assert [each.id for each in bench(compiled, torch.ones(2), **QUICK).trust if
            each.id == "unused-output"]  # fmt: skip


def test_shapes_that_vary_under_cudnn_benchmark(monkeypatch):
    sizes = iter(range(8, 10_000))
    weight = torch.randn(1, 1, 3, 3)

    def varying():
        return torch.conv2d(torch.randn(1, 1, 8, next(sizes)), weight)

    def fixed():
        return torch.conv2d(torch.randn(1, 1, 8, 8), weight)

    assert varying_shapes(varying) == ()
    monkeypatch.setattr(torch.backends.cudnn, "benchmark", True)
    assert [each.id for each in varying_shapes(varying)] == ["shapes-vary"]
    assert varying_shapes(fixed) == ()


@pytest.mark.parametrize("options", [{"min_run_time": 0}, {"number": 0}, {"samples": 0}])
def test_numbers_must_be_positive(options):
    with pytest.raises(UsageError, match="positive"):
        bench(lambda: None, **options)


def test_a_scope_must_be_known():
    with pytest.raises(UsageError, match="'galaxy' is unknown"):
        bench(lambda: None, caliber=Caliber(scope="galaxy"))


def test_a_result_comes_back_as_it_was_saved(tmp_path):
    found = fake_bench(5_000, 50_000)
    found.save(tmp_path / "a.json")

    assert load(tmp_path / "a.json") == found
    assert b'"schema_version":1' in encode(found)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "no result"),
        ("{}", "no result"),
        ("{", "no JSON"),
        ('{"kind": "boundby-bench", "schema_version": 2}', "another version"),
        ('{"kind": "boundby-bench", "schema_version": 1}', "damaged"),
    ],
)
def test_what_is_no_result_is_refused(tmp_path, text, message):
    (tmp_path / "a.json").write_text(text)

    with pytest.raises(UnreadableError, match=message):
        load(tmp_path / "a.json")


def test_a_missing_result_is_named():
    with pytest.raises(UnreadableError, match=r"missing.json: No such file"):
        load("missing.json")
    with pytest.raises(UnreadableError):
        decode([], "x")


def test_to_and_from_the_measurement_of_torch():
    found = fake_bench(5_000, 50_000, label="a", sub_label="b", description="c")
    theirs = to_measurement(found)
    back = from_measurement(theirs, found.caliber)

    assert theirs.median == pytest.approx(found.median)
    assert theirs.title == "a: b"
    assert back.wall.ns == pytest.approx(found.wall.ns)
    assert back.wall.number == found.wall.number
    assert back.labels == found.labels
    Compare([theirs])


def test_a_table_has_a_row_a_sub_label_and_a_column_a_description():
    results = [
        fake_bench(1_000, device, label="mm", sub_label=f"{size}", description=dtype)
        for size, dtype, device in ((64, "fp32", 2e6), (64, "bf16", 1e6), (128, "fp32", 8e6))
    ]
    head, first, second = boundby.compare_table(results).splitlines()

    assert head.split() == ["mm", "fp32", "bf16"]
    assert first.split() == ["64", "2.00", "ms", "1.00", "ms"]
    assert second.split()[:3] == ["128", "8.00", "ms"]
    assert compare_table([]) == ""


def test_reports_hold_the_same_figures():
    found = fake_bench(5_000, 2e6, label="known \x1b[1m")

    for text in (render(found, Look()), markdown(found)):
        assert "2.00 ms" in text
        assert "\x1b" not in text


@pytest.mark.parametrize(
    ("ns", "text"),
    [(2.5e9, "2.50 s"), (2.5e6, "2.50 ms"), (2500, "2.50 us"), (25, "25.0 ns"), (None, "unknown")],
)
def test_times_in_the_unit_that_fits(ns, text):
    assert time(ns) == text


def test_calibers_differ_by_field_and_flag():
    here = gather(Caliber(batch=8), torch.ones(2, 3))
    other = gather(Caliber(batch=16), torch.ones(2, 4, dtype=torch.float64))
    names = [each.name for each in differences(here, other)]

    assert names == ["batch", "dtype", "shapes"]
    assert differences(here, here) == ()
    torch.set_float32_matmul_precision("high")
    try:
        changed = gather(Caliber(batch=8), torch.ones(2, 3))
    finally:
        torch.set_float32_matmul_precision("highest")
    (found,) = differences(here, changed)
    assert (found.name, found.old, found.new) == ("matmul_precision", "highest", "high")


def test_fields_under_test_must_exist():
    assert under_test(["dtype", "matmul-precision"]) == {"dtype", "matmul_precision"}
    with pytest.raises(UsageError, match="no field 'colour'"):
        under_test(["colour"])


def test_functions_have_names():
    assert name_of(functools.partial(torch.add, 1)) == "add"
    assert name_of(torch.nn.Linear(1, 1)) == "Linear"


@pytest.mark.parametrize(
    "options",
    [
        {"min_run_time": float("nan")},
        {"min_run_time": float("inf")},
        {"min_run_time": -1},
        {"rep": 0},
        {"warmup": -1},
        {"warmup": float("nan")},
        {"number": 1.5},
        {"quantiles": [1.5]},
        {"quantiles": []},
        {"quantiles": 0.5},
        {"grad_to_none": [3]},
    ],
)
def test_options_that_are_none_are_refused_before_any_call(options):
    calls = []

    with pytest.raises(UsageError):
        bench(lambda: calls.append(1), **options)
    assert calls == []


def generates():
    yield 1


async def waits():
    return 1


@pytest.mark.parametrize("made", [3, None, "x + 1", generates, waits, functools.partial(generates)])
def test_what_does_not_run_when_it_is_called_is_refused(made):
    with pytest.raises(UsageError):
        bench(made)


def test_one_quantile_is_a_number_as_triton_gives_it():
    found = fake_bench(1_000, 10_000, rep=1, quantiles=[0.5])

    assert found == pytest.approx(0.01)


def test_a_tensor_whose_gradient_is_dropped_may_stand_alone():
    weight = torch.nn.Parameter(torch.ones(3))
    machine, seen = FakeMachine(), set()

    def step():
        seen.add(weight.grad)
        weight.grad = torch.ones(3)
        machine.work(1_000, 10_000)

    bench(step, machine=machine, grad_to_none=weight, **QUICK)

    assert seen == {None}


def test_a_partial_has_the_caliber_of_its_function():
    found = bench(functools.partial(torch.mm, torch.ones(3, 4)), torch.ones(4, 5), **QUICK)
    through = bench(functools.partial(fake_bench, label="x"), 1_000, 1_000, **QUICK)

    assert found.caliber.shapes == ("3x4", "4x5")
    assert found.labels.stmt == "mm"
    assert through.caliber.script_hash == gather(Caliber(), (), __file__).script_hash


class Compiled:
    """What torch.compile gives, as far as it tells of itself."""

    _torchdynamo_orig_callable = torch.sin

    def __init__(self, *on):
        self.get_compiler_config = lambda: dict.fromkeys(on, True)


@pytest.mark.parametrize(
    ("options", "mode"),
    [
        ((), "default"),
        (("triton.cudagraphs",), "reduce-overhead"),
        (("triton.cudagraphs", "max_autotune"), "max-autotune"),
        (("max_autotune",), "max-autotune-no-cudagraphs"),
    ],
)
def test_the_mode_of_compilation_is_part_of_the_caliber(options, mode):
    here, plain = gather(Caliber(), (), fn=Compiled(*options)), gather(Caliber(), (), fn=torch.sin)

    assert here.flags["compile_mode"] == mode
    assert [each.name for each in differences(plain, here)] == ["compile_mode", "compiled"]
    assert under_test(["compile-mode"]) == {"compile_mode"}


def test_a_backend_without_options_has_no_mode():
    compiled = torch.compile(torch.sin, backend="eager")

    assert gather(Caliber(), (), fn=compiled).flags["compile_mode"] == ""


@pytest.mark.parametrize(
    ("clock", "damage", "words"),
    [
        ("wall", {"ns": []}, "no samples of the wall clock"),
        ("device", {"ns": []}, "no samples of the device clock"),
        ("wall", {"ns": [0.0]}, "no clock shows"),
        ("wall", {"ns": [1.0, -1.0]}, "no clock shows"),
        ("submit", {"ns": [1e300]}, "no clock shows"),
        ("wall", {"number": 0}, "0 calls a sample"),
    ],
)
def test_samples_that_no_clock_shows_are_refused(tmp_path, clock, damage, words):
    document = json.loads(encode(fake_bench(5_000, 50_000)))
    document[clock].update(damage)
    (tmp_path / "a.json").write_text(json.dumps(document))

    with pytest.raises(UnreadableError, match=words):
        load(tmp_path / "a.json")


def test_a_device_without_work_is_no_damage(tmp_path):
    document = json.loads(encode(fake_bench(5_000, 50_000)))
    document["device"]["ns"] = [0.0, 1_000.0]
    (tmp_path / "a.json").write_text(json.dumps(document))

    assert load(tmp_path / "a.json").device.ns == (0.0, 1_000.0)


@pytest.mark.parametrize("made", [None, 3, Timer("1 + 1")])
def test_what_is_no_measurement(made):
    for convert in (from_measurement, to_measurement):
        with pytest.raises(UsageError, match="but"):
            convert(made)


def test_a_measurement_brings_its_threads():
    taken = Timer("1 + 1", num_threads=3).timeit(10)
    found = from_measurement(taken)

    assert found.caliber.flags["threads"] == "3"
    assert to_measurement(found).task_spec.num_threads == 3
    assert found.median == pytest.approx(taken.median)
    assert "the samples were taken elsewhere" in render(found, Look())


def test_a_table_takes_measurements_of_torch_and_a_single_result():
    timer = Timer("1 + 1", label="sum", sub_label="two", description="torch")
    found = fake_bench(1_000, 2e6, label="sum", sub_label="one", description="ours")
    head, *rows = boundby.compare_table([found, timer.timeit(10)]).splitlines()

    assert head.split() == ["sum", "ours", "torch"]
    assert [row.split()[0] for row in rows] == ["one", "two"]
    assert boundby.compare_table(found).splitlines()[1].split() == ["one", "2.00", "ms"]
    with pytest.raises(UsageError):
        boundby.compare_table([3])


def test_columns_of_wide_characters_stay_in_line():
    results = [
        fake_bench(1_000, 2e6, label="x", sub_label=name, description="时间")
        for name in ("短", "longer name")
    ]
    rows = boundby.compare_table(results).splitlines()

    assert len({cells(row) for row in rows}) == 1


@pytest.mark.parametrize("width", [60, 80, 100, 120])
def test_the_report_fits_its_width(width):
    found = fake_bench(5_000, 2e6, label="known")
    text = render(found, Look(width=width))

    assert max(map(len, text.splitlines())) <= width
    assert ("in its own queue" in text) is (width >= 80)
