# SPDX-License-Identifier: MIT
"""A network of PyTorch that is fed by the worker processes of a DataLoader. A tensor is computed before optimize."""
import optuna
import torch
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
torch.set_num_threads(2)
x = torch.randn(256, 8)
y = (x @ torch.randn(8, 1) > 0).float()
print("before", round(float((x @ x.T).sum()), 3) > 0)


def objective(trial):
    net = torch.nn.Linear(8, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=trial.suggest_float("lr", 1e-3, 1.0, log=True))
    loader = DataLoader(TensorDataset(x, y), batch_size=trial.suggest_int("batch", 32, 128, step=32), shuffle=True, num_workers=2)
    seen = 0
    for a, b in loader:
        optimizer.zero_grad()
        loss = torch.nn.functional.binary_cross_entropy_with_logits(net(a), b)
        loss.backward()
        optimizer.step()
        seen += len(a)
    trial.set_user_attr("seen", seen)
    return loss.item()


study = optuna.create_study()
study.optimize(objective, n_trials=4)
print("seen", [trial.user_attrs["seen"] for trial in study.trials])
