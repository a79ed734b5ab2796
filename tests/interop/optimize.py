#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs programs of Optuna's users, as they are, with `hpo-tune run -- python PROGRAM`.

    optimize.py HPO_TUNE EXPECTED_OPTUNA SCENARIO
"""
import glob
import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import shutil
import warnings

import optuna
from optuna.trial import TrialState

optuna.logging.set_verbosity(optuna.logging.ERROR)
warnings.simplefilter("ignore")
MAJOR = int(optuna.__version__.split(".")[0])


class Ran:
    def __init__(self, out, error, status):
        self.out, self.error, self.status = out, error, status

    def said(self, name):
        """What the program printed as `NAME JSON`."""
        found = re.search(rf"^{name} (.*)$", self.out, re.M)
        assert found, (name, self.out, self.error)
        return json.loads(found.group(1))


def started(program, *options, arguments=(), progress="none"):
    with open("program.py", "w", encoding="utf-8") as file:
        file.write("import json, optuna\noptuna.logging.set_verbosity(optuna.logging.ERROR)\n" + program)
    words = [sys.argv[1], "run", "--progress", progress, *options, "--", sys.executable, "program.py", *arguments]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def run(program, *options, arguments=(), status=0, progress="none"):
    process = started(program, *options, arguments=arguments, progress=progress)
    out, error = process.communicate(timeout=200)
    assert process.returncode == status, (process.returncode, out, error)
    return Ran(out, error, process.returncode)


def storage(path):
    if MAJOR < 4:  # Optuna before 3.2 knows no newer revision, although the tables are the same
        return optuna.storages.RDBStorage("sqlite:///" + path, skip_compatibility_check=True)
    return optuna.storages.RDBStorage("sqlite:///" + path)



CLOSURE = """
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--offset", type=float)
arguments = parser.parse_args()

def objective(trial):
    x = trial.suggest_float("x", -5, 5)
    if trial.suggest_categorical("kind", ["a", "b"]) == "a":
        x += trial.suggest_int("n", 1, 3)
    for step in range(4):
        trial.report(x * x + 3 - step, step)
        if trial.should_prune():
            raise optuna.TrialPruned()
    trial.set_user_attr("offset", arguments.offset)
    return x * x + arguments.offset

study = optuna.create_study(study_name="closure", storage={storage}, load_if_exists=True, sampler=optuna.samplers.TPESampler(seed=1))
study.optimize(objective, n_trials=25)
print("best", json.dumps([study.best_value, study.best_params]))
print("states", json.dumps([trial.state.name for trial in study.trials]))
"""


def a_closure_over_parsed_arguments():
    ran = run(CLOSURE.replace("{storage}", "None"), arguments=["--offset", "7"])
    study = optuna.load_study(study_name="closure", storage=storage("hpo.db"))
    assert len(study.trials) == 25 and {trial.state for trial in study.trials} <= {TrialState.COMPLETE, TrialState.PRUNED}
    best = study.best_trial
    assert ran.said("best") == [best.value, best.params] and best.value >= 7 and best.user_attrs["offset"] == 7
    for trial in study.trials:
        assert set(trial.params) == ({"x", "kind", "n"} if trial.params["kind"] == "a" else {"x", "kind"}), trial.params
        if trial.state == TrialState.COMPLETE:
            assert list(trial.intermediate_values) == [0, 1, 2, 3]
    assert any(trial.state == TrialState.PRUNED for trial in study.trials)


def each_goes_on_with_the_study_of_the_other():
    program = CLOSURE.replace("{storage}", '"sqlite:///own.db"')
    run(program, arguments=["--offset", "1"])
    study = optuna.load_study(study_name="closure", storage=storage("own.db"), sampler=optuna.samplers.RandomSampler())
    study.optimize(lambda trial: trial.suggest_float("x", -5, 5) ** 2, n_trials=3)
    run(program, arguments=["--offset", "1"])
    trials = optuna.load_study(study_name="closure", storage=storage("own.db")).trials
    assert [trial.number for trial in trials] == list(range(53)) and all(trial.state.is_finished() for trial in trials)


def lambdas_partials_methods_and_two_studies():
    ran = run(
        """
import functools
def power(trial, exponent):
    return trial.suggest_float("x", 0, 2) ** exponent
class Model:
    def __init__(self): self.data = list(range(100))
    def score(self, trial): return self.data[trial.suggest_int("i", 0, 99)]
first = optuna.create_study()
first.optimize(lambda trial: trial.suggest_float("x", 0, 2), n_trials=3)
first.optimize(functools.partial(power, exponent=3), n_trials=4)
second = optuna.create_study(direction="maximize")
second.optimize(Model().score, n_trials=5)
print("counts", json.dumps([len(first.trials), len(second.trials)]))
print("names", json.dumps([first.study_name, second.study_name]))
"""
    )
    assert ran.said("counts") == [7, 5]
    assert ran.said("names") == ["program", "program-2"], ran.out


def callbacks_stop_catch_and_errors():
    ran = run(
        """
seen = []
def objective(trial):
    x = trial.suggest_int("x", 0, 9)
    if trial.number == 2:
        raise KeyError("caught")
    if trial.number == 4:
        trial.study.stop()
    return x
study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=3))
study.enqueue_trial({"x": 8}, user_attrs={"asked": True})
study.set_user_attr("who", "me")
study.optimize(objective, catch=(KeyError,), callbacks=[lambda study, trial: seen.append([trial.number, trial.state.name])], n_trials=50)
print("seen", json.dumps(seen))
print("first", json.dumps([study.trials[0].params, study.trials[0].user_attrs, study.user_attrs["who"]]))
try:
    study.optimize(lambda trial: trial.suggest_int("x", 0, 9) / 0, n_trials=5)
except ZeroDivisionError as error:
    print("raised", json.dumps(str(error)))
print("count", len(study.trials))
def flaky(trial):
    trial.suggest_categorical("a", ["the only one"])
    if trial.number < 12:
        raise ConnectionError
    return 1.0
other = optuna.create_study()
other.optimize(flaky, catch=(ConnectionError,), n_trials=14)
print("caught", json.dumps([trial.state.name for trial in other.trials].count("FAIL")), len(other.trials))
""",
        "--workers",
        "1",
    )
    assert "caught 12 14" in ran.out, ran.out  # equal failures end no study if the program catches them
    assert ran.said("seen") == [[0, "COMPLETE"], [1, "COMPLETE"], [2, "FAIL"], [3, "COMPLETE"], [4, "COMPLETE"]], ran.out
    assert ran.said("first") == [{"x": 8}, {"asked": True}, "me"]
    assert ran.said("raised") == "division by zero"
    assert ran.said("count") == 6


def the_programs_own_sampler_and_pruner_go_on():
    ran = run(
        """
class Pruner(optuna.pruners.BasePruner):
    def prune(self, study, trial):
        return trial.number % 2 == 1 and trial.last_step == 1
def objective(trial):
    x = trial.suggest_float("x", 0, 1)
    for step in range(3):
        trial.report(x, step)
        if trial.should_prune():
            raise optuna.TrialPruned()
    return x
study = optuna.create_study(sampler=optuna.samplers.GridSampler({"x": [0.0, 0.25, 0.5, 1.0]}), pruner=Pruner())
study.optimize(objective, n_trials=4)
print("xs", json.dumps(sorted(trial.params["x"] for trial in study.trials)))
print("states", json.dumps([trial.state.name for trial in study.trials]))
print("steps", json.dumps([len(trial.intermediate_values) for trial in study.trials]))
""",
        "--workers",
        "1",
    )
    assert ran.said("xs") == [0.0, 0.25, 0.5, 1.0], ran.out
    assert ran.said("states") == ["COMPLETE", "PRUNED", "COMPLETE", "PRUNED"]
    assert ran.said("steps") == [3, 2, 3, 2]


def a_sampler_that_raises_or_leaves_a_range_is_taken_as_optuna_takes_it():
    program = """
