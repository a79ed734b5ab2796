#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Lets Optuna run studies whose trials fail in every way, and holds what hpo-analyze says of their files and logs against what happened.

    failures.py HPO_ANALYZE EXPECTED_OPTUNA SCENARIO
    failures.py program STORE STUDY KIND...     one run of a study; a trial for each KIND
"""
import json
import math
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

os.environ["TZ"] = "Asia/Taipei"  # the log's clock is eight hours ahead of UTC
time.tzset()

import optuna

CUDA = (
    "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.56 GiB of which 1.00 GiB is free. "
    "Including non-PyTorch memory, this process has 22.56 GiB memory in use. Of the allocated memory 22.00 GiB is allocated by "
    "PyTorch, and 100.00 MiB is reserved by PyTorch but unallocated."
)
JAX = "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 2147483648 bytes."


class OutOfMemoryError(RuntimeError):
    pass


def fails(trial, kind):
    """One trial that ends in the way of `kind`."""
    x = trial.suggest_float("x", -5.0, 5.0)
    trial.suggest_categorical("model", ["a", 'b "quoted"', None, True])
    trial.suggest_int("batch_size", 8, 64, step=8)
    for step in range(3):
        trial.report(x * x + step, step)
    if kind == "nan":
        return math.nan
    if kind == "none":
        return None
    if kind == "value":
        raise ValueError("no such column: 'a'\nsecond line")
    if kind == "cuda":
        raise OutOfMemoryError(CUDA)
    if kind == "hidden":  # the out-of-memory is in the middle of the chain
        try:
            raise OutOfMemoryError(CUDA)
        except OutOfMemoryError as error:
            raise ValueError("the model could not be trained") from error
    if kind == "jax":
        raise RuntimeError(JAX)
    if kind == "pruned":
        raise optuna.TrialPruned("enough")
    if kind == "caught":  # the program prints what it met, and gives the trial up
        try:
            raise OutOfMemoryError(CUDA)
        except OutOfMemoryError:
            import traceback

            traceback.print_exc()
            raise optuna.TrialPruned()
    if kind == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if kind == "attribute":
        trial.set_user_attr("err", {"step": 2, "what": [repr(OutOfMemoryError(CUDA))]})
        raise KeyError("x")
    if kind == "settings":  # ordinary attributes, and an out-of-memory that nobody wrote down
        for name, text in {"error_metric": "rmse", "stop_reason": "max_epochs", "error_function": "cross entropy", "reason": "best so far"}.items():
            trial.set_user_attr(name, text)
        if trial.number < 15:
            raise OutOfMemoryError(CUDA)
    if kind == "slow":
        time.sleep(0.5)
    if kind in ("penalty", "penalty_nan"):  # the program prints what it caught, and returns a value
        print(CUDA, flush=True)
        return math.nan if kind == "penalty_nan" else 1000.0
    if kind == "kept":  # the same, kept with the trial
        trial.set_user_attr("exception", repr(OutOfMemoryError(CUDA)))
        return 1000.0
    if kind == "quick_penalty":
        return 1000.0
    if kind == "named":  # a worker of several
        print(f"Trial {trial.number}: CUDA out of memory", flush=True)
        return 1000.0
    if kind == "unnamed":
        print("CUDA out of memory", flush=True)
        return 1000.0
    return x * x


def storage(path):
    return optuna.storages.RDBStorage("sqlite:///" + path)


def program(path, name, kinds):
    study = optuna.create_study(study_name=name, storage=storage(path), load_if_exists=True, sampler=optuna.samplers.RandomSampler(seed=len(name)))
    if kinds[0] == "together":  # four workers at once
        import threading

        barrier = threading.Barrier(4)

        def beside(trial):
            barrier.wait()
            value = fails(trial, kinds[1 + trial.number % (len(kinds) - 1)])
            barrier.wait()
            return value

        study.optimize(beside, n_trials=4, n_jobs=4)
        return
    for kind in kinds:
        study.optimize(lambda trial: fails(trial, kind), n_trials=1, catch=(Exception,))


def run_program(path, log, name, kinds):
    """Runs it as a user would, from a shell, its words in a file."""
    command = '"$0" "$@"; exit 0'
    with open(log, "ab") as words:
        subprocess.run(["bash", "-c", command, sys.executable, __file__, "program", path, name, *kinds], stderr=words, stdout=words)


def analyze(*words):
    done = subprocess.run([ANALYZE, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "COLUMNS": "4000"})
    assert done.returncode == 0, (words, done.stderr)
    return done.stdout


def failures_by_name(path, study, *more):
    report = json.loads(analyze("failures", "--json", "--store", path, "--study", study, *more))
    names = {}
    for entry in report["failures"]:
        names[entry["failure"]] = names.get(entry["failure"], 0) + entry["count"]
    return names, report


def without_a_log_nothing_is_claimed(folder):
    path = os.path.join(folder, "s.db")
    kinds = ["slow", "nan", "value", "cuda", "none", "killed"]
    run_program(path, os.path.join(folder, "run.log"), "s", kinds)
    run_program(path, os.path.join(folder, "run.log"), "s", ["slow"])
    text = analyze("oom", "--store", path)
    assert text.startswith("No out-of-memory is recorded in study s, which does not mean that there was none"), text
    assert "of 7 trials, 4 failed without a message" in text, text
    assert "lost_worker" not in text and "the process is gone" not in text, text
    summary = analyze("summary", "--store", path)
    assert "no out-of-memory is recorded; of the trials 4 failed without a message" in summary, summary
    assert "no trial ran out of memory" not in summary, summary
    names, report = failures_by_name(path, "s")
    assert names == {"no_message": 4}, names
    assert {entry["pattern"] for entry in report["without_message"]["failures"]} == {"as_long"}, report  # they reported as far as others
    assert "no message was kept" in analyze("trial", 2, "--store", path)


def the_log_tells_what_the_store_does_not(folder):
    path, log = os.path.join(folder, "s.db"), os.path.join(folder, "run.log")
    kinds = ["ok", "nan", "value", "cuda", "hidden", "jax", "none", "pruned", "caught", "ok", "killed"]
    run_program(path, log, "s", kinds)
    names, report = failures_by_name(path, "s", "--log", log)
    assert report["log"]["not_used"] == [], report["log"]
    assert report["log"]["clock_ahead_seconds"] == 8 * 3600, report["log"]
    assert report["log"]["matched_lines"] == 10, report["log"]  # all but the killed one
    assert names == {"out_of_memory (capacity)": 3, "out_of_memory (unknown)": 1, "non_finite": 1, "trainer_error": 2, "crash": 1}, names
    oom = json.loads(analyze("oom", "--json", "--store", path, "--log", log))
    cases = {case["trial"]: case for case in oom["cases"]}
    assert set(cases) == {3, 4, 5, 8}, cases
    assert cases[3]["requested_bytes"] == 2 << 30 and cases[5]["requested_bytes"] == 2147483648, cases
    assert all(case["told_in"].startswith(log + ", line ") for case in cases.values()), cases
    assert oom["silent_failures"] == 0, oom
    text = analyze("trial", 2, "--store", path, "--log", log)
    assert "ValueError" in text and "no such column" in text and "run.log, line" in text, text
    assert "the process was ended: Killed" in analyze("trial", 10, "--store", path, "--log", log)
    assert "4 trials ran out of memory" in analyze("summary", "--store", path, "--log", log)
    for encoding in ("utf-16", "utf-16-be", "utf-16-le", "utf-8-sig"):  # as PowerShell writes what it redirects
        text = open(log, encoding="utf-8").read()
        with open(log + ".other", "w", encoding=encoding) as other:
            other.write(("\ufeff" if encoding == "utf-16-be" else "") + text)
        assert failures_by_name(path, "s", "--log", log + ".other")[0] == names, encoding
    assert "no out-of-memory is recorded" in analyze("summary", "--store", path)


def lines_of_other_studies_are_not_used(folder):
    path, log = os.path.join(folder, "s.db"), os.path.join(folder, "run.log")
    run_program(os.path.join(folder, "other.db"), log, "other", ["cuda", "cuda", "cuda"])
    run_program(path, log, "s", ["value", "ok", "value"])
    names, report = failures_by_name(path, "s", "--log", log)
    assert names == {"trainer_error": 2}, names
    assert len(report["log"]["not_used"]) == 1 and "3 that tell" in report["log"]["not_used"][0], report["log"]
    assert report["log"]["failures_told"] == 2, report["log"]


def attributes_are_searched(folder):
    path = os.path.join(folder, "s.db")
    run_program(path, os.path.join(folder, "run.log"), "s", ["ok", "attribute"])
    oom = json.loads(analyze("oom", "--json", "--store", path))
    assert [case["told_in"] for case in oom["cases"]] == ["attribute err, in what[0]"], oom["cases"]
    assert oom["cases"][0]["requested_bytes"] == 2 << 30
    assert oom["silent_failures"] == 0


def settings_are_no_messages(folder):
    path = os.path.join(folder, "s.db")
    run_program(path, os.path.join(folder, "run.log"), "s", ["settings"] * 40)
    names, _ = failures_by_name(path, "s")
    assert names == {"no_message": 15}, names
    assert analyze("oom", "--store", path).startswith("No out-of-memory is recorded"), analyze("oom", "--store", path)
    assert "no trial ran out of memory" not in analyze("summary", "--store", path)
    with_log, _ = failures_by_name(path, "s", "--log", os.path.join(folder, "run.log"))
    assert with_log == {"out_of_memory (capacity)": 15}, with_log


def what_a_program_caught_is_told(folder):
    path, log = os.path.join(folder, "s.db"), os.path.join(folder, "run.log")
    run_program(path, log, "s", ["ok", "penalty", "ok", "penalty_nan", "penalty", "kept", "ok"])
    alone = json.loads(analyze("oom", "--json", "--store", path))
    assert [case["trial"] for case in alone["cases"]] == [5], alone["cases"]  # which kept it
    told = json.loads(analyze("oom", "--json", "--store", path, "--log", log))
    assert [case["trial"] for case in told["cases"]] == [1, 3, 4, 5], told["cases"]
    assert [case["caught"] for case in told["cases"]] == [True, False, True, True], told["cases"]
    assert told["recovered_trials"] == 0 and told["caught_trials"] == 3, told
    assert told["log"]["memory_messages_not_used"] == 0, told["log"]
    text = analyze("oom", "--store", path, "--log", log)
    assert "3 are complete all the same: the program caught it" in text and "recovered" not in text, text


def workers_that_print_together_are_told_apart_by_their_numbers(folder):
    path, log = os.path.join(folder, "s.db"), os.path.join(folder, "run.log")
    run_program(path, log, "s", ["together", "named", "unnamed"])
    told = json.loads(analyze("oom", "--json", "--store", path, "--log", log))
    assert [case["trial"] for case in told["cases"]] == [0, 2], told["cases"]
    assert told["log"]["memory_messages_not_used"] == 2, told["log"]
    assert "the log has 2 lines about memory that were not matched to a trial" in analyze("oom", "--store", path, "--log", log)
    run_program(os.path.join(folder, "other.db"), log + ".other", "o", ["together", "unnamed"])
    text = analyze("oom", "--store", os.path.join(folder, "other.db"), "--log", log + ".other")
    assert text.startswith("No out-of-memory is recorded in study o, which does not mean that there was none: the log has 4 lines"), text


def the_printed_rule_keeps_memory(folder):
    """The rule is copied into an objective, and what ran out of memory does not run again."""
    path = os.path.join(folder, "s.db")

    def runs_out(trial):
        size = trial.suggest_int("batch_size", 8, 64, step=8) * trial.suggest_categorical("width", [1, 2])
        if size >= 80:
            raise OutOfMemoryError(CUDA)
        return size / 100

    study = optuna.create_study(study_name="s", storage=storage(path), sampler=optuna.samplers.RandomSampler(seed=1))
    study.optimize(lambda trial: keep(trial, runs_out), n_trials=80, catch=(Exception,))
    rule = json.loads(analyze("oom", "--json", "--store", path))["rule_python"]
    assert "Rule (Python" in analyze("oom", "--store", path)
    names = {}
    exec(rule, names)
    tried = []

    def guarded(trial):
        trial.suggest_int("batch_size", 8, 64, step=8)
        trial.suggest_categorical("width", [1, 2])
        names["require_fits"](trial)
        tried.append(trial.params)
        return runs_out(trial)

    other = optuna.create_study(study_name="other", storage=storage(path), sampler=optuna.samplers.RandomSampler(seed=2))
    other.optimize(names["keeps_message"](guarded), n_trials=80)
    states = [trial.state for trial in other.trials]
    assert states.count(optuna.trial.TrialState.FAIL) == 0, states
    ran_out = [params for params in tried if params["batch_size"] * params["width"] >= 80]
    assert len(ran_out) <= 8 < states.count(optuna.trial.TrialState.PRUNED), (len(ran_out), states)
    assert sum(params["batch_size"] * params["width"] < 80 for params in tried) == states.count(optuna.trial.TrialState.COMPLETE)
    told = json.loads(analyze("oom", "--json", "--store", path, "--study", "other"))
    assert told["oom_trials"] == len(ran_out), told["oom_trials"]  # what is left has kept its message


def keep(trial, objective):
    try:
        return objective(trial)
    except OutOfMemoryError as error:
        trial.set_user_attr("error_message", str(error))
        raise


def peaks_under_common_names_are_read(folder):
    path = os.path.join(folder, "s.db")
    study = optuna.create_study(study_name="s", storage=storage(path))
    for name, value, peak in (("max_memory_allocated", 3 << 30, 3 << 30), ("peak_memory_mb", 2048.5, 2048500000), ("gpu_mem_gib", 5, 5 << 30), ("gpu_mem", 7.5, None)):
        trial = study.ask()
        trial.set_user_attr(name, value)
        study.tell(trial, 0.5)
        told = json.loads(analyze("trial", trial.number, "--json", "--store", path))
        assert told["peak_bytes"] == peak, (name, told["peak_bytes"])


def last(path, seconds):
    """Makes the trials of a file last so long, so that no test asks how fast the machine is."""
    with sqlite3.connect(path) as database:
        for number, each in enumerate(seconds):
            database.execute("UPDATE trials SET datetime_complete = datetime(datetime_start, ?) WHERE number = ?", (f"+{each} seconds", number))


def a_penalty_is_suspected_without_a_word(folder):
    path = os.path.join(folder, "s.db")
    run_program(path, os.path.join(folder, "run.log"), "s", ["ok", "ok", "ok"] + ["quick_penalty"] * 4)
    last(path, [60, 60, 60] + [1] * 4)
    text = analyze("oom", "--store", path)
    assert "which does not mean that there was none: of 7 trials, 4 returned the worst value far sooner than others" in text, text
    assert "4 complete trials share the worst value, 1000, and ended far sooner" in text, text
    assert "its value is the worst of the study" in analyze("trial", 5, "--store", path)


def a_death_that_nothing_followed_is_uncertain(folder):
    path = os.path.join(folder, "s.db")
    run_program(path, os.path.join(folder, "run.log"), "s", ["ok", "ok", "ok", "killed"])
    for end in ("", "-wal", "-journal"):
        if os.path.exists(path + end):
            os.utime(path + end, (time.time() - 7200,) * 2)  # two hours ago
    text = analyze("oom", "--store", path)
    assert "of 4 trials, 1 is RUNNING although its process is probably gone" in text, text
    assert "Trial 3 is RUNNING, for 2 h" in text and "nothing was stored after it began" in text, text
    assert "is RUNNING, for 2 h" in analyze("trial", 3, "--store", path), analyze("trial", 3, "--store", path)


if sys.argv[1] == "program":
    program(sys.argv[2], sys.argv[3], sys.argv[4:])
else:
    ANALYZE, expected, scenario = sys.argv[1:4]
    assert optuna.__version__.startswith(expected), f"Optuna {optuna.__version__} instead of {expected}"
    with tempfile.TemporaryDirectory() as directory:
        globals()[scenario](directory)
    print(f"Optuna {optuna.__version__}: {scenario.replace('_', ' ')}")
