"""Diagnoses written by hand, one a class of program: what the reports and the command are given."""

import roofs
from boundby.diagnose import Diagnosis
from boundby.evidence.facts import Evidence, Place
from boundby.evidence.tables import OpRow, RangeRow, SyncRow
from boundby.prescribe.prescription import Costs, Prescription
from boundby.read.recording import Caliber, Device, Quality, Source
from boundby.replay.values import (
    Calibration,
    Estimate,
    Quartiles,
    StepTimes,
    WaterfallPart,
    WhatIf,
)
from boundby.timeline.summary import DeviceSummary, HostSummary, OwnerShares, QueueDelay
from boundby.verdict.decision import DecisionPath, Fork, Rung, RunnerUp, Verdict
from boundby.verdict.next import NextCommand

CUDA_GRAPH = Prescription(
    id="cuda-graph",
    edit="no_submit_cost",
    title="Replay the step as one CUDA graph.",
    why="108 launches a step take 3.4 of 3.84 ms on the host; the device needs 0.325 ms.",
    how='model = torch.compile(model, mode="reduce-overhead")',
    predicted_ms=0.362,
    low=0.35,
    high=0.41,
    stop_when="launch calls are below 10% of the host time, or the device is busy over 90%.",
    costs=Costs(memory="a static pool", shapes="fixed", compile="tens of seconds, once"),
)
LARGER_BATCH = Prescription(
    id="larger-batch",
    edit=None,
    title="Give each kernel more work.",
    why="The median kernel runs 2.4 us.",
    how="loader = DataLoader(dataset, batch_size=8 * batch_size)",
    predicted_ms=None,
    low=None,
    high=None,
    stop_when="samples per second no longer rise.",
)
LOW_PRECISION = Prescription(
    id="low-precision",
    edit="bf16",
    title="Run matrix products in bf16.",
    why="Matrix products run in fp32.",
    how="with torch.autocast('cuda', torch.bfloat16):\n    loss = model(batch)",
    predicted_ms=3.83,
    low=3.1,
    high=4.6,
    stop_when="matrix products run near the tensor-core ceiling.",
    costs=Costs(numerics="8 bits of mantissa"),
    pays=False,
)


