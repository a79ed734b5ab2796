# SPDX-License-Identifier: MIT
"""What Python does when hpo-tune starts it."""

import os
import pathlib
import signal
import subprocess
import sys
import time
import unittest

TAKEOVER = pathlib.Path(__file__).resolve().parent.parent / "hpo/takeover"

# Stands for hpo-tune: starts a program that has not reached optimize yet.
STARTER = """
import os, subprocess, sys, time
variables = {**os.environ, "PYTHONPATH": sys.argv[1], "HPO_FRONT_PID": str(os.getpid())}
subprocess.Popen([sys.executable, "-c", "import os, time; print(os.getpid(), 'HPO_FRONT_PID' in os.environ, flush=True); time.sleep(60)"],
                 env=variables, close_fds=False)
time.sleep(60)
"""


def lives(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


class Takeover(unittest.TestCase):
    def test_a_program_ends_when_hpo_tune_is_killed_before_it_reaches_optimize(self):
        with subprocess.Popen([sys.executable, "-c", STARTER, str(TAKEOVER)], stdout=subprocess.PIPE, text=True) as starter:
            pid, kept = starter.stdout.readline().split()
            self.assertEqual(kept, "False", "what the program starts is not started by hpo-tune")
            self.assertTrue(lives(pid))
            os.kill(starter.pid, signal.SIGKILL)
            end = time.monotonic() + 10
            while lives(pid) and time.monotonic() < end:
                time.sleep(0.01)
            self.assertFalse(lives(pid))


if __name__ == "__main__":
    unittest.main()
