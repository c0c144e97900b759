"""What a stack says about an allocation: the user's line, the phase, the operator."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import IntEnum, IntFlag
from functools import cached_property, lru_cache

import numpy as np

from boundby.memory.facts import Place
from boundby.read.recording import NONE, Kinds
from boundby.read.snapshot_types import Frame, Snapshot


class Phase(IntEnum):
    """What the program was doing when it allocated."""

    UNKNOWN = 0
    USER = 1
    """Code of the user outside of everything below."""
    BUILD = 2
    """Parameters made, moved or loaded."""
    FORWARD = 3
    BACKWARD = 4
    RECOMPUTE = 5
    """A checkpointed forward pass run again during backward."""
    OPTIMIZER = 6
    WORKSPACE = 7
    """Scratch memory that a library keeps for good (cuBLAS, cuDNN)."""
    COMMUNICATION = 8


class Trait(IntFlag):
    """What one frame gives away."""

    PYTHON = 1
    LIBRARY = 2
    BUILD = 4
    FORWARD = 8
    BACKWARD = 16
    CHECKPOINT = 32
    OPTIMIZER = 64
    WORKSPACE = 128
    COMMUNICATION = 256
    ATTENTION = 512
    LOSS = 1024
    EVALUATION = 2048
    NO_GRAD = 4096
    HOOK = 8192
    FOREACH = 16384
    CALLS_MODULE = 32768
    WEIGHTED = 65536
    """A layer that applies weights of its own."""


PYTHON, LIBRARY_BIT = int(Trait.PYTHON), int(Trait.LIBRARY)
CALLS_MODULE = int(Trait.CALLS_MODULE)

LIBRARY = re.compile(
    r"site-packages/|dist-packages/|/lib/python\d|/torch/(nn|optim|autograd|utils)/|^<"
)
PATTERNS: tuple[tuple[Trait, re.Pattern[str]], ...] = (
    (
        Trait.WORKSPACE,
        re.compile(
            r"WorkspaceForHandle|BlasLt?Workspace|[Cc]udnn.*[Ww]orkspace|allocate_workspace"
        ),
    ),
    (
        Trait.BACKWARD,
        re.compile(
            r"autograd::(python::Python)?Engine|autograd::generated::|autograd::Node::|\w+Backward\d*::apply"
        ),
    ),
    (Trait.COMMUNICATION, re.compile(r"c10d::|[Nn]ccl|ProcessGroup")),
    (Trait.ATTENTION, re.compile(r"softmax|attention", re.IGNORECASE)),
    (Trait.LOSS, re.compile(r"cross_entropy|log_softmax|nll_loss")),
)
"""Of names of C++ functions."""

PYTHON_FILES: tuple[tuple[Trait, re.Pattern[str]], ...] = (
    (Trait.OPTIMIZER, re.compile(r"/(optim|optimizers?)/[^/]*$|/ops/adam/")),
    (Trait.BACKWARD, re.compile(r"torch/(_tensor|autograd/(__init__|graph))\.py$")),
    (Trait.CHECKPOINT, re.compile(r"torch/utils/checkpoint\.py$")),
    (
        Trait.BUILD,
        re.compile(r"torch/nn/(init|parameter)\.py$|torch/serialization\.py$|/safetensors/"),
    ),
    (Trait.COMMUNICATION, re.compile(r"torch/(distributed|nn/parallel)/(?!.*data_parallel)")),
    (Trait.NO_GRAD, re.compile(r"torch/utils/_contextlib\.py$")),
    (Trait.CALLS_MODULE, re.compile(r"torch/nn/modules/module\.py$")),
    (
        Trait.WEIGHTED,
        re.compile(r"torch/nn/modules/(linear|conv|normalization|batchnorm|sparse)\.py$"),
    ),
)
PYTHON_NAMES: tuple[tuple[Trait, re.Pattern[str]], ...] = (
    (Trait.FORWARD, re.compile(r"^(forward|_call_impl|_wrapped_call_impl)$")),
    (
        Trait.BUILD,
        re.compile(
            r"^(_apply|convert|__init__|load_state_dict|reset_parameters|_load_from_state_dict)$"
        ),
    ),
    (Trait.ATTENTION, re.compile(r"softmax|attention|attn", re.IGNORECASE)),
    (Trait.LOSS, re.compile(r"cross_entropy|log_softmax|nll_loss|lm_loss")),
    (
        Trait.EVALUATION,
        re.compile(r"(^|_)(eval|evaluate|evaluation|valid|validate|validation)(_|$)"),
    ),
    (Trait.HOOK, re.compile(r"hook", re.IGNORECASE)),
    (Trait.FOREACH, re.compile(r"^_multi_tensor_")),
    (Trait.CHECKPOINT, re.compile(r"^(unpack_hook|recompute_fn|_checkpoint_without_reentrant)")),
)
RECORDED_AS_NO_GRAD = "decorate_context"
OP = re.compile(r"at::_ops::(\w+)::(?:call|redispatch)")
GRADIENT = re.compile(r"generated::(?:details::)?(\w+?_?backward\d*)", re.IGNORECASE)
PLUMBING = frozenset(
    {
        "empty",
        "empty_strided",
        "empty_like",
        "empty_memory_format",
        "resize_",
        "to",
        "_to_copy",
        "copy_",
        "to_dtype_layout",
        "contiguous",
        "clone",
        "zeros",
        "zeros_like",
        "empty_quantized",
        "new_empty",
    }
)


@dataclass(frozen=True)
class Origin:
    """Where an allocation came from.

    Attributes:
        place: Innermost line of the user's code; of a library where the stack holds nothing else;
            None without Python frames.
        callers: The user's lines outside of it, nearest first.
        op: Operator as the framework names it; empty where unknown.
        traits: All that any of its frames gives away.
    """

    phase: Phase
    place: Place | None
    callers: tuple[Place, ...]
    op: str
    traits: Trait

    @property
    def label(self) -> str:
        """A short name: the place, else the operator, else the phase."""
        if self.place:
            return f"{self.place.function}, {self.place.file}:{self.place.line}"
        return self.op or self.phase.name.lower()


class Stacks:
    """The stacks of a snapshot, understood. Index NONE stands for no stack at all."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._traits = [int(frame_traits(frame)) for frame in snapshot.frames]
        """Plain integers: they are combined a million times."""
        self._origins: dict[int, Origin] = {}
        self._is_python = [bool(bits & PYTHON) for bits in self._traits]
        self.lacks_native = any(self._is_python) and all(self._is_python)
        """Only Python frames were recorded: the backward thread then has no stack at all."""
        self.calls_module = [bool(bits & CALLS_MODULE) for bits in self._traits]
        """By frame: whether it is the call of a module."""

    def origin(self, stack: int) -> Origin:
        """What is known of a stack."""
        known = self._origins.get(stack)
        if known is None:
            known = self._origins[stack] = self._understand(stack)
        return known

    @cached_property
    def phases(self) -> Kinds:
        """int8 Phase by stack; the last entry is that of NONE."""
        count = len(self._snapshot.stacks)
        phases = [self._phase(self._bits_of(stack), stack) for stack in range(count)]
        return np.array([*phases, self._phase(0, NONE)], dtype=np.int8)

    @cached_property
    def traits(self) -> np.ndarray:
        """int32 Trait by stack; the last entry is that of NONE."""
        count = len(self._snapshot.stacks)
        return np.array([*(self._bits_of(s) for s in range(count)), 0], dtype=np.int32)

    def python_frames(self, stack: int) -> list[int]:
        """Python frames of a stack, innermost first, as numbers of frames."""
        if stack == NONE:
            return []
        return [f for f in self._snapshot.stacks[stack] if self._is_python[f]]

    def _bits_of(self, stack: int) -> int:
        total = 0
        for frame in self._snapshot.stacks[stack]:
            total |= self._traits[frame]
        return total

    def _phase(self, bits: int, stack: int) -> Phase:
        if stack == NONE or not bits & ~LIBRARY_BIT:
            return Phase.BACKWARD if stack == NONE and self.lacks_native else Phase.UNKNOWN
        return _phase_of(bits)

    def _understand(self, stack: int) -> Origin:
        if stack == NONE:
            return Origin(self._phase(0, NONE), None, (), "", Trait(0))
        frames = self._snapshot.frames
        python = self.python_frames(stack)
        own = [f for f in python if not self._traits[f] & LIBRARY_BIT]
        places = [place(frames[f]) for f in (own or python)]
        traits = Trait(self._bits_of(stack))
        return Origin(
            self._phase(int(traits), stack),
            places[0] if places else None,
            tuple(places[1:4]) if own else (),
            _op([frames[f].function for f in self._snapshot.stacks[stack]]),
            traits,
        )


