"""``bench`` from end to end: on a machine whose times are known, and on this one."""

import functools

import pytest
import torch

import boundby
from boundby.bench.caliber import Caliber, differences, gather, under_test
from boundby.bench.measure import bench, name_of
from boundby.bench.measurement import from_measurement, to_measurement
from boundby.bench.result import decode, encode, load
from boundby.bench.shapes import varying_shapes
from boundby.errors import UnreadableError, UsageError
from boundby.report.bench import compare_table, markdown, reading, render, time
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
    torch.utils.benchmark.Compare([theirs])


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
