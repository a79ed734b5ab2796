# SPDX-License-Identifier: MIT
"""One function of two parameters and the samplers of Optuna: samplers.py NAME."""
import sys
import warnings

import optuna

warnings.simplefilter("ignore")
SAMPLERS = {
    "cmaes": lambda: optuna.samplers.CmaEsSampler(seed=1, n_startup_trials=3),
    "qmc": lambda: optuna.samplers.QMCSampler(seed=1),
    "grid": lambda: optuna.samplers.GridSampler({"x": [-1.0, 0.0, 0.5, 2.0], "n": [1, 2, 3, 4]}, seed=1),
    "nsgaii": lambda: optuna.samplers.NSGAIISampler(population_size=6, seed=1),
    "gp": lambda: optuna.samplers.GPSampler(seed=1, n_startup_trials=5),
    "univariate": lambda: optuna.samplers.TPESampler(seed=1, multivariate=False, n_startup_trials=5),
}


def objective(trial):
    x = trial.suggest_float("x", -2, 2)
    n = trial.suggest_int("n", 1, 4)
    return (x - 0.5) ** 2 + abs(n - 3)


study = optuna.create_study(sampler=SAMPLERS[sys.argv[1]]())
study.optimize(objective, n_trials=16)
for trial in study.trials:
    print(trial.number, trial.params["x"], trial.params["n"], trial.value)
