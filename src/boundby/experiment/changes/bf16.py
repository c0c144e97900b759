"""bfloat16 autocast around the forward pass; a module that fails keeps float32."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from boundby.bench.framework import map_tensors, torch
from boundby.experiment.change import Answers, Change
from boundby.experiment.values import Configuration, Facts, Gate, value_of
from boundby.prescribe.rule import Risk

if TYPE_CHECKING:
    from boundby.experiment.build import Build
    from boundby.experiment.outside import Outside

AMPERE = 8.0
INSTEAD = ("bf16-params", "bf16-weights", "fp16")
KEPT = "fp32="
"""In a value: the module that keeps float32."""


def values(facts: Facts, configuration: Configuration) -> tuple[str, ...]:
    """Autocast, where parameters are float32 and nothing of lower precision is in force."""
    able = not facts.on_cuda or facts.capability is None or facts.capability >= AMPERE
    taken = any(value_of(configuration, name) for name in INSTEAD)
    return ("autocast",) if able and facts.is_wide and not taken else ()


def apply(build: Build, value: str) -> None:
    """Autocast around the model; the loss stays in float32."""
    build.around.append(lambda: torch().autocast(build.device, torch().bfloat16))
    keep_wide(build.model, kept_module(value), build.device)


def outside(script: Outside, value: str) -> None:
    """Autocast around the forward of the root module."""

    def wrap(model: Any) -> None:  # noqa: ANN401 -- a module
        forward, device = model.forward, next(model.parameters()).device.type

        def cast(*arguments: Any, **keywords: Any) -> Any:  # noqa: ANN401 -- the user's own
            with torch().autocast(device, torch().bfloat16):
                found = forward(*arguments, **keywords)
            return map_tensors(lambda each: each.float(), found)

        model.forward = cast
        keep_wide(model, kept_module(value), device)

    script.when_model(wrap)


def kept_module(value: str) -> str:
    """The module that a value keeps in float32; empty for none."""
    return value.partition(KEPT)[2]


def keep_wide(model: Any, name: str, device: str) -> None:  # noqa: ANN401 -- a module
    """Run one module outside of autocast."""
    if not name:
        return
    module = model.get_submodule(name)
    forward = module.forward

    def wide(*arguments: Any) -> Any:  # noqa: ANN401 -- the user's own
        with torch().autocast(device, enabled=False):
            return forward(*map_tensors(_float, arguments))

    module.forward = wide


def _float(tensor: Any) -> Any:  # noqa: ANN401 -- a tensor
    return tensor.float() if tensor.is_floating_point() else tensor


def repair(value: str, gate: Gate) -> str | None:
    """Once: float32 for the module whose gradient lies farthest from its limit."""
    name = gate.worst.removeprefix("grad of ").rpartition(".")[0]
    return f"{value},{KEPT}{name}" if name and not kept_module(value) else None


def patch(value: str) -> str:
    """The code."""
    lines = ['with torch.autocast("cuda", dtype=torch.bfloat16):  # "cpu" on a CPU']
    lines += ["    outputs = model(*inputs)", "loss = criterion(outputs.float(), target)"]
    name = kept_module(value)
    if name:
        lines += [f"# inside model.{name}: with torch.autocast(..., enabled=False), x.float()"]
    return "\n".join(lines)


CHANGE = Change(
    id="bf16",
    title="bf16 autocast",
    prescription="bf16",
    allow="numerics",
    risk=Risk.NUMERICS,
    stage="model",
    answers=Answers(
        saves=("compute", "traffic"),
        memory="less: activations halve",
        numerics="yes: products keep 8 bits; weights, loss and optimizer stay float32",
    ),
    values=values,
    prior=lambda facts, _: 0.5 if facts.on_cuda else 0.06,
    apply=apply,
    outside=outside,
    precision="bfloat16",
    repair=repair,
    patch=patch,
)
