#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Lets a release of Optuna leave RUNNING and failed trials in an SQLite file, mends it with `hpo-tune retry`, and lets Optuna go on.

    retry.py HPO_TUNE EXPECTED_OPTUNA SCENARIO
"""
import json
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import warnings

os.environ["TZ"] = "Asia/Taipei"  # so that local time and UTC differ
time.tzset()

import optuna
from optuna.storages import RetryFailedTrialCallback
from optuna.trial import TrialState

optuna.logging.set_verbosity(optuna.logging.ERROR)
warnings.simplefilter("ignore")
MAJOR = int(optuna.__version__.split(".")[0])
FILE = "study.db"


def storage(file=FILE, **options):
    if MAJOR < 4:  # Optuna before 3.2 knows no newer revision, although the tables are the same
        options["skip_compatibility_check"] = True
    return optuna.storages.RDBStorage("sqlite:///" + file, **options)


def study(file=FILE, name="s"):
    return optuna.load_study(study_name=name, storage=storage(file))


def states(file=FILE):
    return [trial.state.name for trial in study(file).trials]


def retry(*words, file=FILE, status=0):
    done = subprocess.run([sys.argv[1], "retry", "--store", file, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert done.returncode == status, (words, done.returncode, done.stdout, done.stderr)
    return done.stdout if status == 0 else done.stderr


def told(*words, file=FILE):
    return json.loads(retry("--json", *words, file=file))


def objective(trial):
    x = trial.suggest_float("lr", 1e-5, 1e-1, log=True)
    n = trial.suggest_int("batch", 8, 64, step=8)
    mixed = trial.suggest_categorical("mixed", ["adamw", None, True, 3, 2.5])
    trial.set_user_attr("begun_by", "the program")
    if trial.number in (1, 3):
        raise ValueError("on purpose")
    return x * n if mixed is None else x


def with_failed_trials():
    made = optuna.create_study(study_name="s", storage=storage(), sampler=optuna.samplers.RandomSampler(seed=4))
    made.optimize(objective, n_trials=5, catch=(ValueError,))
    assert states() == ["COMPLETE", "FAIL", "COMPLETE", "FAIL", "COMPLETE"]
    return made


def same_but_number(ours, theirs):
    for key in ("state", "params", "distributions", "user_attrs", "system_attrs", "intermediate_values", "values", "datetime_start"):
        assert getattr(ours, key) == getattr(theirs, key), (key, getattr(ours, key), getattr(theirs, key))


def failed_trials_run_again_as_optunas_callback_lets_them():
    made = with_failed_trials()
    before = made.trials
    with sqlite3.connect(FILE) as source, sqlite3.connect("theirs.db") as copy:
        source.backup(copy)
    theirs = study("theirs.db")
    for number in (1, 3):
        RetryFailedTrialCallback()(theirs, theirs.trials[number])

    plain = retry("s", "--failed")
    assert "trial 1: enqueued again as trial 5: " in plain and "ended: 0, enqueued: 2" in plain, plain
    ours = study()
    assert len(ours.trials) == 7
    for number in (5, 6):
        same_but_number(ours.trials[number], theirs.trials[number])
    assert RetryFailedTrialCallback.retried_trial_number(ours.trials[5]) == 1
    assert RetryFailedTrialCallback.retry_history(ours.trials[6]) == [3]
    for number in range(5):
        assert ours.trials[number] == before[number]

    again = told("s", "--failed")  # none is retried twice
    assert again["retried"] == [] and again["retried_before"] == [1, 3] and len(study().trials) == 7, again
    ours.optimize(objective, n_trials=3)
    trials = study().trials
    assert [trial.state.name for trial in trials[5:]] == ["COMPLETE"] * 3
    assert [trials[number].params for number in (5, 6)] == [trials[number].params for number in (1, 3)]
    assert trials[7].params not in [trial.params for trial in trials[:7]]


def a_retry_that_failed_is_retried_with_its_history():
    made = with_failed_trials()
    retry("s", "--failed")
    made.optimize(lambda trial: 1 / 0 if objective(trial) else 0, n_trials=1, catch=(ZeroDivisionError,))
    assert states()[5:] == ["FAIL", "WAITING"]
    found = told("s", "--failed")
    assert [(one["trial"], one["retry"]) for one in found["retried"]] == [(5, 7)], found
    assert RetryFailedTrialCallback.retry_history(study().trials[7]) == [1, 5]
    assert study().trials[7].params == study().trials[1].params


KILLED = """
import os, signal, sys, optuna
options = {"skip_compatibility_check": True} if optuna.__version__ < "4" else {}
if len(sys.argv) > 1:
    options["heartbeat_interval"] = 60
study = optuna.create_study(study_name="s", storage=optuna.storages.RDBStorage("sqlite:///study.db", **options), load_if_exists=True)
def objective(trial):
    x = trial.suggest_float("x", 0, 1)
    os.kill(os.getpid(), signal.SIGKILL)
study.optimize(objective, n_trials=1)
"""


def leave_running(*arguments):
    died = subprocess.run([sys.executable, "-c", KILLED, *arguments], stderr=subprocess.DEVNULL)
    assert died.returncode == -signal.SIGKILL, died.returncode


def begun_hours_ago(number, hours):
    """Moves a trial's beginning to the past, in the zone that Optuna writes."""
    moved = sqlite3.connect(FILE)
    moved.execute("UPDATE trials SET datetime_start = datetime(datetime_start, ?) WHERE number = ?", (f"-{hours} hours", number))
    moved.commit()
    moved.close()


