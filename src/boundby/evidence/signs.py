"""Measured signs: what the program already does and what it does at its own cost."""

from __future__ import annotations

from dataclasses import field

from boundby.evidence.allocations import Allocations, find_allocations
from boundby.evidence.attention import Attention, find_attention
from boundby.evidence.kernels import kernel_time
from boundby.evidence.launched import build_launched
from boundby.evidence.layout import Layout, find_layout
from boundby.evidence.loading import Loading, find_loading
from boundby.evidence.mode import Mode, find_mode
from boundby.evidence.norms import Norms, find_norms
from boundby.evidence.optree import OpTree
from boundby.evidence.origins import Origins, find_origins
from boundby.evidence.precision import Precision, find_precision
from boundby.evidence.switches import Switches, find_switches
from boundby.evidence.updates import Update, find_update
from boundby.evidence.uploads import Uploads, find_uploads
from boundby.frozen import frozen
from boundby.timeline.timeline import Timeline


@frozen
class Signs:
    """Signs by topic; every number is None where the recording cannot tell."""

    origins: Origins = field(default_factory=Origins)
    update: Update = field(default_factory=Update)
    precision: Precision = field(default_factory=Precision)
    attention: Attention = field(default_factory=Attention)
    norms: Norms = field(default_factory=Norms)
    mode: Mode = field(default_factory=Mode)
    uploads: Uploads = field(default_factory=Uploads)
    loading: Loading = field(default_factory=Loading)
    layout: Layout = field(default_factory=Layout)
    switches: Switches = field(default_factory=Switches)
    allocations: Allocations = field(default_factory=Allocations)


def find_signs(timeline: Timeline, tree: OpTree | None = None) -> Signs:
    """All signs of one recording.

    Args:
        timeline: Both lines.
        tree: Its forest, where the caller has it already.
    """
    launched, kernels = build_launched(timeline, tree), kernel_time(timeline)
    return Signs(
        origins=find_origins(launched),
        update=find_update(launched),
        precision=find_precision(launched, kernels),
        attention=find_attention(launched, kernels),
        norms=find_norms(launched),
        mode=find_mode(launched, kernels),
        uploads=find_uploads(launched),
        loading=find_loading(timeline),
        layout=find_layout(launched, kernels),
        switches=find_switches(launched),
        allocations=find_allocations(launched),
    )
