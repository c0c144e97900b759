"""Measured signs: what the program already does and what it does at its own cost."""

from __future__ import annotations

from dataclasses import dataclass

from boundby.evidence.allocations import Allocations
from boundby.evidence.attention import Attention
from boundby.evidence.layout import Layout
from boundby.evidence.loading import Loading
from boundby.evidence.mode import Mode
from boundby.evidence.norms import Norms
from boundby.evidence.origins import Origins
from boundby.evidence.precision import Precision
from boundby.evidence.switches import Switches
from boundby.evidence.updates import Update
from boundby.evidence.uploads import Uploads
from boundby.timeline.timeline import Timeline


@dataclass(frozen=True)
class Signs:
    """Signs by topic; every number is None where the recording cannot tell."""

    origins: Origins = Origins()
    update: Update = Update()
    precision: Precision = Precision()
    attention: Attention = Attention()
    norms: Norms = Norms()
    mode: Mode = Mode()
    uploads: Uploads = Uploads()
    loading: Loading = Loading()
    layout: Layout = Layout()
    switches: Switches = Switches()
    allocations: Allocations = Allocations()


def find_signs(timeline: Timeline) -> Signs:
    """All signs of one recording."""
    del timeline
    return Signs()
