"""What the rules on the details page say in words: facts that the page has no metric for."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from boundby.read.nsight_compute_metrics import TENSOR_PIPE
from boundby.read.nsight_compute_values import Pipe

_STALL = re.compile(
    r"being stalled (?P<why>.+?)\.\s.*?This stall type represents about (?P<share>[\d.]+)%",
    re.DOTALL,
)
_REASONS = (
    ("dependency on a L1TEX", "long_scoreboard"),
    ("dependency on an MIO", "short_scoreboard"),
    ("dependency on a MIO", "short_scoreboard"),
    ("CTA barrier", "barrier"),
    ("warpgroup", "gmma"),
    ("fixed latency execution", "wait"),
    ("micro scheduler to select", "not_selected"),
    ("immediate constant cache", "imc_miss"),
    ("MIO (memory input/output) instruction queue", "mio_throttle"),
    ("L1 instruction queue for local and global", "lg_throttle"),
    ("L1 instruction queue for texture", "tex_throttle"),
    ("execution pipe", "math_pipe_throttle"),
    ("next instruction", "no_instruction"),
    ("instruction fetched", "no_instruction"),
    ("memory barrier", "membar"),
    ("branch target", "branch_resolving"),
    ("warp resources can be freed", "drain"),
    ("dispatch", "dispatch_stall"),
    ("sleep", "sleeping"),
)
"""Words of the rule and the metric's name of the same stall."""
_OTHER = "other"
_PIPE = re.compile(
    r"^(?P<name>[\w ()/-]+?) is the highest-utilized pipeline \((?P<share>[\d.]+)%\)"
)
_TENSOR = "dominated by its Tensor"
_EXCESS = re.compile(r"total of (?P<excess>\d+) excessive sectors .*?of the total (?P<all>\d+)")
_USED = re.compile(
    r"global (?P<what>loads|stores).*?only (?P<bytes>[\d.]+) of the 32 bytes transmitted",
    re.DOTALL,
)


@dataclass
class RuleFacts:
    """Facts of one kernel.

    Attributes:
        stalls: Share of the time between two instructions, by reason.
        values: Fields of ``Metrics``.
    """

    stalls: dict[str, float] = field(default_factory=dict)
    values: dict[str, float] = field(default_factory=dict)
    pipe: Pipe | None = None

    def add(self, rule: str, text: str) -> None:
        """Take what the text of one rule says."""
        if rule == "CPIStall":
            self._add_stall(text)
        elif rule == "HighPipeUtilization":
            self._add_pipe(text)
        elif rule == "UncoalescedGlobalAccess":
            self._add_excess(text)
        elif rule == "MemoryCacheAccessPattern":
            self._add_used_bytes(text)

    def _add_stall(self, text: str) -> None:
        found = _STALL.search(text)
        if found:
            why = found["why"]
            reason = next((name for words, name in _REASONS if words in why), _OTHER)
            self.stalls[reason] = float(found["share"]) / 100

    def _add_pipe(self, text: str) -> None:
        found = _PIPE.match(text)
        if not found:
            return
        share = float(found["share"]) / 100
        is_tensor = _TENSOR in text or found["name"].startswith(TENSOR_PIPE)
        self.pipe = Pipe(TENSOR_PIPE if is_tensor else found["name"], share)
        if is_tensor:
            self.values["tensor"] = share

    def _add_excess(self, text: str) -> None:
        found = _EXCESS.search(text)
        if found:
            self.values["excess_share"] = float(found["excess"]) / max(float(found["all"]), 1.0)

    def _add_used_bytes(self, text: str) -> None:
        found = _USED.search(text)
        if found:
            key = "load_bytes" if found["what"] == "loads" else "store_bytes"
            self.values[key] = float(found["bytes"])
