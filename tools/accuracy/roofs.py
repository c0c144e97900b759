"""What the roofline says of programs whose rates were measured, and of one that is made up."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from boundby.diagnose import diagnose
from boundby.read import read_recording
from boundby.report.document import document
from tools.accuracy.measure import Object, Result
from tools.accuracy.operations import CASES, exact
from tools.accuracy.questions import Answer

FEWEST_SHAPES = 40
"""Shapes whose operations must be exact, at least."""
ELEMENTS = 1 << 26
"""Of the arrays of the made-up program."""
ADDED, MERGED = 20, 12
"""Bytes an element that an addition and a relu in float32 move apart, and as one kernel: two
reads and a write, a read and a write; two reads and a write."""


@dataclass(frozen=True)
class Rate:
    """A rate that kernels of a recording reach, as measured without boundby.

    Attributes:
        column: ``tflops``, or ``gbs``.
        unit: That of ``low`` and ``high``; ``scale`` of them make one.
    """

    recording: str
    operator: str
    column: str
    low: float
    high: float
    unit: str
    scale: float


RATES = (
    Rate("matmul_fp32", "aten::mm", "tflops", 48, 52, "TFLOP/s", 1),
    Rate("elementwise_chain", "aten::gelu", "gbs", 4.0, 4.4, "TB/s", 1000),
    Rate("elementwise_chain", "aten::mul", "gbs", 4.0, 4.4, "TB/s", 1000),
    Rate("elementwise_chain", "aten::native_layer_norm", "gbs", 2.6, 3.0, "TB/s", 1000),
)
"""H200: products of 8192 cubed in float32 and streaming kernels over 256 MiB, by device events."""


def made_up() -> list[Answer]:
    """What needs no recording: operations of known shapes, and the gain of merging two kernels."""
    right = exact()
    return [
        Answer(
            f"operations of {len(CASES)} products, convolutions and attentions",
            f"exact, at least {FEWEST_SHAPES}",
            f"{len(right)} of {len(CASES)}",
            len(CASES),
            len(right) == len(CASES) >= FEWEST_SHAPES,
        ),
        _fusion(),
    ]


def rates(results: Sequence[Result]) -> list[Answer]:
    """Rates of kernels in the recordings of a set that have measured ones."""
    return [answer for rate in RATES for answer in _rate(rate, results)]


def _rate(rate: Rate, results: Sequence[Result]) -> Iterator[Answer]:
    """Whether a rate is met; nothing where the set has no such recording."""
    for result in results:
        if result.truth.name == rate.recording:
            said = _row(result.alone, rate.operator).get(rate.column)
            value = None if said is None else said / rate.scale
            yield Answer(
                f"{rate.recording}: {rate.operator}",
                f"{rate.low:g} to {rate.high:g} {rate.unit}",
                "not said" if value is None else f"{value:.2f} {rate.unit}",
                1,
                value is not None and rate.low <= value <= rate.high,
            )


def _row(said: Object, operator: str) -> Object:
    roofline = said.get("roofline") or {"operators": []}
    return next((row for row in roofline["operators"] if row["name"] == operator), {})


def _fusion() -> Answer:
    """An addition and a relu over N elements: what they move, and what one kernel would."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        path.write_text(json.dumps(add_and_relu(ELEMENTS)), "utf-8")
        said = document(diagnose(read_recording(path)))
    chain: Object = next((w for w in said["roofline"]["wastes"] if w["kind"] == "chain"), {})
    apart, merged = (chain.get(key, 0.0) / ELEMENTS for key in ("bytes", "least_bytes"))
    return Answer(
        "add and relu over N float32 elements, merged",
        f"{ADDED} N to {MERGED} N bytes, 1.67x",
        f"{apart:g} N to {merged:g} N bytes, {apart / merged:.2f}x" if merged else "not said",
        1,
        (apart, merged) == (ADDED, MERGED),
    )


def add_and_relu(elements: int) -> Object:
    """A Kineto trace of three steps on an H200: an addition and a relu, 1 ms each."""
    events: list[Object] = []
    for step in range(3):
        begin = step * 2_100.0
        events.append(_event("user_annotation", f"ProfilerStep#{step}", begin, 2_090.0, {}))
        for at, (name, operands) in enumerate((("aten::add", 2), ("aten::relu", 1))):
            events += _call(name, operands, elements, begin + 20 * at, begin + 100 + 1_000 * at)
    h200 = {"id": 0, "name": "NVIDIA H200", "numSms": 132, "totalGlobalMem": 150109880320}
    return {"schemaVersion": 1, "deviceProperties": [h200], "traceEvents": events}


def _call(name: str, operands: int, elements: int, at: float, start: float) -> Iterator[Object]:
    """An operator, its launch and its kernel."""
    number = int(at * 10) + 1
    recorded = {
        "External id": number,
        "Input Dims": [[elements]] * operands,
        "Input type": ["float"] * operands,
        "Input Strides": [[1]] * operands,
        "Concrete Inputs": [""] * operands,
    }
    yield _event("cpu_op", name, at, 15.0, recorded)
    yield _event("cuda_runtime", "cudaLaunchKernel", at + 2, 8.0, {"correlation": number})
    kernel = "void at::native::vectorized_elementwise_kernel<4, float>"
    on_device = {"correlation": number, "device": 0, "stream": 7}
    yield _event("kernel", kernel, start, 990.0, on_device, DEVICE)


HOST = (1, 1)
DEVICE = (0, 7)
"""Process and thread of an event; on the device, its number and the stream."""


def _event(
    category: str, name: str, at: float, dur: float, args: Object, lane: tuple[int, int] = HOST
) -> Object:
    event = {"ph": "X", "cat": category, "name": name, "ts": at, "dur": dur, "args": args}
    return {**event, "pid": lane[0], "tid": lane[1]}
