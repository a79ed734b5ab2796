# SPDX-License-Identifier: MIT
"""XGBoost on the breast cancer data, pruned by the callback of optuna-integration."""
import optuna
import xgboost as xgb
from optuna_integration import XGBoostPruningCallback
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import accuracy_score
from sklearn.model_selection import train_test_split

data, target = load_breast_cancer(return_X_y=True)
train_x, valid_x, train_y, valid_y = train_test_split(data, target, test_size=0.25, random_state=0)
dtrain = xgb.DMatrix(train_x, label=train_y)
dvalid = xgb.DMatrix(valid_x, label=valid_y)


def objective(trial):
    param = {
        "objective": "binary:logistic",
        "eval_metric": "auc",
        "verbosity": 0,
        "seed": 1,
        "booster": trial.suggest_categorical("booster", ["gbtree", "dart"]),
        "lambda": trial.suggest_float("lambda", 1e-8, 1.0, log=True),
        "max_depth": trial.suggest_int("max_depth", 1, 9),
        "eta": trial.suggest_float("eta", 1e-8, 1.0, log=True),
    }
    if param["booster"] == "dart":
        param["rate_drop"] = trial.suggest_float("rate_drop", 1e-8, 1.0, log=True)
    callback = XGBoostPruningCallback(trial, "validation-auc")
    model = xgb.train(param, dtrain, num_boost_round=20, evals=[(dvalid, "validation")], callbacks=[callback], verbose_eval=False)
    return accuracy_score(valid_y, model.predict(dvalid) > 0.5)


if __name__ == "__main__":
    pruner = optuna.pruners.MedianPruner(n_warmup_steps=3)
    study = optuna.create_study(pruner=pruner, direction="maximize", sampler=optuna.samplers.TPESampler(seed=5))
    study.optimize(objective, n_trials=20)
    print("Best trial:", study.best_trial.number, study.best_trial.value)
