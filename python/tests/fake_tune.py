#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Stands in for hpo-tune where the Python side alone is tested: runs a program, and speaks hpo-tune's side of the protocol with it.

    fake_tune.py --log FILE [OPTIONS] -- PROGRAM ARGUMENTS...

Parameters are drawn at random. Trials are kept in a store of Optuna's. With --no-store they are kept in this process, and no Optuna is
needed. What happened is written to FILE as JSON.
"""

import argparse
import itertools
import json
import math
import os
import pathlib
import queue
import random
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

PACKAGE = pathlib.Path(__file__).resolve().parent.parent
NEWS = struct.Struct("<iiqq")


def lines_in(heard):
    *lines, rest = heard.split(b"\n")
    return [json.loads(line) for line in lines], rest


class Attempt:
    """One attempt: a fork of the program, or the program started anew."""

    def __init__(self, tune, trial, environment):
        self.tune, self.trial = tune, trial
        pipes = {name: os.pipe() for name in ("stdout", "stderr", "reports", "answers", "news", "life")}
        self.mine = {name: ends[1] if name in ("answers", "life") else ends[0] for name, ends in pipes.items()}
        theirs = {name: ends[0] if name in ("answers", "life") else ends[1] for name, ends in pipes.items()}
        self.kept = {"stdout": b"", "stderr": b"", "reports": b"", "news": b""}
        self.said, self.pruned, self.values, self.reports = [], False, [], {}
        self.status = self.child = self.keeper = self.peak = None
        self.begun = time.monotonic()
        self.process = None
        if tune.opening["forks"]:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as request:
                request.connect(tune.opening["fork_socket"])
                text = json.dumps({"environment": environment}).encode()
                data = struct.pack("<i", len(text)) + text
                descriptors = [theirs[name] for name in ("stdout", "stderr", "reports", "answers", "news", "life")]
                ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, struct.pack("6i", *descriptors))]
                sent = request.sendmsg([data[:7]], ancillary)  # it may come in pieces
                request.sendall(data[sent:])
        else:
            environment = {**tune.environment, **environment, "HPO_OPTIMIZE_CALL": str(tune.opening["call"])}
            environment.update(HPO_OPTIMIZE_STUDIES=json.dumps(tune.studies))
            environment.update(HPO_REPORT_FD=str(theirs["reports"]), HPO_ANSWER_FD=str(theirs["answers"]))
            self.process = subprocess.Popen(
                tune.words, env=environment, stdout=theirs["stdout"], stderr=theirs["stderr"], stdin=subprocess.DEVNULL,
                pass_fds=(theirs["reports"], theirs["answers"]),
            )
        for each in theirs.values():
            os.close(each)

    def run(self):
        streams = {self.mine[name]: name for name in self.kept}
        while streams:
            for descriptor in select.select(list(streams), [], [])[0]:
                name, got = streams[descriptor], os.read(descriptor, 65536)
                self.kept[name] += got
                if not got:
                    del streams[descriptor]
                elif name == "reports":
                    said, self.kept["reports"] = lines_in(self.kept["reports"])
                    for each in said:
                        self.hear(each)
                elif name == "news" and self.child is None and len(self.kept["news"]) >= NEWS.size:
                    self.child, self.keeper, _, _ = NEWS.unpack(self.kept["news"][: NEWS.size])
                    if self.tune.options.close_life_after is not None:
                        threading.Timer(self.tune.options.close_life_after, self.close_life).start()
        for each in self.mine.values():
            if each is not None:
                os.close(each)
        if self.process is not None:
            self.status = self.process.wait()
        elif len(self.kept["news"]) == 2 * NEWS.size:
            _, status, self.peak, _ = NEWS.unpack(self.kept["news"][NEWS.size :])
            self.status = -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)

    def close_life(self):
        descriptor, self.mine["life"] = self.mine["life"], None
        os.close(descriptor)

    def hear(self, said):
        self.said.append(said)
        if "suggest" in said:
            try:
                answer = {"value": self.tune.suggest(self.trial, **said["suggest"])}
            except ValueError as error:
                answer = {"error": str(error)}
            os.write(self.mine["answers"], json.dumps(answer).encode() + b"\n")
        elif "answer" in said:
            prune = self.tune.options.prune_at is not None and max(self.reports, default=-1) >= self.tune.options.prune_at
            os.write(self.mine["answers"], json.dumps({"prune": prune}).encode() + b"\n")
        elif "step" in said:
            self.reports[said["step"]] = said["value"]
            self.tune.store.reported(self.trial, said["step"], said["value"])
        elif "attr" in said:
            self.tune.store.attributes(self.trial, said["attr"])
        elif "constraint" in said:
            self.tune.store.constraints(self.trial, said["constraint"])
        elif "pruned" in said:
            self.pruned = True
        elif "value" in said or "values" in said:
            self.values = said.get("values") or [said["value"]]

    def ending(self):
        """The state of the trial, and the kind of the failure."""
        if self.pruned and self.status == 0:
            return "pruned", None
        if self.status == 0 and self.values and not any(math.isnan(value) for value in self.values):
            return "complete", None
        if self.status == 0:
            return "fail", "non_finite" if self.values else "trainer_error"
        if self.status is None or self.status < 0:
            return "fail", "crash"
        return "fail", "out_of_memory" if b"out of memory" in self.kept["stderr"] else "trainer_error"


class Memory:
    """Trials that are kept in this process."""

    def __init__(self, opening):
        self.count = itertools.count()
        self.path, self.name = "/dev/null", "named"

    def begin(self):
        return next(self.count), {}

    def suggested(self, trial, name, value, distribution):
        pass

    reported = attributes = constraints = finish = lambda self, *_: None


class Store:
    """Trials in a store of Optuna's."""

    def __init__(self, opening, folder, path, name):
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self.optuna = optuna
        self.url = opening["store"] or f"sqlite:///{os.path.abspath(path) if path else folder + '/hpo.db'}"
        self.path = self.url[len("sqlite:///") :]
        self.name = name or opening["study"] or f"study {opening['call']}"
        self.study = optuna.create_study(
            storage=self.url, study_name=self.name, directions=opening["directions"], load_if_exists=True,
            sampler=optuna.samplers.RandomSampler(),
        )

    def distribution(self, told):
        return self.optuna.distributions.json_to_distribution(json.dumps(told))

    def begin(self):
        trial = self.study.ask()
        return trial.number, self.study._storage.get_trial_system_attrs(trial._trial_id).get("fixed_params", {})

    def trial_id(self, trial):
        return self.study._storage.get_trial_id_from_study_id_trial_number(self.study._study_id, trial)

    def suggested(self, trial, name, value, told):
        distribution = self.distribution(told)
        self.study._storage.set_trial_param(self.trial_id(trial), name, distribution.to_internal_repr(value), distribution)

    def reported(self, trial, step, value):
        self.study._storage.set_trial_intermediate_value(self.trial_id(trial), step, value)

    def attributes(self, trial, attributes):
        for name, value in attributes.items():
            self.study._storage.set_trial_user_attr(self.trial_id(trial), name, value)

    def constraints(self, trial, constraints):
        for name, value in constraints.items():
            self.study._storage.set_trial_system_attr(self.trial_id(trial), f"constraints:{name}", value)

    def finish(self, trial, state, values):
        if state == "pruned":
            self.study.tell(trial, state=self.optuna.trial.TrialState.PRUNED)
        else:
            self.study.tell(trial, values if state == "complete" else None, state=self.optuna.trial.TrialState[state.upper()])


