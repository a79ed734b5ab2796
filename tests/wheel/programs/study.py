# SPDX-License-Identifier: MIT
"""A program of a user of Optuna: it knows nothing of hpo. Its memory grows with the batch."""

import optuna


def objective(trial):
    batch = trial.suggest_categorical("batch", [64, 256, 1024, 4096])
    rate = trial.suggest_float("lr", 1e-4, 1e-1, log=True)
    activations = bytearray(b"1" * (batch << 17))  # 128 KiB for each example
    loss = 1.0
    for epoch in range(4):
        loss *= 0.5 + abs(rate - 0.01) * 10 + len(activations) * 1e-12
        trial.report(loss, epoch)
        if trial.should_prune():
            raise optuna.TrialPruned
    return loss


study = optuna.create_study()
study.optimize(objective, n_trials=20)
print("best:", study.best_params)
