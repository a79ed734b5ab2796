#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What an attempt of a PyTorch program that calls study.optimize takes beside its own work: the fork, the pipes, the end of the copy.

    attempt_start.py HPO_TUNE [TRIALS=20]

Run it with a Python that has Optuna and PyTorch. The objective measures its own time. The first five trials are left out, because the program
loads meanwhile what they were the first to need.
"""
import json
import os
import statistics
import subprocess
import sys
import tempfile

PROGRAM = """
import sys, time
import optuna, torch
optuna.logging.set_verbosity(optuna.logging.ERROR)
x, y = torch.randn(256, 64), torch.randint(0, 4, (256,))

def objective(trial):
    begin = time.perf_counter()
    net = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 4))
    optimizer = torch.optim.AdamW(net.parameters(), lr=trial.suggest_float("lr", 1e-4, 1e-1, log=True))
    for _ in range(20):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
    value = loss.item()
    trial.set_user_attr("own", time.perf_counter() - begin)
    return value

optuna.create_study(study_name="start", sampler=optuna.samplers.RandomSampler(seed=1)).optimize(objective, n_trials=int(sys.argv[1]))
"""
WARM_UP = 5


def called(words):
    done = subprocess.run(words, capture_output=True, text=True, timeout=600)
    if done.returncode != 0:
        sys.exit(f"{words}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def main():
    if not 2 <= len(sys.argv) <= 3:
        sys.exit(__doc__)
    tune = os.path.abspath(sys.argv[1])
    analyze = os.path.join(os.path.dirname(tune), "hpo-analyze")
    trials = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    with tempfile.TemporaryDirectory(dir=os.getcwd()) as folder:
        os.chdir(folder)
        with open("program.py", "w", encoding="utf-8") as file:
            file.write(PROGRAM)
        called([tune, "run", "--progress", "none", "--workers", "1", "--threads", "1", "--device", "cpu", "--", sys.executable, "program.py", str(trials)])
        own, beside = [], []
        for number in range(WARM_UP, trials):
            trial = json.loads(called([analyze, "trial", str(number), "--json"]))
            own.append(trial["user_attributes"]["own"])
            beside.append(trial["attempt_list"][-1]["seconds"] - own[-1])
        os.chdir("..")
    print(f"own work {1e3 * statistics.median(own):.0f} ms; beside it {1e3 * statistics.median(beside):.0f} ms in the median, {1e3 * max(beside):.0f} ms at most")


if __name__ == "__main__":
    main()