import sys
class Own(Exception):
    def __init__(self, text, code):
        super().__init__(text)
        self.code = code
def local_error():
    class Local(ValueError):
        pass
    return Local("no y")
class Raises(optuna.samplers.RandomSampler):
    def __init__(self, error):
        super().__init__(seed=1)
        self.error, self.count = error, 0
    def sample_independent(self, study, trial, name, distribution):
        self.count += name == "y"
        if name == "y" and self.count == 3:
            raise self.error
        return super().sample_independent(study, trial, name, distribution)
class Proposes(optuna.samplers.RandomSampler):
    def __init__(self, values, space=None):
        super().__init__(seed=1)
        self.values, self.space = values, space or {}
    def infer_relative_search_space(self, study, trial):
        return {"x": optuna.distributions.FloatDistribution(0, 1), "y": optuna.distributions.IntDistribution(0, 10), **self.space}
    def sample_relative(self, study, trial, space):
        return self.values
class RaisesAtOnce(Proposes):
    def sample_relative(self, study, trial, space):
        if trial.number == 1:
            raise self.values
        return {}
class Counts(Proposes):
    def sample_relative(self, study, trial, space):
        self.values = {"y": self.values["y"] + 1}
        return self.values
class Draws(optuna.samplers.RandomSampler):
    def __init__(self, value):
        super().__init__(seed=1)
        self.value = value
    def sample_independent(self, study, trial, name, distribution):
        return self.value
def objective(trial):
    x = trial.suggest_float("x", 0, 1) if "logarithm" not in sys.argv[1] else trial.suggest_float("x", 0.1, 1, log=True)
    return x + trial.suggest_int("y", 0, 10)
random = optuna.samplers.RandomSampler(seed=1)
sampler, caught = {
    "a value error": lambda: (Raises(ValueError("no y")), ()),
    "a value error that is caught": lambda: (Raises(ValueError("no y")), (ValueError,)),
    "an error of its own": lambda: (Raises(Own("no y", 7)), (ValueError,)),
    "an error of its own that is caught": lambda: (Raises(Own("no y", 7)), (Own,)),
    "a pruned trial": lambda: (Raises(optuna.TrialPruned()), ()),
    "a fixed value outside": lambda: (optuna.samplers.PartialFixedSampler({"x": 3.0}, random), ()),
    "a grid outside": lambda: (optuna.samplers.GridSampler({"x": [0.5, 7.0], "y": [3, 77]}), ()),
    "proposed outside": lambda: (Proposes({"x": 5.0, "y": 4}), ()),
    "proposed outside of its own space": lambda: (Proposes({"x": 0.25, "y": 3}, {"x": optuna.distributions.FloatDistribution(0, 0.125)}), ()),
    "proposed for another kind": lambda: (Proposes({"x": 1}, {"x": optuna.distributions.IntDistribution(0, 1)}), (ValueError,)),
    "an error of a class that only a function has": lambda: (Raises(local_error()), (ValueError,)),
    "proposed and not in the space": lambda: (Proposes({"z": 5.0, "x": 0.25}), ()),
    "an error of proposals": lambda: (RaisesAtOnce(Own("no values", 7)), ()),
    "an error of proposals that is caught": lambda: (RaisesAtOnce(Own("no values", 7)), (Own,)),
    "proposals that prune": lambda: (RaisesAtOnce(optuna.TrialPruned()), ()),
    "proposed once for each trial": lambda: (Counts({"y": 0}), ()),
    "drawn outside": lambda: (Draws(42.5), ()),
    "drawn of another kind": lambda: (Draws("text"), (ValueError,)),
    "drawn as a truth value": lambda: (Draws(True), ()),
    "proposed as a truth value": lambda: (Proposes({"x": True, "y": True}), ()),
    "enqueued outside": lambda: (random, ()),
    "enqueued of another kind": lambda: (random, (ValueError,)),
    "enqueued as a truth value": lambda: (random, ()),
    "enqueued without a logarithm": lambda: (random, (ValueError,)),
}[sys.argv[1]]()
study = optuna.create_study(sampler=sampler)
enqueued = {
    "enqueued outside": {"x": -3},
    "enqueued of another kind": {"x": "text"},
    "enqueued as a truth value": {"x": True, "y": True},
    "enqueued without a logarithm": {"x": 0},
}
if sys.argv[1] in enqueued:
    study.enqueue_trial({"x": 0.5})
    study.enqueue_trial(enqueued[sys.argv[1]])
raised = None
try:
    study.optimize(objective, n_trials=4, catch=caught)
except Exception as error:
    raised = type(error).__name__, str(error), getattr(error, "code", None)
trials = [[trial.state.name, trial.params] for trial in study.trials]
if sys.argv[1].startswith("a grid"):
    trials.sort(key=str)
print("all", json.dumps([raised, trials]))
"""
    proposals_end_it = hasattr(optuna.trial.Trial, "_init_relative_params")  # such an Optuna leaves the trial RUNNING
    cases = re.findall(r'^    "(.*)": lambda', program, re.M)
    assert len(cases) > 15, cases
    for what in cases:
        if proposals_end_it and what in ("an error of proposals", "an error of proposals that is caught", "proposals that prune"):
            continue
        ran = run(program, "--workers", "1", "--breaker", "0", "--sampler", "optuna", arguments=[what])
        alone = subprocess.run([sys.executable, "program.py", what], stdout=subprocess.PIPE, text=True, check=True, timeout=60)
        assert ran.out == alone.stdout, (what, ran.out, alone.stdout, ran.error)
        assert re.search(r"^study program(-\d+)?: \d+ (complete|failed|pruned)", ran.error, re.M) or "hpo-tune: error" in ran.error, (what, ran.error)


def where_forking_is_not_safe_the_program_is_run_again():
    ran = run(
        """
import os, threading
begun = os.getpid()
first = optuna.create_study()
first.optimize(lambda trial: trial.suggest_float("x", 0, 1) + (os.getpid() == begun), n_trials=3)
held = threading.Event()
threading.Thread(target=held.wait, daemon=True).start()
study = optuna.create_study()
study.optimize(lambda trial: trial.suggest_float("x", 0, 1) + (os.getpid() == begun), n_trials=4)
print("best", json.dumps(study.best_value))
print("worst of first", json.dumps(max(trial.value for trial in first.trials)))
print("counts", json.dumps([len(first.trials), len(study.trials)]))
"""
    )
    assert "each attempt runs the program anew, since it cannot fork: 1 thread" in ran.error, ran.error
    assert ran.said("best") > 1  # in each attempt, the program that runs the trial is the one that began
    assert ran.said("worst of first") < 1  # the trials of the first study were copies
    assert ran.said("counts") == [3, 4]


def several_objectives():
    ran = run(
        """
study = optuna.create_study(directions=["minimize", "maximize"])
def objective(trial):
    x = trial.suggest_float("x", 0, 5)
    return x, x + trial.suggest_float("y", 0, 3)
study.optimize(objective, n_trials=15)
print("front", json.dumps(len(study.best_trials)))
"""
    )
    study = optuna.load_study(study_name="program", storage=storage("hpo.db"))
    assert len(study.trials) == 15 and ran.said("front") == len(study.best_trials) >= 1


def the_pruner_of_a_study_of_several_objectives_is_ignored():
    program = """
