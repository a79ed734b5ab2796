#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What Optuna's samplers find of the functions of sampler_quality.cpp, and how long they take.

  sampler_quality.py [SAMPLER=TPESampler [TRIALS=200 [SEEDS=15]]]     SAMPLER: a class of optuna.samplers; CmaEsSampler needs cmaes
"""
import math
import sys
import time
import warnings

import numpy
import optuna

AT = 1.2
FUNCTIONS = {
    "sphere": lambda x: float(((x - AT) ** 2).sum()),
    "ellipsoid": lambda x: float((10 ** (4 * numpy.arange(len(x)) / (len(x) - 1)) * (x - AT) ** 2).sum()),
    "rosenbrock": lambda x: float((100 * ((x[1:] - AT + 1) - (x[:-1] - AT + 1) ** 2) ** 2 + (1 - (x[:-1] - AT + 1)) ** 2).sum()),
    "rastrigin": lambda x: float(((x - AT) ** 2 + 10 * (1 - numpy.cos(2 * math.pi * (x - AT)))).sum()),
    "ackley": lambda x: float(-20 * math.exp(-0.2 * math.sqrt(((x - AT) ** 2).mean())) - math.exp(numpy.cos(2 * math.pi * (x - AT)).mean()) + 20 + math.e),
}


def best(sampler, function, dimensions, trials, seed):
    study = optuna.create_study(sampler=sampler(seed=seed))
    study.optimize(lambda trial: function(numpy.array([trial.suggest_float(f"x{i}", -5, 5) for i in range(dimensions)])), n_trials=trials)
    return study.best_value


def main():
    sampler = getattr(optuna.samplers, sys.argv[1] if len(sys.argv) > 1 else "TPESampler")
    trials = int(sys.argv[2]) if len(sys.argv) > 2 else 200
    seeds = int(sys.argv[3]) if len(sys.argv) > 3 else 15
    warnings.simplefilter("ignore")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    for name, function in FUNCTIONS.items():
        for dimensions in (5, 10):
            values = sorted(best(sampler, function, dimensions, trials, seed) for seed in range(seeds))
            print(f"{name:10} {dimensions:2}  {values[seeds // 2]:9.4g} [{values[seeds // 4]:9.4g}, {values[3 * seeds // 4]:9.4g}]", flush=True)
    begin = time.process_time()
    best(sampler, FUNCTIONS["sphere"], 40, 1000, 0)
    print(f"1000 trials of 40 numbers: {time.process_time() - begin:.2f} s of processor time")


main()
