# SPDX-License-Identifier: MIT
"""Two objectives that cannot both be least: the front between them."""
import optuna


def objective(trial):
    x = trial.suggest_float("x", 0, 5)
    y = trial.suggest_float("y", 0, 3)
    trial.set_user_attr("distance", (x * x + y * y) ** 0.5)
    return 4 * x**2 + 4 * y**2, (x - 5) ** 2 + (y - 5) ** 2


study = optuna.create_study(directions=["minimize", "minimize"], sampler=optuna.samplers.NSGAIISampler(population_size=10, seed=2))
study.set_metric_names(["near", "far"]) if hasattr(study, "set_metric_names") else None
study.optimize(objective, n_trials=40, timeout=120)
print("front", len(study.best_trials))
print("nearest", min(study.best_trials, key=lambda trial: trial.values[0]).params)
