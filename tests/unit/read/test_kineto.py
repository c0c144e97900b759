"""Kineto events of all eras become rows."""

import json

import numpy as np
import pytest

from boundby.read import read_recording, rows
from boundby.read.recording import NONE, Device, DeviceKind, HostKind, Signature, Thread
from builders import H200, Trace, training_steps
from recordings import all_rows, device_rows, findings, host_rows, python_rows

US = 1000


@pytest.fixture
def read(tmp_path):
    def _read(trace, name="trace.json"):
        return read_recording(trace.write(tmp_path / name))

    return _read


def test_a_host_row_holds_what_the_event_says(read):
    trace = Trace()
    op = trace.op("aten::mm", 10.001, 20.5, sequence=7, dims=[[8, 4], []], types=["float", ""])
    call = trace.launch(12, 5, op=op)
    trace.kernel("gemm", 20, 5, launch=call)

    shown = ("[[8, 4], []]", '["float", ""]', "", "")
    thread = ("100", "1")
    assert host_rows(read(trace)) == [
        (0, 20_500, "aten::mm", HostKind.OP, thread, NONE, op, 7, shown),
        (1_999, 5_000, "cudaLaunchKernel", HostKind.CALL, thread, call, op, NONE, None),
    ]


def test_a_device_row_holds_what_the_event_says(read):
    trace = Trace()
    call = trace.launch(0)
    trace.kernel("gemm", 20, 5, launch=call, stream=9, device=1, grid=[8, 2, 3], block=[32, 4, 1])
    trace.copy(30, 1.5, launch=trace.launch(6, name="cudaMemcpyAsync"), size=4096)
    trace.memset(40, 1, launch=trace.launch(9, name="cudaMemsetAsync"), size=64)

    copy = "Memcpy HtoD (Pageable -> Device)"
    assert device_rows(read(trace)) == [
        (20_000, 5_000, "gemm", DeviceKind.KERNEL, 1, 9, call, NONE, NONE, 48, 128),
        (30_000, 1_500, copy, DeviceKind.COPY, 0, 7, call + 1, NONE, 4096, NONE, NONE),
        (40_000, 1_000, "Memset (Device)", DeviceKind.MEMSET, 0, 7, call + 2, NONE, 64, NONE, NONE),
    ]


def test_frames_ranges_waits_and_overhead(read):
    trace = training_steps(1, 2)
    trace.frame("train.py(3): step", 0, 60)
    trace.overhead(70, 2)
    call = trace.call("cudaStreamWaitEvent", 80, 1)
    trace.wait("Stream Wait Event", 81, 0.5, call=call, stream=7, on_stream=20, recorded_by=3)
    trace.wait("Context Sync", 90, 1, call=call, stream=0xFFFFFFFF)

    recording = read(trace)

    assert python_rows(recording) == [(0, 60_000, "train.py(3): step", ("100", "1"))]
    kinds = [row[2:4] for row in host_rows(recording)]
    assert ("Activity Buffer Request", HostKind.OVERHEAD) in kinds
    assert ("ProfilerStep#1", HostKind.RANGE) in kinds
    assert all_rows(recording)[3] == [
        (81_000, 500, 7, 20, call, 3),
        (90_000, 1_000, NONE, NONE, call, NONE),
    ]


def test_rows_are_in_order_of_start_and_parents_come_first(read):
    trace = Trace()
    trace.frame("outer", 5, 9)
    trace.frame("inner", 5, 9)
    inner_call = trace.launch(5, 9)
    trace.op("aten::parent", 5, 9)
    trace.op("aten::child", 5, 9)
    trace.op("aten::long", 5, 10)
    trace.step(1, 5, 9)
    trace.op("aten::early", 1, 100)
    trace.kernel("k", 20, 1, launch=inner_call)

    recording = read(trace)

    names = [row[2] for row in host_rows(recording)]
    assert names == [
        *("aten::early", "aten::long", "ProfilerStep#1"),
        *("aten::parent", "aten::child", "cudaLaunchKernel"),
    ]
    assert [row[2] for row in python_rows(recording)] == ["outer", "inner"]


