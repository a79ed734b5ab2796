# SPDX-License-Identifier: MIT
"""Optuna's stepwise tuner of LightGBM, which keeps its best booster in the program."""
import optuna_integration.lightgbm as lgb
import sklearn.datasets
from lightgbm import early_stopping

x, y = sklearn.datasets.load_breast_cancer(return_X_y=True)
train, valid = lgb.Dataset(x[:400], label=y[:400]), lgb.Dataset(x[400:], label=y[400:])
parameters = {"objective": "binary", "metric": "binary_logloss", "verbosity": -1, "num_threads": 1}
tuner = lgb.LightGBMTuner(parameters, train, valid_sets=[valid], num_boost_round=5, callbacks=[early_stopping(5, verbose=False)], show_progress_bar=False)
tuner.tune_bagging(n_trials=2)
tuner.tune_feature_fraction(n_trials=2)
print("best", type(tuner.get_best_booster()).__name__)
