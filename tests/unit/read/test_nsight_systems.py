"""Exports of Nsight Systems become the same Recording that other formats become."""

import sqlite3
from contextlib import suppress

import numpy as np
import pytest

from boundby.diagnose import diagnose
from boundby.errors import UnreadableError
from boundby.read import read_recording
from boundby.read.quality import is_void
from boundby.read.recording import NONE, DeviceKind, HostKind
from boundby.timeline.calls import CallKind, classify_names
from boundby.timeline.copies import CopyKind, classify_copies
from boundby.timeline.timeline import build_timeline
from nsight_exports import (
    ACTIVITY,
    PROCESS,
    START_END,
    UNSIGNED_NONE,
    NsysExport,
    as_nsys,
    nsys_training_steps,
)
from recordings import REAL, device_rows, findings, host_rows

SECOND = 1_000_000  # us
SCHEMAS = (2, 3)


@pytest.fixture
def read(tmp_path):
    def _read(export, name="run.sqlite"):
        return read_recording(export.write(tmp_path / name))

    return _read


def names_of(recording, kind):
    rows = recording.host.kind == kind
    return [recording.names[name] for name in recording.host.name[rows]]


def message(recording, finding):
    return next(each.message for each in recording.quality if each.id == finding)


# --- Rows -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("schema", SCHEMAS)
@pytest.mark.parametrize("name", ["run.sqlite", "run.sqlite.gz", "renamed.json"])
def test_an_export_is_told_by_its_content(read, schema, name):
    recording = read(nsys_training_steps(schema=schema), name)

    assert recording.source.format == "nsight-systems"
    assert findings(recording) == {}
    assert len(recording.device) == 30
    assert recording.devices[0].name == "NVIDIA H200"
    assert recording.devices[0].multiprocessors == 132
    assert recording.caliber.device_count == 1
    assert recording.caliber.record_shapes is True


@pytest.mark.parametrize("schema", SCHEMAS)
def test_rows_of_one_launch(read, schema):
    export = NsysExport(schema)
    export.nvtx("aten::mm, seq = 7, op_id = 3, sizes = [[8, 4], [4, 2]]", at=10, dur=20)
    call = export.launch(at=12, dur=5)
    export.kernel("gemm", at=20, dur=30, launch=call, grid=(4, 3, 2), block=(32, 4, 1))
    recording = read(export)

    op, launch = host_rows(recording)
    main = (str(PROCESS), str(PROCESS))
    dims = ("[[8, 4], [4, 2]]", "", "", "")
    assert op == (0, 20_000, "aten::mm", HostKind.OP, main, NONE, NONE, 7, dims)
    assert launch == (2000, 5000, "cudaLaunchKernel", HostKind.CALL, main, 1, NONE, NONE, None)
    kernel = (10_000, 30_000, "gemm", DeviceKind.KERNEL, 0, 7, 1, NONE, NONE, 24, 128)
    assert device_rows(recording) == [kernel]


@pytest.mark.parametrize(
    ("direction", "source", "target", "name", "kind"),
    [
        ("HtoD", "Pageable", "Device", "Memcpy HtoD (Pageable -> Device)", CopyKind.TO_DEVICE),
        ("HtoD", "Pinned", "Device", "Memcpy HtoD (Pinned -> Device)", CopyKind.TO_DEVICE_PINNED),
        ("DtoH", "Device", "Pageable", "Memcpy DtoH (Device -> Pageable)", CopyKind.TO_HOST),
        ("DtoH", "Device", "Pinned", "Memcpy DtoH (Device -> Pinned)", CopyKind.TO_HOST_PINNED),
        ("DtoD", "Device", "Device", "Memcpy DtoD (Device -> Device)", CopyKind.ON_DEVICE),
        ("HtoD", "unknown", "Device", "Memcpy HtoD", CopyKind.TO_DEVICE),
        ("PtoP", "unknown", "unknown", "Memcpy PtoP", CopyKind.ON_DEVICE),
    ],
)
def test_copies_are_spelled_as_the_timeline_reads_them(read, direction, source, target, name, kind):
    export = NsysExport()
    call = export.call("cudaMemcpyAsync_v3020", 0, 5)
    export.copy(6, 10, launch=call, direction=direction, source=source, target=target, size=77)
    recording = read(export)

    assert [recording.names[row] for row in recording.device.name] == [name]
    assert classify_copies(recording.names, recording.device.name).tolist() == [kind]
    assert recording.device.size.tolist() == [77]