def test_what_no_device_and_no_host_did_is_not_a_row(read):
    trace = training_steps(1, 2)
    before = all_rows(read(trace))
    trace.add("gpu_user_annotation", "ProfilerStep#1", 0, 60, process=0, thread=7, stream=7)
    trace.events += [
        {"ph": "s", "cat": "ac2g", "name": "ac2g", "id": 1, "pid": 0, "tid": 7, "ts": 1},
        {"ph": "C", "cat": "hardware_counters", "name": "dram", "pid": 0, "ts": 1, "args": {"": 4}},
        {"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "pid": 1, "ts": 1, "s": "t"},
        {"ph": "M", "name": "process_labels", "pid": 0, "tid": 0, "args": {"labels": "GPU 0"}},
    ]

    assert all_rows(read(trace)) == before


def test_an_operator_with_a_stream_argument_is_host_work(read):
    trace = training_steps(1, 2)
    trace.op("triton_poi_fused", 3, 4, stream=7, grid="grid(1, 2)", num_warps=4, device="cuda:0")

    recording = read(trace)

    assert len(recording.device) == 2
    assert ("triton_poi_fused", HostKind.OP) in [row[2:4] for row in host_rows(recording)]


def test_a_device_with_less_than_nothing_says_nothing(read):
    trace = training_steps(1, 2)
    trace.metadata["deviceProperties"] = [{**H200, "numSms": -1, "totalGlobalMem": -5}]

    assert read(trace).devices[0] == Device(0, "NVIDIA H200", 0, 0)


def test_the_recording_knows_its_caliber(read):
    trace = training_steps(1, 2)
    trace.metadata |= {
        "deviceProperties": [{**H200, "id": 3}, H200],
        "distributedInfo": {"backend": "nccl", "rank": 5, "world_size": 8},
        "cuda_runtime_version": 12090,
    }
    trace.frame("f", 1, 2)

    recording = read(trace, "rank-2.json")

    caliber = recording.caliber
    assert (caliber.device, caliber.device_count, caliber.cuda) == ("NVIDIA H200", 1, "12.9")
    assert (caliber.rank, caliber.world_size) == (5, 8)
    assert (caliber.record_shapes, caliber.with_stack) == (True, True)
    assert recording.devices[1] == Device(0, "NVIDIA H200", 150109880320, 132)
    assert recording.source.format == "kineto"


def test_metadata_is_read_around_what_is_no_json(tmp_path):
    document = json.loads(training_steps(1, 2).write(tmp_path / "sound.json").read_text())
    document = {"note": "NOTE", "record_shapes": 1, **document}
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(document).replace("NOTE", 'he said "x", {"y": 1}'))

    recording = read_recording(path)

    assert recording.devices[0].name == "NVIDIA H200"
    assert recording.caliber.record_shapes
    assert recording.origin_ns > 10**18
    assert "repaired" in findings(recording)


def test_the_rank_may_stand_in_the_file_name_only(read):
    assert read(training_steps(1, 2), "step_7_rank-3.json").caliber.rank == 3
    assert read(training_steps(1, 2), "worker12.pt.trace.json").caliber.rank == 12
    assert read(training_steps(1, 2), "run_r4.json").caliber.rank == 4
    assert read(training_steps(1, 2), "transformer4.json").caliber.rank is None


def test_an_unlisted_device_is_listed_without_a_name(read):
    trace = Trace(metadata={})
    trace.submit("k", 0, start=9, dur=5, device=2)

    recording = read(trace)

    assert recording.devices == [Device(2, "")]
    assert recording.caliber.device is None


def test_unknown_metadata_never_leaves_the_file(read):
    trace = training_steps(1, 2)
    trace.metadata |= {"env": {"AWS_SECRET": "hunter2"}, "hostname": "box7", "user": "evelyn"}

    assert not any(word in repr(read(trace)) for word in ("hunter2", "box7", "evelyn"))


def test_threads_are_named(read):
    trace = training_steps(1, 2)
    trace.op("aten::add", 3, 1, thread="2")
    trace.events += [
        {
            "ph": "M",
            "name": "thread_name",
            "pid": "100",
            "tid": 2,
            "args": {"name": "pt_autograd_0"},
        },
        {"ph": "M", "name": "thread_name", "pid": 100, "tid": 9, "args": {"name": 7}},
    ]

    recording = read(trace)

    assert recording.threads == [Thread("100", "2", "pt_autograd_0"), Thread("100", "1", "")] or (
        recording.threads == [Thread("100", "1", ""), Thread("100", "2", "pt_autograd_0")]
    )
    assert recording.threads[recording.main_thread].tid == "1"


def test_the_same_thread_as_number_and_text_is_one(read):
    trace = training_steps(1, 2)
    trace.op("aten::add", 3, 1, thread="1")

    assert len(read(trace).threads) == 1


