"""What an NVTX text says: an operator of ``emit_nvtx`` with its arguments, or a range of the user.

PyTorch writes ``aten::mm, seq = 7, op_id = 12, sizes = [[64, 32], [32, 8]], input_op_ids = [..]``
with any of the parts left out.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import msgspec

from boundby.read.recording import NONE, HostKind

_PARTS = re.compile(
    r"(?:, seq = (?P<seq>\d+))?(?:, op_id = \d+)?(?:, sizes = (?P<sizes>\[.*\]))?\Z", re.DOTALL
)
_FIRST_PART = re.compile(r", (?:seq|op_id|sizes) = ")
_EDGES = ", input_op_ids = "
_OPERATOR = re.compile(r"^[A-Za-z_]\w*(?:::~?[A-Za-z_]\w*)+$|Backward\d*$|^autograd::")
"""``aten::mm``, ``MmBackward0``, ``autograd::engine::evaluate_function: MmBackward0``."""
_OUR_RANGES = re.compile(r"^(?:nccl|c10d|gloo)::?\w+$")
"""Qualified too, but ranges in every other recording."""
_WRAPPED = re.compile(r"^\{'mod': '(?P<mod>[^']*)', 'op': '(?P<op>[^']*)'")
_MARKER = re.compile(r"^\{['\"](?:traceMarker|model_config)['\"]")
"""What PyProf and DLProf wrote: a wrapped call, and markers that are no range of the program."""


class Label(NamedTuple):
    """A text taken apart.

    Attributes:
        name: Without the arguments.
        kind: OP or RANGE.
        sequence: Autograd sequence number, NONE where not written.
        dims: Raw JSON of the sizes, empty where not written or not readable.
    """

    name: str
    kind: HostKind
    sequence: int = NONE
    dims: bytes = b""


class Labels(dict[str, Label | None]):
    """The label of a text, None for what is no range of the program; each text is read once."""

    def __init__(self) -> None:
        super().__init__()
        self._sizes: dict[str, bytes] = {}
        self._kinds: dict[str, HostKind] = {}

    def __missing__(self, text: str) -> Label | None:
        label = self[text] = self._read(text)
        return label

    def _read(self, text: str) -> Label | None:
        if text.startswith("{"):
            if _MARKER.match(text):
                return None
            wrapped = _WRAPPED.match(text)
            if wrapped:
                return Label(f"{wrapped['mod']}.{wrapped['op']}", HostKind.OP)
        first = _FIRST_PART.search(text)
        parts = _PARTS.match(text.partition(_EDGES)[0], first.start()) if first else None
        if not first or not parts:
            return Label(text, _kind(text))
        name = text[: first.start()]
        sequence, sizes = parts.groups()
        return Label(
            name,
            self._kind(name, has_arguments=sequence is not None or sizes is not None),
            int(sequence) if sequence else NONE,
            self._dims(sizes) if sizes else b"",
        )

    def _kind(self, name: str, *, has_arguments: bool) -> HostKind:
        """OP also for what has arguments, unless it is a range around operators."""
        known = self._kinds.get(name)
        if known is None or (has_arguments and known is HostKind.RANGE):
            known = _kind(name)
            if has_arguments and not _is_scope(name):
                known = HostKind.OP
            self._kinds[name] = known
        return known

    def _dims(self, text: str) -> bytes:
        """Sizes as JSON; empty where they are none. Few are distinct, so each is checked once."""
        known = self._sizes.get(text)
        if known is None:
            known = self._sizes[text] = text.encode() if _is_list(text) else b""
        return known


def _is_list(text: str) -> bool:
    try:
        return isinstance(msgspec.json.decode(text), list)
    except (msgspec.DecodeError, RecursionError):
        return False


def _kind(name: str) -> HostKind:
    is_operator = _OPERATOR.search(name) and not _is_scope(name)
    return HostKind.OP if is_operator else HostKind.RANGE


_SCOPES = ("Optimizer.", "enumerate(DataLoader)", "ProfilerStep#", "## ")


def _is_scope(name: str) -> bool:
    """Whether a range is one that PyTorch puts around the operators of others."""
    return name.startswith(_SCOPES) or bool(_OUR_RANGES.match(name))
