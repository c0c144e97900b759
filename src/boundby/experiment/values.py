"""What experiments are made of: configurations, trials, gates, and facts about the program."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from boundby.statistics import Effect, Ratio

Configuration = tuple[tuple[str, str], ...]
"""Changes in force: pairs of the id of a change and the value it was applied with."""

Failure = Literal["oom", "hang", "crash", "compile", "recompiles", "ended", "input", "time"]
"""How a trial may end without a number. ``ended``: the script made too few steps. ``input``: the
program itself is at fault. ``time``: the minutes of the run ended in the middle of it."""

Decision = Literal["baseline", "kept", "reverted", "rejected", "failed", "probed"]
"""``reverted``: right, but not faster. ``rejected``: a gate failed. ``probed``: a batch size that
was only measured."""

BATCH = "larger-batch"
"""The change whose value is the batch size."""

WIDE = 0.5
"""A limit above half of a tensor's own size holds nothing: the losses alone do."""


@dataclass(frozen=True)
class Facts:
    """What is known of a program before it is changed; unknown is None.

    Attributes:
        kind: ``workload`` (a class) or ``script``.
        device: ``cuda`` or ``cpu``; ``device_name`` as the driver says.
        capability: Of a CUDA device, such as 9.0.
        memory_bytes: Of the device; on a CPU of the machine.
        batch: Samples of a step at the start.
        trains: Whether an optimizer makes the steps.
        optimizer: Its class; ``optimizer_forms`` lists which of ``fused``, ``foreach`` it has,
            ``optimizer_form`` the one in use.
        dtypes: Of the parameters.
        computes: Coarsest element type of the unchanged forward pass.
        modules: Class names of the modules, each once.
        offers: What the workload can do on top: ``attention``, ``loader``, ``log``; ``norms`` where
            its model writes some out.
        loader_workers: Of its own loader.
        cores: Names of attention functions that the workload brings.
        blocks: How many blocks can be checkpointed.
        threads, processors: Operator threads, and processors the process may use.
        thread_limit: Operator threads that the user's OMP_NUM_THREADS allows; None for no limit.
        caliber: As kept with each number.
        flops: Operations of a step at the start, as torch counts them.
    """

    kind: str = "workload"
    device: str = "cpu"
    device_name: str = ""
    capability: float | None = None
    memory_bytes: int | None = None
    batch: int | None = None
    trains: bool = True
    optimizer: str = ""
    optimizer_forms: tuple[str, ...] = ()
    optimizer_form: str = ""
    dtypes: tuple[str, ...] = ("float32",)
    computes: str = "float32"
    modules: tuple[str, ...] = ()
    offers: tuple[str, ...] = ()
    loader_workers: int = 0
    cores: tuple[str, ...] = ()
    blocks: int = 0
    threads: int = 1
    processors: int = 1
    thread_limit: int | None = None
    caliber: dict[str, Any] = field(default_factory=dict)
    flops: float | None = None

    @property
    def on_cuda(self) -> bool:
        """Whether the program runs on a CUDA or ROCm device."""
        return self.device == "cuda"

    @property
    def is_wide(self) -> bool:
        """Whether all of it computes in float32."""
        return self.computes == "float32" and "float32" in self.dtypes

    @property
    def has_tf32(self) -> bool:
        """Whether the program itself lets float32 products round their inputs; unknown is no."""
        flags = self.caliber.get("flags") or {}
        return flags.get("matmul_precision") in ("high", "medium")

    def has_module(self, *parts: str) -> bool:
        """Whether the name of any module holds one of the parts."""
        return any(part in name for name in self.modules for part in parts)


