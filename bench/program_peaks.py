#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs a real program with many parameters, and records the peak of its memory: what tests/data/program_peaks was made with.

    program_peaks.py kernel_ridge [RUNS=160]      needs scikit-learn
    program_peaks.py language_model [RUNS=160]    needs PyTorch

Prints one line of JSON for each run: the parameters, and VmHWM in KiB. Run it with a Python that has what the program needs.
"""
import json
import random
import subprocess
import sys


def kernel_ridge(p):
    import numpy
    from sklearn.kernel_ridge import KernelRidge

    generator = numpy.random.default_rng(0)
    data = generator.normal(size=(p["samples"], p["features"])).astype(p["dtype"])
    targets = data[:, :1] + generator.normal(size=(p["samples"], p["targets"])).astype(p["dtype"])
    KernelRidge(alpha=p["alpha"], kernel=p["kernel"]).fit(data, targets).predict(data[: p["samples"] // 4])


def draw_kernel_ridge(draw):
    return {
        "samples": draw.randrange(500, 5001, 100),
        "features": draw.choice([8, 32, 128, 512]),
        "targets": draw.choice([1, 8, 64]),
        "kernel": draw.choice(["linear", "rbf", "polynomial", "cosine"]),
        "dtype": draw.choice(["float32", "float64"]),
        "alpha": 10 ** draw.uniform(-3, 1),
    }


def language_model(p):
    import torch
    from torch import nn

    torch.set_num_threads(1)
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(p["width"], 4, 4 * p["width"], dropout=p["dropout"], batch_first=True)
    embedding, body, head = nn.Embedding(4000, p["width"]), nn.TransformerEncoder(layer, p["layers"]), nn.Linear(p["width"], 4000)
    parameters = [each for part in (embedding, body, head) for each in part.parameters()]
    kinds = {"adam": torch.optim.Adam, "sgd": torch.optim.SGD, "adagrad": torch.optim.Adagrad}
    optimizer = kinds[p["optimizer"]](parameters, lr=p["lr"])
    ids = torch.randint(4000, (p["batch"], p["length"]))
    for _ in range(2):
        loss = nn.functional.cross_entropy(head(body(embedding(ids))).flatten(0, 1), ids.flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def draw_language_model(draw):
    return {
        "batch": draw.choice([4, 8, 16, 32]),
        "length": draw.choice([16, 32, 64, 96]),
        "width": draw.choice([64, 96, 128, 192]),
        "layers": draw.randint(1, 3),
        "optimizer": draw.choice(["adam", "sgd", "adagrad"]),
        "dropout": draw.choice([0.0, 0.1]),
        "lr": 10 ** draw.uniform(-5, -2),
    }


PROGRAMS = {"kernel_ridge": (kernel_ridge, draw_kernel_ridge), "language_model": (language_model, draw_language_model)}


def peak_kib():
    with open("/proc/self/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM:"))


def main():
    if len(sys.argv) < 2 or sys.argv[1] not in PROGRAMS:
        sys.exit(__doc__)
    program, draw = PROGRAMS[sys.argv[1]]
    if len(sys.argv) == 4:  # one run, in a process of its own
        parameters = json.loads(sys.argv[3])
        program(parameters)
        print(json.dumps({**parameters, "hwm_kb": peak_kib()}))
        return
    generator = random.Random(7)
    for _ in range(int(sys.argv[2]) if len(sys.argv) > 2 else 160):
        words = [sys.executable, sys.argv[0], sys.argv[1], "run", json.dumps(draw(generator))]
        print(subprocess.run(words, check=True, capture_output=True, text=True, timeout=600).stdout, end="", flush=True)


if __name__ == "__main__":
    main()
