"""Programs that Python or waiting for the device holds up."""
# ruff: noqa: TID253 (torch is what is measured)

from __future__ import annotations

import json
import logging
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from typing import Any

import numpy as np
import torch
from programs.parts import (
    ADAMW,
    ADAMW_FUSED,
    DEVICE,
    SGD,
    MakeOptimizer,
    encoder,
    inferred,
    labels,
    mlp,
    normal,
    trained,
)
from programs.program import Program, Step
from torch import Tensor, nn
from torch.nn import functional
from torch.overrides import TorchFunctionMode


class LastLines(logging.Handler):
    """A log that keeps its last lines in memory."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: deque[str] = deque(maxlen=100)

    def emit(self, record: logging.LogRecord) -> None:
        """Format and keep."""
        self.lines.append(self.format(record))


def hooked(*, hooks: bool = True) -> Step:
    """Every layer's hook writes a line of JSON to a log."""
    model = mlp(256, 8)
    log = logging.getLogger("layers")
    log.propagate = False
    log.setLevel(logging.INFO)
    log.addHandler(LastLines())

    def report(module: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        shapes = [list(output.shape), [list(x.shape) for x in inputs]]
        log.info(json.dumps({"layer": str(module), "shapes": shapes, "bins": list(range(200))}))

    if hooks:
        for layer in model:
            layer.register_forward_hook(report)
    return inferred(model, normal(32, 256))


def with_dicts(*, python: bool = True) -> Step:
    """Between the layers, settings are merged, sorted and searched in Python."""
    model = mlp(256, 8)
    x = normal(32, 256)
    settings = {f"layer{i}.option{i % 7}": i for i in range(150)}

    def choose(index: int) -> int:
        merged = {**settings, **{key.upper(): value + index for key, value in settings.items()}}
        ranked = sorted(merged.items(), key=lambda item: (-item[1], item[0]))
        return len([key for key, _ in ranked if key.startswith("LAYER1")])

    def step() -> Tensor:
        y = x
        with torch.no_grad():
            for index, layer in enumerate(model):
                if python:
                    choose(index)
                y = layer(y)
        return y

    return step


class CountCalls(TorchFunctionMode):
    """Counts the calls of torch's functions by name, as a tracing or logging library does."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: Counter[str] = Counter()

    def __torch_function__(
        self,
        func: Callable[..., object],
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> object:
        """Count and call."""
        self.calls[getattr(func, "__name__", "?")] += 1
        return func(*args, **(kwargs or {}))


def counted(*, counting: bool = True) -> Step:
    """A transformer that trains under a mode that sees every call."""
    model = encoder(192, 4)
    x = normal(2, 64, 192)
    mode = CountCalls() if counting else nullcontext()

    def loss_of() -> Tensor:
        with mode:
            return model(x).square().mean()

    return trained(model, loss_of)


def dqn(*, make_optimizer: MakeOptimizer = ADAMW) -> Step:
    """An agent acts in a toy world, remembers in numpy arrays, and learns from a sample."""
    online, target = mlp(64, 3, classes=4), mlp(64, 3, classes=4)
    optimizer = make_optimizer(online.parameters())
    random = np.random.default_rng(0)
    states = random.standard_normal((10_000, 64), dtype=np.float32)
    actions, rewards = random.integers(0, 4, 10_000), random.standard_normal(10_000, np.float32)
    clock = iter(range(10**9))

    def on_device(array: np.ndarray[Any, Any]) -> Tensor:
        return torch.from_numpy(array).to(DEVICE)

    def act() -> None:
        now = next(clock) % 9_999
        with torch.no_grad():
            action = online(on_device(states[now : now + 1])).argmax().item()
        states[now + 1] = np.tanh(states[now] * 0.9 + action)
        actions[now] = action

    def step() -> None:
        act()
        rows = random.integers(0, 9_999, 64)
        now, later = on_device(states[rows]), on_device(states[rows + 1])
        with torch.no_grad():
            goal = on_device(rewards[rows]) + 0.99 * target(later).max(1).values
        value = online(now).gather(1, on_device(actions[rows])[:, None]).squeeze(1)
        optimizer.zero_grad()
        functional.smooth_l1_loss(value, goal).backward()
        optimizer.step()

    return step


def checked_layers(*, checking: bool = True) -> Step:
    """After every layer, the size of its output is read on the host."""
    model = mlp(1024, 8)
    x = normal(1024, 1024)
    largest: list[float] = [0.0]

    def step() -> Tensor:
        y = x
        with torch.no_grad():
            for layer in model:
                y = layer(y)
                size = y.abs().mean()
                if checking:
                    largest[0] = max(largest[0], size.item())
        return y

    return step


def selected(*, dense: bool = False) -> Step:
    """Rows chosen by a mask, whose number the host must know, or all rows with the mask applied."""
    x = normal(4096, 256)
    model = mlp(256, 2)

    def some() -> Tensor:
        total = torch.zeros_like(x)
        for column in range(4):
            mask = x[:, column] > 0
            total[mask.nonzero().squeeze(1)] += model(x[mask])
        return total + torch.masked_select(x, x > 1).sum()

    def all_rows() -> Tensor:
        total = torch.zeros_like(x)
        for column in range(4):
            mask = (x[:, column] > 0)[:, None]
            total = total + torch.where(mask, model(x), 0.0)
        return total + torch.where(x > 1, x, 0.0).sum()

    def step() -> Tensor:
        with torch.no_grad():
            return all_rows() if dense else some()

    return step


def synchronized(*, waiting: bool = True) -> Step:
    """The device is waited for after every layer."""
    model = mlp(2048, 8)
    x = normal(1024, 2048)

    def step() -> Tensor:
        y = x
        with torch.no_grad():
            for layer in model:
                y = layer(y)
                if waiting:
                    torch.cuda.synchronize()
        return y

    return step


def outputs_to_host(*, copying: bool = True) -> Step:
    """Six heads, each of whose outputs is copied to the host at once."""
    body = mlp(1024, 3)
    heads = nn.ModuleList(nn.Linear(1024, 500) for _ in range(6)).to(DEVICE)
    x = normal(256, 1024)

    def step() -> list[Tensor]:
        with torch.no_grad():
            shared = body(x)
            outputs = (head(shared) for head in heads)
            return [output.cpu() if copying else output for output in outputs]

    return step


def loss_to_host(*, reading: bool = True) -> Step:
    """Training that keeps the device busy, and reads its loss every step."""
    model = encoder(1024, 3, heads=16)
    x, y = normal(8, 256, 1024), normal(8, 256, 1024)
    train = trained(model, lambda: functional.mse_loss(model(x), y))
    history: list[object] = [None]

    def step() -> None:
        loss = train()
        history[0] = float(loss.detach()) if reading else loss

    return step


def cache_emptied(*, emptying: bool = True) -> Step:
    """The allocator gives its memory back to the driver every step."""
    model = mlp(1024, 6, classes=10)
    x, y = normal(512, 1024), labels(512)
    train = trained(model, lambda: functional.cross_entropy(model(x), y), SGD)

    def step() -> None:
        train()
        if emptying:
            torch.cuda.empty_cache()

    return step


TABLE = (
    Program("python_hooks", hooked, {}, {"no_python": {"hooks": False}}, stack=True),
    Program("python_dicts", with_dicts, {}, {"no_python": {"python": False}}, stack=True),
    Program("python_function_mode", counted, {}, {"no_python": {"counting": False}}, stack=True),
    Program(
        "python_dqn", dqn, {}, {"fused_optimizer": {"make_optimizer": ADAMW_FUSED}}, stack=True
    ),
    Program(
        "sync_item_each_layer",
        checked_layers,
        {},
        {"no_sync": {"checking": False}},
        cause="item",
        stack=True,
    ),
    Program(
        "sync_masks",
        selected,
        {},
        {"no_sync": {"dense": True}},
        cause="data-dependent-shape",
        stack=True,
    ),
    Program(
        "sync_each_layer",
        synchronized,
        {},
        {"no_sync": {"waiting": False}},
        cause="explicit-sync",
    ),
    Program(
        "sync_outputs_to_host",
        outputs_to_host,
        {},
        {"no_sync": {"copying": False}},
        cause="host-copy",
        stack=True,
    ),
    Program("sync_loss_deep_queue", loss_to_host, {}, {"no_sync": {"reading": False}}),
    Program(
        "allocator_emptied",
        cache_emptied,
        {},
        {"no_allocator_calls": {"emptying": False}},
        cause="allocator",
    ),
)
