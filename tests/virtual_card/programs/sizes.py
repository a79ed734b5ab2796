# SPDX-License-Identifier: MIT
"""A small language model whose batch size, length and width are arguments. It tells no real loss, because a virtual card computes nothing."""
import argparse

import torch
import torch.nn.functional as F
from transformer import Model

arguments = argparse.ArgumentParser()
for name in ("batch", "length", "width"):
    arguments.add_argument(f"--{name}", type=int, required=True)
arguments.add_argument("--steps", type=int, default=3)
a = arguments.parse_args()
model = Model(4000, a.width, 4).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for _ in range(a.steps):
    ids = torch.randint(0, 4000, (a.batch, a.length), device="cuda")
    loss = F.cross_entropy(model(ids, False).flatten(0, 1), ids.flatten())
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
print(f'@hpo {{"value": {a.width / a.batch}}}', flush=True)
