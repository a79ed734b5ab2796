"""Reads a table by pandas and pyarrow before the search, and again in each trial."""
import optuna
import pandas

optuna.logging.set_verbosity(optuna.logging.ERROR)
pandas.DataFrame({"a": range(200_000), "b": 1.0}).to_parquet("table.parquet")
table = pandas.read_parquet("table.parquet")


def objective(trial):
    again = pandas.read_parquet("table.parquet")
    assert again.equals(table)
    return float((again["a"] * trial.suggest_float("x", 0, 1)).mean())


study = optuna.create_study(study_name="arrow")
study.optimize(objective, n_trials=10)
print("complete", sum(trial.state.name == "COMPLETE" for trial in study.trials))
