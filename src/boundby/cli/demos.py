"""The recordings that come with boundby, made on an NVIDIA H200 with torch 2.11."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parent.parent / "data"

DEFAULT = "item-each-layer"

DEMOS = {
    "item-each-layer": "a small network that reads a value back to the host after each layer",
    "small-batch-inference": "inference of a small encoder, one sample at a time",
    "loader-inline": "training that prepares each batch while the device waits",
    "pageable-copy": "large batches copied from pageable memory",
    "pointwise-chain": "a chain of elementwise operators on large tensors",
    "fp32-matmul": "one large matrix product in fp32",
}
"""Names and what the program does; the verdict is for boundby to find."""


def demo_file(name: str) -> str:
    """Path of a recording by its name."""
    return str(FOLDER / f"demo_{name.replace('-', '_')}.json.gz")
