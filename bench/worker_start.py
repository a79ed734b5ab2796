#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How long a new worker process takes until it can take an attempt: with a trainer of LibTorch, and with one that has none.

    worker_start.py HPO_WORKER [ROUNDS=20]

The time is from the start of the process to its message "ready" to its supervisor, which this script plays. The trainers take turns. The first
round is left out, because it reads the libraries from the disk.
"""
import os
import socket
import statistics
import subprocess
import sys
import time

TRAINERS = ["image_classifier", "text_classifier", "quadratic", "command"]


def seconds_until_ready(worker, trainer):
    ours, its = socket.socketpair()
    begin = time.perf_counter()
    words = [worker, "--fd", str(its.fileno()), "--trainer", trainer, "--parent", str(os.getpid())]
    process = subprocess.Popen(words, pass_fds=[its.fileno()], stdout=subprocess.DEVNULL)
    its.close()
    with ours, ours.makefile("r", encoding="utf-8") as lines:
        ours.settimeout(60)
        line = lines.readline()
        seconds = time.perf_counter() - begin
    process.kill()
    process.wait(60)
    if '"ready"' not in line:
        sys.exit(f"{trainer}: got {line!r}; expected the message ready")
    return seconds


def main():
    if not 2 <= len(sys.argv) <= 3 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    worker = os.path.abspath(sys.argv[1])
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    seconds = {trainer: [] for trainer in TRAINERS}
    for number in range(rounds + 1):
        for trainer in TRAINERS:
            took = seconds_until_ready(worker, trainer)
            if number > 0:
                seconds[trainer].append(took)
    for trainer, all_of in seconds.items():
        print(f"{trainer:17} {rounds} processes: median {statistics.median(all_of):.3f} s, longest {max(all_of):.3f} s")


if __name__ == "__main__":
    main()
