# SPDX-License-Identifier: MIT
"""A convolutional network on Fashion-MNIST, on the CPU."""
import argparse
import gzip
import os

import numpy as np
import optuna
import torch
import torch.nn as nn
import torch.nn.functional as F

FOLDER = os.environ.get("FASHION_MNIST", "/usr/share/datasets/fashion-mnist")

parser = argparse.ArgumentParser()
parser.add_argument("--n-trials", type=int, default=10)
parser.add_argument("--epochs", type=int, default=2)
parser.add_argument("--threads", type=int, default=1)
args = parser.parse_args()

torch.manual_seed(0)
torch.set_num_threads(args.threads)


def load(kind, count):
    path = os.path.join(FOLDER, kind + "-images-idx3-ubyte.gz")
    if not os.path.exists(path):  # any images will do to see how long it takes
        return torch.rand(count, 1, 28, 28), torch.randint(0, 10, (count,))
    with gzip.open(path) as file:
        images = np.frombuffer(file.read(16 + 784 * count), np.uint8, offset=16).copy()
    with gzip.open(os.path.join(FOLDER, kind + "-labels-idx1-ubyte.gz")) as file:
        labels = np.frombuffer(file.read(8 + count), np.uint8, offset=8).copy()
    return torch.from_numpy(images).reshape(-1, 1, 28, 28).float().div(255), torch.from_numpy(labels).long()


train_x, train_y = load("train", 2048)
test_x, test_y = load("t10k", 512)
mean = train_x.mean()  # computed before optimize, with all threads
train_x, test_x = train_x - mean, test_x - mean


class Net(nn.Module):
    def __init__(self, width, dropout):
        super().__init__()
        self.conv1 = nn.Conv2d(1, width, 3, padding=1)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1)
        self.drop = nn.Dropout(dropout)
        self.out = nn.Linear(width * 49, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.out(self.drop(x.flatten(1)))


def objective(trial):
    width = trial.suggest_categorical("width", [8, 16, 32])
    batch_size = trial.suggest_categorical("batch_size", [64, 128, 2048])
    lr = trial.suggest_float("lr", 1e-4, 1e-1, log=True)
    dropout = trial.suggest_float("dropout", 0.0, 0.5)
    net = Net(width, dropout)
    optimizer = torch.optim.Adam(net.parameters(), lr=lr)
    for epoch in range(args.epochs):
        net.train()
        for index in torch.randperm(len(train_x)).split(batch_size):
            optimizer.zero_grad()
            loss = F.cross_entropy(net(train_x[index]), train_y[index])
            loss.backward()
            optimizer.step()
        net.eval()
        with torch.no_grad():
            right = sum((net(x).argmax(1) == y).sum().item() for x, y in zip(test_x.split(64), test_y.split(64)))
        accuracy = right / len(test_x)
        trial.report(accuracy, epoch)
        if trial.should_prune():
            raise optuna.TrialPruned()
    trial.set_user_attr("parameters", sum(p.numel() for p in net.parameters()))
    return accuracy


if __name__ == "__main__":
    study = optuna.create_study(
        study_name="fashion", direction="maximize", sampler=optuna.samplers.TPESampler(seed=3), pruner=optuna.pruners.MedianPruner(n_startup_trials=3)
    )
    study.optimize(objective, n_trials=args.n_trials)
    print(f"{len(study.trials)} trials, best {study.best_value:.3f}: {study.best_params}")
