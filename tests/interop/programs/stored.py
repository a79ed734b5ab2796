# SPDX-License-Identifier: MIT
"""A study in a file of its own, with which each run goes on."""
import optuna

study = optuna.create_study(study_name="kept", storage="sqlite:///kept.sqlite3", load_if_exists=True, direction="maximize")
study.set_user_attr("runs", study.user_attrs.get("runs", 0) + 1)
study.optimize(lambda trial: -trial.suggest_float("x", -1, 1) ** 2, n_trials=6)
print("trials", len(study.trials), "runs", study.user_attrs["runs"], "best", study.best_value)