study = optuna.create_study(directions=["minimize", "maximize"], pruner=optuna.pruners.MedianPruner())
study.optimize(lambda trial: (trial.suggest_float("x", 0, 5), 1.0), n_trials=3)
print("count", len(study.trials))
"""
    ran = run(program, "--pruner", "optuna")
    assert ran.said("count") == 3
    assert "note: --pruner optuna has no effect, because Optuna prunes no trial of several objectives" in ran.error, ran.error
    ran = run(program, "--pruner", "median", status=1)
    assert "--pruner: got 'median' for several objectives" in ran.error, ran.error


def an_exception_of_any_name_is_the_trials_message():
    ran = run(
        """
class Halt(Exception):
    def __init__(self, done, of):
        super().__init__(f"{done}-{of}")
def objective(trial):
    trial.suggest_float("x", 0, 1)
    raise Halt(1, 2)
study = optuna.create_study()
try:
    study.optimize(objective, n_trials=2)
except Halt as error:
    print("raised", json.dumps(str(error)))
print("message", json.dumps(study.trials[0].user_attrs["error_message"]))
"""
    )
    assert ran.said("raised") == "1-2", ran.out
    assert ran.said("message") == "Halt: 1-2", ran.out


def a_trial_has_the_constraints_that_it_has_without_hpo():
    if not hasattr(optuna.trial.FrozenTrial, "constraints"):
        print("this Optuna reads no constraints by name")
        return
    program = """
def objective(trial):
    x = trial.suggest_float("x", 0, 1)
    trial.set_constraint("mem", x - 0.5)
    trial.set_constraint("time", -1.0)
    return x
for options in ({}, {"storage": "sqlite:///own.db", "study_name": "own"}):
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=1), **options)
    study.optimize(objective, n_trials=3)
    print("named", json.dumps([sorted(trial.constraints) for trial in study.trials]))
def listed(trial):
    return (trial.params["x"] - 0.5, -1.0)
study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=1, constraints_func=listed))
study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=3)
print("listed", json.dumps([[trial.constraints, trial.system_attrs["constraints"]] for trial in study.trials]))
"""
    ran = run("import warnings\nwarnings.simplefilter('error', UserWarning)\n" + program, "--workers", "1")
    assert ran.out.count('named [["mem", "time"], ["mem", "time"], ["mem", "time"]]') == 2, ran.out
    for constraints, numbers in ran.said("listed"):
        assert list(constraints.values()) == numbers and list(constraints) == ["0", "1"], ran.out
    for name, file in (("own", "own.db"), ("program", "hpo.db")):
        for trial in optuna.load_study(study_name=name, storage=storage(file)).trials:
            assert sorted(trial.constraints) == ["mem", "time"], trial


def a_crash_and_no_memory_end_no_study():
    ran = run(
        """
import os, signal
def objective(trial):
    how = trial.suggest_categorical("how", ["well", "segv", "oom", "exit"])
    if how == "segv": os.kill(os.getpid(), signal.SIGSEGV)
    if how == "oom": raise RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.69 GiB of which 1.02 GiB is free.")
    if how == "exit": os._exit(3)
    return 1.0
study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=1))
study.optimize(objective, n_trials=16)
print("ways", json.dumps([[trial.params["how"], trial.state.name] for trial in study.trials]))
""",
        "--breaker",
        "0",
    )
    ways = ran.said("ways")
    assert len(ways) == 16 and {how for how, _ in ways} == {"well", "segv", "oom", "exit"}, ways
    for how, state in ways:
        assert state == {"well": "COMPLETE", "segv": "FAIL", "exit": "FAIL", "oom": "PRUNED"}[how], ways


def an_interrupt_is_a_keyboard_interrupt_of_the_program():
    process = started(
        """
import time
study = optuna.create_study(study_name="long")
try:
    study.optimize(lambda trial: time.sleep(trial.suggest_float("x", 0, 0.1)) or 1.0)
except KeyboardInterrupt:
    print("interrupted", json.dumps(len([trial for trial in study.trials if trial.state.name == "COMPLETE"])), flush=True)
"""
    )
    for _ in range(600):
        time.sleep(0.1)
        try:
            if os.path.exists("hpo.db") and len(optuna.load_study(study_name="long", storage=storage("hpo.db")).trials) > 5:
                break
        except Exception:  # the tables are not made yet
            continue
    process.send_signal(signal.SIGINT)
    out, error = process.communicate(timeout=60)
    assert "interrupted " in out, (out, error)


def plots_and_importances_afterwards():
    ran = run(
        """
study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=1))
study.optimize(lambda trial: trial.suggest_float("x", 0, 1) + 0.01 * trial.suggest_float("y", 0, 1), n_trials=20)
print("frame", json.dumps(len(study.trials)))
print("copy", json.dumps(optuna.create_study(study_name="copy").study_name))
study.add_trial(optuna.trial.create_trial(value=-1.0, params={"x": 0.5, "y": 0.5}, distributions=study.best_trial.distributions))
print("best", json.dumps(study.best_value))
trial = study.ask()
trial.suggest_float("x", 0, 1)
study.tell(trial, 0.25)
print("count", json.dumps(len(study.trials)))
"""
    )
    assert ran.said("frame") == 20 and ran.said("best") == -1.0 and ran.said("count") == 22


def trials_that_are_asked_for_by_hand():
    ran = run(
        """
optuna.logging.set_verbosity(optuna.logging.ERROR)
def by_hand(study, value=None):
    trial = study.ask()
    x = trial.suggest_float("x", -1, 1)
    study.tell(trial, x * x)
def objective(trial):
    return trial.suggest_float("x", -1, 1) ** 2
for name, sampler in (("tpe", optuna.samplers.TPESampler(seed=1)), ("group", optuna.samplers.TPESampler(multivariate=True, group=True, seed=1))):
    study = optuna.create_study(sampler=sampler)
    by_hand(study)
    study.optimize(objective, n_trials=3)
    by_hand(study)
    open_trial = study.ask()
    study.optimize(objective, n_trials=2)
    study.tell(open_trial, 5.0)
    print(name, json.dumps([[each.number, each.state.name, each.value == 5.0] for each in study.trials]))
study = optuna.create_study()
open_trial = study.ask()
study.optimize(objective, n_trials=2)
study.tell(open_trial, 5.0)
print("by_optuna", json.dumps([each.value == 5.0 for each in study.trials]))
"""
    )
    for name in ("tpe", "group"):
        assert ran.said(name) == [[number, "COMPLETE", number == 5] for number in range(8)], ran.out
    assert ran.said("by_optuna") == [True, False, False]
    assert ran.error.count("hpo: trial 0 was asked for and not told, so Optuna runs this study itself") == 1, ran.error


def limits_folders_and_threads_as_optuna_has_them():
    ran = run(
        """
import os, threading, time
def objective(trial):
    time.sleep(0.2)
    return trial.suggest_float("x", -1, 1)
counts = []
for limits in ({"n_trials": 3.0}, {"n_trials": 1.5}, {"n_trials": True}, {"n_trials": -1}, {"n_trials": 1, "timeout": float("inf")}, {"n_trials": 2, "timeout": -1}):
    study = optuna.create_study()
    study.optimize(objective, **limits)
    counts.append(len(study.trials))