def place(frame: Frame) -> Place:
    """A frame as a place."""
    return Place(frame.file, frame.line, frame.function)


@lru_cache(maxsize=65536)
def frame_traits(frame: Frame) -> Trait:
    """What one frame gives away."""
    file = frame.file.replace("\\", "/")
    if not file.endswith((".py", ".pyx")) and not file.startswith("<"):
        return _combined(Trait(0), PATTERNS, frame.function)
    traits = Trait.PYTHON | (Trait.LIBRARY if LIBRARY.search(file) else Trait(0))
    traits = _combined(traits, PYTHON_FILES, file)
    traits = _combined(traits, PYTHON_NAMES, frame.function)
    if traits & Trait.NO_GRAD and frame.function != RECORDED_AS_NO_GRAD:
        traits &= ~Trait.NO_GRAD
    return traits


def _combined(
    traits: Trait, patterns: tuple[tuple[Trait, re.Pattern[str]], ...], text: str
) -> Trait:
    for trait, pattern in patterns:
        if pattern.search(text):
            traits |= trait
    return traits


@lru_cache(maxsize=4096)
def _phase_of(bits: int) -> Phase:
    """The phase, the most telling trait first."""
    traits = Trait(bits)
    first = ((Trait.WORKSPACE, Phase.WORKSPACE), (Trait.OPTIMIZER, Phase.OPTIMIZER))
    for trait, phase in first:
        if traits & trait:
            return phase
    if traits & Trait.BACKWARD:
        return (
            Phase.RECOMPUTE
            if traits & Trait.CHECKPOINT and traits & Trait.FORWARD
            else Phase.BACKWARD
        )
    rest = (
        (Trait.FORWARD, Phase.FORWARD),
        (Trait.BUILD, Phase.BUILD),
        (Trait.COMMUNICATION, Phase.COMMUNICATION),
        (Trait.PYTHON, Phase.USER),
    )
    return next((phase for trait, phase in rest if traits & trait), Phase.UNKNOWN)


def _op(functions: list[str]) -> str:
    """The outermost operator that is more than plumbing; of backward the gradient's name."""
    for function in functions:
        found = GRADIENT.search(function)
        if found:
            return found[1]
    ops = [found[1] for function in functions if (found := OP.search(function))]
    telling = [op for op in ops if op not in PLUMBING]
    return (telling or ops or [""])[-1]
