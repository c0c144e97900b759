"""Python frames of the user's own code, from recordings made with stacks.

A frame tells its file, the line where its function is *defined*, and the function; the line of the
call is not recorded. So a Place from here is never exact.
"""

from __future__ import annotations

import re
import sys

import numpy as np

from boundby.evidence.facts import Place
from boundby.frozen import frozen
from boundby.intervals import EMPTY, Ints
from boundby.read.recording import NONE, Recording
from boundby.timeline.nesting import parents

FRAME = re.compile(r"^(?P<file>.+)\((?P<line>[0-9]{1,9})\): (?P<function>.+)$")
"""``train.py(42): step``: file, first line of the definition, function."""
NOTEBOOK = "<ipython-input"
LIBRARY_PATH = re.compile(
    r"(^|/)(torch|triton|torchinductor_\w+|site-packages|dist-packages|lib/python\d(\.\d+)?)/"
)
_LIBRARIES = """
    PIL accelerate apex bitsandbytes cv2 datasets deepspeed diffusers einops flash_attn
    fsspec functorch huggingface_hub ignite lightning lightning_fabric loguru matplotlib
    monai numba numpy pandas peft psutil pytorch_lightning safetensors scipy sklearn
    tensorboard timm tokenizers torch_geometric torchao torchaudio torchdata torchgen
    torchmetrics torchtune torchvision tqdm transformers triton trl wandb xformers
"""
LIBRARIES = frozenset(_LIBRARIES.split())
"""Packages whose frames are not the user's. Kineto cuts the search path off file names, so that
``site-packages`` is not to be seen: ``tqdm/std.py(1160): __iter__``."""


@frozen
class UserFrames:
    """Python frames of the user's own code, ordered by start.

    Attributes:
        start, end: int64[n] ns.
        thread: int64[n] index into ``Recording.threads``.
        parent: int64[n] the user's frame around each; NONE at the top.
        place: int64[n] index into ``places``.
        places: Each function once.
    """

    start: Ints
    end: Ints
    thread: Ints
    parent: Ints
    place: Ints
    places: tuple[Place, ...]

    def __len__(self) -> int:
        return len(self.start)


def user_frames(recording: Recording) -> UserFrames:
    """The user's frames; none where no stacks were recorded."""
    python = recording.python
    if not len(python):
        return UserFrames(EMPTY, EMPTY, EMPTY, EMPTY, EMPTY, ())
    places: list[Place] = []
    of_name = np.full(len(recording.names), NONE, dtype=np.int64)
    for index in np.flatnonzero(np.bincount(python.name)).tolist():
        place = user_place(recording.names[index])
        if place is not None:
            of_name[index] = len(places)
            places.append(place)
    rows = np.flatnonzero(of_name[python.name] != NONE)
    start, end, thread = python.start[rows], python.end[rows], python.thread[rows].astype(np.int64)
    parent = parents(start, end, thread)
    return UserFrames(start, end, thread, parent, of_name[python.name[rows]], tuple(places))


def user_place(name: str) -> Place | None:
    """The place a frame name tells, if it is in the user's own code."""
    if name.startswith("<") and not name.startswith(NOTEBOOK):
        return None
    match = FRAME.match(name)
    if match is None or not is_users(match["file"]):
        return None
    return Place(match["file"], int(match["line"]), match["function"], exact=False)


def is_users(file: str) -> bool:
    """Whether a file belongs to the user: not torch, not a known library, not the standard one."""
    path = file.replace("\\", "/")
    if LIBRARY_PATH.search(path):
        return False
    package = path.split("/", 1)[0].removesuffix(".py")
    return package not in LIBRARIES and package not in sys.stdlib_module_names
