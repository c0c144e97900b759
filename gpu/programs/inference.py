"""Programs that infer: no gradients, host cost per launch from tiny to large."""
# ruff: noqa: TID253 (torch is what is measured)

from __future__ import annotations

import torch
from programs.parts import DEVICE, Mode, encoder, in_tf32, inferred, mlp, normal
from programs.program import Program, Step, batches
from torch import Tensor, nn


def tiny_mlp(*, batch: int = 32, mode: Mode = torch.no_grad) -> Step:
    """Six small linear layers."""
    return inferred(mlp(256, 6), normal(batch, 256), mode=mode)


def small_encoder(
    *,
    batch: int = 1,
    dtype: torch.dtype = torch.float32,
    tf32: bool = False,
    compiled: bool = False,
    mode: Mode = torch.no_grad,
) -> Step:
    """Six transformer blocks of width 384 over 128 tokens."""
    model = encoder(384, 6).to(dtype)
    run = torch.compile(model) if compiled else model
    step = inferred(run, normal(batch, 128, 384, dtype=dtype), mode=mode)
    return in_tf32(step) if tf32 else step


def native_encoder(*, batch: int = 4, dtype: torch.dtype = torch.float16) -> Step:
    """The encoder that torch brings, whose layers are one fused operator each without gradients."""
    layer = nn.TransformerEncoderLayer(512, 8, 2048, batch_first=True)
    model = nn.TransformerEncoder(layer, 6).to(DEVICE, dtype)
    return inferred(model, normal(batch, 64, 512, dtype=dtype))


class UNet(nn.Module):
    """Two levels down and up, with group norm and skips."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.enter = self.convolved(4, width)
        self.down = self.convolved(width, 2 * width)
        self.middle = self.convolved(2 * width, 2 * width)
        self.up = self.convolved(4 * width, width)
        self.leave = self.convolved(2 * width, width)
        self.last = nn.Conv2d(width, 4, 1)
        self.halve = nn.AvgPool2d(2)
        self.enlarge = nn.Upsample(scale_factor=2)

    @staticmethod
    def convolved(inputs: int, outputs: int) -> nn.Sequential:
        """Two convolutions, each with norm and SiLU."""
        return nn.Sequential(
            nn.Conv2d(inputs, outputs, 3, padding=1),
            nn.GroupNorm(8, outputs),
            nn.SiLU(),
            nn.Conv2d(outputs, outputs, 3, padding=1),
            nn.GroupNorm(8, outputs),
            nn.SiLU(),
        )

    def forward(self, x: Tensor) -> Tensor:
        """An image of the same shape as its input."""
        top = self.enter(x)
        half = self.down(self.halve(top))
        quarter = self.middle(self.halve(half))
        x = self.up(torch.cat([self.enlarge(quarter), half], 1))
        x = self.leave(torch.cat([self.enlarge(x), top], 1))
        return self.last(x)


def unet(*, batch: int = 1) -> Step:
    """A U-Net over 64 x 64 pixels."""
    return inferred(UNet(64).to(DEVICE), normal(batch, 4, 64, 64))


def tiny_elementwise(*, compiled: bool = False) -> Step:
    """160 dependent operations on 1,000 elements."""
    x = normal(1000)

    def chain(y: Tensor) -> Tensor:
        for _ in range(40):
            y = torch.sigmoid(y * 1.01 + 0.1) - 0.5
        return y

    run = torch.compile(chain) if compiled else chain

    def step() -> Tensor:
        with torch.no_grad():
            return run(x)

    return step


def einsums() -> Step:
    """24 contractions, whose equations Python parses and torch plans anew every time."""
    q, k = normal(2, 4, 32, 64), normal(2, 4, 32, 64)
    mix = normal(4, 64, 64)

    def step() -> Tensor:
        y = q
        with torch.no_grad():
            for _ in range(8):
                scores = torch.einsum("bhid,bhjd->bhij", y, k)
                y = torch.einsum("bhij,bhjd->bhid", scores.softmax(-1), k)
                y = torch.einsum("bhid,hde->bhie", y, mix) * 0.1
        return y

    return step


def jagged(*, padded: bool = False) -> Step:
    """32 sequences of unlike length, one at a time or padded into one batch."""
    rows = [normal(length, 128) for length in range(4, 68, 2)]
    weight = normal(128, 128)
    batch = nn.utils.rnn.pad_sequence(rows, batch_first=True)
    lengths = torch.tensor([len(row) for row in rows], device=DEVICE)
    missing = torch.arange(batch.shape[1], device=DEVICE)[None, :, None] >= lengths[:, None, None]

    def one_by_one() -> list[Tensor]:
        with torch.no_grad():
            return [(torch.softmax(row @ weight, 0) * row).sum(0) for row in rows]

    def at_once() -> Tensor:
        with torch.no_grad():
            scores = (batch @ weight).masked_fill(missing, float("-inf"))
            return (torch.softmax(scores, 1) * batch).sum(1)

    return at_once if padded else one_by_one


INFERENCE_MODE = {"inference_mode": {"mode": torch.inference_mode}}
HALF = {"bf16": {"dtype": torch.bfloat16}, "tf32": {"tf32": True}}

TABLE = (
    Program(
        "infer_mlp_tiny",
        tiny_mlp,
        twins={"no_launch": {}, **INFERENCE_MODE, **batches(32, 2, 4, 8)},
        stack=True,
    ),
    Program(
        "infer_encoder_b1_fp32",
        small_encoder,
        twins={
            "no_launch": {},
            **INFERENCE_MODE,
            **HALF,
            **batches(1, 2, 4, 8),
            "compile": {"compiled": True},
        },
        stack=True,
        limit_s=60,
    ),
    Program(
        "infer_encoder_b4_fp16",
        small_encoder,
        {"batch": 4, "dtype": torch.float16},
        {"no_launch": {}, **batches(4, 4)},
    ),
    Program("infer_native_encoder_b4", native_encoder, twins={"no_launch": {}, **batches(4, 4)}),
    Program("infer_unet_b1", unet, twins={"no_launch": {}, **batches(1, 2, 4, 8)}),
    Program(
        "infer_elementwise_tiny",
        tiny_elementwise,
        twins={"no_launch": {}, "compile": {"compiled": True}},
        stack=True,
        limit_s=60,
    ),
    Program("infer_einsums", einsums, twins={"no_launch": {}}, stack=True),
    Program(
        "infer_jagged_loop",
        jagged,
        twins={"no_launch": {}, "vectorized": {"padded": True}},
        stack=True,
    ),
)
