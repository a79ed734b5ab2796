# SPDX-License-Identifier: MIT
"""A small network of PyTorch that takes its parameters as arguments, and prints its accuracy after each epoch."""
import argparse
import json

import torch
import torch.nn as nn
import torch.nn.functional as F

parser = argparse.ArgumentParser()
parser.add_argument("--width", type=int, required=True)
parser.add_argument("--lr", type=float, required=True)
parser.add_argument("--batch-size", type=int, default=64)
parser.add_argument("--epochs", type=int, default=2)
args = parser.parse_args()

torch.manual_seed(0)
torch.set_num_threads(1)
x = torch.rand(512, 1, 28, 28)
y = (x.mean((1, 2, 3)) > 0.5).long()
net = nn.Sequential(nn.Conv2d(1, args.width, 3, stride=2), nn.ReLU(), nn.Flatten(), nn.Linear(args.width * 169, 2))
optimizer = torch.optim.Adam(net.parameters(), lr=args.lr)
for epoch in range(args.epochs):
    for index in torch.randperm(len(x)).split(args.batch_size):
        optimizer.zero_grad()
        F.cross_entropy(net(x[index]), y[index]).backward()
        optimizer.step()
    with torch.no_grad():
        accuracy = (net(x).argmax(1) == y).float().mean().item()
    print("@hpo", json.dumps({"step": epoch, "value": accuracy}), flush=True)
print("@hpo", json.dumps({"value": accuracy}))
