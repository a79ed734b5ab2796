#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Trials a second of an objective that does nothing: Optuna alone in one process, and the same program under hpo, with and without a process
for each trial.

    optimize_speed.py HPO_TUNE [TRIALS=300] [ROUNDS=3]

Run it with a Python that has Optuna. All studies are in SQLite files on the disk of the current folder. The ways take turns.
"""
import os
import re
import subprocess
import sys
import tempfile

PROGRAM = """
import sys, time
import optuna
optuna.logging.set_verbosity(optuna.logging.ERROR)
study = optuna.create_study(storage="sqlite:///" + sys.argv[1], sampler=optuna.samplers.RandomSampler(seed=1))
begin = time.perf_counter()
study.optimize(lambda trial: trial.suggest_float("x", -5, 5) ** 2, n_trials=int(sys.argv[2]))
print("rate", len(study.trials) / (time.perf_counter() - begin))
"""


def rate(words, store, trials):
    out = subprocess.run([*words, sys.executable, "program.py", store, str(trials)], capture_output=True, text=True, timeout=600)
    found = re.search(r"^rate (.*)$", out.stdout, re.M)
    if not found:
        sys.exit(f"{words}: no rate\n{out.stdout}{out.stderr}")
    return float(found.group(1))


def main():
    if not 2 <= len(sys.argv) <= 4 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    tune = os.path.abspath(sys.argv[1])
    trials = int(sys.argv[2]) if len(sys.argv) > 2 else 300
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 3
    under_hpo = [tune, "run", "--progress", "none", "--workers"]
    here = [tune, "run", "--progress", "none", "--isolation", "none", "--"]
    ways = {"Optuna alone": [], "hpo, 1 worker": [*under_hpo, "1", "--"], "hpo, 2 workers": [*under_hpo, "2", "--"], "hpo, in the program": here}
    with tempfile.TemporaryDirectory(dir=os.getcwd()) as folder:
        os.chdir(folder)
        with open("program.py", "w", encoding="utf-8") as file:
            file.write(PROGRAM)
        for number in range(rounds):
            for name, words in ways.items():
                print(f"{name:20} {rate(words, f'{number}-{len(name)}.db', trials):7.1f} trials/s", flush=True)
        os.chdir("..")


if __name__ == "__main__":
    main()
