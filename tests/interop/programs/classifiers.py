# SPDX-License-Identifier: MIT
"""Which of two classifiers of scikit-learn is the better one for handwritten digits?"""
import argparse

import numpy as np
import optuna
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

X, y = load_digits(n_class=4, return_X_y=True)


def build(trial):
    name = trial.suggest_categorical("classifier", ["svc", "forest"])
    if name == "svc":
        kernel = trial.suggest_categorical("kernel", ["linear", "rbf"])
        c = trial.suggest_float("C", 1e-4, 1e2, log=True)
        gamma = trial.suggest_float("gamma", 1e-5, 1e-1, log=True) if kernel == "rbf" else "scale"
        return make_pipeline(StandardScaler(), SVC(C=c, kernel=kernel, gamma=gamma))
    depth = trial.suggest_int("max_depth", 2, 16, log=True)
    trees = trial.suggest_int("n_estimators", 5, 25, step=5)
    return RandomForestClassifier(n_estimators=trees, max_depth=depth, random_state=0, n_jobs=2)


def objective(trial, jobs=None):
    model = build(trial)
    scores = cross_val_score(model, X, y, cv=3, n_jobs=jobs)
    trial.set_user_attr("scores", [float(each) for each in scores])
    trial.set_user_attr("spread", float(np.std(scores)))
    return scores.mean()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--trials", type=int, default=12)
    args = parser.parse_args()
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=7))
    study.optimize(lambda trial: objective(trial, args.jobs), n_trials=args.trials)
    print(f"accuracy {study.best_value!r} with {study.best_params}")
