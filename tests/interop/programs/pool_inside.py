# SPDX-License-Identifier: MIT
"""The objective hands its work to two processes."""
import multiprocessing

import optuna


def power(pair):
    return pair[0] ** pair[1]


def objective(trial):
    x = trial.suggest_int("x", 1, 5)
    with multiprocessing.Pool(2) as pool:
        return sum(pool.map(power, [(x, exponent) for exponent in range(4)]))


if __name__ == "__main__":
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=1))
    study.optimize(objective, n_trials=6)
    print("best", study.best_params, study.best_value)
