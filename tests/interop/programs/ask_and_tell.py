# SPDX-License-Identifier: MIT
"""A loop of one's own around ask and tell. It never calls optimize."""
import optuna

study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=9, n_startup_trials=4))
for _ in range(12):
    trial = study.ask()
    x = trial.suggest_float("x", -3, 3)
    trial.report(x * x, 0)
    if trial.should_prune():
        study.tell(trial, state=optuna.trial.TrialState.PRUNED)
    else:
        study.tell(trial, x * x)
for trial in study.trials:
    print(trial.number, trial.state.name, trial.params["x"])
