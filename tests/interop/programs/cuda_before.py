# SPDX-License-Identifier: MIT
"""A tensor on the GPU before optimize, and one in each trial."""
import optuna
import torch

table = torch.zeros(256, 1024, device="cuda")


def objective(trial):
    rows = trial.suggest_int("rows", 1, 64)
    held = torch.zeros(rows, 256, 1024, device="cuda")
    trial.set_user_attr("bytes", torch.cuda.memory_allocated())
    return trial.suggest_float("x", 0, 1) + len(held)


study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=1))
study.optimize(objective, n_trials=3)
print("bytes", [trial.user_attrs["bytes"] - 4 * 256 * 1024 * trial.params["rows"] for trial in study.trials])
