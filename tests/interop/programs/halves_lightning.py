# SPDX-License-Identifier: MIT
"""A network of PyTorch Lightning: which half of a vector has the larger sum?"""
import argparse

import pytorch_lightning as lightning
import torch
from torch.utils.data import DataLoader, TensorDataset

from hpo.lightning import HpoCallback

parser = argparse.ArgumentParser()
parser.add_argument("--batch-size", type=int, default=32)
parser.add_argument("--accumulate", type=int, default=1)
parser.add_argument("--lr", type=float, default=0.1)
args = parser.parse_args()


class Halves(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 2))

    def loss(self, batch):
        x, y = batch
        return torch.nn.functional.cross_entropy(self.layers(x), y)

    def training_step(self, batch, index):
        return self.loss(batch)

    def validation_step(self, batch, index):
        self.log("val_loss", self.loss(batch), batch_size=len(batch[0]))

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=args.lr)


lightning.seed_everything(0)
x = torch.randn(192, 16)
y = (x[:, :8].sum(1) > x[:, 8:].sum(1)).long()
module = Halves()
trainer = lightning.Trainer(
    max_epochs=2,
    accelerator="cpu",
    logger=False,
    enable_checkpointing=False,
    enable_progress_bar=False,
    accumulate_grad_batches=args.accumulate,
    callbacks=[HpoCallback("val_loss")],
)
trainer.fit(module, DataLoader(TensorDataset(x[:128], y[:128]), args.batch_size), DataLoader(TensorDataset(x[128:], y[128:]), 64))
print("steps", trainer.global_step, "batches", trainer.num_training_batches)
print("held-out loss", float(trainer.callback_metrics["val_loss"]))
