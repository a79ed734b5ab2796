#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints how fast `hpo-tune serve` answers: pairs of ask and tell, by wall time and by its own processor time.

    bench/serve_speed.py HPO_TUNE SAMPLER TRIALS [STORE]

The client waits for each answer. The space has two real parameters. The last hundred trials also stand alone.
"""
import json
import subprocess
import sys
import time

program, sampler, trials, *store = sys.argv[1:]
server = subprocess.Popen([program, "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def call(op, **request):
    print(json.dumps({"op": op, **request}), file=server.stdin, flush=True)
    answer = json.loads(server.stdout.readline())
    assert answer["ok"], answer
    return answer


def processor_seconds():
    with open(f"/proc/{server.pid}/schedstat") as stat:
        return int(stat.read().split()[0]) / 1e9


axis = {"name": "FloatDistribution", "attributes": {"low": -5, "high": 5, "log": False, "step": None}}
call("create_study", study="speed", store=store[0] if store else None, sampler={"name": sampler, "seed": 1}, pruner={"name": "none"})
begin, used, late = time.time(), processor_seconds(), None
for number in range(int(trials)):
    if number == int(trials) - 100:
        late = time.time(), processor_seconds()
    asked = call("ask", space={"x": axis, "y": axis})
    params = asked["params"]
    call("tell", trial=asked["trial"], state="complete", values=[(params["x"] - 1) ** 2 + params["y"] ** 2])
end, spent = time.time(), processor_seconds()
call("quit")
print(f"{sampler}, {trials} trials: {int(trials) / (end - begin):.0f} a second, {1e3 * (spent - used) / int(trials):.3f} ms of processor time each; "
      f"the last 100: {100 / (end - late[0]):.0f} a second, {10 * (spent - late[1]):.3f} ms each")
