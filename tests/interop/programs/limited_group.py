# SPDX-License-Identifier: MIT
"""Large trials enter the control group of the argument, and then take 200 MiB."""
import sys

import optuna


def objective(trial):
    size = trial.suggest_categorical("mebibytes", [1, 200])
    if size > 1:
        with open(f"{sys.argv[1]}/cgroup.procs", "w", encoding="ascii") as file:
            file.write("0")  # this process
    return len(b"1" * (size << 20))


study = optuna.create_study(sampler=optuna.samplers.GridSampler({"mebibytes": [1, 200]}), study_name="limited")
study.optimize(objective, n_trials=2)
print("best", study.best_value)
