# SPDX-License-Identifier: MIT
"""A study, and afterwards its table, its importances and two plots."""
import matplotlib

matplotlib.use("Agg")
import optuna
from optuna.visualization.matplotlib import plot_intermediate_values, plot_optimization_history


def objective(trial):
    x = trial.suggest_float("x", -1, 1)
    y = trial.suggest_float("y", -1, 1)
    trial.set_user_attr("sum", x + y)
    for step in range(3):
        trial.report(x * x / (step + 1), step)
    return x * x + 0.01 * y


study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=2))
study.optimize(objective, n_trials=20)
frame = study.trials_dataframe()
print("rows", len(frame), "columns", sorted(frame.columns))
print("importances", {name: float(share) for name, share in optuna.importance.get_param_importances(study).items()})
plot_optimization_history(study).figure.savefig("history.png")
plot_intermediate_values(study).figure.savefig("steps.png")