@dataclass(frozen=True)
class Gate:
    """Whether a candidate is right.

    Attributes:
        passed: None where nothing could be compared.
        precision: Element type it was held to.
        tensors: How many outputs and gradients were compared.
        worst: Tensor farthest over (else below) its limit; with its ``error`` and ``limit``.
        wide: How many limits are so wide that they hold nothing: the precision itself puts these
            tensors that far off.
        loss: The loss curve beside the baseline's, in one line.
        layouts: What the check of an attention function over layouts said; empty without one.
        notes: What was not compared, and why.
    """

    passed: bool | None
    precision: str = "float32"
    tensors: int = 0
    worst: str = ""
    error: float | None = None
    limit: float | None = None
    wide: int = 0
    loss: str = ""
    layouts: str = ""
    notes: tuple[str, ...] = ()

    @property
    def why(self) -> str:
        """What failed, or how close it was, in one line."""
        if self.layouts.startswith("fail"):
            return f"attention alone: {self.layouts}"
        if self.loss.startswith("fail"):
            return self.loss
        if self.error is None or self.limit is None:
            return self.loss or "nothing was compared"
        return f"{self.worst}: error {self.error:.1e}, limit {self.limit:.1e} ({self.precision})"


@dataclass(frozen=True)
class Memory:
    """Peaks since the start of the process, bytes; None where unknown.

    Attributes:
        peak: Allocated on the device, graph pools included; on a CPU the resident set.
        reserved: What the allocator held.
        driver: What the driver says is gone from the device.
    """

    peak: int | None = None
    reserved: int | None = None
    driver: int | None = None


@dataclass(frozen=True)
class Trial:
    """What one process found.

    Attributes:
        failure: None where it gave a number.
        message: What went wrong, one line.
        hint: What to do about it; empty where that is not known.
        step_ms: Median time of a step.
        samples: Samples of a step; None for a script.
        ratio: Time of a sample over that of the best so far; None where they were not compared.
        effect: What the ratio says.
        against_ms: Step of the best so far, in the same turns.
        interleaved: Whether the two were measured in turns.
        first_s: From the start of the process to the end of the first step.
        compile_s: What torch counts as compilation; None where nothing is compiled.
        seconds: All of it.
    """

    failure: Failure | None = None
    message: str = ""
    gate: Gate | None = None
    step_ms: float | None = None
    samples: int | None = None
    memory: Memory = Memory()
    ratio: Ratio | None = None
    effect: Effect | None = None
    against_ms: float | None = None
    interleaved: bool = False
    first_s: float | None = None
    compile_s: float | None = None
    seconds: float = 0.0
    hint: str = ""
    notes: tuple[str, ...] = ()
    facts: Facts | None = None

    @property
    def samples_per_s(self) -> float | None:
        """Throughput; None for a script, or without a number."""
        if self.step_ms is None or not self.samples:
            return None
        return self.samples / self.step_ms * 1e3

    @property
    def ms_per_sample(self) -> float | None:
        """Time of a sample; of a step where samples are unknown."""
        return None if self.step_ms is None else self.step_ms / (self.samples or 1)


@dataclass(frozen=True)
class Diagnosed:
    """What bounds a configuration, as far as the loop needs it.

    Attributes:
        verdict: Class of the verdict; ``undecided`` where there is none.
        predicted: Step time after each prescription, ms, by its id; None where it applies without
            an estimate.
        ranges: Lowest and highest of those steps, where there is an estimate.
        idle: Prescriptions that would gain less than 2% now.
        step_ms: The step that they were predicted from, which the host of another process may
            make longer or shorter; None where unknown.
    """

    verdict: str = "undecided"
    cause: str | None = None
    strength: str = ""
    reason: str = ""
    predicted: dict[str, float | None] = field(default_factory=dict)
    ranges: dict[str, tuple[float, float]] = field(default_factory=dict)
    idle: tuple[str, ...] = ()
    step_ms: float | None = None


def value_of(configuration: Configuration, change: str) -> str | None:
    """The value a change is in force with; None where it is not."""
    return dict(configuration).get(change)


def without(configuration: Configuration, changes: tuple[str, ...]) -> Configuration:
    """A configuration with some changes taken back."""
    return tuple(pair for pair in configuration if pair[0] not in changes)
