"""Measure alone on the device."""

from __future__ import annotations

from boundby.prescribe.case import Case
from boundby.prescribe.prescription import Costs
from boundby.prescribe.rule import DEVICE, HOST, Risk, Rule, Turn

HOW = """\
nvidia-smi --query-compute-apps=pid,name,used_memory --format=csv
# then wait for it, end it, or take another device:
CUDA_VISIBLE_DEVICES=1 python train.py
"""


def applies(case: Case) -> str | None:
    """Another process shares the device."""
    others = case.live.other_processes
    if not others:
        return None
    who = "Another process has" if others == 1 else f"{others} other processes have"
    return f"{who} work on the device: they take turns, no number is yours alone."


RULE = Rule(
    id="free-device",
    title="Run alone on the device before anything else is measured.",
    how=HOW,
    stop_when="no other process is on the device",
    does_not_help="a process that only holds memory and computes nothing: that costs memory, not "
    "time",
    applies=applies,
    attacks=("sync", *HOST, *DEVICE),
    turn=Turn.SWITCH,
    risk=Risk.NONE,
    no_estimate="what the other process takes is not in this recording",
    costs=Costs(memory="none"),
)
