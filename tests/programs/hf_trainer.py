"""The Trainer of transformers trains a small GPT-2 made from nothing."""

import tempfile
import time

import torch
from common import arguments, size
from torch.utils.data import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments

LENGTH = 32


class Tokens(Dataset):
    def __len__(self):
        return 100_000

    def __getitem__(self, index):
        row = torch.full((LENGTH,), index % 100)
        return {"input_ids": row, "labels": row}


class StopInTime(TrainerCallback):
    def __init__(self, seconds):
        self.until = time.monotonic() + seconds

    def on_step_end(self, _arguments, _state, control, **_kwargs):
        if time.monotonic() > self.until:
            control.should_training_stop = True


def main():
    chosen = arguments(__doc__)
    config = GPT2Config(vocab_size=128, n_positions=LENGTH, n_embd=64, n_layer=size(6, 2), n_head=4)
    with tempfile.TemporaryDirectory() as folder:
        trainer = Trainer(
            model=GPT2LMHeadModel(config),
            args=TrainingArguments(
                output_dir=folder,
                max_steps=chosen.steps or 10**6,
                per_device_train_batch_size=4,
                logging_strategy="no",
                save_strategy="no",
                report_to=[],
                disable_tqdm=True,
            ),
            train_dataset=Tokens(),
            callbacks=[] if chosen.steps else [StopInTime(chosen.seconds)],
        )
        trainer.train()


if __name__ == "__main__":
    main()