def test_memsets_and_unified_memory(read):
    export = NsysExport()
    export.memset(0, 5, launch=export.call("cudaMemsetAsync_v3020", 0, 1), size=99)
    export.copy(10, 5)
    export.rows[f"{ACTIVITY}MEMCPY"][0] |= {"copyKind": 11, "correlationId": 0}
    recording = read(export)

    rows = [(row[2], row[3], row[6], row[8]) for row in device_rows(recording)]
    assert rows == [
        ("Memset (Device)", DeviceKind.MEMSET, 1, 99),
        ("Memcpy Unified HtoD", DeviceKind.COPY, NONE, 1024),
    ]


def test_calls_lose_the_version_of_the_interface_and_no_other(read):
    export = NsysExport()
    written = ("cudaLaunchKernel_v7000", "cudaLaunchKernelExC_v11060_ptsz", "cuMemAlloc_v2")
    for at, name in enumerate((*written, "cuLaunchKernel", "cudaStreamSynchronize_v3020")):
        export.call(name, at * 10, 5)
    export.kernel("k", 7, 10, launch=1)
    recording = read(export)
    calls = names_of(recording, HostKind.CALL)

    assert calls == [
        *("cudaLaunchKernel", "cudaLaunchKernelExC_ptsz", "cuMemAlloc_v2"),
        *("cuLaunchKernel", "cudaStreamSynchronize"),
    ]
    kinds = classify_names(recording.names, recording.host.name)[recording.host.name]
    assert kinds.tolist() == [
        *(CallKind.LAUNCH, CallKind.LAUNCH, CallKind.ALLOCATOR),
        *(CallKind.LAUNCH, CallKind.STREAM_SYNC),
    ]


def test_a_graph_launch_carries_the_kernels_of_its_nodes(read):
    export = NsysExport()
    call = export.call("cudaGraphLaunch_v10000", 0, 5)
    for row in range(3):
        export.kernel("k", 10 + 10 * row, 8, launch=call)
    export.graph(4, 10, 30, launch=call)  # the same work once more, as a whole
    timeline = build_timeline(read(export))

    assert len(timeline.launches) == 1
    assert timeline.launches.of_row.tolist() == [0, 0, 0]


def test_a_graph_recorded_as_one_is_one_piece_of_work(read):
    export = NsysExport()
    for step in range(20):
        call = export.call("cudaGraphLaunch_v10000", step * 1000, 5)
        export.graph(4, step * 1000 + 10, 900, launch=call)
    recording = read(export)

    assert {recording.names[row] for row in recording.device.name} == {"CUDA graph 4"}
    assert findings(recording) == {"graphs-as-one": "info"}
    assert "--cuda-graph-trace=node" in message(recording, "graphs-as-one")
    assert build_timeline(recording).busy.all.total == 20 * 900_000


# --- NVTX -----------------------------------------------------------------------------------------