def trials_of_a_killed_optuna_end_when_the_user_says_how_old_they_are():
    leave_running()
    leave_running("with a heartbeat")
    begun_hours_ago(0, 3)
    begun_hours_ago(1, 3)
    found = told("s", "--stale")  # no process is named, so nothing is known
    assert found["ended"] == [] and [one["trial"] for one in found["not_known"]] == [0, 1], found
    assert states() == ["RUNNING", "RUNNING"]
    assert "begun 3 h" in found["not_known"][0]["reason"] and "heartbeat was" in found["not_known"][1]["reason"], found
    assert told("s", "--stale", "--older-than", "4h")["ended"] == [] and states() == ["RUNNING", "RUNNING"]

    plain = retry("s", "--stale", "--older-than", "2h")  # the heartbeat of the second one is fresh
    assert "trial 0: is FAIL now: it was begun 3 h" in plain and states() == ["FAIL", "RUNNING"], plain
    ended = study().trials[0]
    assert ended.datetime_complete is not None and ended.datetime_complete > ended.datetime_start

    old = sqlite3.connect(FILE)
    old.execute("UPDATE trial_heartbeats SET heartbeat = datetime(heartbeat, '-3 hours')")
    old.commit()
    old.close()
    found = told("s", "--stale", "--failed", "--older-than", "2h")
    assert [one["trial"] for one in found["ended"]] == [1] and [one["trial"] for one in found["retried"]] == [0, 1], found
    assert states() == ["FAIL", "FAIL", "WAITING", "WAITING"]
    study().optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=2)
    trials = study().trials
    assert [trial.state.name for trial in trials[2:]] == ["COMPLETE", "COMPLETE"]
    assert [trial.params for trial in trials[2:]] == [trial.params for trial in trials[:2]]


def without_an_option_nothing_is_changed():
    with_failed_trials()
    leave_running()
    content = "\n".join(sqlite3.connect(FILE).iterdump())
    plain = retry("s", "--older-than", "1ms")
    assert "trial 1: would be enqueued again as trial 6: " in plain and "trial 5: would become FAIL" in plain, plain
    assert "nothing was changed" in plain, plain
    found = told("--dry-run", "--failed")  # the file has only one study
    assert found["dry_run"] and [one["retry"] for one in found["retried"]] == [6, 7], found
    assert "\n".join(sqlite3.connect(FILE).iterdump()) == content


def what_cannot_be_done_is_one_clear_error():
    with_failed_trials()
    optuna.create_study(study_name="other", storage=storage())
    wrong = retry("t", "--failed", status=2)
    assert wrong.startswith("hpo-tune: error: store 'study.db': unknown study 't'") and "other" in wrong, wrong
    assert "2 studies" in retry("--failed", status=2)
    assert "does not exist" in retry("s", file="missing.db", status=3)
    with open("text.db", "w", encoding="utf-8") as file:
        file.write("no database, but some text that is longer than the header of one: " * 3)
    assert "text.db" in retry("s", "--failed", file="text.db", status=3)
    assert "such as 45s" in retry("s", "--stale", "--older-than", "soon", status=2)
    assert "needs --stale" in retry("s", "--failed", "--older-than", "2h", status=2)
    if MAJOR < 5:
        return
    old = sqlite3.connect(FILE)
    old.execute("UPDATE alembic_version SET version_num = 'v9.9.9.a'")  # of an Optuna that is not known
    old.commit()
    old.close()
    assert "v9.9.9.a" in retry("s", "--failed", status=3)


PROGRAM = """
import os, time, optuna
def objective(trial):
    x = trial.suggest_float("x", 0, 1)
    if trial.number == 1 and not os.path.exists("again"):
        open("waits", "w").close()
        time.sleep(600)
    return x
study = optuna.create_study(study_name="s", storage={storage}, load_if_exists=True)
study.optimize(objective, n_trials=1 if os.path.exists("again") else 2)
print("done", len(study.trials))
"""


def trials_that_hpo_runs_are_left_alone_and_those_of_a_killed_run_end():
    made = "optuna.storages.RDBStorage('sqlite:///study.db'" + (", skip_compatibility_check=True)" if MAJOR < 4 else ")")
    with open("program.py", "w", encoding="utf-8") as file:
        file.write(PROGRAM.replace("{storage}", made))
    words = [sys.argv[1], "run", "--progress", "none", "--device", "cpu", "--", sys.executable, "program.py"]
    runs = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True)
    try:
        while not os.path.exists("waits"):
            assert runs.poll() is None, runs.communicate()
            time.sleep(0.05)
        found = told("s", "--stale", "--failed", "--older-than", "1ms")
        assert found["ended"] == [] and [one["trial"] for one in found["running"]] == [1], found
        assert "on this machine lives" in found["running"][0]["reason"] and states() == ["COMPLETE", "RUNNING"]
    finally:
        os.killpg(runs.pid, signal.SIGKILL)
        runs.communicate()
    found = told("s", "--stale")
    assert [one["trial"] for one in found["ended"]] == [1] and "is gone" in found["ended"][0]["reason"], found
    assert states() == ["COMPLETE", "FAIL"]
    assert [one["retry"] for one in told("s", "--failed")["retried"]] == [2]
    open("again", "w").close()
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=200)
    assert done.returncode == 0 and "done 3" in done.stdout, (done.stdout, done.stderr)
    trials = study().trials
    assert trials[2].state == TrialState.COMPLETE and trials[2].params == trials[1].params, trials
    assert RetryFailedTrialCallback.retry_history(trials[2]) == [1]
    assert "lost" not in trials[2].user_attrs, trials[2].user_attrs


def main():
    expected, scenario = sys.argv[2], sys.argv[3]
    assert optuna.__version__.startswith(expected), f"Optuna {optuna.__version__} instead of {expected}"
    sys.argv[1] = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        globals()[scenario]()
        os.chdir("/")
    print(f"Optuna {optuna.__version__}: {scenario.replace('_', ' ')}")


main()