def launch_bound() -> Diagnosis:
    """A small encoder, batch 1: the device waits for the next launch."""
    return Diagnosis(
        source=Source("small_encoder.json.gz", "kineto", 118_890, 4_756),
        caliber=Caliber("NVIDIA H200", 1, "2.11.0+cu130", "13.0", None, None, True, False),
        quality=(),
        steps=StepTimes(
            count=3,
            source="ProfilerStep",
            drained_ms=11.72,
            steady_ms=11.69,
            range_ms=Quartiles(11.7, 11.6, 11.9),
            unprofiled_ms=Estimate(3.84, 3.1, 4.7),
        ),
        calibration=Calibration("prior", "per-event", 0.328),
        devices=(Device(0, "NVIDIA H200", 150_109_880_320, 132),),
        device=DeviceSummary(
            busy_share_observed=0.0277,
            busy_share_unprofiled=0.0846,
            ms_per_step=0.3245,
            events_per_step=108,
            launches_per_step=108,
            syncs_per_step=1,
            median_kernel_us=2.4,
            queue_delay_us=QueueDelay(5.6, 19.2),
            shares=OwnerShares(0.0267, 0.0, 0.001, 0.0, 0.9723),
        ),
        waterfall=(
            WaterfallPart("data", 0.0, 0.0),
            WaterfallPart("sync", 0.012, 0.003125),
            WaterfallPart("python", 0.9135, 0.237891),
            WaterfallPart("submission", 2.59, 0.674479),
            WaterfallPart("device-compute", 0.2045, 0.053255),
            WaterfallPart("device-memory", 0.12, 0.03125),
        ),
        verdict=Verdict(
            name="launch-bound",
            cause=None,
            strength="strong",
            because=("device-busy", "launches", "queue-delay", "kernel-median"),
            runner_up=RunnerUp("python-bound", 0.24),
        ),
        path=DecisionPath(
            forks=(
                Fork("device busy, unprofiled", "sparse (8%)"),
                Fork("host spends it on", "launch calls and operators (67%)"),
            ),
            leaf="launch-bound",
            disagreement=None,
        ),
        host=HostSummary(0.31, 0.44, 0.23, 0.02),
        what_if=(
            WhatIf("no_submit_cost", 0.362, 0.35, 0.41, 10.6),
            WhatIf("no_python", 2.93, 2.4, 3.7, 1.31),
        ),
        ladder=(
            Rung("launch-bound", "no_submit_cost", 0.362),
            Rung("compute-bound", "", 0.362, pays=False),
        ),
        prescriptions=(CUDA_GRAPH, LARGER_BATCH, LOW_PRECISION),
        ranges=(RangeRow("forward", 1, 10.9, 0.3245),),
        ops=(
            OpRow("aten::addmm", 24, 1.2, 1.9, 0.2, 0.2),
            OpRow("cudaLaunchKernel", 108, 0.9, 0.9, 0.0, 0.0),
            OpRow(
                "void at::native::vectorized_elementwise_kernel<4, at::native::"
                "CUDAFunctor_add<float>, std::array<char*, 3ul> >(int)",
                12,
                0.0,
                0.0,
                0.03,
                0.03,
            ),
        ),
        syncs=(SyncRow("explicit-sync", 1, 0.0, 0.012),),
        next=(
            NextCommand("boundby explain launch-bound", "What it means and when to stop."),
            NextCommand(
                "nsys profile -t cuda,nvtx,osrt python train.py",
                "What the driver and other processes do (system layer).",
            ),
        ),
        evidence=(
            Evidence(
                "device-busy", 0.0846, "share", "The device works 8% of the step.", "estimated"
            ),
            Evidence("launches", 108, "count", "108 launches a step, one every 36 us.", "derived"),
            Evidence(
                "queue-delay",
                5.6,
                "us",
                "A kernel starts 5.6 us after its launch call began (median): the queue is empty.",
                "measured",
            ),
            Evidence(
                "kernel-median",
                2.4,
                "us",
                "The median kernel runs 2.4 us, less than its submission takes.",
                "measured",
            ),
            Evidence("observer", 7.88, "ms", "The profiler adds 7.88 ms a step.", "estimated"),
        ),
    )


def sync_bound() -> Diagnosis:
    """The value of a tensor is read after every layer."""
    return Diagnosis(
        source=Source("item_each_layer.json.gz", "kineto", 53_361, 2_739),
        caliber=Caliber("NVIDIA H200", 1, None, "13.0", None, None, True, False),
        quality=(
            Quality(
                "edge-sync", "info", 1, "The last device sync belongs to the recording: dropped."
            ),
            Quality(
                "cold-start",
                "warning",
                1,
                "One launch call took 31 ms: the first step pays for initialisation; "
                "record after a warm-up.",
            ),
        ),
        steps=StepTimes(
            3, "ProfilerStep", 6.18, 6.16, Quartiles(6.2, 6.1, 6.2), Estimate(4.206, 3.9, 4.5)
        ),
        calibration=Calibration("step-ms", "per-event", 0.61),
        devices=(Device(0, "NVIDIA H200"),),
        device=DeviceSummary(
            0.26,
            0.385,
            1.618,
            96,
            96,
            24,
            14.1,
            QueueDelay(7.9, 22.0),
            OwnerShares(0.26, 0.0, 0.002, 0.0, 0.738),
        ),
        waterfall=(
            WaterfallPart("sync", 1.85, 0.44),
            WaterfallPart("python", 0.21, 0.05),
            WaterfallPart("submission", 0.53, 0.125),
            WaterfallPart("device-compute", 1.616, 0.385),
        ),
        verdict=Verdict(
            "sync-bound",
            "item",
            "moderate",
            ("sync-cost", "device-busy"),
            RunnerUp("launch-bound", 0.13),
        ),
        path=DecisionPath(
            (Fork("device lane", "holes in turn with the host (24 waits a step)"),),
            "sync-bound",
            None,
        ),
        host=HostSummary(0.12, 0.3, None, 0.44),
        what_if=(WhatIf("no_sync", 2.35, 2.1, 2.9, 1.79),),
        ladder=(Rung("sync-bound", "no_sync", 2.35),),
        prescriptions=(
            Prescription(
                id="batch-item",
                edit="no_sync",
                title="Read values back once in many steps.",
                why="24 reads of a value a step wait for the device with an almost empty queue.",
                how="running += loss.detach()\nif step % 100 == 0:\n    log(running.item() / 100)",
                predicted_ms=2.35,
                low=2.1,
                high=2.9,
                stop_when="the waits cost less than 2% of the step.",
            ),
        ),
        ranges=(),
        ops=(),
        syncs=(
            SyncRow("item", 24, 0.04, 1.85, (Place("/home/alice/train.py", 42, "step", True),)),
        ),
        next=(NextCommand("boundby explain item", "What reading a value costs."),),
        evidence=(
            Evidence(
                "sync-cost",
                1.85,
                "ms",
                "24 waits a step cost 1.85 ms.",
                "derived",
                (Place("/home/alice/train.py", 42, "step", True),),
            ),
            Evidence(
                "device-busy", 0.385, "share", "The device works 39% of the step.", "estimated"
            ),
        ),
    )


