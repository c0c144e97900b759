"""Models of torchvision and transformers, small and with random weights."""
# ruff: noqa: TID253 (torch is what is measured)

from __future__ import annotations

import torch
import torchvision
from programs.parts import (
    ADAMW,
    ADAMW_CAPTURABLE,
    ADAMW_FUSED,
    DEVICE,
    SGD,
    MakeOptimizer,
    Mode,
    inferred,
    labels,
    normal,
    trained,
)
from programs.program import Program, Step, batches
from torch import Tensor, nn
from torch.nn import functional
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    BertModel,
    DynamicCache,
    GPT2Config,
    GPT2LMHeadModel,
)

VOCABULARY = 1000


def image_model(name: str) -> nn.Module:
    """A model of torchvision by its name, or a small vision transformer."""
    if name == "vit":
        model: nn.Module = torchvision.models.VisionTransformer(224, 16, 8, 6, 384, 1536)
    else:
        model = getattr(torchvision.models, name)()
    return model.to(DEVICE)


def images(*, name: str, batch: int = 1, size: int = 224, mode: Mode = torch.no_grad) -> Step:
    """Classify images."""
    return inferred(image_model(name), normal(batch, 3, size, size), mode=mode)


def trained_resnet(*, batch: int = 8, make_optimizer: MakeOptimizer = SGD) -> Step:
    """A ResNet-18 on images of 96 x 96 pixels."""
    model = image_model("resnet18")
    x, y = normal(batch, 3, 96, 96), labels(batch)
    return trained(model, lambda: functional.cross_entropy(model(x), y), make_optimizer)


def bert_config() -> BertConfig:
    """A BERT of four layers."""
    return BertConfig(
        vocab_size=VOCABULARY,
        hidden_size=128,
        num_hidden_layers=4,
        num_attention_heads=2,
        intermediate_size=512,
    )


def tokens(batch: int, length: int) -> Tensor:
    """Random tokens on the device."""
    return torch.randint(0, VOCABULARY, (batch, length), device=DEVICE)


def bert(*, batch: int = 1, mode: Mode = torch.no_grad) -> Step:
    """A small BERT over 64 tokens."""
    return inferred(BertModel(bert_config()).to(DEVICE), tokens(batch, 64), mode=mode)


def trained_bert(*, batch: int = 8, make_optimizer: MakeOptimizer = ADAMW) -> Step:
    """A small BERT that learns to classify 64 tokens."""
    model = BertForSequenceClassification(bert_config()).to(DEVICE)
    inputs, y = tokens(batch, 64), labels(batch, 2)
    return trained(model, lambda: model(input_ids=inputs, labels=y).loss, make_optimizer)


def decoded(*, batch: int = 1) -> Step:
    """A small GPT-2 reads 16 tokens and writes 3, with a key-value cache."""
    config = GPT2Config(
        vocab_size=VOCABULARY,
        n_positions=128,
        n_embd=384,
        n_layer=6,
        n_head=6,
        bos_token_id=0,
        eos_token_id=0,
    )
    model = GPT2LMHeadModel(config).to(DEVICE).eval()
    prompt = tokens(batch, 16)

    def step() -> Tensor:
        cache = DynamicCache()
        with torch.no_grad():
            logits = model(prompt, past_key_values=cache, use_cache=True).logits
            for _ in range(3):
                token = logits[:, -1:].argmax(-1)
                logits = model(token, past_key_values=cache, use_cache=True).logits
        return logits

    return step


INFERENCE_MODE = {"inference_mode": {"mode": torch.inference_mode}}

TABLE = (
    Program(
        "infer_vit_b2",
        images,
        {"name": "vit", "batch": 2},
        {"no_launch": {}, **batches(2, 2, 4, 8)},
        stack=True,
    ),
    Program(
        "infer_resnet18_b1",
        images,
        {"name": "resnet18"},
        {"no_launch": {}, **INFERENCE_MODE, **batches(1, 8)},
        stack=True,
    ),
    Program(
        "infer_mobilenet_b1",
        images,
        {"name": "mobilenet_v3_small"},
        {"no_launch": {}, **INFERENCE_MODE, **batches(1, 8)},
        stack=True,
    ),
    Program("infer_bert_b1", bert, {}, {"no_launch": {}, **INFERENCE_MODE}, stack=True),
    Program("infer_gpt2_decode", decoded, {}, {"no_launch": {}, **batches(1, 8)}),
    Program("train_resnet18_b8", trained_resnet, {}, {"no_launch": {}, **batches(8, 2, 4)}),
    Program(
        "train_bert_b8",
        trained_bert,
        {},
        {
            "fused_optimizer": {"make_optimizer": ADAMW_FUSED},
            "no_launch": {"make_optimizer": ADAMW_CAPTURABLE},
        },
        cause="optimizer",
        stack=True,
    ),
)
