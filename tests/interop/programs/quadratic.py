# SPDX-License-Identifier: MIT
"""The least value of a parabola, with parameters to begin with and two calls of optimize."""
from functools import partial

import optuna

seen = []


def objective(trial, centre):
    x = trial.suggest_float("x", -10, 10)
    seen.append(x)
    return (x - centre) ** 2


study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=4))
study.enqueue_trial({"x": 2.5})
study.enqueue_trial({"x": -1.0}, user_attrs={"memo": "by hand"})
study.optimize(partial(objective, centre=2), n_trials=8)
first = len(study.trials)
study.optimize(partial(objective, centre=2), n_trials=7)
print("trials", first, len(study.trials))
print("seen", len(seen))
print("best", study.best_params["x"], study.best_value)