print("counts", json.dumps(counts))
os.makedirs("elsewhere", exist_ok=True)  # a program with threads is started again for each attempt
study = optuna.create_study(study_name="moved", storage="sqlite:///moved.db", load_if_exists=True)
os.chdir("elsewhere")
study.optimize(objective, n_trials=2)
print("moved", json.dumps([len(study.trials), os.listdir(".")]))
os.chdir("..")
studies = [optuna.create_study(study_name=name) for name in ("one", "two")]
threads = [threading.Thread(target=study.optimize, args=(objective,), kwargs={"n_trials": 2}) for study in studies]
for each in threads:
    each.start()
    time.sleep(0.5)  # so that the first call of optimize is that of the first thread each time
for each in threads:
    each.join()
print("threads", json.dumps([[trial.state.name for trial in study.trials] for study in studies]))
"""
    )
    assert ran.said("counts") == [3, 2, 1, 0, 1, 0], ran.out
    assert ran.said("moved") == [2, []], ran.out
    assert ran.said("threads") == [["COMPLETE"] * 2] * 2, ran.out + ran.error


def what_violates_a_constraint_is_nowhere_the_best():
    objective = """
optuna.logging.set_verbosity(optuna.logging.ERROR)
def objective(trial):
    x = trial.suggest_float("x", -10, 10)
    y = trial.suggest_float("y", -10, 10)
    if hasattr(optuna.Trial, "set_constraint"):
        trial.set_constraint("c", 5 - x)
    trial.set_user_attr("c", (5 - x,))
    return x * x + y * y
def constraints(trial):
    return trial.user_attrs["c"]
"""
    tell = """
print("values", json.dumps([[trial.params["x"] >= 5, trial.value] for trial in study.trials]))
if hasattr(optuna.Trial, "set_constraint"):  # before, Optuna's best trial was that of the best value
    print("best", json.dumps([study.best_trial.number, study.best_value]))
"""
    by_function = """
study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=1, constraints_func=constraints))
study.enqueue_trial({"x": -0.5, "y": 0.0})
study.enqueue_trial({"x": 5.0, "y": 1.0})
study.optimize(objective, n_trials=25)
"""
    by_trial = """
study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=1))
study.optimize(objective, n_trials=80)
"""
    for program, least in ((by_function, 8), *([(by_trial, 30)] if MAJOR >= 5 else [])):
        ran = run(objective + program + tell, "--workers", "1", progress="plain")
        values = ran.said("values")
        assert sum(feasible for feasible, _ in values) >= least, values
        best, number = min((value, number) for number, (feasible, value) in enumerate(values) if feasible)
        if MAJOR >= 5:
            assert ran.said("best") == [number, best], (ran.out, best, number)
        assert re.search(rf"^best: value {best:.6g} in trial {number}$", ran.error, re.M), (ran.error[-900:], best, number)
        named = [int(each) for each in re.findall(r"^trial (\d+): .*, the best so far", ran.error, re.M)]
        assert named and all(values[each][0] for each in named), (named, values)
        analyze = os.path.join(os.path.dirname(sys.argv[1]), "hpo-analyze")
        words = [analyze, "best", "--json", "--store", "hpo.db", "--study", "program" if program is by_function else "program-2"]
        told = json.loads(subprocess.run(words, capture_output=True, text=True, check=True, timeout=60).stdout)
        assert told["best"][0]["number"] == number, told
    two = """
study = optuna.create_study(directions=["minimize", "minimize"], sampler=optuna.samplers.NSGAIISampler(seed=1, constraints_func=constraints))
study.optimize(lambda trial: (objective(trial), trial.params["y"]), n_trials=30)
print("front", json.dumps(sum(1 for trial in study.best_trials)))
print("feasible", json.dumps(all(trial.params["x"] >= 5 for trial in study.best_trials)))
"""
    ran = run(objective + two, "--workers", "1", progress="plain")
    assert f"Pareto front: {ran.said('front')} trial" in ran.error or MAJOR < 5, ran.error
    assert MAJOR < 5 or ran.said("feasible") is True


def trials_of_others_are_theirs_and_those_of_the_call_are_its_own():
    ran = run(
        """
import multiprocessing, threading, time
def objective(trial):
    time.sleep(0.05)
    return trial.suggest_float("x", -1, 1)
def work(count):
    optuna.load_study(study_name="shared", storage=STORAGE()).optimize(objective, n_trials=count)
def STORAGE():
    return optuna.storages.RDBStorage("sqlite:///shared.db", engine_kwargs={"connect_args": {"timeout": 60}}) if hasattr(optuna.Trial, "set_constraint") else "sqlite:///shared.db"
if __name__ == "__main__":
    optuna.create_study(study_name="shared", storage="sqlite:///shared.db")
    processes = [multiprocessing.Process(target=work, args=(8,)) for _ in range(3)]
    for each in processes:
        each.start()
    for each in processes:
        each.join()
    print("processes", json.dumps(len(optuna.load_study(study_name="shared", storage="sqlite:///shared.db").trials)))
    study = optuna.create_study()
    threads = [threading.Thread(target=study.optimize, args=(objective,), kwargs={"n_trials": 5}) for _ in range(3)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    print("threads", json.dumps([trial.state.name for trial in study.trials]))
""",
        "--workers",
        "2",
    )
    assert ran.said("processes") == 24, ran.out + ran.error
    assert ran.said("threads") == ["COMPLETE"] * 15, ran.out + ran.error


def samplers_grids_and_objectives_are_taken_as_optuna_takes_them():
    ran = run(
        """
import numpy
def objective(trial):
    return trial.suggest_categorical("a", [1, 2]) * trial.suggest_categorical("b", [1, 2])
study = optuna.create_study(sampler=optuna.samplers.GridSampler({"a": [1, 2], "b": [1, 2]}))
study.optimize(objective, n_trials=50)
print("grid", json.dumps(sorted((trial.params["a"], trial.params["b"]) for trial in study.trials)))
studies = [optuna.create_study() for _ in range(2)]
for study in studies:
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=1)
print("differ", json.dumps(studies[0].best_value != studies[1].best_value))

study = optuna.create_study()
study.optimize(lambda trial: None, n_trials=13)
print("none", json.dumps([trial.state.name for trial in study.trials]))

study = optuna.create_study(storage="sqlite:///own.db")
study.set_user_attr("metric", ["auc", "f1"])
study.set_user_attr("trainer", {"name": "lgbm"})
for _ in range(2):
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=2)
print("attributes", json.dumps([study.user_attrs, len(study.trials)]))
""",
        "--workers",
        "3",
    )
    assert ran.said("grid") == [[1, 1], [1, 2], [2, 1], [2, 2]], ran.out
    assert ran.said("differ") is True, ran.out
    assert ran.said("none") == ["FAIL"] * 13, ran.out + ran.error
    assert ran.said("attributes") == [{"metric": ["auc", "f1"], "trainer": {"name": "lgbm"}}, 4], ran.out
    ran = run(
        """
class Sequential(optuna.samplers.BaseSampler):
    def infer_relative_search_space(self, study, trial): return {}
    def sample_relative(self, study, trial, space): return {}
    def sample_independent(self, study, trial, name, distribution):
        before = [each.value for each in study.trials if each.number == trial.number - 1]
        return 0.5 if not before else before[0] / 2  # the value of the latest trial
study = optuna.create_study(sampler=Sequential())
study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=6)
print("sequential", json.dumps([trial.value for trial in study.trials]))

"""
    )
    assert ran.said("sequential") == [0.5, 0.25, 0.125, 0.0625, 0.03125, 0.015625], ran.out + ran.error
    assert "with one worker, because it may need the value of the latest trial" in ran.error, ran.error


def what_an_objective_keeps_is_told_before_the_first_trial():
    keeping = """
