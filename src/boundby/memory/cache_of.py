"""Keys and values that a model keeps for generation, by the names and widths of its layers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

KEY_OR_VALUE = frozenset({
    "k_proj", "v_proj", "key", "value", "k", "v", "wk", "wv", "to_k", "to_v", "k_lin", "v_lin",
})  # fmt: skip
TOGETHER = frozenset({
    "qkv", "qkv_proj", "c_attn", "query_key_value", "wqkv", "Wqkv", "in_proj", "attn_qkv",
})  # fmt: skip
"""Names of projections in common use: of keys or values alone, and of all three in one."""


def bytes_per_token(model: Any, width: int) -> int | None:  # noqa: ANN401 -- torch's
    """Bytes of keys and values that a token adds in all layers; None where no attention is known.

    Args:
        width: Bytes of a number as it is kept.
    """
    found = sum(_widths(model))
    return found * width or None


def _widths(model: Any) -> Iterator[int]:  # noqa: ANN401 -- torch's
    """Numbers that each projection adds.

    Of one projection for all three, queries are as wide as the input: the rest is keys and values,
    of as many heads as queries or of fewer.
    """
    for path, module in model.named_modules():
        name = path.rpartition(".")[2]
        if type(module).__name__ == "MultiheadAttention":
            yield 2 * int(module.embed_dim)
            continue
        wide = getattr(module, "out_features", None)
        if isinstance(wide, int) and name in KEY_OR_VALUE:
            yield wide
        elif isinstance(wide, int) and name in TOGETHER and wide > int(module.in_features):
            yield wide - int(module.in_features)
        elif type(module).__name__ == "Conv1D" and name in TOGETHER:  # of transformers' GPT-2
            yield int(module.nf) - int(module.weight.shape[0])
