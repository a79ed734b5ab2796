#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A PyTorch program that calls study.optimize, on a CPU of which its trials may hold a part: one trial at a time, and packed by learned memory.

    packed_program.py HPO_TUNE [TRIALS=40] [ROUNDS=3]

Run it with a Python that has Optuna and PyTorch. The program is tests/interop/programs/fashion_convnet.py, unchanged, each trial with one thread.
A third of its space exceeds the 200 MiB. The ways take turns. Both run the same trials, because the sampler is random.
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import time

PROGRAM = pathlib.Path(__file__).resolve().parent.parent / "tests/interop/programs/fashion_convnet.py"


def seconds_of(tune, workers, trials, seed, store):
    words = [tune, "run", "--progress", "none", "--device-memory", "200MiB", "--sampler", "random", "--pruner", "none", "--threads", "1", "--workers", str(workers), "--seed", str(seed), "--store", store]
    begin = time.perf_counter()
    ran = subprocess.run([*words, "--", sys.executable, str(PROGRAM), "--n-trials", str(trials)], capture_output=True, text=True, timeout=1800)
    if ran.returncode != 0:
        sys.exit(f"status {ran.returncode}\n{ran.stdout}{ran.stderr}")
    return time.perf_counter() - begin


def out_of_memory(store):
    """Attempts that ran out of memory, with the numbers of their trials."""
    import optuna

    storage = optuna.storages.RDBStorage("sqlite:///" + store, skip_compatibility_check=True)  # Debian's Optuna asks for its own revision
    study = optuna.load_study(study_name="fashion", storage=storage)
    return [trial.number for trial in study.trials if trial.user_attrs.get("oom")]


def main():
    if not 2 <= len(sys.argv) <= 4 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    tune = os.path.abspath(sys.argv[1])
    trials = int(sys.argv[2]) if len(sys.argv) > 2 else 40
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 3
    with tempfile.TemporaryDirectory(dir=os.getcwd()) as folder:
        os.chdir(folder)
        for seed in range(1, rounds + 1):
            for workers in (1, 2):
                store = f"{workers}-{seed}.db"
                seconds = seconds_of(tune, workers, trials, seed, store)
                ways = "one at a time" if workers == 1 else "two workers"
                print(f"seed {seed}, {ways:13}: {seconds:6.1f} s; out of memory: trials {out_of_memory(store)}", flush=True)
        os.chdir("..")


if __name__ == "__main__":
    main()
