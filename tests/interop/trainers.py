#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs programs with the Trainers of transformers and PyTorch Lightning as trials. Only the callback in them knows of hpo.

    trainers.py HPO_TUNE PYTHON MODEL_FOLDER DATA_FOLDER SCENARIO

PYTHON has what the programs import. If it has no PyTorch, or a folder is not there, the script exits with 77, which tests take for skipped.
"""
import json
import math
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = os.path.join(HERE, "programs")
PACKAGE = os.path.join(HERE, "..", "..", "python")
TUNE, PYTHON, MODEL, DATA = (os.path.abspath(path) for path in sys.argv[1:5])
# Two threads that wait for each other take long on a machine that has other work.
ENVIRONMENT = {**os.environ, "PYTHONPATH": PACKAGE, "OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false", "HF_HUB_OFFLINE": "1"}


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


def called(words, status=0):
    done = subprocess.run(words, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=850)
    assert done.returncode == status, (words, done.returncode, done.stdout, done.stderr)
    return done


def said(text, name):
    """The number behind NAME where a text has it last."""
    found = re.findall(rf"{re.escape(name)} (?:= )?(-?\d[\d.,]*(?:e[-+]?\d+)?)", text)
    assert found, (name, text)
    return float(found[-1].replace(",", ""))


def program_words(program, **arguments):
    return [PYTHON, os.path.join(PROGRAMS, program + ".py"), *(word for name, value in arguments.items() for word in ("--" + name, str(value)))]


def told_by(*words):
    return json.loads(called([os.path.join(os.path.dirname(TUNE), "hpo-analyze"), *words, "--json"]).stdout)


def run_study(words, batches, members, *options, status=0):
    """A study whose trials are attempts of these words. The program's effective batch is `batch`. Gives the trials as hpo-analyze tells them."""
    told = ", ".join(json.dumps(word) for word in words)
    with open("study.lua", "w", encoding="utf-8") as file:
        file.write(
            f"""local hpo = require "hpo"
            return hpo.study {{
              name = "trainers", sampler = "random", seed = 3,
              trainer = hpo.command {{ {told}, batch = "batch", micro_batch = "micro", accumulate = "steps" }},
              objective = {{ metric = "loss", direction = "minimize" }},
              space = function(trial)
                trial:categorical("batch", {{ {", ".join(map(str, batches))} }})
                {members}
                trial:float("lr", 1e-5, 1e-3, {{ log = true }})
              end,
            }}"""
        )
    called([TUNE, "run", "study.lua", "--progress", "none", "--workers", "1", "--threads", "1", "--device", "cpu", "--pruner", "none", *options], status)
    return [told_by("trial", str(each["number"])) for each in told_by("trials")["trials"]]


def minilm_with_the_trainer_of_transformers():
    """The first trial's batch takes 2.6 GiB, twice what a trial may hold. In pieces it fits."""
    for needed in (os.path.join(MODEL, "model.safetensors"), os.path.join(DATA, "train.tsv")):
        if not os.path.exists(needed):
            skip(f"there is no {needed}")
    fixed = {
        "model_folder": MODEL, "data_folder": DATA, "output_dir": "out", "max_steps": 1, "eval_strategy": "epoch", "save_strategy": "no",
        "report_to": "none", "use_cpu": "true", "disable_tqdm": "true", "log_level": "info", "seed": 1, "per_device_eval_batch_size": 8,
    }
    words = program_words("minilm_trainer", **fixed, max_length="{length}", learning_rate="{lr}", per_device_train_batch_size="{micro}", gradient_accumulation_steps="{steps}")
    trials = run_study(words, [16, 32, 64], 'trial:categorical("length", { 32, 64, 128 })', "--trials", "5", "--device-memory", "1350MiB")
    first = trials[0]
    assert first["params"]["batch"] * first["params"]["length"] == 64 * 128, first["params"]
    assert first["attempt_list"][0]["failure"] and first["attempt_list"][-1]["plan"]["micro_batch"] < 64, first["attempt_list"]
    failures = [attempt["failure"] for trial in trials for attempt in trial["attempt_list"] if attempt["failure"]]
    assert all(failure["kind"] == "out_of_memory" for failure in failures), failures

    split = []
    for trial in trials:
        number, batch, last = trial["number"], trial["params"]["batch"], trial["attempt_list"][-1]
        assert trial["state"] == "COMPLETE" and math.isfinite(trial["values"][0]), number
        assert trial["values"] == [trial["intermediate"][-1]["value"]], number
        plan, log = last["plan"], last["log"]
        told = [said(log, name) for name in ("Instantaneous batch size per device", "Gradient Accumulation steps", "accumulation)")]
        assert told == [plan["micro_batch"], plan["accumulation_steps"], batch], (number, told, plan)
        if plan["micro_batch"] < batch:
            split.append(trial)

    # A batch in pieces is the same batch: the program alone, without hpo and with the whole batch, learns the same.
    trial = max(split, key=lambda each: each["params"]["length"] * each["params"]["batch"])
    params = trial["params"]
    alone = called(program_words("minilm_trainer", **fixed, max_length=params["length"], learning_rate=repr(params["lr"]), per_device_train_batch_size=params["batch"]))
    assert abs(said(alone.stdout, "held-out loss") - trial["values"][0]) < 1e-3, (alone.stdout, trial["values"])