OP, RANGE = HostKind.OP, HostKind.RANGE
LOADER = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
TEXTS = [
    ("aten::mm", ("aten::mm", OP, NONE, None)),
    ("aten::mm, seq = 0", ("aten::mm", OP, 0, None)),
    ("aten::mm, op_id = 2, sizes = [[64, 32], []]", ("aten::mm", OP, NONE, "[[64, 32], []]")),
    (
        "MmBackward0, seq = 3, op_id = 9, sizes = [[2]], input_op_ids = [(1,0), (2,1)]",
        ("MmBackward0", OP, 3, "[[2]]"),
    ),
    ("aten::cat, seq = 1, sizes = [[[2], [4]], []]", ("aten::cat", OP, 1, "[[[2], [4]], []]")),
    ("aten::mm, sizes = [[2, ]", ("aten::mm", OP, NONE, None)),
    ("aten::mm, sizes = [[2", ("aten::mm, sizes = [[2", RANGE, NONE, None)),
    (
        "autograd::engine::evaluate_function: MmBackward0, op_id = 5",
        ("autograd::engine::evaluate_function: MmBackward0", OP, NONE, None),
    ),
    ("my_op, seq = 5", ("my_op", OP, 5, None)),
    ("my range, op_id = 41", ("my range", RANGE, NONE, None)),
    ("Optimizer.step#SGD.step, op_id = 41", ("Optimizer.step#SGD.step", RANGE, NONE, None)),
    (f"{LOADER}, op_id = 1", (LOADER, RANGE, NONE, None)),
    ("ProfilerStep#3", ("ProfilerStep#3", RANGE, NONE, None)),
    ("nccl:all_reduce, seq = 4", ("nccl:all_reduce", RANGE, 4, None)),
    ("epoch 1, batch 3", ("epoch 1, batch 3", RANGE, NONE, None)),
    ("training: step = 4", ("training: step = 4", RANGE, NONE, None)),
    ("{'mod': 'torch', 'op': 'randn', 'args': []}", ("torch.randn", OP, NONE, None)),
    ("{not a dict}", ("{not a dict}", RANGE, NONE, None)),
]


@pytest.mark.parametrize("inline", [True, False], ids=["text", "textId"])
@pytest.mark.parametrize(("text", "label"), TEXTS)
def test_texts(read, text, label, inline):
    export = NsysExport()
    export.nvtx(text, 0, 50, inline=inline)
    export.submit("k", 10, start=20, dur=5)
    row = host_rows(read(export))[0]

    assert (row[2], row[3], row[7], row[8][0] if row[8] else None) == label


@pytest.mark.parametrize("text", ["{'traceMarker': ['a.py:3']}", '{"model_config": {}}'])
def test_markers_are_no_ranges(read, text):
    export = nsys_training_steps()
    export.nvtx(text, 0, 50)

    assert text not in read(export).names


def test_ranges_that_start_and_end_on_different_threads(read):
    export = NsysExport()
    export.nvtx("request 1", 0, 100, kind=START_END, end_thread=PROCESS + 5)
    export.submit("k", 10, start=20, dur=5)
    recording = read(export)

    assert names_of(recording, HostKind.RANGE) == ["request 1"]
    assert recording.threads[recording.host.thread[0]].tid == str(PROCESS)


def test_marks_are_no_ranges_and_open_ranges_are_left_out(read):
    export = nsys_training_steps()
    export.nvtx("a mark", 5, 0, kind=34)
    export.nvtx("cut off", 600, None)
    recording = read(export)

    assert findings(recording) == {"open-ranges": "info"}
    assert "a mark" not in recording.names
    assert "cut off" not in names_of(recording, HostKind.RANGE)


@pytest.mark.parametrize("schema", SCHEMAS)
def test_repeated_ranges_give_the_steps(read, schema):
    timeline = build_timeline(read(nsys_training_steps(4, schema=schema)))

    assert timeline.steps.source == "user ranges"
    assert len(timeline.steps) == 4
    assert np.bincount(timeline.launch_step).tolist() == [10, 10, 10, 10]


def test_optimizer_ranges_of_emit_nvtx_give_steps(read):
    export = NsysExport()
    for step in range(6):
        for row in range(5):
            at = step * 100 + row * 10
            export.submit(f"kernel_{(row * step) % 7}", at, start=at + 8, dur=2)
        export.nvtx(f"Optimizer.step#SGD.step, op_id = {step + 50}", step * 100 + 60, 20)
        export.submit("update", step * 100 + 62, start=step * 100 + 70, dur=2)
    timeline = build_timeline(read(export))

    assert timeline.steps.source == "optimizer"
    assert len(timeline.steps) == 5


