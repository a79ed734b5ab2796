# SPDX-License-Identifier: MIT
"""Runs `hpo-tune estimate -- python ...` on programs that nobody changed for it, and holds what it says against what is known.

    programs_test.py HPO_TUNE HPO_ANALYZE PYTHON      PYTHON: with PyTorch for CUDA
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import time

TUNE, ANALYZE, PYTHON = sys.argv[1:4]
PROGRAMS = pathlib.Path(__file__).resolve().parent / "programs"
failed = []


def check(true, what):
    print("ok  " if true else "FAIL", what, flush=True)
    if not true:
        failed.append(what)


def estimate(program, options=()):
    words = [TUNE, "estimate", "--json", *options, "--", PYTHON, str(PROGRAMS / program[0]), *program[1:]]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300)
    told = json.loads(done.stdout) if done.stdout else None
    return done.returncode, told, done.stderr


def replay_of(path):
    done = subprocess.run([ANALYZE, "snapshot", str(path), "--json"], capture_output=True, text=True, timeout=300)
    return json.loads(done.stdout)


def trains(levers, folder):
    path = folder / ("_".join(levers) + ".pickle")
    status, told, error = estimate(["transformer.py", *levers], ["--snapshot", str(path)])
    name = " ".join(levers)
    check(status == 0 and told["fits"] is True and told["steps"] == 2, f"transformer {name}: two steps, and it fits ({error})")
    replay = replay_of(path)
    check(replay["replay"]["exact"], f"transformer {name}: the model gives each request PyTorch's address")
    check(replay["allocated_peak_bytes"] == told["pytorch_max_memory_allocated"], f"transformer {name}: PyTorch's allocated peak is the model's")
    check(replay["reserved_peak_bytes"] == told["pytorch_max_memory_reserved"], f"transformer {name}: PyTorch's reserved peak is the model's")
    lines = [each["line"] for each in told["lines"][:3]]
    check(any(each.startswith("programs/transformer.py:") for each in lines), f"transformer {name}: a line of the program holds much ({lines})")
    return told


def main():
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        plain = trains(["8"], folder)
        again = trains(["8"], folder)
        check(plain["reserved_bytes"] == again["reserved_bytes"], "two runs take the same")
        check(trains(["8", "bf16"], folder)["allocated_bytes"] != plain["allocated_bytes"], "bf16 takes something else")
        check(trains(["8", "checkpoint"], folder)["allocated_bytes"] < plain["allocated_bytes"], "checkpointing takes less")
        check(trains(["8", "sgd"], folder)["allocated_bytes"] < plain["allocated_bytes"], "SGD takes less")

    least = plain["least_device_bytes"]
    status, told, _ = estimate(["transformer.py", "8"], ["--device-memory", str(least)])
    check(status == 0 and told["fits"] is True, "it fits a card of the least size that was said")
    status, told, _ = estimate(["transformer.py", "8"], ["--device-memory", str(least - (2 << 20))])
    check(status == 0 and told["fits"] is False, "it does not fit a card of 2 MiB less")
    check(told["fails_at"]["line"].startswith("programs/transformer.py:"), f"the line that fails is one of the program ({told['fails_at']})")
    status, told, _ = estimate(["transformer.py", "8"], ["--card", "RTX-4090"])
    check(status == 0 and told["fits"] is True, "it runs on a card of another architecture")

    for name, wanted in {
        "no_gpu": "it ended with status 0; the last that it printed: nothing to do here",
        "no_torch_but_fails": "the last that it printed: ValueError: wrong configuration",
        "prints_much": "it ended with status 0",
        "crashes": "it ended with status 139",
    }.items():
        status, told, error = estimate(["hostile.py", name])
        check(status == 1 and told is None and wanted in error and error.count("\n") == 1, f"{name}: one clear error ({error[:200]!r})")
    status, told, error = estimate(["hostile.py", "deletes_the_folder"])
    check(status == 1 and error.count("\n") == 1, f"deletes_the_folder: one clear error ({error[:200]!r})")
    status, told, _ = estimate(["hostile.py", "ends_early"])
    check(status == 0 and told["fits"] is None and told["steps"] == 0, "a program that ends early: nobody knows if it fits")
    status, told, _ = estimate(["hostile.py", "fails_on_the_card"])
    check(told["fits"] is None and told["error"] == "RuntimeError: labels out of range", "an exception is told")
    status, told, _ = estimate(["hostile.py", "catches_out_of_memory"])
    check(told["fits"] is True and told["steps"] == 2, "an out-of-memory error that the program caught is no failure")
    status, told, error = estimate(["hostile.py", "asks_for_values"])
    check(status == 0 and told["fits"] is True and told["steps"] == 2, f"a program that checks its values goes on ({told and told['error']})")
    begin = time.monotonic()
    status, told, error = estimate(["hostile.py", "endless"], ["--time-limit", "20"])
    check(time.monotonic() - begin < 120 and told["fits"] is None and "--time-limit" in told["not_known_because"], "an endless program is ended")
    status, told, _ = estimate(["hostile.py", "critic_first"])
    check(told["fits"] is True and told["allocated_bytes"] > 256 << 20, "it waits for the step of each optimizer")
    status, told, _ = estimate(["hostile.py", "two_processes"])
    check(told["fits"] is None and told["processes"] == 2, "of several processes it is not known if they fit together")
    status, told, _ = estimate(["hostile.py", "leaves_a_child"])
    left = subprocess.run(["pgrep", "-f", "^sleep 1000$"], capture_output=True, text=True, timeout=20).stdout
    check(left == "", f"no process is left ({left!r})")
    print("all is well" if not failed else f"{len(failed)} failed")
    return 1 if failed else 0


sys.exit(main())
