"""Programs whose kernels fill the step."""
# ruff: noqa: TID253 (torch is what is measured)

from __future__ import annotations

import torch
from programs.parts import BF16, DEVICE, Mode, in_tf32, inferred, normal, trained
from programs.program import Program, Step, batches
from torch import Tensor, nn
from torch.nn import functional


def big_products() -> Step:
    """Four products of 8192 x 8192 matrices in bf16."""
    x, weight = (normal(8192, 8192, dtype=torch.bfloat16) for _ in range(2))

    def step() -> Tensor:
        y = x
        for _ in range(4):
            y = y @ weight
        return y

    return step


def big_chain(*, compiled: bool = False) -> Step:
    """Nine elementwise operations on 256 MB."""
    x = normal(64 * 1024 * 1024)

    def chain(y: Tensor) -> Tensor:
        return ((y * 1.1 + 0.3).relu().sqrt() - y.sigmoid()).tanh() * 0.5

    run = torch.compile(chain) if compiled else chain
    return lambda: run(x)


def attention(*, fused: bool = False) -> Step:
    """Attention over 1,024 tokens, written out or in one operator."""
    q, k, v = (normal(8, 16, 1024, 64, dtype=torch.bfloat16) for _ in range(3))

    def by_hand() -> Tensor:
        scores = (q @ k.transpose(-2, -1)) * 0.125
        return torch.softmax(scores, -1) @ v

    return (lambda: functional.scaled_dot_product_attention(q, k, v)) if fused else by_hand


def layer_norms(*, dtype: torch.dtype = torch.float32) -> Step:
    """Sixteen layer norms over 64 MB."""
    model = nn.Sequential(*(nn.LayerNorm(1024) for _ in range(16))).to(DEVICE, dtype)
    return inferred(model, normal(16_384, 1024, dtype=dtype))


def layouts(*, aligned: bool = False) -> Step:
    """Sums of matrices of which one is stored by columns; or all by rows."""
    x = normal(8192, 8192)
    columns = normal(8192, 8192).t()
    other = columns.contiguous() if aligned else columns

    def step() -> Tensor:
        y = x
        for _ in range(4):
            y = y * 0.5 + other
        return y

    return step


def feed_forward(*, batch: int = 4096, tf32: bool = False, autocast: Mode | None = None) -> Step:
    """Two wide layers that train in fp32."""
    model = nn.Sequential(nn.Linear(2048, 8192), nn.GELU(), nn.Linear(8192, 2048)).to(DEVICE)
    x = normal(batch, 2048)
    step = trained(model, lambda: model(x).square().mean(), autocast=autocast)
    return in_tf32(step) if tf32 else step


TABLE = (
    Program("device_products_bf16", big_products, {}, {"no_launch": {}}),
    Program(
        "device_chain_256mb", big_chain, {}, {"compile": {"compiled": True}}, stack=True, limit_s=60
    ),
    Program(
        "device_attention_by_hand", attention, {}, {"sdpa": {"fused": True}}, cause="attention"
    ),
    Program("device_layer_norms", layer_norms, {}, {"bf16": {"dtype": torch.bfloat16}}),
    Program("device_layouts", layouts, {}, {"contiguous": {"aligned": True}}, cause="layout"),
    Program(
        "device_ffn_fp32",
        feed_forward,
        {},
        {"tf32": {"tf32": True}, "bf16": {"autocast": BF16}, **batches(4096, 2)},
        cause="precision",
    ),
)
