# SPDX-License-Identifier: MIT
"""LightGBM on the breast cancer data, pruned by the callback of optuna-integration. One model is trained before the search begins."""
import lightgbm as lgb
import numpy as np
import optuna
from optuna_integration import LightGBMPruningCallback
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import accuracy_score
from sklearn.model_selection import train_test_split

data, target = load_breast_cancer(return_X_y=True)
train_x, valid_x, train_y, valid_y = train_test_split(data, target, test_size=0.25, random_state=0)


def train(param, callbacks):
    dtrain = lgb.Dataset(train_x, label=train_y)
    dvalid = lgb.Dataset(valid_x, label=valid_y, reference=dtrain)
    param = {"objective": "binary", "metric": "auc", "verbosity": -1, "seed": 1, "num_threads": 2, **param}
    model = lgb.train(param, dtrain, num_boost_round=20, valid_sets=[dvalid], callbacks=callbacks)
    return accuracy_score(valid_y, np.rint(model.predict(valid_x)))


def objective(trial):
    param = {
        "lambda_l2": trial.suggest_float("lambda_l2", 1e-8, 10.0, log=True),
        "num_leaves": trial.suggest_int("num_leaves", 2, 64),
        "learning_rate": trial.suggest_float("learning_rate", 1e-4, 0.5, log=True),
        "min_child_samples": trial.suggest_int("min_child_samples", 5, 100),
    }
    return train(param, [LightGBMPruningCallback(trial, "auc")])


if __name__ == "__main__":
    print("without a search:", train({}, []))
    pruner = optuna.pruners.MedianPruner(n_warmup_steps=3)
    study = optuna.create_study(pruner=pruner, direction="maximize", sampler=optuna.samplers.TPESampler(seed=5))
    study.optimize(objective, n_trials=20)
    print("Best trial:", study.best_trial.number, study.best_trial.value)
