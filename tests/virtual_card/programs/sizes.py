# SPDX-License-Identifier: MIT
"""A small language model whose batch size, length and width are arguments. It tells no real loss, because a virtual card computes nothing."""
import argparse

import torch
import torch.nn.functional as F
from torch import nn


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.attention = nn.MultiheadAttention(width, 4, batch_first=True)
        self.dense = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
        self.first = nn.LayerNorm(width)
        self.second = nn.LayerNorm(width)

    def forward(self, x):
        y = self.first(x)
        x = x + self.attention(y, y, y, need_weights=False)[0]
        return x + self.dense(self.second(x))


class Model(nn.Module):
    def __init__(self, words, width, layers):
        super().__init__()
        self.embedding = nn.Embedding(words, width)
        self.blocks = nn.Sequential(*(Block(width) for _ in range(layers)))
        self.head = nn.Linear(width, words)

    def forward(self, ids):
        return self.head(self.blocks(self.embedding(ids)))


arguments = argparse.ArgumentParser()
for name in ("batch", "length", "width"):
    arguments.add_argument(f"--{name}", type=int, required=True)
arguments.add_argument("--steps", type=int, default=3)
a = arguments.parse_args()
model = Model(4000, a.width, 4).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for _ in range(a.steps):
    ids = torch.randint(0, 4000, (a.batch, a.length), device="cuda")
    loss = F.cross_entropy(model(ids).flatten(0, 1), ids.flatten())
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
print(f'@hpo {{"value": {a.width / a.batch}}}', flush=True)