# --- Waits ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("schema", "kind", "call", "name"),
    [
        (2, 1, "cudaDeviceSynchronize_v3020", "Context Sync"),
        (2, 2, "cudaEventSynchronize_v3020", "Event Sync"),
        (2, 3, "cudaStreamSynchronize_v3020", "Stream Sync"),
        (2, 3, "cudaStreamWaitEvent_v3020", "Stream Wait Event"),
        (3, 4, "cuCtxSynchronize", "Context Sync"),
        (3, 1, "cudaEventSynchronize_v3020", "Event Sync"),
        (3, 3, "not recorded", "Stream Sync"),
        (3, 9, "not recorded", "Sync"),
    ],
)
def test_waits_are_named_by_their_call(read, schema, kind, call, name):
    export = NsysExport(schema)
    export.submit("k", 0, start=6, dur=20)
    number = export.call(call, 10, 20)
    export.sync(kind, 11, 18, call=number if call != "not recorded" else 999)
    recording = read(export)

    assert [recording.names[row] for row in recording.waits.name] == [name]
    assert recording.waits.stream.tolist() == [NONE]


def test_a_stream_waits_for_the_last_record_of_the_event(read):
    export = NsysExport()
    first = export.call("cudaEventRecord_v3020", 0, 1)
    export.submit("k", 2, start=8, dur=9, stream=20)
    second = export.call("cudaEventRecord_v3020", 10, 1)
    wait = export.call("cudaStreamWaitEvent_v3020", 12, 1)
    late = export.call("cudaEventRecord_v3020", 14, 1)
    for call, stream in ((first, 13), (second, 20), (late, 30)):
        export.record_event(5, call=call, stream=stream)
    export.record_event(6, call=second, stream=99)
    export.sync(2, 12, 1, call=wait, stream=7, event=5)
    waits = read(export).waits

    assert waits.stream.tolist() == [7]
    assert waits.on_stream.tolist() == [20]
    assert waits.event_correlation.tolist() == [second]


def test_an_event_that_was_never_recorded_is_unknown(read):
    export = NsysExport()
    export.submit("k", 2, start=8, dur=9)
    wait = export.call("cudaStreamWaitEvent_v3020", 12, 1)
    export.record_event(6, call=1, stream=99)
    for event in (5, UNSIGNED_NONE):
        export.sync(2, 12, 1, call=wait, stream=7, event=event)
    waits = read(export).waits

    assert waits.on_stream.tolist() == [NONE, NONE]
    assert waits.event_correlation.tolist() == [NONE, NONE]


def os_waiting(call, **how):
    """Steps of 1 ms, of which the main thread spends 0.6 in a call of the operating system."""
    export = NsysExport()
    for step in range(20):
        at = step * 1000
        export.os_call(call, at, 600, **how)
        for row in range(10):
            begin = at + 610 + row * 30
            export.submit("k", begin, start=begin + 8, dur=5)
    return export


def test_long_waits_of_the_main_thread_are_told(read):
    recording = read(os_waiting("poll"))

    assert names_of(recording, HostKind.RANGE) == ["os wait: poll"] * 19
    assert findings(recording) == {"os-waits": "info"}
    assert "data" not in message(recording, "os-waits")


@pytest.mark.parametrize(
    "export",
    [
        pytest.param(os_waiting("pthread_cond_timedwait"), id="taking turns"),
        pytest.param(os_waiting("ioctl"), id="no wait"),
        pytest.param(os_waiting("poll", thread=777), id="a thread without CUDA"),
    ],
)
def test_other_calls_of_the_system_are_not(read, export):
    recording = read(export)

    assert names_of(recording, HostKind.RANGE) == []
    assert findings(recording) == {}


def test_waits_inside_of_calls_are_theirs(read):
    export = nsys_training_steps()
    call = export.call("cudaStreamSynchronize_v3020", 700, 500)
    export.os_call("poll", 710, 480)

    assert call
    assert names_of(read(export), HostKind.RANGE) == ["step 0", "step 1", "step 2"]


# --- The profiler's own work ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("how", "kept"),
    [
        ({"name": "CUPTI: Instrumentation"}, True),
        ({"name": "CUPTI: Buffer flush", "thread": 999}, False),
        ({"name": "Buffer flush", "table": f"{ACTIVITY}OVERHEAD", "kind": 3}, True),
        ({"name": "Lazy function loading", "table": f"{ACTIVITY}OVERHEAD", "kind": 7}, False),
    ],
)
def test_overhead_is_what_the_profiler_did_on_threads_of_the_program(read, how, kept):
    export = nsys_training_steps()
    export.overhead(how.pop("name"), 100, 5, **how)

    assert bool(names_of(read(export), HostKind.OVERHEAD)) is kept


