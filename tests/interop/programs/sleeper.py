# SPDX-License-Identifier: MIT
"""Two short trials, and then trials that wait until they are ended. With an argument, a thread runs before optimize."""
import os
import sys
import threading
import time

import optuna


def objective(trial):
    x = trial.suggest_float("x", 0, 1)
    open(f"began-{trial.number}", "w").close()
    while trial.number >= 2:
        time.sleep(0.05)
    return x


if len(sys.argv) > 1:
    threading.Thread(target=threading.Event().wait, daemon=True).start()
with open("program", "a", encoding="utf-8") as file:
    file.write(f"{os.getpid()}\n")
optuna.create_study(study_name="sleeper").optimize(objective, n_trials=4)
