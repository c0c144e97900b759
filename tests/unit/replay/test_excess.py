"""A replay that is longer than its recording is told, and makes the verdict weak."""

from builders import Trace
from worlds import diagnosis_of


def a_loop(threads):
    """Three steps; each thread submits to a stream of its own and waits, beside the others."""
    trace = Trace()
    for step in range(3):
        trace.step(step, at=step * 610, dur=610)
    for thread in range(1, threads + 1):
        for turn in range(30):
            at = thread * 13 + turn * 61
            op = trace.op("aten::mm", at=at, dur=20, thread=thread)
            launch = trace.launch(at=at + 5, dur=6, op=op, thread=thread)
            trace.kernel("gemm", at=at + 14, dur=30, launch=launch, stream=6 + thread)
            trace.call("cudaStreamSynchronize", at=at + 21, dur=30, thread=thread)
    return trace


def findings(trace):
    return {finding.id for finding in diagnosis_of(trace).quality}


def test_threads_that_wait_at_once_are_replayed_one_after_the_other_and_said_to_be():
    diagnosis = diagnosis_of(a_loop(threads=4))

    assert "replay-differs" in {finding.id for finding in diagnosis.quality}
    assert diagnosis.verdict.strength in (None, "weak")


def test_one_thread_replays_as_recorded():
    assert "replay-differs" not in findings(a_loop(threads=1))
