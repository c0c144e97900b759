"""Bytes of a parameter under the common recipes, and the memory that buys time elsewhere."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Recipe:
    """What one parameter costs in training, bytes; activations are not in it.

    Attributes:
        weights, gradients, states: Of one parameter; masters of the weights are states.
        basis: Where each number comes from.
    """

    id: str
    title: str
    weights: float
    gradients: float
    states: float
    basis: str

    @property
    def total(self) -> float:
        """Bytes a parameter on one device, nothing divided."""
        return self.weights + self.gradients + self.states


RECIPES = (
    Recipe("fp32-adam", "fp32, Adam or AdamW", 4, 4, 8, "4 weight, 4 gradient, 4 + 4 moments"),
    Recipe("autocast-adam", "autocast to bf16 or fp16, AdamW", 4, 4, 8,
           "as fp32; the cast weights (2 more) live during forward and backward only"),
    Recipe("megatron-bf16", "bf16 weights, fp32 masters and gradients (Megatron)", 2, 4, 12,
           "2 weight, 4 gradient, 4 master, 4 + 4 moments: 18; 16 with bf16 gradients"),
    Recipe("mixed-bf16", "bf16 weights and gradients, fp32 masters and moments", 2, 2, 12,
           "2 weight, 2 gradient, 4 master, 4 + 4 moments: ZeRO's 16"),
    Recipe("bf16-adam", "everything in bf16, moments too", 2, 2, 4,
           "2 weight, 2 gradient, 2 + 2 moments"),
    Recipe("bf16-fp32-moments", "bf16 weights, fp32 moments, no masters", 2, 2, 8,
           "small updates are lost"),
    Recipe("fp32-momentum", "fp32, SGD with momentum", 4, 4, 4, "4 weight, 4 gradient, 4 momentum"),
    Recipe("fp32-sgd", "fp32, plain SGD", 4, 4, 0, "4 weight, 4 gradient"),
    Recipe("adam-8bit", "fp32 weights, 8-bit Adam", 4, 4, 2,
           "4 weight, 4 gradient, 1 + 1 moments and scales"),
    Recipe("mixed-8bit", "bf16 weights and gradients, fp32 masters, 8-bit moments", 2, 2, 6,
           "2 weight, 2 gradient, 4 master, 1 + 1 moments"),
    Recipe("inference-bf16", "bf16, inference", 2, 0, 0, "2 weight"),
)  # fmt: skip
BY_ID = {recipe.id: recipe for recipe in RECIPES}


def sharded(recipe: Recipe, devices: int, stage: int) -> float:
    """Bytes a parameter on each device under ZeRO: 1 divides states, 2 gradients too, 3 all.

    Raises:
        ValueError: No such stage, or fewer than one device.
    """
    if stage not in (0, 1, 2, 3) or devices < 1:
        raise ValueError(f"stage {stage} over {devices} devices")
    states = recipe.states / (devices if stage >= 1 else 1)
    gradients = recipe.gradients / (devices if stage >= 2 else 1)  # noqa: PLR2004 -- ZeRO-2
    weights = recipe.weights / (devices if stage >= 3 else 1)  # noqa: PLR2004 -- ZeRO-3
    return weights + gradients + states


def training_bytes(parameters: int, recipe: Recipe, devices: int = 1, stage: int = 0) -> int:
    """Bytes on each device for weights, gradients and states: 7e9 at 16 bytes are 112 GB."""
    return round(parameters * sharded(recipe, devices, stage))


@dataclass(frozen=True)
class KeyValueCache:
    """Keys and values kept for generation: memory that saves computing them again.

    Attributes:
        key_value_heads: Fewer than query heads with grouped or multi-query attention.
        width: Bytes of a number.
    """

    layers: int
    key_value_heads: int
    head: int
    width: int = 2

    @property
    def bytes_per_token(self) -> int:
        """Keys and values of all layers; 7B (32 layers, 32 heads of 128) in bf16: 512 KiB."""
        return 2 * self.layers * self.key_value_heads * self.head * self.width

    def tokens(self, room: int) -> int:
        """Tokens, of all sequences together, that a room in bytes holds."""
        return room // self.bytes_per_token


def optimizer_temporaries(parameters: int, width: int = 4) -> int:
    """Bytes that a foreach Adam holds beside its states in a step: one copy of the second moments.

    Measured on an H200 with torch 2.11: 512 MiB for 134 million fp32 parameters. Fused: none.
    """
    return parameters * width


def static_buffers(inputs: int, graphs: int = 1) -> int:
    """Bytes of CUDA graphs' static inputs: each graph keeps its own; pools can be shared."""
    return inputs * graphs