# --- Processes and devices ------------------------------------------------------------------------


def two_processes():
    """Process 200 keeps device 3 busier; both number their correlations from 1."""
    export = NsysExport()
    export.gpu(id=0, name="NVIDIA A100")
    export.gpu(id=3, name="NVIDIA H200")
    for row in range(12):
        for process, device, dur in ((100, 0, 2), (200, 0, 6)):
            call = export.launch(row * 20, process=process, correlation=row + 1)
            how = {"process": process, "device": device, "launch": call}
            export.kernel(f"of {process}", row * 20 + 8, dur, **how)
        export.nvtx("aten::mul", row * 20 - 1, 9, process=200)
        export.nvtx("aten::add", row * 20 - 1, 9, process=100)
    export.add("TARGET_INFO_CUDA_DEVICE", gpuId=3, cudaId=0, pid=200)
    export.add("TARGET_INFO_CUDA_DEVICE", gpuId=0, cudaId=0, pid=100)
    return export


def test_the_busiest_process_is_taken_with_its_own_rows_and_device(read):
    recording = read(two_processes())

    assert {recording.names[row] for row in recording.device.name} == {"of 200"}
    assert set(names_of(recording, HostKind.OP)) == {"aten::mul"}
    assert {thread.pid for thread in recording.threads} == {"200"}
    assert [device.name for device in recording.devices] == ["NVIDIA H200"]
    assert findings(recording) == {"other-processes": "info"}
    told = message(recording, "other-processes")
    assert "process 200 on device 0, the busiest, was taken" in told
    assert "process 100 on device 0 (33% as busy)" in told


def test_correlations_are_joined_within_the_process(read):
    timeline = build_timeline(read(two_processes()))

    assert len(timeline.launches) == 12
    assert timeline.launches.of_row.tolist() == list(range(12))


def test_two_devices_of_one_process(read):
    export = nsys_training_steps()
    for row in range(5):
        export.submit("k", 700 + row * 20, start=708 + row * 20, dur=4, device=1)
    recording = read(export)

    assert build_timeline(recording).device == 0
    assert [device.name for device in recording.devices] == ["NVIDIA H200", ""]
    assert "process 100 on device 1 (13% as busy)" in message(recording, "other-processes")


def test_the_main_thread_is_that_of_the_process(read):
    export = nsys_training_steps()
    for row in range(90):
        export.submit("backward", 700 + row * 20, start=708 + row * 20, dur=4, thread=555)
    string = export.string("pt_autograd_0")
    export.add("ThreadNames", nameId=string, globalTid=(1 << 48) | (PROCESS << 24) | 555)
    recording = read(export)

    assert recording.threads[recording.main_thread].tid == str(PROCESS)
    assert {thread.name for thread in recording.threads} == {"", "pt_autograd_0"}


def test_without_a_thread_of_its_own_name_the_one_with_most_calls_is_main(read):
    export = NsysExport()
    for thread, count in ((555, 3), (777, 9)):
        for row in range(count):
            at = thread * 1000 + row * 20
            export.submit("k", at, start=at + 8, dur=4, thread=thread)
    recording = read(export)

    assert recording.threads[recording.main_thread].tid == "777"


def test_without_process_ids_there_is_one_process(read, tmp_path):
    path = nsys_training_steps().write(tmp_path / "old.sqlite")
    connection = sqlite3.connect(path)
    connection.execute(f"ALTER TABLE {ACTIVITY}KERNEL DROP COLUMN globalPid")
    connection.commit()
    connection.close()

    assert len(read_recording(path).device) == 30


# --- The start of the program ---------------------------------------------------------------------


def after_start(steps, launches=20):
    """A program from its first line: a context of 2 s, a module of 0.3 s, then steps."""
    export = NsysExport()
    export.nvtx("import", 0, 3 * SECOND)
    export.call("cudaMalloc_v3020", 4 * SECOND, 2 * SECOND)
    export.nvtx("step 0", 6.1 * SECOND, 0.4 * SECOND)
    cold = export.call("cudaLaunchKernel_v7000", 6.1 * SECOND, 0.3 * SECOND)
    export.kernel("k", 6.4 * SECOND, 5, launch=cold)
    for step in range(1, steps):
        begin = 7 * SECOND + step * 1000
        export.nvtx(f"step {step}", begin, 990)
        for row in range(launches):
            at = begin + 20 + row * 40
            export.submit("k", at, start=at + 8, dur=30)
    return export


