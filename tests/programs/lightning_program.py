"""PyTorch Lightning trains a network of large matrix products in fp32."""

import logging
import time
import warnings

import torch
from common import CUDA, arguments, mlp, size
from torch.utils.data import DataLoader, TensorDataset

try:
    import lightning
except ImportError:
    import pytorch_lightning as lightning

INPUTS, WIDTH = 16, size(4096, 16)


class Network(lightning.LightningModule):
    def __init__(self, seconds):
        super().__init__()
        self.body = torch.nn.Sequential(torch.nn.Linear(INPUTS, WIDTH), mlp(WIDTH, 3))
        self.until = time.monotonic() + seconds

    def training_step(self, batch, _index):
        if time.monotonic() > self.until:
            self.trainer.should_stop = True
        return self.body(batch[0]).square().mean()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.01)


def main():
    chosen = arguments(__doc__)
    warnings.simplefilter("ignore")
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    batches = torch.randn(64, size(2048, 8), INPUTS)
    trainer = lightning.Trainer(
        accelerator="cuda" if CUDA else "cpu",
        devices=1,
        max_steps=chosen.steps or 10**6,
        max_epochs=-1,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    seconds = 10**6 if chosen.steps else chosen.seconds
    trainer.fit(Network(seconds), DataLoader(TensorDataset(batches), batch_size=None))


if __name__ == "__main__":
    main()