class FakeTune:
    def __init__(self, options, words):
        self.options, self.words = options, words
        self.random = random.Random(options.seed)
        self.folder = tempfile.TemporaryDirectory(prefix="hpo-fake-")
        self.log = {"openings": [], "attempts": [], "refused": 0}
        self.lock = threading.RLock()
        self.studies, self.fixed, self.answers = [], {}, {}
        self.front = os.path.join(self.folder.name, "front")
        path = os.pathsep.join([str(PACKAGE / "hpo/takeover"), str(PACKAGE), *filter(None, [os.environ.get("PYTHONPATH")])])
        one_thread = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}
        self.environment = {**one_thread, **os.environ, "HPO_FRONT": self.front, "PYTHONPATH": path}

    def run(self):
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(self.front)
        listener.listen()
        threading.Thread(target=self.accept, args=[listener], daemon=True).start()
        program = subprocess.Popen(self.words, env=self.environment)
        self.program = program.pid
        self.log["status"] = program.wait()
        with self.lock:
            pathlib.Path(self.options.log).write_text(json.dumps(self.log), encoding="utf-8")
        return self.log["status"]

    def accept(self, listener):
        busy = threading.Lock()
        while True:
            connection, _ = listener.accept()
            if busy.acquire(blocking=False):
                threading.Thread(target=self.serve, args=[connection, busy], daemon=True).start()
            else:
                self.log["refused"] += 1
                connection.sendall(json.dumps({"op": "refused", "busy": True, "message": "another process is connected"}).encode() + b"\n")

    def say(self, **said):
        with self.lock:
            self.connection.sendall(json.dumps(said).encode() + b"\n")

    def serve(self, connection, busy):
        self.connection, heard = connection, b""
        self.stopped = threading.Event()
        while True:
            got = connection.recv(65536)
            if not got:
                busy.release()
                return
            messages, heard = lines_in(heard + got)
            for message in messages:
                if message["op"] == "optimize":
                    self.opening = message
                    self.log["openings"].append(message)
                    self.stopped.clear()
                    threading.Thread(target=self.optimize, daemon=True).start()
                elif message["op"] == "stop":
                    self.stopped.set()
                elif message["op"] == "ready":
                    self.ready.put(message)
                elif message["op"] in ("proposed", "drawn", "seen"):
                    self.answers[message["trial"]].put(message)

    def optimize(self):
        opening = self.opening
        if self.options.refuse:
            return self.say(op="refused", message=self.options.refuse)
        try:
            self.store = Memory(opening) if self.options.no_store else Store(opening, self.folder.name, self.options.store, self.options.study)
        except Exception as error:
            return self.say(op="refused", message=f"{type(error).__name__}: {error}")
        self.studies.append({"store": self.store.path, "study": self.store.name})
        self.ready = queue.Queue()
        self.say(op="opened", store=self.store.path, study=self.store.name, wants_seen=True)
        ready = self.ready.get(timeout=60)  # the program may add trials to the study first
        if "error" in ready:
            return self.say(op="ended", why="error", message=ready["error"])
        left = iter(range(opening["trials"] if opening["trials"] is not None else self.options.trials))
        workers = [threading.Thread(target=self.work, args=[left]) for _ in range(self.options.workers)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        why = self.options.end_with or ("stopped" if self.stopped.is_set() else "done")
        self.say(op="ended", why=why, message="the reason" if self.options.end_with else "")

    def work(self, left):
        while not self.stopped.is_set():
            with self.lock:
                if next(left, None) is None:
                    return
                trial, self.fixed[trial] = self.begin()
            if self.own_sampler():
                self.fixed[trial] = {**{name: each["value"] for name, each in self.ask("begin", trial)["params"].items()}, **self.fixed[trial]}
            for number in range(1 + self.options.retries):
                environment = {
                    "HPO_TRIAL": str(trial), "HPO_ATTEMPT": str(number), "HPO_STUDY": self.store.name, "HPO_PARAMS": "{}",
                    "HPO_PLAN": "{}", "HPO_DEVICE": "cpu", "HPO_SEED": "1", "HPO_METRIC": "value", "HPO_CHECKPOINT_FOLDER": "",
                    "HPO_RESUME_STEP": "", "OMP_NUM_THREADS": "2",
                }
                attempt = Attempt(self, trial, environment)
                attempt.run()
                self.note(attempt)
                state, kind = attempt.ending()
                if kind != "out_of_memory":
                    break
            self.store_finish(trial, state, attempt.values)
            ends_study = state == "fail" and kind not in ("out_of_memory", "crash")
            self.ask("finished", trial, state=state, kind=kind, message="", ends_study=ends_study)  # callbacks are called before the next trial begins

    def begin(self):
        number, fixed = self.store.begin()
        return number, fixed

    def store_finish(self, trial, state, values):
        with self.lock:
            self.store.finish(trial, state, values)

    def note(self, attempt):
        texts = {name: attempt.kept[name].decode("utf-8", "replace") for name in ("stdout", "stderr")}
        told = {name: getattr(attempt, name) for name in ("trial", "status", "child", "keeper", "peak", "said")}
        with self.lock:
            self.log["attempts"].append({**told, **texts, "seconds": time.monotonic() - attempt.begun})

    def own_sampler(self):
        return self.opening["sampler"] is None and self.opening["directions"] is not None

    def ask(self, op, trial, **said):
        self.answers[trial] = queue.Queue()
        self.say(op=op, trial=trial, **said)
        return self.answers[trial].get(timeout=60)

    def suggest(self, trial, name, distribution):
        with self.lock:
            value = self.fixed[trial].get(name)
        if value is None and self.own_sampler():
            answer = self.ask("draw", trial, name=name, distribution=distribution)
            if "error" in answer:
                raise ValueError(answer["error"])
            value = answer["value"]
        with self.lock:
            value = self.drawn(distribution) if value is None else value
            self.store.suggested(trial, name, value, distribution)
        return value

    def drawn(self, distribution):
        attributes = distribution["attributes"]
        if "choices" in attributes:
            return self.random.choice(attributes["choices"])
        low, high = attributes["low"], attributes["high"]
        if low > high:
            raise ValueError(f"low is {low}, above high, which is {high}")
        value = self.random.uniform(math.log(low), math.log(high)) if attributes["log"] else self.random.uniform(low, high)
        value = min(high, max(low, math.exp(value))) if attributes["log"] else value
        if attributes["step"]:
            value = low + int((value - low) / attributes["step"]) * attributes["step"]
        return int(value) if distribution["name"] == "IntDistribution" else value


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--log", required=True)
    parser.add_argument("--trials", type=int, default=3)  # where the program says none
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--retries", type=int, default=0)  # after an out-of-memory error
    parser.add_argument("--prune-at", type=int)
    parser.add_argument("--close-life-after", type=float)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--no-store", action="store_true")
    parser.add_argument("--study")
    parser.add_argument("--store", help="where studies are kept that are not in a file of the program's")
    parser.add_argument("--refuse")
    parser.add_argument("--end-with")
    parser.add_argument("words", nargs="+")
    options = parser.parse_args()
    signal.signal(signal.SIGINT, lambda *_: None)  # it is the program's in these tests
    os._exit(FakeTune(options, options.words).run() & 0xFF)


if __name__ == "__main__":
    main()
