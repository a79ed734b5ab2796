#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the programs of the folder programs/, which know nothing of hpo, with `hpo-tune run -- python PROGRAM`, and checks what came of each.

    real_programs.py HPO_TUNE SCENARIO

A scenario that needs a package which this Python does not have exits with 77, which tests take for skipped.
"""
import importlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import warnings

import optuna
from optuna.trial import FixedTrial, TrialState

optuna.logging.set_verbosity(optuna.logging.ERROR)
warnings.simplefilter("ignore")
PROGRAMS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs")
COMPLETE, PRUNED, FAIL = TrialState.COMPLETE, TrialState.PRUNED, TrialState.FAIL


class Ran:
    def __init__(self, out, error):
        self.out, self.error = out, error

    def said(self, name):
        """What the program printed behind NAME on the last line that begins so."""
        found = re.findall(rf"^{name} (.*)$", self.out, re.M)
        assert found, (name, self.out, self.error)
        return found[-1]


def need(*modules):
    for module in modules:
        try:
            importlib.import_module(module)
        except ImportError as error:
            print(f"skipped: {sys.executable} has no {module}: {error}")
            sys.exit(77)


def called(words, status=0):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=240)
    assert done.returncode == status, (words, done.returncode, done.stdout, done.stderr)
    return Ran(done.stdout, done.stderr)


def run(program, *options, workers=1, arguments=(), status=0):
    """One thread for each trial: two threads that wait for each other take long on a machine that has other work."""
    words = [sys.argv[1], "run", "--progress", "none", "--threads", "1", "--workers", str(workers), *options]
    return called([*words, "--", sys.executable, os.path.join(PROGRAMS, program + ".py"), *arguments], status)


def without_hpo(program, *arguments):
    return called([sys.executable, os.path.join(PROGRAMS, program + ".py"), *arguments])


def run_script(text, *options, status=0):
    with open("study.lua", "w", encoding="utf-8") as file:
        file.write('local hpo = require "hpo"\nreturn hpo.study {\n' + text + "\n}\n")
    return called([sys.argv[1], "run", "study.lua", "--progress", "none", *options], status)


def analyzed(command):
    analyze = os.path.join(os.path.dirname(sys.argv[1]), "hpo-analyze")
    return json.loads(called([analyze, command, "--json"]).out)


def study_of(name, path="hpo.db"):
    old = tuple(int(part) for part in optuna.__version__.split(".")[:2]) < (3, 2)  # it does not know the revision; the tables are the same
    storage = optuna.storages.RDBStorage("sqlite:///" + path, skip_compatibility_check=old)
    return optuna.load_study(study_name=name, storage=storage)


def states(study):
    return {state: sum(trial.state == state for trial in study.trials) for state in (COMPLETE, PRUNED, FAIL)}


def require_all_ended(study, count):
    assert [trial.number for trial in study.trials] == list(range(count)), [trial.number for trial in study.trials]
    assert {trial.state for trial in study.trials} <= {COMPLETE, PRUNED}, states(study)


def module_of(program):
    """The program imported here, without hpo. Its study is under `if __name__ == "__main__"`."""
    sys.path.insert(0, PROGRAMS)
    sys.dont_write_bytecode = True
    return importlib.import_module(program)


def require_values_of(objective, study, most):
    """Complete trials have the value and the attributes that the objective gives here for the same parameters."""
    complete = [trial for trial in study.trials if trial.state == COMPLETE]
    assert complete
    for trial in complete[:most]:
        fixed = FixedTrial(trial.params)
        assert abs(objective(fixed) - trial.value) < 1e-12, (trial.number, trial.value)
        assert set(fixed.params) == set(trial.params), (trial.number, trial.params)
        for name, value in fixed.user_attrs.items():
            assert trial.user_attrs[name] == value, (trial.number, name)


def classifiers_with_conditional_parameters():
    need("sklearn")
    ran = run("classifiers")
    study = study_of("classifiers")
    require_all_ended(study, 12)
    assert states(study)[COMPLETE] == 12
    for trial in study.trials:
        rest = {"max_depth", "n_estimators"} if trial.params["classifier"] == "forest" else {"kernel", "C"}
        rest |= {"gamma"} if trial.params.get("kernel") == "rbf" and trial.params["classifier"] == "svc" else set()
        assert set(trial.params) == {"classifier"} | rest, trial.params
    assert {trial.params["classifier"] for trial in study.trials} == {"svc", "forest"}
    require_values_of(module_of("classifiers").objective, study, 12)
    assert ran.said("accuracy") == f"{study.best_value!r} with {study.best_params}"


def classifiers_with_processes_of_joblib():
    need("sklearn")
    run("classifiers", workers=2, arguments=["--jobs", "2", "--trials", "3"])
    study = study_of("classifiers")
    require_all_ended(study, 3)
    require_values_of(module_of("classifiers").objective, study, 3)


def boosted(program):
    need("sklearn", program.partition("_")[0], "optuna_integration")
    ran = run(program)
    study = study_of(program)
    require_all_ended(study, 20)
    assert states(study)[COMPLETE] >= 5 and states(study)[PRUNED] >= 1, states(study)
    for trial in study.trials:
        steps = sorted(trial.intermediate_values)
        assert steps == list(range(len(steps))) and len(steps) == 20 or trial.state == PRUNED and 3 < len(steps) < 20, (trial.number, steps)
    assert ran.said("Best trial:") == f"{study.best_trial.number} {study.best_value}"
    return ran, study


def xgboost_with_the_pruning_callback():
    ran, study = boosted("xgboost_pruning")
    assert "cannot fork" not in ran.error, ran.error
    for trial in study.trials:
        assert ("rate_drop" in trial.params) == (trial.params["booster"] == "dart")


def lightgbm_with_the_pruning_callback_and_threads_before_optimize():
    ran, _ = boosted("lightgbm_pruning")
    assert "each attempt runs the program anew, since it cannot fork" in ran.error, ran.error
    assert ran.out.count("without a search:") == 1  # what the program prints again goes to the trials


def lightgbm_in_copies_of_the_program():
    need("sklearn", "lightgbm")
    ran = run("lightgbm_simple")
    assert "cannot fork" not in ran.error, ran.error
    study = study_of("lightgbm_simple")
    require_all_ended(study, 10)
    assert states(study)[COMPLETE] == 10
    require_values_of(module_of("lightgbm_simple").objective, study, 10)
    assert ran.said("best") == f"{study.best_value} {study.best_params}"


def a_convnet_never_runs_out_of_memory_once_its_memory_is_known():
    """The batch of 2048 exceeds the budget, for each width. All else fits."""
    need("torch")
    count = 24
    run("fashion_convnet", "--seed", "2", "--device-memory", "200MiB", arguments=["--n-trials", str(count)])
    study = study_of("fashion")
    require_all_ended(study, count)
    without_memory = [trial for trial in study.trials if trial.user_attrs.get("oom")]
    for trial in without_memory:
        assert trial.params["batch_size"] == 2048 and trial.state == PRUNED and trial.number < 10, (trial.number, trial.params)
    rest = [trial for trial in study.trials if trial not in without_memory]
    # One that ends before it is looked at completes, whatever it took. Its peak is known then.
    assert all(trial.params["batch_size"] < 2048 or trial.number < 10 for trial in rest)
    assert {trial.params["width"] for trial in rest} == {8, 16, 32} and {trial.params["batch_size"] for trial in rest} >= {64, 128}
    assert any(trial.params["width"] == 32 and trial.params["batch_size"] == 128 for trial in rest)  # the largest that fits
    for trial in rest:
        if trial.state == COMPLETE:
            assert sorted(trial.intermediate_values) == [0, 1] and trial.value == trial.intermediate_values[1]
            assert trial.user_attrs["parameters"] == 10 * trial.params["width"] * 49 + 10 + 9 * trial.params["width"] * (1 + trial.params["width"]) + 2 * trial.params["width"]


def pytorch_with_threads_before_optimize_and_workers_of_a_loader():
    need("torch")
    ran = run("loader_workers", workers=2)
    study = study_of("loader_workers")
    require_all_ended(study, 4)
    assert json.loads(ran.said("seen")) == [256] * 4 and ran.out.count("before True") == 1


def pytorch_as_a_command():
    need("torch")
    words = json.dumps([sys.executable, os.path.join(PROGRAMS, "fashion_command.py"), "--width", "{width}", "--lr", "{lr}"])[1:-1]
    run_script(
        f"""name = "fashion", trainer = hpo.command {{ {words} }}, objective = {{ metric = "accuracy", direction = "maximize" }},
        trials = 4, seed = 1, space = function(trial) trial:int("width", 2, 6) trial:float("lr", 1e-4, 1e-1, {{ log = true }}) end""",
        "--workers",
        "1",
    )
    study = study_of("fashion")
    require_all_ended(study, 4)
    for trial in study.trials:
        assert list(trial.intermediate_values) == [0, 1] and trial.value == trial.intermediate_values[1]
    trial = study.best_trial
    alone = called([sys.executable, os.path.join(PROGRAMS, "fashion_command.py"), "--width", str(trial.params["width"]), "--lr", repr(trial.params["lr"])])
    assert json.loads(alone.said("@hpo")) == {"value": trial.value}


def a_shell_script_completes():
    text = """[ "$1" -le 5 ] || exit 3; echo "{\\"value\\": $(( $1 * $1 ))}" >&$HPO_REPORT_FD"""
    run_script(
        f"""name = "shell", trainer = hpo.command {{ "sh", "-c", {json.dumps(text)}, "sh", "{{n}}" }}, breaker = 0,
        objective = {{ metric = "value", direction = "minimize" }}, trials = 12, seed = 1, sampler = "random",
        space = function(trial) trial:int("n", 1, 8) end"""
    )
    study = study_of("shell")
    assert len(study.trials) == 12 and states(study)[COMPLETE] > 0 and states(study)[FAIL] > 0
    for trial in study.trials:
        assert (trial.value == trial.params["n"] ** 2) if trial.params["n"] <= 5 else trial.state == FAIL, (trial.params, trial.state)


def failures_of(words, *options, values=(1,), status=1):
    """The failures of a study whose program gets one parameter n."""
    told = ", ".join(json.dumps(word) for word in words)
    run_script(
        f"""name = "failing", trainer = hpo.command {{ {told} }}, objective = {{ metric = "value", direction = "minimize" }},
        trials = 4, seed = 1, sampler = "random", space = function(trial) trial:categorical("n", {{ {", ".join(map(str, values))} }}) end""",
        *("--workers", "1", "--breaker", "0", *options),
        status=status,
    )
    return [[each["failure"], each["count"], each["blame"]] for each in analyzed("failures")["failures"]]


def a_c_program_that_takes_too_much_is_ended():
    compiler = shutil.which("cc")
    if compiler is None:
        print("skipped: there is no cc")
        sys.exit(77)
    called([compiler, "-O1", "-o", "allocates", os.path.join(PROGRAMS, "allocates.c")])
    told = failures_of(["./allocates", "{n}"], "--device-memory", "64MiB", "--guard", "unlimited", values=(2, 40), status=0)
    count = sum(trial.params["n"] == 40 for trial in study_of("failing").trials)
    assert 0 < count < 4 and told == [["out_of_memory (capacity)", count, "own"]], told
    for trial in study_of("failing").trials:
        assert trial.state == COMPLETE and trial.value == 2 if trial.params["n"] == 2 else trial.state == PRUNED, trial
    oom = analyzed("oom")
    assert oom["oom_attempts"] == count and {each["fix"] for each in oom["cases"]} == {"n 2 instead of 40"}, oom


def pytorchs_message_of_a_full_card_is_read():
    message = "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.69 GiB of which 1.02 GiB is free."
    told = failures_of([sys.executable, "-c", f"import sys; print('Traceback (most recent call last):', {message!r}, sep='\\n', file=sys.stderr); sys.exit(1)"])
    assert told == [["out_of_memory (unknown)", 4, "own"]], told
    oom = analyzed("oom")
    assert oom["oom_attempts"] == 4 and {each["requested_bytes"] for each in oom["cases"]} == {2 << 30}, oom
    assert states(study_of("failing"))[PRUNED] == 4


def a_signal_is_a_crash():
    told = failures_of(["sh", "-c", "kill -SEGV $$"], "--recovery", "fail")
    assert [each[:2] for each in told] == [["crash", 4]], told


def partial_and_two_calls_and_enqueued_trials():
    ran = run("quadratic", workers=2)
    study = study_of("quadratic")
    require_all_ended(study, 15)
    assert ran.said("trials") == "8 15"
    assert ran.said("seen") == "0"  # a list of the program is a copy in each trial
    assert [trial.params["x"] for trial in study.trials[:2]] == [2.5, -1.0] and study.trials[1].user_attrs["memo"] == "by hand"
    assert all(trial.value == (trial.params["x"] - 2) ** 2 for trial in study.trials)
    assert ran.said("best") == f"{study.best_params['x']} {study.best_value}"


def two_objectives_by_the_programs_own_sampler():
    ran = run("two_objectives")
    alone = without_hpo("two_objectives")
    assert ran.out == alone.out, (ran.out, alone.out)
    study = study_of("two_objectives")
    require_all_ended(study, 40)
    for trial in study.trials:
        x, y = trial.params["x"], trial.params["y"]
        assert trial.values == [4 * x**2 + 4 * y**2, (x - 5) ** 2 + (y - 5) ** 2] and trial.user_attrs["distance"] == (x * x + y * y) ** 0.5


def steps_are_pruned_and_logged_to_a_file():
    need("sklearn")
    ran = run("sgd_pruning")
    study = study_of("sgd_pruning")
    require_all_ended(study, 25)
    assert states(study)[PRUNED] >= 1
    with open("train.log", encoding="utf-8") as file:
        lines = file.read().splitlines()
    assert lines[0] == "begin" and lines[-1] == "end"
    wanted = {f"finished {trial.number} with {trial.value!r}" for trial in study.trials if trial.state == COMPLETE}
    assert {line for line in lines if line.startswith("finished")} == wanted
    pruned = {int(line.split()[1]): int(line.split()[3]) for line in lines if line.startswith("pruned")}
    assert pruned == {trial.number: trial.last_step for trial in study.trials if trial.state == PRUNED}
    assert ran.said("least error") == str(study.best_value)


def own_samplers_draw_what_they_draw_without_hpo(*names):
    for name in names:
        alone, ran = without_hpo("samplers", name), run("samplers", arguments=[name])
        assert len(alone.out.splitlines()) == 16 and ran.out == alone.out, (name, ran.out, alone.out)


def samplers_of_the_program_draw_what_they_draw_without_hpo():
    own_samplers_draw_what_they_draw_without_hpo("grid", "nsgaii", "univariate")


def cma_es_draws_what_it_draws_without_hpo():
    need("cmaes")
    own_samplers_draw_what_they_draw_without_hpo("cmaes")


def quasi_random_numbers_are_those_without_hpo():
    need("scipy")
    own_samplers_draw_what_they_draw_without_hpo("qmc")


def a_gaussian_process_draws_what_it_draws_without_hpo():
    need("scipy", "torch")
    if not hasattr(optuna.samplers, "GPSampler"):
        print(f"skipped: Optuna {optuna.__version__} has no GPSampler")
        sys.exit(77)
    own_samplers_draw_what_they_draw_without_hpo("gp")


def ask_and_tell_alone_is_left_to_optuna():
    alone, ran = without_hpo("ask_and_tell"), run("ask_and_tell")
    assert len(ran.out.splitlines()) == 12 and ran.out == alone.out, (ran.out, ran.error)
    assert "trials by Optuna itself (study.ask and study.tell), because only study.optimize is taken over" in ran.error, ran.error


def a_study_in_a_file_goes_on_each_time():
    assert run("stored").said("trials").startswith("6 runs 1")
    best = run("stored").said("trials")
    study = study_of("kept", "kept.sqlite3")
    require_all_ended(study, 12)
    assert best == f"12 runs 2 best {study.best_value}"


def jobs_become_workers_and_the_time_is_kept():
    ran = run("jobs_and_time", workers=2)
    assert ran.said("first") == "12" and "n_jobs=4 is replaced by workers" in ran.error
    study = study_of("jobs_and_time")
    assert len(study.trials) == int(ran.said("then").split()[0]) >= 12
    assert all(trial.value == trial.params["x"] for trial in study.trials if trial.state == COMPLETE)
    assert states(study)[COMPLETE] == len(study.trials)


def a_pool_inside_of_the_objective():
    ran = run("pool_inside", workers=2)
    study = study_of("pool_inside")
    require_all_ended(study, 6)
    assert all(trial.value == sum(trial.params["x"] ** exponent for exponent in range(4)) for trial in study.trials)
    assert ran.said("best") == f"{study.best_params} {study.best_value}"


def tables_importances_and_plots_afterwards():
    need("pandas", "sklearn", "matplotlib")
    ran = run("plots")
    study = study_of("plots")
    require_all_ended(study, 20)
    # The program never calls should_prune, so it is never pruned.
    assert all(trial.state == COMPLETE and len(trial.intermediate_values) == 3 for trial in study.trials)
    columns = json.loads(ran.said("rows 20 columns").replace("'", '"'))
    assert {"params_x", "params_y", "user_attrs_sum", "value", "state"} <= set(columns), columns
    shares = json.loads(ran.said("importances").replace("'", '"'))
    assert set(shares) == {"x", "y"} and abs(sum(shares.values()) - 1) < 1e-9
    for name in ("history.png", "steps.png"):
        with open(name, "rb") as file:
            assert file.read(4) == b"\x89PNG"


def a_table_that_pyarrow_reads_before_optimize_and_in_each_trial():
    need("pandas", "pyarrow")
    ran = run("arrow_table", workers=2)
    assert ran.said("complete") == "10" and "cannot fork" not in ran.error, ran.error


def the_tuner_of_lightgbm_is_left_to_optuna():
    need("lightgbm", "optuna_integration", "sklearn")
    ran = run("lightgbm_tuner")
    assert ran.said("best") == "Booster", ran.out
    assert ran.error.count("hpo: LightGBMTuner needs the best model that its objective keeps in the program, so Optuna runs this study itself") == 1


if __name__ == "__main__":
    _, _, scenario = sys.argv
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        globals()[scenario]()