best = None
scores = []
def objective(trial):
    global best
    best = trial.suggest_float("x", 0, 1)
    scores.append(best)
    return best
study = optuna.create_study()
study.optimize(objective, n_trials=2)
print("kept", json.dumps([best, scores]))
"""
    ran = run(keeping)
    assert ran.said("kept") == [None, []]
    note = "note: the objective changes best (program.py:8), scores (program.py:9), which the program will not see, because each trial runs"
    assert note in ran.error and ran.error.index(note) < ran.error.index("study program: "), ran.error
    quiet = run(keeping.replace("global best", "pass").replace("scores.append", "print"))
    assert "the objective" not in quiet.error, quiet.error


def attributes_that_json_cannot_hold_come_back():
    program = """
import math, sys
class Model:
    def __init__(self, weight): self.weight = weight
    def __repr__(self): return f"Model({self.weight})"
def objective(trial):
    x = trial.suggest_float("x", 0, 1)
    trial.set_user_attr(key="best_booster", value=Model(x))
    trial.set_user_attr("auc", math.nan)
    trial.set_user_attr("shape", (1, [2.0, math.inf]))
    assert trial.user_attrs["best_booster"].weight == x and trial.study.user_attrs["before"].weight == 1
    if trial.number == 1:
        try:
            trial.set_user_attr("none", lambda: 1)
        except TypeError as error:
            trial.set_user_attr("refused", str(error))
    return x
def callback(study, trial):
    assert trial.user_attrs["best_booster"].weight == trial.params["x"] and math.isnan(trial.user_attrs["auc"])
    if study.best_trial.number == trial.number:
        study.set_user_attr(key="best_booster", value=trial.user_attrs["best_booster"])
study = optuna.create_study(study_name="s", sampler=optuna.samplers.RandomSampler(seed=1))
study.set_user_attr("before", Model(1))
study.enqueue_trial({"x": 0.75}, user_attrs={"memo": Model(2)})
study.optimize(objective, n_trials=3, callbacks=[callback])
study.optimize(objective, n_trials=1, callbacks=[callback])
assert study.user_attrs["best_booster"].weight == study.best_trial.user_attrs["best_booster"].weight == study.best_value
assert [each.user_attrs["shape"] for each in study.trials] == [(1, [2.0, math.inf])] * 4
assert study.get_trials(deepcopy=False)[0].user_attrs["memo"].weight == 2 and study.user_attrs["before"].weight == 1
print("attributes", study.user_attrs["best_booster"], [math.isnan(each.user_attrs["auc"]) for each in study.trials])
print("refused", json.dumps(study.trials[1].user_attrs.get("refused", "")))
"""
    ran = run(program, "--workers", "1")
    alone = subprocess.run([sys.executable, "program.py"], stdout=subprocess.PIPE, text=True, check=True, timeout=60)
    assert ran.out.splitlines()[0].partition("(")[0] == alone.stdout.splitlines()[0].partition("(")[0] == "attributes Model", ran.out
    assert ran.said("refused").startswith("user attribute 'none': a function is nothing that JSON or pickle can hold"), ran.out
    stored = optuna.load_study(study_name="s", storage=storage("hpo.db"))
    assert stored.user_attrs["best_booster"] == "<Model, kept by the program>" == stored.user_attrs["before"]
    assert [stored.trials[0].user_attrs[name] for name in ("best_booster", "auc", "memo")] == ["<Model, kept by the program>", "NaN", "<Model, kept by the program>"]
    anew = run("import threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()\n" + program.replace('"s"', '"anew"'))
    assert "anew, since it cannot fork" in anew.error and anew.out.startswith("attributes Model"), anew.out + anew.error
    in_a_database = """
def objective(trial):
    trial.set_user_attr("auc", float("nan"))
    try:
        trial.set_user_attr("model", {1, 2})
    except TypeError:
        return 1.0
study = optuna.create_study(study_name="own", storage="sqlite:///own.db")
study.optimize(objective, n_trials=1, callbacks=[lambda study, trial: study.set_user_attr("best", float("inf"))])
assert study.user_attrs["best"] == float("inf")
print("auc", json.dumps([study.trials[0].value, str(study.trials[0].user_attrs["auc"])]))
"""
    assert run(in_a_database).said("auc") == [1.0, "nan"]
    assert optuna.load_study(study_name="own", storage=storage("own.db")).user_attrs["best"] == float("inf")  # as Optuna writes it


def trials_of_ask_and_tell_are_counted():
    loop = """
study = optuna.create_study()
for _ in range(7):
    trial = study.ask()
    study.tell(trial, trial.suggest_float("x", 0, 1))
"""
    ran = run(loop)
    told = "note: the program ran 7 trials by Optuna itself (study.ask and study.tell), because only study.optimize is taken over"
    assert told in ran.error and "ran no trial" not in ran.error, ran.error
    assert "by Optuna itself" not in run(loop + 'study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=1)').error
    unseen = "hpo saw no call of study.optimize of Optuna, so it ran no trial"
    assert unseen + "\n" in run("study = optuna.create_study()\n").error
    with open("kept_out.py", "w", encoding="utf-8") as file:
        file.write("print('ended')\n")
    for options, which in ((["-I"], "-I"), (["-ES"], "-E"), (["-W", "ignore", "-BI"], "-I"), (["-Wignore::ImportWarning"], "")):
        words = [sys.argv[1], "run", "--progress", "none", "--", sys.executable, *options, "kept_out.py"]
        kept_out = subprocess.run(words, capture_output=True, text=True, timeout=100, check=True)
        why = f"; {which} of {sys.executable} keeps hpo out of the program: leave it out" if which else ""
        assert f"{unseen}{why}\n" in kept_out.stderr, kept_out
    words = [sys.argv[1], "run", "--progress", "none", "--", sys.executable, "-"]
    empty = subprocess.run(words, capture_output=True, text=True, timeout=100, check=True)
    assert f"{unseen}; {sys.executable} - reads the program from the standard input, which is empty here" in empty.stderr, empty


def a_study_in_memory_is_there_in_its_storage_afterwards():
    for memory in ("InMemoryStorage()", "RDBStorage('sqlite://', engine_kwargs={'poolclass': __import__('sqlalchemy').pool.StaticPool})"):
        ran = run(SHARED.replace("MEMORY", memory))
        shared = ran.said("shared")
        assert len(shared) == 5 and shared[0] == ["COMPLETE", 0.25, 1.25] and shared == ran.said("own"), (memory, ran.out)
        assert ran.said("seen") == 2, (memory, ran.out)


SHARED = """
memory = optuna.storages.MEMORY
study = optuna.create_study(storage=memory, study_name="shared")
study.enqueue_trial({"x": 0.25})
objective = lambda trial: trial.suggest_float("x", 0, 1) + trial.suggest_float("one", 1, 1)
study.optimize(objective, n_trials=3, callbacks=[lambda study, trial: study.set_user_attr("seen", max(trial.number, study.user_attrs.get("seen", 0)))])
study.optimize(objective, n_trials=2)
again = optuna.load_study(study_name="shared", storage=memory)
print("shared", json.dumps([[trial.state.name, trial.params["x"], trial.value] for trial in again.trials]))
print("own", json.dumps([[trial.state.name, trial.params["x"], trial.value] for trial in study.trials]))
print("seen", json.dumps(again.user_attrs["seen"]))
"""


def a_parameter_of_one_value_is_not_asked_of_a_sampler():
    ran = run(
        """