def lightning_with_a_batch_in_pieces():
    words = [*program_words("halves_lightning", lr="{lr}"), "--batch-size", "{micro}", "--accumulate", "{steps}"]
    trials = run_study(words, [32, 64], "", "--trials", "4", "--plan", "micro_batch=16")
    for trial in trials:
        assert trial["state"] == "COMPLETE" and [each["step"] for each in trial["intermediate"]] == [1, 2], trial
        assert trial["values"] == [trial["intermediate"][-1]["value"]], trial
        batch, last = trial["params"]["batch"], trial["attempt_list"][-1]
        assert last["plan"]["micro_batch"] == 16, last["plan"]
        assert [said(last["log"], name) for name in ("batches", "steps")] == [128 / 16, 2 * 128 / batch], last["log"]
    assert {trial["params"]["batch"] for trial in trials} == {32, 64}
    params = trials[-1]["params"]
    alone = called([*program_words("halves_lightning", lr=repr(params["lr"])), "--batch-size", str(params["batch"])])
    assert abs(said(alone.stdout, "held-out loss") - trials[-1]["values"][0]) < 1e-5, (alone.stdout, trials[-1]["values"])


def on_virtual_card(words):
    """The words that run a program for CUDA without a GPU. hpo-tune has no GPU here, so it hides all cards from the attempts."""
    card = os.path.join(os.path.dirname(TUNE), "..", "lib", "hpo", "virtual_card")
    if not os.path.exists(os.path.join(card, "libhpo_virtual_card_cuda13.so")):
        skip(f"there is no virtual card in {card}")
    return ["env", "-u", "CUDA_VISIBLE_DEVICES", os.path.join(HERE, "..", "..", "scripts", "on-virtual-card"), card, *words]


def cuda_before_optimize():
    """A process that has used CUDA cannot be copied. The tensors of a virtual card hold no values."""
    words = on_virtual_card(program_words("cuda_before"))
    run = called([TUNE, "run", "--progress", "none", "--workers", "1", "--device", "cpu", "--", *words])
    assert "each attempt runs the program anew, since it cannot fork: CUDA is initialised" in run.stderr, run.stderr
    assert "bytes [1048576, 1048576, 1048576]" in run.stdout, run.stdout  # beside the trial's own tensor, each process has the table


def a_full_card_in_pytorchs_own_words():
    """The card has 79.25 GiB. The program holds 60 GiB and asks for 40 GiB more."""
    program = "import torch; held = [torch.empty(gib << 30, dtype=torch.uint8, device='cuda') for gib in (60, 40)]"
    words = on_virtual_card([PYTHON, "-c", program])
    run_study(words, [8], "", "--trials", "1", "--recovery", "fail", "--guard", "unlimited", status=1)
    (case,) = told_by("oom")["cases"]
    assert case["requested_bytes"] == 40 << 30 and case["cause"] == "capacity", case
    (attempt,) = told_by("trial", "0")["attempt_list"]
    failure = attempt["failure"]
    assert failure["kind"] == "out_of_memory" and failure["exit_status"] == 1 and failure["type"].endswith("OutOfMemoryError"), failure
    assert "Tried to allocate 40.00 GiB" in failure["message"], failure
    assert abs(failure["memory"]["capacity_bytes"] - 79.25 * 2**30) < 2**24 and failure["memory"]["allocated_bytes"] == 60 << 30, failure


if __name__ == "__main__":
    here = subprocess.run([PYTHON, "-c", "import torch"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120)
    if here.returncode != 0:
        skip(f"{PYTHON} cannot import torch: {here.stdout.strip().splitlines()[-1]}")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        globals()[sys.argv[5]]()
