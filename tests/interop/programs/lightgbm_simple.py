# SPDX-License-Identifier: MIT
"""LightGBM on the breast cancer data. All that it does is inside of the objective."""
import lightgbm as lgb
import numpy as np
import optuna
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import accuracy_score
from sklearn.model_selection import train_test_split


def objective(trial):
    data, target = load_breast_cancer(return_X_y=True)
    train_x, valid_x, train_y, valid_y = train_test_split(data, target, test_size=0.25, random_state=0)
    param = {
        "objective": "binary",
        "verbosity": -1,
        "seed": 1,
        "deterministic": True,
        "force_row_wise": True,
        "num_threads": 1,
        "num_leaves": trial.suggest_int("num_leaves", 2, 128),
        "feature_fraction": trial.suggest_float("feature_fraction", 0.4, 1.0),
        "bagging_fraction": trial.suggest_float("bagging_fraction", 0.4, 1.0),
        "bagging_freq": trial.suggest_int("bagging_freq", 1, 5),
        "min_child_samples": trial.suggest_int("min_child_samples", 5, 100),
    }
    model = lgb.train(param, lgb.Dataset(train_x, label=train_y), num_boost_round=20)
    return accuracy_score(valid_y, np.rint(model.predict(valid_x)))


if __name__ == "__main__":
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=2))
    study.optimize(objective, n_trials=10)
    print("trials", len(study.trials))
    print("best", study.best_trial.value, study.best_trial.params)