def objective(trial):
    one = trial.suggest_float("one", 1, 1) + trial.suggest_int("two", 2, 2) + len(trial.suggest_categorical("a", ["a"]))
    return trial.suggest_float("x", 0, 1) + one
study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=5, multivariate=True, n_startup_trials=3, prior_weight=2.0))
study.optimize(objective, n_trials=8)
print("values", json.dumps([[trial.params[name] for name in ("one", "two", "a")] for trial in study.trials]))
"""
    )
    assert ran.said("values") == [[1.0, 2, "a"]] * 8, ran.out + ran.error


def checked(program, *options, status=0):
    with open("program.py", "w", encoding="utf-8") as file:
        file.write("import json, optuna\noptuna.logging.set_verbosity(optuna.logging.ERROR)\n" + program)
    done = subprocess.run([sys.argv[1], "check", *options, "--", sys.executable, "program.py"], capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == status, (done.returncode, done.stdout, done.stderr)
    return Ran(done.stdout, done.stderr, done.returncode)


def check_reaches_optimize_and_runs_no_trial():
    program = """
import atexit, threading
atexit.register(print, "at the end of the program")
print("before")
seen = []
def objective(trial):
    seen.append(trial.number)
    return trial.suggest_float("x", 0, 1)
study = optuna.create_study({}sampler=optuna.samplers.GridSampler({{"x": [0.5]}}), pruner=optuna.pruners.NopPruner())
study.optimize(objective, n_trials=7, timeout=60)
print("after")
"""
    ran = checked(program.format(""))
    lines = ran.out.splitlines()
    assert lines[:4] == [
        "before",
        "objective: __main__.objective",
        "each attempt of a trial is a copy of the program",
        "study: program in hpo.db, to which the program's own is moved",
    ], ran.out
    assert lines[4:7] == ["sampler: the program's own", "pruner: hpo's none", "trials: 7 more, none begins after 1 min 00 s"], ran.out
    assert any(line.startswith("note: the objective changes seen (program.py:") for line in lines), ran.out
    assert any(line.startswith("note: hpo has no GridSampler") for line in lines), ran.out
    assert lines[-1] == "program.py: no problems found" and not os.path.exists("hpo.db"), ran.out
    made = checked(program.format('study_name="own", storage="sqlite:///own.db", load_if_exists=True, ').replace("import atexit", "import atexit, time").replace(
        'print("before")', "threading.Thread(target=time.sleep, args=(60,), daemon=True).start()"))
    assert "each attempt runs the program anew, since it cannot fork: 1 thread" in made.out, made.out
    assert "study: own in sqlite:///" in made.out and "which the program itself has made; no trial was added" in made.out, made.out
    assert optuna.load_study(study_name="own", storage=storage("own.db")).trials == []
    told = json.loads(checked(program.format(""), "--json").out)
    assert told["ok"] and told["program"] == "program.py" and "sampler: the program's own" in told["remarks"], told
    assert "program.py: the program ended with status 0 and hpo saw no call of study.optimize of Optuna" in checked("", status=2).error
    assert "the program ended with status 1 and hpo saw no call of study.optimize of Optuna" in checked("raise ValueError", status=2).error
    assert "the program ended with status 0 and ran 1 trial by Optuna itself" in checked("study = optuna.create_study()\nstudy.tell(study.ask(), 1)\n", status=2).error
    by_optuna = checked(program.format("").replace("study.optimize", "asked = study.ask()\nstudy.optimize"), status=2)
    assert "hpo: trial 0 was asked for and not told, so Optuna runs this study itself" in by_optuna.error, by_optuna.error
    assert "and Optuna itself would run its study, as it has said" in by_optuna.error and "after" not in by_optuna.out, by_optuna.error
    assert "--sampler: unknown sampler 'tpee'" in checked(program.format(""), "--sampler", "tpee", status=2).error


JOURNAL = """
import os, signal, sys, warnings
warnings.simplefilter("ignore")
try:
    from optuna.storages.journal import JournalFileBackend
except ImportError:  # Optuna before 4
    from optuna.storages import JournalFileStorage as JournalFileBackend
from optuna.storages import JournalStorage
def journal():
    return JournalStorage(JournalFileBackend("journal.log"))
class Killed(JournalStorage):
    left = int(sys.argv[1])
    def create_new_trial(self, study_id, template_trial=None):
        if template_trial is not None:
            Killed.left -= 1
            if Killed.left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
        return super().create_new_trial(study_id, template_trial)
study = optuna.create_study(study_name="j", storage=Killed(JournalFileBackend("journal.log")), load_if_exists=True)
study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=3)
there = optuna.load_study(study_name="j", storage=journal()).trials
print("counts", json.dumps([len(study.trials), len(there), len({trial.params["x"] for trial in there})]))
print("ends", json.dumps(sorted([trial.value, str(trial.datetime_start), str(trial.datetime_complete)] for trial in there)
                         == sorted([trial.value, str(trial.datetime_start), str(trial.datetime_complete)] for trial in study.trials)))
"""


def a_journal_goes_on_and_has_each_trial_also_if_the_program_is_killed():
    for count in (3, 6):
        ran = run(JOURNAL, arguments=["0"])
        assert ran.said("counts") == [count] * 3 and ran.said("ends"), ran.out
        journal = os.path.realpath("journal.log")
        assert f"note: the trials are in store hpo.db; each that has ended is also written to the program's journal {journal}" in ran.error, ran.error
    alone = subprocess.run([sys.executable, "program.py", "0"], stdout=subprocess.PIPE, text=True, check=True, timeout=60)
    assert "counts [9, 9, 9]" in alone.stdout, alone.stdout
    process = started(JOURNAL, "--workers", "1", arguments=["2"])  # a trial is in the store, and not yet in the journal
    out, error = process.communicate(timeout=200)
    assert process.returncode != 0, (out, error)
    study = optuna.load_study(study_name="j", storage=storage("hpo.db"))
    ended = len([trial for trial in study.trials if trial.state == TrialState.COMPLETE])
    assert ended >= 9 + 2, ended
    ran = run(JOURNAL, arguments=["0"])
    total = len(optuna.load_study(study_name="j", storage=storage("hpo.db")).trials)
    assert ran.said("counts")[:2] == [total, total] and ran.said("ends"), ran.out


class Postgres:
    """A server of PostgreSQL for a test, with a socket in a folder and no port. Ends the test with 77 if PostgreSQL or its driver is not there."""

    def __init__(self, folder):
        programs = sorted(glob.glob("/usr/lib/postgresql/*/bin"))
        if not programs or importlib.util.find_spec("psycopg2") is None:
            print("skipped: needs PostgreSQL and psycopg2")
            sys.exit(77)
        self.folder, self.programs = folder, programs[-1]
        self.user = ["setpriv", "--reuid=postgres", "--clear-groups", "--"] if os.getuid() == 0 else []
        os.chmod(folder, 0o755)
        self.data = os.path.join(folder, "postgres")
        os.mkdir(self.data)
        if self.user:
            shutil.chown(self.data, "postgres")
        self.url = f"postgresql+psycopg2://hpo@/postgres?host={self.data}"

    def call(self, program, *words):
        subprocess.run(
            [*self.user, os.path.join(self.programs, program), "-D", os.path.join(self.data, "d"), *words],
            check=True, timeout=60, stdout=subprocess.DEVNULL, cwd=self.data,
        )

    def __enter__(self):
        self.call("initdb", "-U", "hpo", "-A", "trust", "--no-sync", "--encoding=UTF8", "--locale=C.UTF-8")
        settings = f"-c listen_addresses='' -c unix_socket_directories='{self.data}' -c fsync=off"
        self.call("pg_ctl", "-l", os.path.join(self.data, "log"), "-w", "-t", "50", "-s", "-o", settings, "start")
        return self.url

    def __exit__(self, *_):
        self.call("pg_ctl", "-m", "immediate", "-w", "-s", "stop")


def a_study_in_postgresql_has_each_trial_there():
    program = """
