# SPDX-License-Identifier: MIT
"""Four trials at once in threads; then as many trials as begin within two seconds."""
import time

import optuna


def objective(trial):
    x = trial.suggest_float("x", 0, 1)
    time.sleep(0.05)
    return x


study = optuna.create_study(direction="maximize")
study.optimize(objective, n_trials=12, n_jobs=4)
print("first", len(study.trials))
begun = time.time()
study.optimize(objective, n_jobs=4, timeout=2)
print("then", len(study.trials), "seconds", round(time.time() - begun, 1))
