"""Ids that two launches share: each launch keeps its own work, or none, and the report says so."""

import numpy as np
import pytest

from boundby.read.recording import NONE
from builders import Trace, training_steps
from recordings import findings
from worlds import diagnosis_of, read


def launched(recording):
    """(name of the device row, start of its launch), for each row; None without a launch."""
    host, device = recording.host, recording.device
    calls = {}
    for correlation, start in zip(host.correlation, host.start, strict=True):
        if correlation != NONE:
            calls.setdefault(int(correlation), int(start))
    return [
        (recording.names[name], calls.get(int(correlation)))
        for name, correlation in zip(device.name, device.correlation, strict=True)
    ]


def session(trace, at, ids, *, kernel, device=0, process=100, delay=10, dur=5.0):
    """Launches 20 us apart with the given ids, each with its kernel."""
    for row, number in enumerate(ids):
        begin = at + 20 * row
        args = {"correlation": number, "process": process}
        trace.add("cuda_runtime", "cudaLaunchKernel", begin, 5, **args)
        trace.kernel(f"{kernel}{row}", begin + delay, dur, launch=number, device=device)


def own_launches(recording, delay=10):
    """Whether every device row was launched ``delay`` us before it."""
    starts = [int(start) - delay * 1000 for start in recording.device.start]
    return [start for _, start in launched(recording)] == starts


def test_two_sessions_in_one_file_keep_their_own_work():
    trace = Trace()
    session(trace, 0, range(1, 21), kernel="a")
    session(trace, 1000, range(1, 21), kernel="b")
    recording = read(trace)

    assert own_launches(recording)
    assert findings(recording) == {"shared-ids": "info"}
    assert next(q.count for q in recording.quality) == 20


def test_two_processes_with_a_device_each_keep_their_own_work():
    """An id that only one process used tells which process a device belongs to."""
    trace = Trace()
    session(trace, 0, range(1, 22), kernel="a", process=100, device=0, delay=30)
    session(trace, 2, [*range(1, 21), 99], kernel="b", process=200, device=1, delay=30)
    recording = read(trace)

    assert own_launches(recording, delay=30)
    assert findings(recording) == {"shared-ids": "info", "other-devices": "info"}


def test_launches_at_the_same_time_are_paired_in_order_and_weaken_the_verdict():
    trace = training_steps(launches=20)
    twin = training_steps(launches=20)
    for event in twin.events:
        event["ts"] += 1
        event["pid"] = 200 if event["pid"] == 100 else event["pid"]
    trace.events += [e for e in twin.events if e["cat"] in ("cuda_runtime", "kernel")]
    diagnosis = diagnosis_of(trace)

    assert {q.id: q.severity for q in diagnosis.quality}["shared-ids"] == "warning"
    assert diagnosis.verdict.strength in ("weak", None)


def test_work_that_no_order_explains_stays_without_a_launch():
    """Three launches, two kernels: which launch lost its kernel cannot be known."""
    trace = training_steps(launches=20)
    for at in (1, 2, 3):
        trace.add("cuda_runtime", "cudaLaunchKernel", at, 1, correlation=9000)
    for at in (5, 8):
        trace.kernel("odd", at, 2, launch=9000)
    recording = read(trace)

    assert [start for name, start in launched(recording) if name == "odd"] == [None, None]
    assert findings(recording)["shared-ids"] == "info"


def test_a_second_kernel_with_an_id_already_used_is_no_work_of_that_launch():
    trace = training_steps(launches=20)
    ids = [e["args"]["correlation"] for e in trace.events if e["cat"] == "kernel"]
    trace.kernel("stray", 700, 500, launch=ids[0])
    recording = read(trace)

    assert [start for name, start in launched(recording) if name == "stray"] == [None]
    assert findings(recording)["shared-ids"] == "warning"
    assert diagnosis_of(trace).verdict.strength in ("weak", None)


def test_a_graph_launch_carries_many_rows_and_shares_nothing():
    trace = training_steps()
    call = trace.launch(2, name="cudaGraphLaunch")
    for row in range(5):
        trace.kernel("node", 650 + row, 1, launch=call)

    assert "shared-ids" not in findings(read(trace))


def test_a_driver_call_inside_a_runtime_call_of_one_id_is_one_launch():
    trace = training_steps()
    for event in [e for e in trace.events if e["name"] == "cudaLaunchKernel"]:
        inner = {**event, "cat": "cuda_driver", "name": "cuLaunchKernel"}
        trace.events.append({**inner, "ts": event["ts"] + 1, "dur": event["dur"] - 2})
    recording = read(trace)

    assert own_launches(recording, delay=8)
    assert findings(recording) == {}


def test_a_query_of_another_session_takes_no_work_from_a_launch():
    trace = training_steps(launches=20)
    for event in [e for e in trace.events if e["cat"] == "kernel"][30:40]:
        again = event["args"]["correlation"]
        trace.add("cuda_runtime", "cudaEventQuery", 0, 1, correlation=again)
    recording = read(trace)

    assert own_launches(recording, delay=8)


@pytest.mark.parametrize("copies", [2, 3])
def test_sessions_change_no_time_of_the_first(copies):
    trace = Trace()
    for number in range(copies):
        session(trace, number * 1000, range(1, 31), kernel="k")
    recording = read(trace)
    joined = np.isin(recording.device.correlation, recording.host.correlation)

    assert joined.all()
    assert len(np.unique(recording.host.correlation)) == 30 * copies
