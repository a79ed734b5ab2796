#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Lets a release of Optuna and hpo read and go on with each other's SQLite files, and compares what both see.

    interop.py HELPER EXPECTED_OPTUNA SCENARIO
"""
import datetime
import json
import math
import os
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

os.environ["TZ"] = "Asia/Taipei"  # so that local time and UTC differ
time.tzset()

import optuna
from optuna.distributions import distribution_to_json
from optuna.trial import TrialState

optuna.logging.set_verbosity(optuna.logging.ERROR)
HELPER = sys.argv[1]
MAJOR = int(optuna.__version__.split(".")[0])


def storage(path):
    if MAJOR < 4:  # Optuna before 3.2 knows no newer revision, although the tables are the same
        return optuna.storages.RDBStorage("sqlite:///" + path, skip_compatibility_check=True)
    return optuna.storages.RDBStorage("sqlite:///" + path)


def helper(*words):
    done = subprocess.run([HELPER, *map(str, words)], stdout=subprocess.PIPE, text=True)  # its errors go to ours
    assert done.returncode == 0, f"interop_store {words[0]}: exit status {done.returncode}"
    return done.stdout


def number(value):
    if math.isnan(value):
        return "nan"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return value


def utc(path, moment):
    if moment is None:
        return None
    version = sqlite3.connect(path).execute("SELECT library_version FROM version_info").fetchone()[0]
    if MAJOR < 5 and int(version.split(".")[0]) >= 5:
        moment = moment.replace(tzinfo=datetime.timezone.utc)  # an older Optuna shows what is in the file
    return moment.astimezone(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M:%S.%f")


def seen_by_optuna(path):
    """What `interop_store dump` writes, as Optuna sees it."""
    store = storage(path)
    studies = {}
    for summary in optuna.get_all_study_summaries(store):
        study = optuna.load_study(study_name=summary.study_name, storage=store)
        trials = []
        for trial in study.get_trials(deepcopy=False):
            system, constraints = {}, {}
            for key, value in trial.system_attrs.items():
                if key.startswith("constraints:"):
                    constraints[key[len("constraints:"):]] = number(value)
                elif key != "constraints":
                    system[key] = value
            if not constraints:
                constraints = {str(i): number(v) for i, v in enumerate(trial.system_attrs.get("constraints", []))}
            trials.append(
                {
                    "number": trial.number,
                    "state": trial.state.name,
                    "values": None if trial.values is None else [number(v) for v in trial.values],
                    "params": trial.params,
                    "distributions": {k: json.loads(distribution_to_json(d)) for k, d in trial.distributions.items()},
                    "intermediate": {str(k): number(v) for k, v in trial.intermediate_values.items()},
                    "user_attrs": trial.user_attrs,
                    "system_attrs": system,
                    "constraints": constraints,
                    "start": utc(path, trial.datetime_start),
                    "complete": utc(path, trial.datetime_complete),
                }
            )
        studies[study.study_name] = {
            "directions": [d.name.lower() for d in study.directions],
            "user_attrs": study.user_attrs,
            "trials": trials,
        }
    return studies


def compare(path):
    """Both see the same; returns what hpo sees."""
    ours = json.loads(helper("dump", path))
    theirs = seen_by_optuna(path)
    assert ours.keys() == theirs.keys(), (ours.keys(), theirs.keys())
    for name, study in theirs.items():
        for key in ("directions", "user_attrs"):
            assert ours[name][key] == study[key], (name, key, ours[name][key], study[key])
        assert len(ours[name]["trials"]) == len(study["trials"])
        for mine, other in zip(ours[name]["trials"], study["trials"]):
            for key, value in other.items():
                assert mine[key] == value and repr_types(mine[key]) == repr_types(value), (name, other["number"], key, mine[key], value)
    assert sqlite3.connect(path).execute("PRAGMA integrity_check").fetchone()[0] == "ok"
    return ours


def repr_types(value):
    """Types, so that 1, 1.0 and True differ."""
    if isinstance(value, dict):
        return {k: repr_types(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [repr_types(v) for v in value]
    return type(value).__name__


def objective(trial):
    x = trial.suggest_float("x", -5.0, 5.0)
    for step in range(3):
        trial.report(x * x + step, step)
    trial.set_user_attr("by", "optuna")
    if trial.number % 7 == 3:
        raise optuna.TrialPruned()
    return x * x


def everything(trial):
    """A trial of every kind, for files that Optuna makes."""
    x = trial.suggest_float("x", -5.0, 5.0)
    trial.suggest_float("lr", 1e-5, 1e-1, log=True)
    trial.suggest_float("step", 0.0, 0.7, step=0.1)
    trial.suggest_int("n", 1, 1024, log=True)
    trial.suggest_int("batch", 8, 64, step=8)
    trial.suggest_categorical("mixed", ["adamw", None, True, 3, 2.5, 'naïve "q" \\'])
    trial.report(x, 0)
    trial.report(math.nan if trial.number == 1 else math.inf if trial.number == 2 else -1.5, 5)
    trial.set_user_attr("mapping", {"b": [1, None, "é"], "a": 1e300})
    if MAJOR >= 5:
        trial.set_constraint("memory", 0.25 if trial.number % 3 == 0 else -0.5)
    if trial.number == 4:
        raise optuna.TrialPruned()
    if trial.number == 5:
        raise ValueError("on purpose")
    return math.inf if trial.number == 6 else x * x


def they_read_ours(path):
    helper("write", path)
    ours = compare(path)
    trials = ours["hpo"]["trials"]
    assert {t["state"] for t in trials} == {"COMPLETE", "PRUNED", "FAIL", "RUNNING", "WAITING"}
    assert len(trials) == 14 and ours["hpo"]["attempts"] == 12 and ours["hpo"]["rejections"] == 1
    assert trials[6]["constraints"] == {"memory": 0.5, "time": -1.0}
    study = optuna.load_study(study_name="hpo", storage=storage(path))
    assert study.trials[0].system_attrs["constraints"] == [-0.25, -1.0]
    if MAJOR >= 5:
        assert study.best_trial.number == ours["hpo"]["best"], (study.best_trial.number, ours["hpo"]["best"])
        assert study.best_trial.number != 6  # the best value, but it does not fit
        assert list(study.trials[0].params) == ["optim.lr", "dropout", "x", "layers", "tok.max_length", 'späte "Wahl"', "a"]
    assert len(optuna.load_study(study_name="hpo two", storage=storage(path)).best_trials) >= 2


def they_go_on_with_ours(path):
    helper("write", path)
    study = optuna.load_study(study_name="hpo", storage=storage(path), sampler=optuna.samplers.TPESampler(seed=1))
    study.optimize(objective, n_trials=6)
    ours = compare(path)
    trials = ours["hpo"]["trials"]
    assert len(trials) == 19, len(trials)  # one of the six was waiting
    assert trials[13]["params"]["x"] == 1.5 and trials[13]["user_attrs"]["by"] == "optuna"
    study.enqueue_trial({"x": -2.25})
    study.enqueue_trial({"x": 4.0})
    helper("continue", path, "hpo", 4)
    ours = compare(path)
    trials = ours["hpo"]["trials"]
    assert [t["params"]["x"] for t in trials[19:21]] == [-2.25, 4.0]
    assert [t["number"] for t in trials] == list(range(23))
    study.optimize(objective, n_trials=3)
    assert len(compare(path)["hpo"]["trials"]) == 26


def we_go_on_with_theirs(path):
    study = optuna.create_study(study_name="theirs", storage=storage(path), sampler=optuna.samplers.TPESampler(seed=2))
    study.set_user_attr("who", {"made": "this"})
    study.optimize(everything, n_trials=12, catch=(ValueError,))
    study.enqueue_trial({"x": 0.125})
    study.ask()  # stays RUNNING: takes the enqueued one
    study.enqueue_trial({"x": 3.5})
    before = compare(path)
    helper("continue", path, "theirs", 5)
    after = compare(path)
    assert after["theirs"]["trials"][:13] == before["theirs"]["trials"][:13]
    assert after["theirs"]["trials"][13]["params"] == {"x": 3.5}
    assert len(after["theirs"]["trials"]) == 18
    assert after["theirs"]["attempts"] == 5
    revision = sqlite3.connect(path).execute("SELECT version_num FROM alembic_version").fetchone()[0]
    assert revision == ("v3.2.0.a" if MAJOR >= 4 else "v3.0.0.d"), revision
    if MAJOR >= 5:
        assert study.best_trial.number == after["theirs"]["best"]
    optuna.load_study(study_name="theirs", storage=storage(path)).optimize(objective, n_trials=4)
    assert len(compare(path)["theirs"]["trials"]) == 22
    assert optuna.create_study(study_name="theirs", storage=storage(path), load_if_exists=True).trials[17].user_attrs["by"] == "hpo"


def a_study_deleted_there_is_gone_here(path):
    helper("write", path)
    helper("continue", path, "hpo", 3)
    tables = ["hpo_trials", "hpo_attempts", "hpo_failures", "hpo_memory", "hpo_attempt_reports", "hpo_logs", "hpo_rejections", "hpo_runs"]
    count = lambda: {t: sqlite3.connect(path).execute(f"SELECT count(*) FROM {t}").fetchone()[0] for t in tables}
    before = count()
    assert all(before.values()), before
    optuna.delete_study(study_name="hpo", storage=storage(path))
    after = count()
    assert after.pop("hpo_trials") == 3  # of the study that stays
    assert not any(after.values()), after
    assert list(compare(path)) == ["hpo two"]
    optuna.create_study(study_name="new", storage=storage(path)).optimize(objective, n_trials=3)
    ours = compare(path)
    assert ours["new"]["attempts"] == 0 and len(ours["new"]["trials"]) == 3


def both_work_at_once(path):
    study = optuna.create_study(study_name="shared", storage=storage(path), sampler=optuna.samplers.RandomSampler(seed=3))
    study.optimize(objective, n_trials=1)
    mine = threading.Thread(target=lambda: helper("continue", path, "shared", 200))
    mine.start()
    study.optimize(objective, n_trials=15)
    mine.join()
    trials = compare(path)["shared"]["trials"]
    assert [t["number"] for t in trials] == list(range(216)), [t["number"] for t in trials]
    assert sum(t["user_attrs"]["by"] == "hpo" for t in trials) == 200
    assert all(t["state"] in ("COMPLETE", "PRUNED") for t in trials)


def main():
    expected, scenario = sys.argv[2], sys.argv[3]
    assert optuna.__version__.startswith(expected), f"Optuna {optuna.__version__} instead of {expected}"
    with tempfile.TemporaryDirectory() as directory:
        globals()[scenario](os.path.join(directory, "shared.db"))
    print(f"Optuna {optuna.__version__}: {scenario.replace('_', ' ')}")


main()