@pytest.mark.parametrize(
    "busiest",
    [
        lambda trace: trace.step(1, 0, 5, thread=5),
        lambda trace: [trace.launch(at, 1, thread=5) for at in range(3)],
        lambda trace: [trace.op("aten::add", at, 1, thread=5) for at in range(3)],
        lambda trace: [trace.call("cudaMalloc", at, 1, thread=5) for at in range(3)],
    ],
)
def test_the_main_thread_holds_steps_or_else_most_launches_or_operators(read, busiest):
    trace = Trace()
    trace.range("other", 0, 100, thread=6)
    busiest(trace)

    recording = read(trace)

    assert recording.threads[recording.main_thread].tid == "5"


def test_without_host_work_there_is_no_main_thread(read):
    trace = Trace()
    trace.kernel("k", 0, 5)

    assert read(trace).main_thread == NONE


# --- Times ----------------------------------------------------------------------------------------


def write_times(path, times, dur="2"):
    events = [
        f'{{"ph":"X","cat":"cpu_op","name":"a{row}","pid":1,"tid":1,"ts":{at},"dur":{dur}}}'
        for row, at in enumerate(times)
    ]
    path.write_text('{"traceEvents":[' + ",".join(events) + "]}")
    return path


@pytest.mark.parametrize(
    ("times", "starts", "origin"),
    [
        (["0", "1.001", "2"], [0, 1_001, 2_000], 0),
        (["-1.5", "0"], [0, 1_500], -1_500),
        (["1610366662254362", "1610366662254363"], [0, 1_000], 1610366662254362_000),
        (["1712195495519689.047", "1712195495519690.048"], [0, 1_001], 1712195495519689_047),
        (["5098853444678.899", "5098853444678.900"], [0, 1], 5098853444678_899),
        (['"5098853444678.899"', '"5098853444678.900"'], [0, 1], 5098853444678_899),
        (["1.5e3", "1501"], [0, 1_000], 1_500_000),
    ],
    ids=["relative", "negative", "absolute", "absolute floats", "fine", "strings", "exponent"],
)
def test_times_are_exact_nanoseconds(tmp_path, times, starts, origin):
    recording = read_recording(write_times(tmp_path / "a.json", times))

    assert recording.host.start.tolist() == starts
    assert recording.origin_ns == origin
    assert recording.host.dur.tolist() == [2_000] * len(times)


def test_the_base_time_is_added_to_the_origin(read):
    trace = Trace()
    trace.op("a", 5, 1)

    assert read(trace).origin_ns == 1_700_000_000_000_005_000


@pytest.mark.parametrize("at", ["null", '"soon"', "1e300", '"NaN"', "[1]", "true"])
def test_an_event_without_a_usable_time_is_left_out_and_counted(tmp_path, at):
    good = [str(at) for at in range(20)]
    recording = read_recording(write_times(tmp_path / "a.json", [at, *good]))

    assert recording.host.start.tolist() == [at * US for at in range(20)]
    assert findings(recording)["unreadable-events"] == "warning"


def test_many_events_without_a_usable_time_allow_no_verdict(tmp_path):
    recording = read_recording(write_times(tmp_path / "a.json", ["1", "null", "3"]))

    assert findings(recording)["unreadable-events"] == "fatal"


@pytest.mark.parametrize("dur", ["-5", "null", '"x"', "1e17"])
def test_an_event_without_a_usable_duration_is_left_out(tmp_path, dur):
    path = write_times(tmp_path / "a.json", ["1", "3"])
    broken = path.read_text().replace('"dur":2', f'"dur":{dur}', 1)
    path.write_text(broken)

    recording = read_recording(path)

    assert len(recording.host) == 1


def test_an_event_without_a_duration_lasts_no_time(tmp_path):
    path = tmp_path / "a.json"
    path.write_text('[{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":4}]')

    assert read_recording(path).host.dur.tolist() == [0]


def test_the_window_is_the_recorders_own(read):
    trace = Trace()
    trace.op("a", 10, 1)
    assert read(trace).window_ns == (0, 1_000)

    trace.window(4, 20)
    recording = read(trace)
    assert recording.window_ns == (0, 20_000)
    assert recording.host.start.tolist() == [6_000]

    trace.window(0, 8)
    assert read(trace).window_ns == (0, 24_000)


def test_a_window_apart_from_all_events_is_not_believed(read):
    trace = Trace()
    trace.op("a", 10, 1)
    trace.window(5e9, 20)

    assert read(trace).window_ns == (0, 1_000)


# --- Other producers ------------------------------------------------------------------------------


