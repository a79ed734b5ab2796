#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a trial of nothing costs a program that has imported PyTorch, beside a bare fork of the same program.

    trial_of_nothing.py HPO_TUNE [ROUNDS=5]

Run it with a Python that has Optuna and PyTorch. A bare fork is os.fork(), os._exit() in the child, and os.waitpid(). The first 70 trials of a
study are left out, because they include its beginning.
"""
import subprocess
import sys
import tempfile

PROGRAM = """
import gc, os, time
import optuna, torch
optuna.logging.set_verbosity(optuna.logging.ERROR)
gc.collect()
gc.freeze()

def seconds(work):
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin

def forks():
    for _ in range(200):
        child = os.fork()
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)

bare = seconds(forks) / 200
study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=1))

def trials(count):
    return seconds(lambda: study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=count))

trials(20)
few = trials(50)
each = (trials(350) - few) / 300
print(f"fork {bare * 1e3:5.1f} ms, trial {each * 1e3:5.1f} ms, ratio {each / bare:.2f}")
"""


def main():
    if not 2 <= len(sys.argv) <= 3:
        sys.exit(__doc__)
    for _ in range(int(sys.argv[2]) if len(sys.argv) > 2 else 5):
        with tempfile.TemporaryDirectory() as folder:
            with open(f"{folder}/program.py", "w", encoding="utf-8") as file:
                file.write(PROGRAM)
            words = [sys.argv[1], "run", "--progress", "none", "--workers", "1", "--store", f"{folder}/hpo.db", "--", sys.executable, file.name]
            done = subprocess.run(words, capture_output=True, text=True, timeout=300)
            if done.returncode != 0:
                sys.exit(f"{words}: status {done.returncode}\n{done.stdout}{done.stderr}")
            print(next(line for line in done.stdout.splitlines() if line.startswith("fork ")), flush=True)


main()
