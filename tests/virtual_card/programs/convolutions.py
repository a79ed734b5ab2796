# SPDX-License-Identifier: MIT
"""A small residual network whose batch size, image and width are arguments."""
import argparse

import torch
import torch.nn.functional as F
from torch import nn


class Block(nn.Module):
    def __init__(self, before, after, stride):
        super().__init__()
        self.one = nn.Conv2d(before, after, 3, stride, 1, bias=False)
        self.norm_one = nn.BatchNorm2d(after)
        self.two = nn.Conv2d(after, after, 3, 1, 1, bias=False)
        self.norm_two = nn.BatchNorm2d(after)
        self.across = nn.Conv2d(before, after, 1, stride, bias=False)

    def forward(self, x):
        inner = F.relu(self.norm_one(self.one(x)))
        return F.relu(self.norm_two(self.two(inner)) + self.across(x))


arguments = argparse.ArgumentParser()
for name in ("batch", "image", "width"):
    arguments.add_argument(f"--{name}", type=int, required=True)
a = arguments.parse_args()
w = a.width
blocks = [Block(w, w, 1), Block(w, 2 * w, 2), Block(2 * w, 4 * w, 2)]
model = nn.Sequential(nn.Conv2d(3, w, 3, 1, 1), nn.ReLU(), *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4 * w, 10)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for _ in range(3):
    images = torch.randn(a.batch, 3, a.image, a.image, device="cuda")
    labels = torch.randint(0, 10, (a.batch,), device="cuda")
    loss = F.cross_entropy(model(images), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
