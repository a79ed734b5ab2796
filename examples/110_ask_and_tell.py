# SPDX-License-Identifier: MIT
"""Asks `hpo-tune serve` for trials, with nothing but Python's library. Its argument is the program hpo-tune."""
import json
import subprocess
import sys

server = subprocess.Popen([*(sys.argv[1:] or ["hpo-tune"]), "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
RATE = {"name": "FloatDistribution", "attributes": {"low": 1e-4, "high": 1, "log": True}}
MOMENTUM = {"name": "FloatDistribution", "attributes": {"low": 0, "high": 0.9}}

def call(op, **request):
    print(json.dumps({"op": op, **request}), file=server.stdin, flush=True)
    answer = json.loads(server.stdout.readline())
    return answer if answer["ok"] else sys.exit(answer["error"])

call("create_study", study="steps", sampler={"name": "tpe", "seed": 1}, pruner={"name": "median", "options": {"startup_trials": 5}})
for _ in range(60):
    asked = call("ask", space={"rate": RATE, "momentum": MOMENTUM})
    rate, momentum = asked["params"]["rate"], asked["params"]["momentum"]
    x, y, dx, dy, ending = 10.0, 10.0, 0.0, 0.0, {}
    for step in range(30):  # goes down a valley that is steep in y
        dx, dy = momentum * dx - rate * x, momentum * dy - rate * 20 * y
        x, y = x + dx, y + dy
        if call("report", trial=asked["trial"], step=step, value=x * x + 20 * y * y)["prune"]:
            ending = {"state": "pruned"}
            break
    call("tell", trial=asked["trial"], **(ending or {"state": "complete", "values": [x * x + 20 * y * y]}))
states, best = [trial["state"] for trial in call("trials")["trials"]], call("best")["best"][0]
print(f"{states.count('complete')} complete, {states.count('pruned')} pruned; best {best['values'][0]:.2g} with rate {best['params']['rate']:.2g}")
