# SPDX-License-Identifier: MIT
"""A study in Python with nothing but its standard library: asks hpo-tune for trials, reports, prunes, and tells how they ended.

    python3 examples/110_ask_and_tell.py build/release/bin/hpo-tune
"""
import json
import subprocess
import sys

server = subprocess.Popen([*(sys.argv[1:] or ["hpo-tune"]), "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def call(op, **request):
    print(json.dumps({"op": op, **request}), file=server.stdin, flush=True)
    answer = json.loads(server.stdout.readline())
    if not answer["ok"]:
        raise ValueError(answer["error"])
    return answer


def suggest(trial, name, kind, **attributes):
    return call("suggest", trial=trial, name=name, distribution={"name": kind, "attributes": attributes})["value"]


call("create_study", study="steps", sampler={"name": "tpe", "seed": 1}, pruner={"name": "median", "options": {"startup_trials": 5}})
for _ in range(60):
    trial = call("ask")["trial"]
    rate = suggest(trial, "rate", "FloatDistribution", low=1e-4, high=1, log=True)
    kind = suggest(trial, "kind", "CategoricalDistribution", choices=["plain", "momentum"])
    momentum = suggest(trial, "momentum", "FloatDistribution", low=0, high=0.9) if kind == "momentum" else 0
    x, y, dx, dy, prune = 10.0, 10.0, 0.0, 0.0, False
    for step in range(30):  # goes down a valley that is steep in y
        dx, dy = momentum * dx - rate * x, momentum * dy - rate * 20 * y
        x, y = x + dx, y + dy
        prune = call("report", trial=trial, step=step, value=x * x + 20 * y * y)["prune"]
        if prune:
            break
    call("tell", trial=trial, **({"state": "pruned"} if prune else {"state": "complete", "values": [x * x + 20 * y * y]}))

states = [trial["state"] for trial in call("trials")["trials"]]
best = call("best")["best"][0]
call("quit")
kind = best["params"]["kind"]
print(f"{states.count('complete')} complete, {states.count('pruned')} pruned; best {best['values'][0]:.2g} with {kind}, rate {best['params']['rate']:.2g}")