import sys
def objective(trial):
    assert optuna.load_study(study_name="p", storage=storage).study_name == "p"  # by a connection of its own
    trial.report(float("inf"), 2)
    trial.set_user_attr("list", [1, None])
    return trial.suggest_float("x", 0, 1)
storage = optuna.storages.RDBStorage(sys.argv[1])
study = optuna.create_study(study_name="p", storage=storage, load_if_exists=True)
study.enqueue_trial({"x": len(study.trials) / 8})
study.optimize(objective, n_trials=3)
there = optuna.load_study(study_name="p", storage=storage).trials
print("counts", json.dumps([len(study.trials), len(there)]))
def shown(trials):
    return sorted([trial.value, trial.params, trial.intermediate_values, trial.user_attrs] for trial in trials)
print("equal", json.dumps(shown(study.trials) == shown(there)))
print("xs", json.dumps([trial.params["x"] for trial in there if trial.params["x"] in (0, 3 / 8)]))
"""
    with Postgres(os.getcwd()) as url:
        for count in (3, 6):
            ran = run(program, "--workers", "2", arguments=[url])
            assert ran.said("counts") == [count] * 2 and ran.said("equal") and ran.said("xs") == [0, 3 / 8][: count // 3], ran.out
            assert "each that has ended is also written to the program's database postgresql+psycopg2://hpo@/postgres\n" in ran.error, ran.error


def a_study_in_a_file_of_its_own_stays_there():
    program = """
study = optuna.create_study(study_name="s", storage="sqlite:///own.db", load_if_exists=True)
study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=3)
print("sees", json.dumps([len(study.trials), study.best_params["x"] == study.best_value, study.study_name]))
"""
    ran = run(program, "--store", "mine.db")
    assert ran.said("sees") == [3, True, "s"] and not os.path.exists("mine.db"), ran.out
    own = os.path.realpath("own.db")
    assert f"note: --store mine.db has no effect on study 's', because the program keeps it in a file of its own: {own}" in ran.error, ran.error
    ran = run(program, "--store", "own.db")
    assert ran.said("sees") == [6, True, "s"] and "has no effect" not in ran.error, ran.error
    ran = run(program, "--study", "other")  # the program sees what hpo runs
    assert ran.said("sees") == [3, True, "other"], ran.out
    in_memory = """
study = optuna.create_study()
for _ in range(2):  # from the second call on it is in that file
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=1)
print("sees", json.dumps(len(study.trials)))
"""
    ran = run(in_memory, "--store", "mine.db")
    assert ran.said("sees") == 2 and "has no effect" not in ran.error, ran.error


def a_program_that_cannot_be_started_again_is_left_to_optuna():
    program = """
import os, threading, time
os.makedirs("runs/exp1")
threading.Thread(target=time.sleep, args=(600,), daemon=True, name="a logger").start()
study = optuna.create_study()
study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=4)
print("states", json.dumps([trial.state.name for trial in study.trials]))
study.optimize(lambda trial: 1.0, n_trials=1)
print("again", json.dumps(len(study.trials)))
"""
    ran = run(program)
    assert ran.said("states") == ["COMPLETE"] * 4 and ran.said("again") == 5, ran.out + ran.error
    for words in ("the program raised FileExistsError: [Errno 17] File exists: 'runs/exp1' at ", "program.py:5 when it was started again",
                  "because 1 thread runs besides the one that calls optimize (a logger)", "so Optuna runs this study itself"):
        assert ran.error.count(words) == 1, (words, ran.error)
    assert "saw no call of study.optimize" not in ran.error and "Traceback" not in ran.error, ran.error
    os.rmdir("runs/exp1")  # the same program where the folder is no obstacle runs with hpo
    ran = run(program.replace('os.makedirs("runs/exp1")', 'os.makedirs("runs/exp1", exist_ok=True)'))
    assert ran.said("states") == ["COMPLETE"] * 4 and "Optuna runs this study" not in ran.error, ran.error


def a_second_start_that_waits_is_given_up():
    program = """
import fcntl, threading, time
lock = open("lock", "w")
fcntl.flock(lock, fcntl.LOCK_EX)
threading.Thread(target=lambda: [time.sleep(0.01) for _ in range(100000)], daemon=True).start()  # no copies
study = optuna.create_study(study_name="waits")
study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=4)
print("states", json.dumps([trial.state.name for trial in study.trials]))
"""
    ran = run(program)
    assert ran.said("states") == ["COMPLETE"] * 4, ran.out
    assert "did not come to study.optimize within" in ran.error and "Optuna runs this study itself" in ran.error, ran.error
    assert "so Optuna itself would run its study" in checked(program, status=2).error


def a_brute_force_sampler_sees_no_guessed_branches():
    program = """
import time
def objective(trial):
    a = trial.suggest_int("a", 0, 2)
    b = trial.suggest_categorical("b", ["u", "v"]) if a else "v"
    c = trial.suggest_float("c", 0, 1, step=0.5) if b == "u" else 0
    time.sleep(0.05)
    return a + c
for name in "first", "second":
    study = optuna.create_study(study_name=name, sampler=optuna.samplers.BruteForceSampler(seed=1))
    study.optimize(objective)
    print(name, json.dumps([len(study.trials), len({tuple(trial.params.items()) for trial in study.trials})]))
"""
    ran = run(program, "--workers", "2")
    assert ran.said("first")[1] == 9 and ran.said("second")[1] == 9, ran.out
    assert run(program).said("first") == [9, 9]


def without_isolation_trials_run_in_the_program():
    program = """
import os, warnings
warnings.simplefilter("ignore")
me, kept = os.getpid(), []
def objective(trial):
    assert os.getpid() == me
    x = trial.suggest_float("x", -5, 5)
    kept.append(trial.suggest_categorical("c", [(1, 2), None, "a"]))
    for step in range(3):
        trial.report(x * x + step, step)
        if trial.should_prune():
            raise optuna.TrialPruned()
    trial.set_user_attr("twice", 2 * x)
    if trial.number == 3:
        raise ValueError("the third")
    return x * x
study = optuna.create_study(study_name="here")
study.optimize(objective, n_trials=25, catch=ValueError)
print("states", json.dumps([trial.state.name for trial in study.trials]))
print("kept", json.dumps([len(kept), all(trial.user_attrs["twice"] == 2 * trial.params["x"] for trial in study.trials if trial.state.name == "COMPLETE")]))
study = optuna.create_study(study_name="own", sampler=optuna.samplers.NSGAIISampler(seed=1, population_size=4), pruner=optuna.pruners.SuccessiveHalvingPruner())
def stop(study, trial):
    if trial.number == 8:
        study.stop()
study.optimize(lambda trial: trial.suggest_float("x", 0, 1) + trial.suggest_float("y", 0, 1), n_trials=30, callbacks=[stop])
print("own", json.dumps([trial.value for trial in study.trials]))
class Mine(Exception):
    def __init__(self):
        self.hold = lambda: None  # nothing that can be pickled
error = Mine()
def raises(trial):
    raise error
try:
    optuna.create_study(study_name="raises").optimize(raises, n_trials=5)
