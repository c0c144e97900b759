"""Tiny Kineto traces in a few readable calls; the only place in the tests that knows event fields.

Times are microseconds, as in the format. One process, thread 1 unless said otherwise, device 0,
stream 7::

    trace = Trace()
    trace.step(1, at=0, dur=100)
    op = trace.op("aten::mm", at=10, dur=20, dims=[[8, 4], [4, 2]])
    call = trace.launch(at=12, dur=5, op=op)
    trace.kernel("gemm", at=20, dur=30, launch=call)
    path = trace.write(tmp_path / "trace.json")
"""

import gzip
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PROCESS = 100
STREAM = 7
H200 = {"id": 0, "name": "NVIDIA H200", "totalGlobalMem": 150109880320, "numSms": 132}


def _members() -> dict[str, Any]:
    return {
        "schemaVersion": 1,
        "deviceProperties": [H200],
        "cuda_runtime_version": 13000,
        "baseTimeNanoseconds": 1_700_000_000_000_000_000,
    }


@dataclass
class Trace:
    """Events in the order they were added, and the members around them.

    ``op`` and ``range`` return an external id (for ``op=``), calls a correlation (for ``launch=``).
    """

    events: list[dict[str, Any]] = field(default_factory=list)
    metadata: dict[str, Any] = field(default_factory=_members)
    last_id: int = 0

    def new_id(self) -> int:
        """A number no event has yet; they rise, as the profiler's do."""
        self.last_id += 1
        return self.last_id

    def add(self, category: str, name: str, at: float, dur: float, **args: Any) -> None:
        """Any complete event, of process 100 and thread 1 unless ``args`` say otherwise.

        Arguments that are ``None`` are left out.
        """
        event = {"ph": "X", "cat": category, "name": name, "ts": at, "dur": dur}
        event |= {"pid": args.pop("process", PROCESS), "tid": args.pop("thread", 1)}
        event["args"] = {key: value for key, value in args.items() if value is not None}
        self.events.append(event)

    # --- Host -------------------------------------------------------------------------------------

    def op(self, name: str, at: float, dur: float, *, thread: int | str = 1, **shown: Any) -> int:
        """A framework operator; ``shown``: sequence, dims, types, strides, concrete."""
        external = self.new_id()
        args = {
            "External id": external,
            "Sequence number": shown.pop("sequence", None),
            "Input Dims": shown.pop("dims", None),
            "Input type": shown.pop("types", None),
            "Input Strides": shown.pop("strides", None),
            "Concrete Inputs": shown.pop("concrete", None),
        }
        self.add("cpu_op", name, at, dur, thread=thread, **args, **shown)
        return external

    def call(self, name: str, at: float, dur: float, *, op: int | None = None, **args: Any) -> int:
        """A runtime call: a wait, an allocation, a query; a driver's with its ``category``."""
        correlation = self.new_id()
        category = args.pop("category", "cuda_runtime")
        args |= {"External id": op, "cbid": 211, "correlation": correlation}
        self.add(category, name, at, dur, **args)
        return correlation

    def launch(
        self, at: float, dur: float = 5, *, name: str = "cudaLaunchKernel", **how: Any
    ) -> int:
        """A call that submits work; give what it returns to ``kernel``, ``copy`` or ``memset``."""
        return self.call(name, at, dur, **how)

    def range(self, name: str, at: float, dur: float, *, thread: int | str = 1) -> int:
        """A ``record_function`` range."""
        external = self.new_id()
        self.add("user_annotation", name, at, dur, thread=thread, **{"External id": external})
        return external

    def step(self, number: int, at: float, dur: float, *, thread: int | str = 1) -> int:
        """A ProfilerStep range."""
        return self.range(f"ProfilerStep#{number}", at, dur, thread=thread)

    def frame(self, name: str, at: float, dur: float, *, thread: int | str = 1) -> None:
        """A Python frame (``with_stack=True``)."""
        self.add("python_function", name, at, dur, thread=thread, **{"Python id": self.new_id()})

    def overhead(self, at: float, dur: float, name: str = "Activity Buffer Request") -> None:
        """Work of the profiler itself."""
        self.add("overhead", name, at, dur, process=-1, thread=0)

    def window(self, at: float, dur: float) -> None:
        """The window as the profiler states it, after all other events."""
        self.add(
            "Trace", "PyTorch Profiler (0)", at, dur, process="Spans", thread="PyTorch Profiler"
        )

    # --- Device -----------------------------------------------------------------------------------

    def device_row(self, category: str, name: str, at: float, dur: float, **args: Any) -> None:
        """Any device event; ``args``: launch, stream, device and what the category has."""
        device, stream = args.pop("device", 0), args.pop("stream", STREAM)
        args |= {"device": device, "stream": stream, "correlation": args.pop("launch", None)}
        self.add(category, name, at, dur, process=device, thread=stream, **args)

    def kernel(
        self, name: str, at: float, dur: float, *, launch: int | None = None, **how: Any
    ) -> None:
        """A kernel; ``how``: stream, device, grid, block. Many may share one graph launch."""
        how = {"grid": [132, 1, 1], "block": [128, 1, 1], **how}
        self.device_row("kernel", name, at, dur, launch=launch, **how)

    def copy(self, at: float, dur: float, *, launch: int | None = None, **how: Any) -> None:
        """A copy; ``how``: size in bytes, direction, stream, device."""
        name = f"Memcpy {how.pop('direction', 'HtoD (Pageable -> Device)')}"
        size = how.pop("size", 1024)
        self.device_row("gpu_memcpy", name, at, dur, launch=launch, bytes=size, **how)

    def memset(self, at: float, dur: float, *, launch: int | None = None, size: int = 4) -> None:
        """A memset of ``size`` bytes."""
        self.device_row("gpu_memset", "Memset (Device)", at, dur, launch=launch, bytes=size)

    def wait(self, kind: str, at: float, dur: float, *, call: int, **how: Any) -> None:
        """A recorded wait: ``Stream Wait Event``, ``Event Sync`` ...

        ``how``: ``stream`` that waits, ``on_stream`` it waits for, ``recorded_by`` (correlation).
        """
        args = {
            "cuda_sync_kind": kind,
            "stream": how.pop("stream", -1),
            "wait_on_stream": how.pop("on_stream", -1),
            "wait_on_cuda_event_record_corr_id": how.pop("recorded_by", -1),
        }
        self.device_row("cuda_sync", kind, at, dur, launch=call, **args, **how)

    def submit(self, name: str, at: float, *, start: float, dur: float, **how: Any) -> int:
        """A launch of 5 us at ``at`` and its kernel at ``start``; ``how``: op, stream, device."""
        correlation = self.launch(at, op=how.pop("op", None))
        self.kernel(name, start, dur, launch=correlation, **how)
        return correlation

    # --- Files ------------------------------------------------------------------------------------

    def document(self) -> dict[str, Any]:
        """The trace as torch.profiler writes it: members, events, the trace's own name."""
        return {**self.metadata, "traceEvents": self.events, "traceName": "trace.json"}

    def write(self, path: Path) -> Path:
        """Write the trace, compressed if the name ends in ``.gz``; the path."""
        text = json.dumps(self.document()).encode()
        path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
        return path


def training_steps(
    steps: int = 3, launches: int = 10, *, gap: float = 20, kernel: float = 5
) -> Trace:
    """A training loop: in each step ``launches`` operators ``gap`` us apart, one kernel each."""
    trace = Trace()
    length = gap * (launches + 1)
    for number in range(steps):
        begin = number * length
        trace.step(number + 1, begin, length)
        for row in range(launches):
            at = begin + gap * (row + 0.5)
            op = trace.op("aten::mul", at, gap * 0.75, dims=[[64, 64], []])
            trace.submit("vectorized_elementwise", at + 2, start=at + 10, dur=kernel, op=op)
    trace.call("cudaDeviceSynchronize", steps * length, 5)
    trace.window(0, steps * length + 5)
    return trace