def test_names_of_2021(tmp_path):
    old = {"Device": 0, "Input dims": [[2, 3]], "Input type": []}
    events = [
        {
            "ph": "X",
            "cat": "Operator",
            "name": "aten::add",
            "pid": 9,
            "tid": "77",
            "ts": 10,
            "dur": 9,
        }
        | {"args": {"External id": 2, **old}},
        {"ph": "X", "cat": "Runtime", "name": "cudaLaunchKernel", "pid": 9, "tid": "77", "ts": 12}
        | {"dur": 3, "args": {"cbid": 211, "correlation": 5, "external id": 2}},
        {"ph": "X", "cat": "Kernel", "name": "add", "pid": 0, "tid": "stream 7", "ts": 20, "dur": 4}
        | {"args": {"device": 0, "correlation": 5, "external id": 0, "grid": [2, 1, 1]}},
        {"ph": "X", "cat": "Memcpy", "name": "Memcpy HtoD", "pid": 0, "tid": "stream 7", "ts": 30}
        | {"dur": 1, "args": {"device": 0, "stream": 7, "correlation": 6, "bytes": 8}},
        {"ph": "X", "cat": "Memset", "name": "Memset", "pid": 0, "tid": "stream 7", "ts": 32}
        | {"dur": 1, "args": {"device": 0, "stream": 7, "correlation": 7, "bytes": 8}},
    ]
    path = tmp_path / "old.json"
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))

    recording = read_recording(path)

    assert [row[2:7] for row in host_rows(recording)] == [
        ("aten::add", HostKind.OP, ("9", "77"), NONE, 2),
        ("cudaLaunchKernel", HostKind.CALL, ("9", "77"), 5, 2),
    ]
    assert recording.signatures[0] == Signature(b"[[2, 3]]", b"[]", b"", b"")
    assert recording.device.stream.tolist() == [7, 7, 7]
    assert recording.device.kind.tolist() == list(DeviceKind)
    assert recording.device.external.tolist() == [NONE] * 3
    assert recording.device.blocks.tolist() == [2, NONE, NONE]


@pytest.mark.parametrize(
    ("category", "kind"),
    [
        ("CPU_OP", HostKind.OP),
        ("cuda_driver", HostKind.CALL),
        ("xpu_runtime", HostKind.CALL),
        ("mtia_runtime", HostKind.CALL),
        ("privateuse1_driver", HostKind.CALL),
        ("User_Annotation", HostKind.RANGE),
    ],
)
def test_host_categories(read, category, kind):
    trace = Trace()
    trace.add(category, "x", 1, 2)

    assert read(trace).host.kind.tolist() == [kind]


def test_hip_names_come_as_cuda_runtime_calls(read):
    trace = Trace()
    trace.metadata = {"hip_runtime_version": 60443483, "roctracer_version": 4.1}
    call = trace.launch(0, name="hipExtModuleLaunchKernel")
    trace.kernel("k", 9, 3, launch=call, kind="Dispatch Kernel")

    recording = read(trace)

    assert recording.names[recording.host.name[0]] == "hipExtModuleLaunchKernel"
    assert recording.extra == {"hip": "6.4"}
    assert recording.caliber.cuda is None


def test_begin_and_end_events_are_paired_per_thread(tmp_path):
    def mark(phase, name, at, thread=1):
        return {"ph": phase, "cat": "cpu_op", "name": name, "pid": 1, "tid": thread, "ts": at}

    events = [
        *(mark("B", "outer", 1), mark("B", "inner", 2.5), mark("B", "other", 2, 2)),
        *(mark("E", "", 4), mark("E", "", 9), mark("E", "", 7, 2)),
        *(mark("E", "", 20), mark("B", "endless", 30), mark("B", "undated", "soon")),
    ]
    path = tmp_path / "a.json"
    path.write_text(json.dumps(events))

    recording = read_recording(path)

    assert [row[:3] for row in host_rows(recording)] == [
        (0, 8_000, "outer"),
        (1_000, 5_000, "other"),
        (1_500, 1_500, "inner"),
    ]
    assert next(q.count for q in recording.quality if q.id == "unreadable-events") == 3


def test_the_profiler_before_kineto_wrote_no_categories(tmp_path):
    events = [
        {
            "name": "aten::mm",
            "ph": "X",
            "ts": 1,
            "dur": 5,
            "tid": 1,
            "pid": "CPU functions",
            "args": {},
        },
        {
            "name": "gemm",
            "ph": "X",
            "ts": 9,
            "dur": 5,
            "tid": 0,
            "pid": "CUDA functions",
            "args": {},
        },
        {"name": "launch", "ph": "s", "ts": 1, "tid": 1, "pid": "CPU functions", "id": 3},
    ]
    path = tmp_path / "a.json"
    path.write_text(json.dumps(events))

    recording = read_recording(path)

    assert [row[2:4] for row in host_rows(recording)] == [("aten::mm", HostKind.OP)]
    assert [row[2:4] for row in device_rows(recording)] == [("gemm", DeviceKind.KERNEL)]