def device_bound() -> Diagnosis:
    """A large fp32 matrix product."""
    return Diagnosis(
        source=Source("big_matmul.json.gz", "kineto", 2_454, 109),
        caliber=Caliber("NVIDIA H200", 1, "2.11.0+cu130", "13.0", 0, 8, True, False),
        quality=(),
        steps=StepTimes(
            5, "periodicity", 21.66, 21.5, Quartiles(None, None, None), Estimate(21.56, 21.1, 22.0)
        ),
        calibration=Calibration("clean-pass", "per-event", 0.7),
        devices=(Device(0, "NVIDIA H200"),),
        device=DeviceSummary(
            0.992,
            0.9975,
            21.508,
            1,
            1,
            0,
            21508.0,
            QueueDelay(None, None),
            OwnerShares(0.992, 0.0, 0.0, 0.0, 0.008),
        ),
        waterfall=(
            WaterfallPart("submission", 0.052, 0.0024),
            WaterfallPart("device-compute", 21.508, 0.9976),
        ),
        verdict=Verdict("compute-bound", "precision", "strong", ("device-busy",), None),
        path=DecisionPath(
            (Fork("device busy, unprofiled", "dense (100%)"), Fork("led by", "mm (100%)")),
            "memory-bound",
            "one kernel is too few to tell by its name",
        ),
        host=HostSummary(0.01, 0.02, None, None),
        what_if=(WhatIf("tf32", 3.18, 3.0, 3.4, 6.78),),
        ladder=(
            Rung("compute-bound", "tf32", 3.18),
            Rung("compute-bound", "no_submit_cost", 3.17, pays=False),
        ),
        prescriptions=(LOW_PRECISION,),
        ranges=(),
        ops=(),
        syncs=(),
        next=(),
        evidence=(
            Evidence(
                "device-busy", 0.9975, "share", "The device works >99% of the step.", "measured"
            ),
        ),
        roofline=roofs.known(),
    )


def undecided() -> Diagnosis:
    """A recording of the host alone."""
    return Diagnosis(
        source=Source("cpu_only.json", "kineto", 870_000, 3_430),
        caliber=Caliber(),
        quality=(
            Quality(
                "no-kernels",
                "fatal",
                0,
                "No device work was recorded; record with CUDA activities.",
            ),
        ),
        steps=StepTimes(8, "ProfilerStep", None, None, Quartiles(1.9, 1.8, 2.2), None),
        calibration=Calibration("prior", "per-event", None),
        devices=(),
        device=DeviceSummary(
            None, None, None, None, None, None, None, QueueDelay(None, None), None
        ),
        waterfall=(),
        verdict=Verdict(
            "undecided",
            None,
            None,
            (),
            None,
            "The recording holds no device work, so there is no device line to compare with.",
        ),
        path=None,
        host=HostSummary(None, 0.7, 0.3, None),
        what_if=(),
        ladder=(),
        prescriptions=(),
        ranges=(),
        ops=(),
        syncs=(),
        next=(NextCommand("boundby explain no-kernels", "How to record one that can be judged."),),
        evidence=(),
    )


ALL = (launch_bound, sync_bound, device_bound, undecided)