except Mine as raised:
    print("raised", json.dumps(raised is error))
"""
    numbers = """
import math, sys
def objective(trial):
    trial.report(math.inf, 0)
    trial.should_prune()
    sys.stderr.buffer.write(b"bytes\\n")
    return math.nan if trial.number == 1 else trial.suggest_float("x", 0, 1)
study = optuna.create_study(study_name="numbers")
study.optimize(objective, n_trials=3)
print("numbers", json.dumps([trial.state.name for trial in study.trials]))
print("reported", json.dumps([math.isinf(trial.intermediate_values[0]) for trial in study.trials]))
"""
    ran = run(numbers, "--isolation", "none", "--pruner", "none")
    assert ran.said("numbers") == ["COMPLETE", "FAIL", "COMPLETE"] and ran.said("reported") == [True] * 3, ran.out + ran.error
    ran = run(program, "--isolation", "none")
    states = ran.said("states")
    assert len(states) == 25 and states[3] in ("FAIL", "PRUNED") and states.count("COMPLETE") > 3, states
    assert ran.said("kept") == [25, True] and ran.said("raised") is True, ran.out + ran.error
    assert ran.error.count("--isolation none: trials run in the program, one at a time") == 3, ran.error
    assert "which the program will not see" not in ran.error, ran.error
    stored = optuna.load_study(study_name="here", storage=storage("hpo.db"))
    assert [trial.state.name for trial in stored.trials] == states
    alone = """
study = optuna.create_study(sampler=optuna.samplers.NSGAIISampler(seed=1, population_size=4))
study.optimize(lambda trial: trial.suggest_float("x", 0, 1) + trial.suggest_float("y", 0, 1), n_trials=9)
print("own", json.dumps([trial.value for trial in study.trials]))
"""
    with open("alone.py", "w", encoding="utf-8") as file:
        file.write("import json, optuna, warnings\nwarnings.simplefilter('ignore')\n" + alone)
    plain = subprocess.run([sys.executable, "alone.py"], capture_output=True, text=True, check=True, timeout=60).stdout
    assert plain.split(" ", 1)[1].strip() == ran.out.split("own ", 1)[1].splitlines()[0], (plain, ran.out)
    for option, words in ((("--workers", "2"), "--workers: has no effect with --isolation none"), (("--isolation", "some"), "expected process or none")):
        refused = run(program, *(("--isolation", "none") if option[0] != "--isolation" else ()), *option, status=2)
        assert words in refused.error and len(refused.error.splitlines()) == 1, refused.error


def studies_of_starts_at_the_same_time_stay_apart():
    program = """
import sys
low = int(sys.argv[1])
study = optuna.create_study({name})
study.optimize(lambda trial: trial.suggest_float("x", low, low + 1), n_trials=3)
print("values", json.dumps(sorted(trial.value for trial in study.trials)))
"""
    lows = [0, 10, 20, 30]
    for name in ("", "study_name='same'"):
        together = [started(program.replace("{name}", name), "--workers", "1", arguments=[str(low)]) for low in lows]
        for low, process in zip(lows, together):
            out, error = process.communicate(timeout=200)
            assert process.returncode == 0, error
            values = Ran(out, error, 0).said("values")
            assert len(values) == 3 and all(low <= value <= low + 1 for value in values), (low, values, error)


def one_study_of_the_store_is_no_two_of_a_program():
    program = """
values = []
for low in (0, 10):
    study = optuna.create_study(sampler=sampler)
    study.optimize(lambda trial: trial.suggest_float("x", low, low + 1), n_trials=2)
    study.optimize(lambda trial: trial.suggest_float("x", low, low + 1), n_trials=1)
    values.append([trial.value - low for trial in study.trials])
print("values", json.dumps(values))
"""
    ran = run("sampler = optuna.samplers.RandomSampler(seed=5)\n" + program, "--workers", "1")
    first, second = ran.said("values")
    assert len(first) == len(second) == 3 and "more trials: " not in ran.error, ran.error
    assert max(abs(a - b) for a, b in zip(first, second)) > 1e-6  # one sampler of two studies draws anew in the second
    again = run("sampler = optuna.samplers.RandomSampler(seed=5)\n" + program, "--workers", "1")
    assert max(abs(a - b) for old, new in zip((first, second), again.said("values")) for a, b in zip(old, new)) < 1e-9
    refused = run("sampler = None\n" + program, "--workers", "1", "--study", "both", status=1)
    assert "--study both: got a program that runs another study; expected one study" in refused.error, refused.error
    study = optuna.load_study(study_name="both", storage=storage("hpo.db"))
    assert len(study.trials) == 3 and all(trial.value <= 1 for trial in study.trials)


def a_file_of_the_program_is_whole_by_itself_afterwards():
    program = """
study = optuna.create_study(study_name="own", storage="sqlite:///own.db", load_if_exists=True)
study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=3)
"""
    for trials in (3, 6):
        run(program, "--workers", "1")
        shutil.copy("own.db", "copy.db")
        assert len(optuna.load_study(study_name="own", storage=storage("copy.db")).trials) == trials
        with open("own.db", "rb") as file:
            assert file.read(20)[18:20] == b"\1\1"  # the file's format of writing and reading: a journal of the pages as they were


def names_that_no_trial_asks_for_are_told():
    program = """
study = optuna.create_study()
study.enqueue_trial({"x": 99.0})
study.enqueue_trial({"c": "z"})
study.optimize(lambda trial: trial.suggest_float("x", 0, 10) + len(trial.suggest_categorical("c", ["a", "b"])), n_trials=4, catch=ValueError)
print("xs", json.dumps([trial.params.get("x") for trial in study.trials]))
"""
    ran = run(program, "--workers", "1", "--fix", "y=0.5", "--batch-parameter", "bs")
    for name in ("y", "bs"):
        assert f"parameter '{name}' of the command line: trial 0 did not ask for it; it asked for x, c" in ran.error, ran.error
    assert ran.said("xs")[0] == 99.0
    assert "enqueued parameter 'x': 99 is no value of float [0, 10]; the trial has it all the same" in ran.error, ran.error
    assert "enqueued parameter 'c': the trial failed before it had the value" in ran.error, ran.error


def the_breaker_counts_what_no_program_can_end():
    # An objective of a file has no program that an exception could end.
    with open("broken.py", "w", encoding="utf-8") as file:
        file.write("def objective(trial):\n    return trial.suggest_float('x', 0, 1) + undefined\n")
    run_file = subprocess.run(
        [sys.argv[1], "run", "broken.py:objective", "--device", "cpu", "--trials", "30", "--workers", "1", "--progress", "none"],
        capture_output=True, text=True, timeout=120, check=False,
    )
    assert run_file.returncode != 0 and "10 trials in a row" in run_file.stderr, run_file.stderr
    program = """
def objective(trial):
    trial.suggest_float("x", 0, 1)
    raise ValueError("caught")
study = optuna.create_study(study_name="caught")
try:
    study.optimize(objective, n_trials=12, catch=ValueError)
finally:
    print("states", json.dumps([trial.state.name for trial in study.trials]))
"""
    assert run(program, "--workers", "1").said("states") == ["FAIL"] * 12
    os.remove("hpo.db")
    broken = run(program, "--workers", "1", "--breaker", "3", status=1)
    assert broken.said("states") == ["FAIL"] * 3, broken.out + broken.error


if __name__ == "__main__":
    _, _, expected, scenario = sys.argv
    assert optuna.__version__.startswith(expected), optuna.__version__
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        globals()[scenario]()