def test_a_collective_keeps_what_it_moves(read):
    trace = Trace()
    trace.kernel(
        "ncclDevKernel_AllReduce", 0, 9, launch=trace.launch(0),
        **{"Collective name": "allreduce", "In msg nelems": 8, "Out msg nelems": 16,
           "dtype": "BFloat16", "Group size": 4},
    )  # fmt: skip
    trace.kernel("plain", 20, 9, launch=trace.launch(9))

    recording = read(trace)

    assert recording.device.signature.tolist() == [0, NONE]
    assert recording.signatures == [
        Signature(b"[[8], [16]]", b'["BFloat16"]', b"", b'["allreduce", 4]')
    ]


def test_odd_fields_cost_the_field_and_not_the_event(tmp_path):
    odd = [
        {"correlation": "17", "stream": "9", "device": None, "grid": [1, "x"], "block": "b"},
        {"correlation": 1.0, "stream": None, "device": 2, "bytes": [3], "grid": None},
        {"correlation": 2**80, "External id": {"a": 1}, "stream": 3},
        ["no arguments"],
        None,
    ]
    events = [
        {"ph": "X", "cat": "kernel", "name": f"k{row}", "pid": 1, "tid": 7, "ts": row, "args": args}
        for row, args in enumerate(odd)
    ]
    events += [
        "no event",
        {"ph": 4, "cat": None, "name": "z"},
        {"ph": "X", "cat": "kernel", "ts": 9},
    ]
    events += [{"ph": "X", "cat": "kernel", "name": 5, "pid": 1.5, "tid": True, "ts": 10}]
    path = tmp_path / "a.json"
    path.write_text(json.dumps(events))

    recording = read_recording(path)

    assert [row[2] for row in device_rows(recording)] == ["k0", "k1", "k2", "k3", "k4", "", ""]
    assert recording.device.correlation.tolist()[:3] == [17, 1, NONE]
    assert recording.device.stream.tolist()[:3] == [9, 7, 3]
    assert recording.device.device.tolist()[:2] == [1, 2]
    assert recording.device.blocks.tolist() == [NONE] * 7


def test_signatures_are_bounded(read, monkeypatch):
    trace = training_steps(1, 2)
    for row in range(5):
        trace.op("aten::mm", row, 0.5, dims=[[row + 100]])
    trace.op("aten::mm", 9, 0.5, dims=[[100]])
    monkeypatch.setattr(rows, "MAX_SIGNATURES", 3)

    recording = read(trace)

    assert len(recording.signatures) == 3
    dropped = next(q for q in recording.quality if q.id == "signatures-dropped")
    assert (dropped.severity, dropped.count) == ("info", 3)


def test_a_repeated_row_without_an_identity_is_lawful(read):
    trace = Trace()
    trace.add("python_function", "f", 5, 0)
    trace.add("python_function", "f", 5, 0)
    trace.range("r", 5, 1)

    recording = read(trace)

    assert len(recording.python) == 2
    assert "duplicate-events" not in findings(recording)


def test_kernels_of_one_graph_launch_are_no_repeats(read):
    trace = Trace()
    call = trace.launch(0, name="cudaGraphLaunch")
    for at in (10, 10, 11):
        trace.kernel("k", at, 0, launch=call)

    assert len(read(trace).device) == 3


def test_an_unknown_category_is_told(read):
    trace = training_steps(1, 2)
    trace.add("quantum_op", "q", 1, 2)

    assert findings(read(trace))["unknown-category"] == "info"


def test_columns_have_the_types_the_contract_names(read):
    recording = read(training_steps(1, 2))

    assert recording.host.start.dtype == recording.host.correlation.dtype == np.int64
    assert recording.host.name.dtype == recording.host.thread.dtype == np.int32
    assert recording.host.kind.dtype == recording.device.kind.dtype == np.int8
    assert recording.device.blocks.dtype == recording.device.stream.dtype == np.int64
    assert recording.device.threads.dtype == recording.device.device.dtype == np.int32
    assert recording.python.name.dtype == np.int32
    assert recording.waits.event_correlation.dtype == np.int64