def test_the_start_of_a_program_is_cut_off(read):
    recording = read(after_start(21))
    timeline = build_timeline(recording)

    assert findings(recording) == {"warm-up-left-out": "info"}
    assert "hold 2 calls that load code" in message(recording, "warm-up-left-out")
    assert len(recording.device) == 400
    assert len(timeline.steps) == 20
    assert not is_void(recording)


def test_a_program_that_only_starts_has_no_verdict(read):
    recording = read(after_start(3))

    assert findings(recording)["cold-start"] == "fatal"
    assert "--capture-range=cudaProfilerApi" in message(recording, "cold-start")
    assert len(recording.device) == 41
    assert diagnose(recording).verdict.name == "undecided"


def test_a_long_call_in_the_middle_stays(read):
    export = after_start(21)
    export.call("cudaMalloc_v3020", 7 * SECOND + 15_100, 0.3 * SECOND)
    for step in range(10):
        at = 7.5 * SECOND + step * 1000
        export.submit("k", at, start=at + 8, dur=30)

    assert "cudaMalloc" in names_of(read(export), HostKind.CALL)


def test_a_long_wait_is_no_start(read):
    export = nsys_training_steps(30)
    export.call("cudaDeviceSynchronize_v3020", 10, 1)
    export.call("cudaStreamSynchronize_v3020", 30 * 220, 100_000)

    assert "warm-up-left-out" not in findings(read(export))


# --- Against the same runs as torch.profiler recorded them ----------------------------------------


def without_frames():
    return sorted(path.name for path in REAL.glob("*.json.gz") if ".stack." not in path.name)


def host_parts(diagnosis):
    """Shares of the step; the device part as a whole, since NVTX tells no element types."""
    shares = {part.part: part.share for part in diagnosis.waterfall}
    return {name: share for name, share in shares.items() if not name.startswith("device-")}


@pytest.mark.parametrize("file", without_frames())
def test_the_diagnosis_is_that_of_the_other_recording_of_the_run(read, file):
    theirs = read_recording(REAL / file)
    ours = read(as_nsys(theirs, schema=2 + len(file) % 2))
    expected, found = diagnose(theirs), diagnose(ours)

    assert found.verdict.name == expected.verdict.name
    assert found.verdict.cause == expected.verdict.cause
    assert found.steps.drained_ms == pytest.approx(expected.steps.drained_ms, rel=1e-3)
    assert found.steps.unprofiled_ms.estimate == pytest.approx(
        expected.steps.unprofiled_ms.estimate, rel=1e-2
    )
    assert found.device.ms_per_step == pytest.approx(expected.device.ms_per_step, rel=1e-3)
    assert host_parts(found) == pytest.approx(host_parts(expected), abs=0.01)


# --- Public exports of both generations -----------------------------------------------------------


@pytest.mark.parametrize(
    ("file", "counts", "device"),
    [
        ("nsys_2022_pytorch", (46, 12, 4), "NVIDIA GeForce RTX 2070 SUPER"),
        ("nsys_2025_cuda_c", (1, 3, 0), "NVIDIA GeForce RTX 3060"),
    ],
)
def test_a_shared_export_is_read_whole_and_has_no_verdict(shared, file, counts, device):
    recording = read_recording(shared / "nsight" / f"{file}.sqlite.gz")
    diagnosis = diagnose(recording)

    kinds = np.bincount(recording.device.kind, minlength=len(DeviceKind)).tolist()
    assert tuple(kinds) == counts
    assert recording.devices[0].name == device
    assert (build_timeline(recording).launches.of_row != NONE).all()
    assert findings(recording)["cold-start"] == "fatal"  # one pass, after 2.1 and 0.3 s of start
    assert diagnosis.verdict.name == "undecided"


