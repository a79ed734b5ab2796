#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs that SIGKILL ends, and what is said of it: by the kernel's out-of-memory killer, by somebody else, and by the end of the program
that calls study.optimize.

    killed.py HPO_TUNE SCENARIO

No other test may run meanwhile: the kernel counts its out-of-memory kills for the whole machine.
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

PROGRAMS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs")
TUNE = os.path.abspath(sys.argv[1])
MIB = 1 << 20
COUNTED, NOT_COUNTED = "the kernel counted an out-of-memory kill", "hpo did not send it, and the kernel counted no out-of-memory kill"


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


def analyzed(*words):
    analyze = os.path.join(os.path.dirname(TUNE), "hpo-analyze")
    done = subprocess.run([analyze, *words, "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60)
    assert done.returncode == 0, (words, done.stderr)
    return json.loads(done.stdout)


def run_command(words, trials):
    """A study of a program that has no parameter of interest, and is tried once. Gives the failures of its attempts."""
    told = ", ".join(json.dumps(word) for word in words)
    with open("study.lua", "w", encoding="utf-8") as file:
        file.write(
            f"""local hpo = require "hpo"
            return hpo.study {{ name = "killed", trainer = hpo.command {{ {told} }}, objective = {{ metric = "value", direction = "minimize" }},
              sampler = "random", recovery = "fail", space = function(trial) trial:int("n", 40, 41) end }}"""
        )
    options = ["--trials", str(trials), "--workers", "1", "--breaker", "0", "--guard", "unlimited", "--device", "cpu", "--progress", "none"]
    done = subprocess.run([TUNE, "run", "study.lua", *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120)
    assert done.returncode == 1, (done.returncode, done.stdout, done.stderr)  # all trials have failed
    return [attempt["failure"] for number in range(trials) for attempt in analyzed("trial", str(number))["attempt_list"]]


def number_in(path, name):
    """The number behind a word at the beginning of a line. None if it is not there."""
    try:
        with open(path, encoding="ascii") as file:
            return next((int(line.split()[1]) for line in file if line.split()[0] == name), None)
    except OSError:
        return None


class Group:
    """A control group that may hold little memory. Skips the test if none can be made."""

    def __init__(self, most):
        self.path = None
        tried = []
        for base, limit, swap, self.events in (
            ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.memsw.limit_in_bytes", "memory.oom_control"),
            ("/sys/fs/cgroup", "memory.max", "memory.swap.max", "memory.events"),
        ):
            path = f"{base}/hpo_test_{os.getpid()}"
            try:
                os.mkdir(path)
            except OSError as error:
                tried.append(str(error))
                continue
            try:
                self.write(path, limit, most)
                if os.path.exists(f"{path}/{swap}"):
                    self.write(path, swap, 0 if swap == "memory.swap.max" else most)
                self.path = path
                return
            except OSError as error:
                os.rmdir(path)
                tried.append(str(error))
        skip("no control group with a limit of memory can be made: " + "; ".join(tried))

    @staticmethod
    def write(path, name, value):
        with open(f"{path}/{name}", "w", encoding="ascii") as file:
            file.write(str(value))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.rmdir(self.path)

    def kills(self):
        return number_in(f"{self.path}/{self.events}", "oom_kill")


def counted_kills():
    count = number_in("/proc/vmstat", "oom_kill")
    if count is None:
        skip("this kernel does not count out-of-memory kills in /proc/vmstat")
    return count


def a_c_program_that_the_kernel_ends_for_its_memory():
    counted_kills()
    compiler = shutil.which("cc")
    if compiler is None:
        skip("there is no cc")
    subprocess.run([compiler, "-O1", "-o", "allocates", os.path.join(PROGRAMS, "allocates.c")], check=True, timeout=60)
    with Group(64 * MIB) as group:
        failures = run_command(["sh", "-c", f'echo $$ >{group.path}/cgroup.procs && exec ./allocates "$1"', "sh", "{n}"], 2)
        assert group.kills() == 2, group.kills()
    for failure in failures:
        assert failure["kind"] == "host_out_of_memory" and failure["signal"] == signal.SIGKILL, failure
        assert failure["message"] == f"the process was ended by SIGKILL, and {COUNTED}", failure
    assert len(failures) == 2, failures
    groups = [[each["failure"], each["count"], each["blame"]] for each in analyzed("failures")["failures"]]
    assert groups == [["host_out_of_memory (host)", 2, "host"]], groups
    assert analyzed("oom")["oom_attempts"] == 2


def a_copy_of_a_program_that_the_kernel_ends_for_its_memory():
    counted_kills()
    with Group(64 * MIB) as group:
        words = [sys.executable, os.path.join(PROGRAMS, "limited_group.py"), group.path]
        options = ["--progress", "none", "--workers", "1", "--guard", "unlimited", "--device", "cpu"]
        done = subprocess.run([TUNE, "run", *options, "--", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120)
        assert done.returncode == 0 and f"best {MIB}" in done.stdout, (done.returncode, done.stdout, done.stderr)
        kills = group.kills()
    trials = [analyzed("trial", str(number)) for number in range(2)]
    assert {trial["params"]["mebibytes"]: trial["state"] for trial in trials} == {1: "COMPLETE", 200: "FAIL"}, trials
    failures = [attempt["failure"] for trial in trials for attempt in trial["attempt_list"] if attempt["failure"]]
    assert len(failures) == kills > 0, (failures, kills)
    for failure in failures:
        assert failure["kind"] == "host_out_of_memory" and COUNTED in failure["message"], failure


def a_program_that_somebody_ends():
    before = counted_kills()
    failures = run_command(["sh", "-c", "sh -c 'kill -KILL $PPID'; sleep 60"], 2)
    if counted_kills() != before:
        skip("the kernel has killed something else for memory meanwhile")
    for failure in failures:
        assert failure["kind"] == "crash" and failure["signal"] == signal.SIGKILL, failure
        assert failure["message"] == f"the process was ended by SIGKILL; {NOT_COUNTED}", failure
    assert len(failures) == 2, failures
    assert analyzed("oom")["oom_attempts"] == 0


def end_of_the_program(*arguments):
    """Kills the program that calls optimize while two of its trials run."""
    process = subprocess.Popen(
        [TUNE, "run", "--progress", "none", "--workers", "2", "--", sys.executable, os.path.join(PROGRAMS, "sleeper.py"), *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )
    end = time.monotonic() + 100
    while not (os.path.exists("began-2") and os.path.exists("began-3")):
        assert process.poll() is None and time.monotonic() < end, process.communicate(timeout=10)
        time.sleep(0.02)
    with open("program", encoding="utf-8") as file:
        os.kill(int(file.readline()), signal.SIGKILL)
    out, error = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGKILL, (process.returncode, out, error)
    assert "the program closed its connection: signal 9, so its running trials end" in error, error
    assert "2 complete, 2 interrupted; 0 attempts out of memory, 0 trials recovered\n" in error, error  # and no attempt of an unknown end
    trials = [analyzed("trial", str(number)) for number in range(4)]
    assert [trial["state"] for trial in trials[:2]] == ["COMPLETE", "COMPLETE"], trials
    for trial in trials[2:]:
        assert trial["state"] != "COMPLETE", trial
        for attempt in trial["attempt_list"]:
            assert attempt["failure"] is None or "SIGKILL" not in attempt["failure"]["message"], attempt
    assert analyzed("oom")["oom_attempts"] == 0


def the_program_that_calls_optimize_and_its_copies():
    end_of_the_program()


def the_program_that_calls_optimize_and_other_runs_of_it():
    end_of_the_program("thread")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        globals()[sys.argv[2]]()
