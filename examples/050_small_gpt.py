# SPDX-License-Identifier: MIT
"""A GPT of six layers, as people write it. Arguments: batch size."""
import sys

import torch
import torch.nn.functional as F
from torch import nn

WORDS, WIDTH, HEADS, LENGTH, LAYERS = 32000, 768, 12, 512, 6


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.before_attention = nn.LayerNorm(WIDTH)
        self.before_dense = nn.LayerNorm(WIDTH)
        self.queries_keys_values = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)
        self.dense = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x):
        batch, length, _ = x.shape
        q, k, v = self.queries_keys_values(self.before_attention(x)).split(WIDTH, dim=2)
        q, k, v = (each.view(batch, length, HEADS, WIDTH // HEADS).transpose(1, 2) for each in (q, k, v))
        scores = (q @ k.transpose(-2, -1)) / (WIDTH // HEADS) ** 0.5
        seen = torch.ones(length, length, dtype=torch.bool, device=x.device).tril()
        weights = scores.masked_fill(~seen, float("-inf")).softmax(dim=-1)
        x = x + self.out((weights @ v).transpose(1, 2).reshape(batch, length, WIDTH))
        return x + self.dense(self.before_dense(x))


class Gpt(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.places = nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.ModuleList([Block() for _ in range(LAYERS)])
        self.last = nn.LayerNorm(WIDTH)

    def forward(self, ids):
        x = self.words(ids) + self.places.weight[: ids.shape[1]]
        for block in self.blocks:
            x = block(x)
        return F.linear(self.last(x), self.words.weight)


def main():
    batch = int(sys.argv[1]) if len(sys.argv) > 1 else 8
    model = Gpt().cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    for step in range(20):
        ids = torch.randint(0, WORDS, (batch, LENGTH + 1), device="cuda")
        logits = model(ids[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {step}: loss {loss.item():.3f}", flush=True)


if __name__ == "__main__":
    main()
