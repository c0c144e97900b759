"""Where a script that stays unchanged can be reached: its model, optimizer, loader and steps."""

from __future__ import annotations

import gc
import inspect
from collections.abc import Callable
from typing import Any

from boundby.bench.framework import torch, torch_module
from boundby.errors import CannotTellError


class Outside:
    """Where a script can be reached without changing it."""

    def __init__(self) -> None:
        self._on_model: list[Callable[[Any], None]] = []
        self._on_optimizer: list[Callable[[Any], None]] = []
        self._on_step: list[Callable[[int], None]] = []
        self._loader: dict[str, object] = {}
        self._asked: list[Any] = []
        self.model: Any = None
        self.optimizer: Any = None
        self.has_loader = False
        self.loader_workers = 0

    def when_model(self, do: Callable[[Any], None]) -> None:
        """Call with the root module once the optimizer has its parameters."""
        self._on_model.append(do)

    def when_optimizer(self, do: Callable[[Any], None]) -> None:
        """Call with each optimizer once it is made."""
        self._on_optimizer.append(do)

    def each_step(self, do: Callable[[int], None]) -> None:
        """Call with the number of each step."""
        self._on_step.append(do)

    def loader_options(self, options: dict[str, object]) -> None:
        """Keywords of every DataLoader, in place of those that the script gives itself.

        Loaders of an IterableDataset are left alone: each worker would give all of its samples.
        """
        self._loader |= options

    def install(self) -> None:
        """Begin to listen."""
        self._watch_parameters()
        self._watch_optimizers()
        self._watch_loaders()

    def stepped(self, number: int) -> None:
        """A step was made."""
        for each in self._on_step:
            each(number)

    def _watch_parameters(self) -> None:
        module = torch().nn.Module
        parameters = module.parameters

        def watched(root: Any, *arguments: Any, **keywords: Any) -> Any:  # noqa: ANN401
            self._asked.append(root)
            return parameters(root, *arguments, **keywords)

        module.parameters = watched

    def _watch_optimizers(self) -> None:
        kind = torch().optim.Optimizer
        make = kind.__init__

        def made(optimizer: Any, *arguments: Any, **keywords: Any) -> None:  # noqa: ANN401
            make(optimizer, *arguments, **keywords)
            for change in self._on_optimizer:
                change(optimizer)
            if self.model is None:
                self._found(optimizer)

        kind.__init__ = made

    def _found(self, optimizer: Any) -> None:  # noqa: ANN401 -- torch's
        held = {id(each) for group in optimizer.param_groups for each in group["params"]}
        asked = [root for root in self._asked if _owns(root, held)]
        self.model = asked[-1] if asked else _innermost(held)
        self.optimizer = optimizer
        self._asked.clear()
        if self.model is None and self._on_model:
            raise CannotTellError("no module of the script holds the optimizer's parameters")
        for change in self._on_model:
            change(self.model)

    def _watch_loaders(self) -> None:
        kind = torch_module("utils.data").DataLoader
        iterable = torch_module("utils.data").IterableDataset
        make = kind.__init__
        names = inspect.signature(make)

        def made(loader: Any, *arguments: Any, **keywords: Any) -> None:  # noqa: ANN401
            given = names.bind(loader, *arguments, **keywords).arguments
            if isinstance(given["dataset"], iterable):
                make(loader, *arguments, **keywords)
                return
            make(**given | self._loader)
            self.has_loader = True
            self.loader_workers = max(self.loader_workers, loader.num_workers)

        kind.__init__ = made


def _owns(root: Any, held: set[int]) -> bool:  # noqa: ANN401 -- a module
    return {id(each) for _, each in root.named_parameters()} >= held


def _innermost(held: set[int]) -> Any:  # noqa: ANN401 -- a module, or None
    """The smallest module alive that holds all parameters: groups may be taken from its parts."""
    kind = torch().nn.Module
    alive = [each for each in gc.get_objects() if issubclass(type(each), kind)]
    owners = [each for each in alive if "_modules" in vars(each) and _owns(each, held)]
    return min(owners, key=lambda each: sum(1 for _ in each.modules()), default=None)