def test_a_shared_export_of_emit_nvtx_has_operators_and_waits(shared):
    recording = read_recording(shared / "nsight" / "nsys_2022_pytorch.sqlite.gz")
    waits = [recording.names[name] for name in recording.waits.name]
    between = recording.waits.on_stream != NONE

    assert "aten::cudnn_convolution" in names_of(recording, HostKind.OP)
    assert "torch.nn.functional.conv2d" in names_of(recording, HostKind.OP)
    assert waits.count("Stream Wait Event") == 40
    assert waits.count("Event Sync") == 15
    assert waits.count("Stream Sync") == 11
    assert between.sum() == 40
    assert (recording.waits.stream[between] != recording.waits.on_stream[between]).all()


# --- Refused --------------------------------------------------------------------------------------


def refusal(path):
    with pytest.raises(UnreadableError) as refused:
        read_recording(path)
    assert "\n" not in refused.value.message
    assert str(path) in refused.value.message
    assert refused.value.hint
    assert refused.value.exit_code == 125
    return refused.value


def test_other_databases_are_refused(tmp_path):
    path = tmp_path / "other.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE StringIds (id, value)")
    connection.close()

    assert "no export of Nsight Systems" in refusal(path).message


def test_an_export_without_cuda_says_how_to_record_it(tmp_path):
    export = NsysExport()
    export.nvtx("step 0", 0, 10)

    error = refusal(export.write(tmp_path / "a.sqlite"))
    assert "No CUDA activity recorded: run nsys with -t cuda,nvtx,osrt" in error.message


def test_calls_without_device_rows_are_read_and_void(read):
    export = nsys_training_steps()
    del export.rows[f"{ACTIVITY}KERNEL"]

    assert findings(read(export))["no-kernels"] == "fatal"


@pytest.mark.parametrize("kept", [0.05, 0.3, 0.6, 0.9, 0.999])
@pytest.mark.parametrize("name", ["a.sqlite", "a.sqlite.gz"])
def test_cut_short(tmp_path, kept, name):
    path = nsys_training_steps(40).write(tmp_path / name)
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * kept)])

    error = refusal(path)
    assert "cut short" in error.message
    assert "nsys export" in error.hint


def test_a_few_bytes_of_an_export(tmp_path):
    path = nsys_training_steps().write(tmp_path / "a.sqlite")
    path.write_bytes(path.read_bytes()[:40])

    assert "cut short" in refusal(path).message


def test_damaged_pages(tmp_path):
    path = nsys_training_steps(40).write(tmp_path / "a.sqlite")
    content = bytearray(path.read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    path.write_bytes(content)

    assert "damaged" in refusal(path).message


@pytest.mark.parametrize("seed", range(20))
def test_damage_anywhere_is_told_or_read_past(tmp_path, seed):
    dice = np.random.default_rng(seed)
    path = nsys_training_steps(30).write(tmp_path / "a.sqlite")
    content = bytearray(path.read_bytes())
    for place in dice.integers(100, len(content), size=dice.choice([1, 10, 100])):
        content[place] = dice.integers(256)
    path.write_bytes(content)

    with suppress(UnreadableError):
        assert len(read_recording(path).host)


def test_nothing_is_written_beside_the_export(tmp_path):
    path = nsys_training_steps().write(tmp_path / "a.sqlite")
    before = path.read_bytes()
    tmp_path.chmod(0o555)
    try:
        read_recording(path)
    finally:
        tmp_path.chmod(0o755)

    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["a.sqlite"]


def test_a_newer_schema_is_read_and_told(read):
    export = nsys_training_steps()
    export.version = "4.1.0"

    assert findings(read(export)) == {"newer-schema": "warning"}


def test_names_need_not_be_text(read, tmp_path):
    path = nsys_training_steps().write(tmp_path / "a.sqlite")
    connection = sqlite3.connect(path)
    connection.execute("UPDATE StringIds SET value = CAST(x'ff41' AS TEXT) WHERE value LIKE 'v%'")
    connection.execute("DELETE FROM StringIds WHERE value LIKE 'cudaDevice%'")
    connection.commit()
    connection.close()
    recording = read_recording(path)

    assert {recording.names[row] for row in recording.device.name} == {"\ufffdA"}
    assert any(name.startswith("string ") for name in names_of(recording, HostKind.CALL))
