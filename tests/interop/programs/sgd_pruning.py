# SPDX-License-Identifier: MIT
"""A linear classifier that is trained step by step. What falls behind is pruned. Trials and their ends are logged to a file."""
import logging
import sys

import optuna
from sklearn.datasets import load_iris
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import train_test_split

logging.basicConfig(filename="train.log", level=logging.INFO, format="%(message)s")
log = logging.getLogger("train")
optuna.logging.get_logger("optuna").addHandler(logging.StreamHandler(sys.stdout))

X, y = load_iris(return_X_y=True)
train_x, valid_x, train_y, valid_y = train_test_split(X, y, test_size=0.25, random_state=0)


def objective(trial):
    alpha = trial.suggest_float("alpha", 1e-5, 1e1, log=True)
    clf = SGDClassifier(alpha=alpha, random_state=0)
    for step in range(30):
        clf.partial_fit(train_x, train_y, classes=[0, 1, 2])
        error = 1.0 - clf.score(valid_x, valid_y)
        trial.report(error, step)
        if trial.should_prune():
            log.info("pruned %d at %d", trial.number, step)
            raise optuna.TrialPruned()
    log.info("finished %d with %r", trial.number, error)
    return error


study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=1), pruner=optuna.pruners.MedianPruner(n_warmup_steps=2))
log.info("begin")
study.optimize(objective, n_trials=25, show_progress_bar=True)
log.info("end")
print("least error", study.best_value)
