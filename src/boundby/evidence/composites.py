"""Operators that are made of many others, where one fused operator may exist."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from boundby.evidence.facts import Evidence
from boundby.evidence.optree import (
    OpTree,
    launches_inside,
    operators_inside,
)
from boundby.evidence.words import figure
from boundby.read.recording import NONE
from boundby.timeline.timeline import Timeline
from boundby.units import ms

OPERATOR = re.compile(r"^(?!autograd::|torch::autograd)\w+::\w")
"""Operators a program calls; wrappers of the autograd engine hold others by construction."""
LEAST_SHARE = 0.1
"""Share of all operator time from which an operator is worth replacing."""
FAR_ABOVE = 0.75
"""Share of its time an operator must spend in those it calls."""
MADE_OF = 8
"""Operators inside one call from which it is no thin wrapper (``aten::linear`` holds four or five,
``aten::layer_norm`` about six)."""
SUBMITS = 2
"""Launches of one call from which there is something to merge: ``aten::batch_norm`` holds nine
operators that prepare one kernel."""


def composite_facts(timeline: Timeline, tree: OpTree) -> Iterator[Evidence]:
    """``composite-op``: host ms a step of the leading operator whose time is in others."""
    names, steps = timeline.recording.names, len(timeline.steps)
    found = _leading_composite(tree, names)
    if found is None:
        return
    name, total, own, inner = found
    yield Evidence(
        "composite-op",
        ms(total) / steps,
        "ms",
        f"{names[name]} takes {figure(ms(total) / steps)} ms of recorded host time a step, "
        f"{own:.0%} of it in itself and the rest in the {inner:.0f} operators inside each call",
        "measured",
    )


def _leading_composite(tree: OpTree, names: list[str]) -> tuple[int, float, float, float] | None:
    """Name, total ns, share of it in itself and operators per call of the costliest composite."""
    top = np.flatnonzero(tree.outermost & tree.is_op)
    dur = (tree.end - tree.start)[top]
    size = len(names)
    calls = np.maximum(np.bincount(tree.name[top], minlength=size), 1)
    total = np.bincount(tree.name[top], dur, minlength=size)
    inside = np.bincount(tree.name[top], operators_inside(tree)[top], minlength=size)
    own = np.bincount(tree.name[top], tree.self_time[top], minlength=size) / np.maximum(total, 1)
    least = LEAST_SHARE * float(dur[tree.parent[top] == NONE].sum())
    fits = (total >= max(least, 1)) & (inside >= MADE_OF * calls) & (own <= 1.0 - FAR_ABOVE)
    if len(tree.launch):
        launches = np.bincount(tree.name[top], launches_inside(tree)[top], minlength=size)
        fits &= launches >= SUBMITS * calls
    for name in np.flatnonzero(fits)[np.argsort(-total[fits], kind="stable")].tolist():
        if OPERATOR.match(names[name]):
            return name, float(total[name]), float(own[name]), float(inside[name] / calls[name])
    return None
