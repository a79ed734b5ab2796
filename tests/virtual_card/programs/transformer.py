# SPDX-License-Identifier: MIT
"""A small language model, trained for many steps. Arguments: batch size, and words that change it (bf16, checkpoint, sgd)."""
import sys

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint


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
        self.blocks = nn.ModuleList([Block(width) for _ in range(layers)])
        self.head = nn.Linear(width, words)

    def forward(self, ids, again):
        x = self.embedding(ids)
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False) if again else block(x)
        return self.head(x)


def main():
    batch = int(sys.argv[1])
    levers = set(sys.argv[2:])
    model = Model(4000, 256, 4).cuda()
    kind = torch.optim.SGD if "sgd" in levers else torch.optim.AdamW
    optimizer = kind(model.parameters(), lr=1e-3)
    for step in range(100):
        ids = torch.randint(0, 4000, (batch, 128), device="cuda")
        with torch.autocast("cuda", dtype=torch.bfloat16, enabled="bf16" in levers):
            logits = model(ids, "checkpoint" in levers)
            loss = F.cross_entropy(logits.flatten(0, 1), ids.flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        print(step, loss.item(), flush=True)


if __name__ == "__main__":
    main()
