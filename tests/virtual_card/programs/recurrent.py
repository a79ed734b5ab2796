# SPDX-License-Identifier: MIT
"""A gated recurrent unit of eight steps over texts whose batch size, length and width are arguments."""
import argparse

import torch
import torch.nn.functional as F
from torch import nn


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.embedding = nn.Embedding(5000, width)
        self.cell = nn.GRUCell(width, width)
        self.head = nn.Linear(width, 5000)

    def forward(self, ids):
        embedded = self.embedding(ids)
        state = torch.zeros(ids.shape[0], embedded.shape[2], device=ids.device)
        for step in range(8):
            state = self.cell(embedded[:, step], state)
        return self.head(state), embedded


arguments = argparse.ArgumentParser()
for name in ("batch", "length", "width"):
    arguments.add_argument(f"--{name}", type=int, required=True)
a = arguments.parse_args()
model = Model(a.width).cuda()
optimizer = torch.optim.Adam(model.parameters())
for _ in range(3):
    ids = torch.randint(0, 5000, (a.batch, a.length), device="cuda")
    labels = torch.randint(0, 5000, (a.batch,), device="cuda")
    logits, embedded = model(ids)
    loss = F.cross_entropy(logits, labels) + embedded.pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
