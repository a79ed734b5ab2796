# SPDX-License-Identifier: MIT
"""Records what one process takes of the card.

The recording is written after some optimizer steps, which end the program, or when the program ends by itself. Each process that used the
card writes two files into the folder, named by its process number: NUMBER.pickle, a memory snapshot, and NUMBER.json, how it ended.
"""
import atexit
import ctypes
import importlib
import json
import os
import pickle
import signal
import sys
import threading
import time
import weakref

from . import lines

DEADLINE = float(os.environ.get("HPO_PREDICTION_DEADLINE", "inf"))  # seconds since 1970
STEPS = int(os.environ.get("HPO_PREDICTION_STEPS", "2"))
LIVING = []  # for as long as the process


def _on_card(optimizer):
    return any(each.is_cuda for group in optimizer.param_groups for each in group["params"])


def _grows(optimizer):
    """LBFGS keeps a history of its iterations. It takes most when the first of a full one makes room for another."""
    if "history_size" not in optimizer.param_groups[0]:
        return False
    iterations = max((each.get("n_iter", 0) for each in optimizer.state.values()), default=0)
    return iterations < optimizer.param_groups[0]["history_size"] + 2


def _end_with_parent():
    """If hpo-tune is killed, so is the program that it started."""
    if os.environ.get("HPO_PREDICTION_PARENT") == str(os.getppid()):
        set_parent_death_signal = 1
        ctypes.CDLL(None).prctl(set_parent_death_signal, int(signal.SIGKILL))


class Recording:
    def __init__(self, torch, folder, asked, sizes, questions):
        LIVING.append(self)
        self.torch = torch
        self.folder = folder
        self.asked = asked
        self.sizes = sizes
        self.questions = questions
        self.steps = {}  # of each optimizer that has something on the card
        self.step_times = []  # of each step, in microseconds since 1970
        self.optimizers = weakref.WeakSet()
        self.made_optimizers = 0  # with something on the card
        self.lock = threading.Lock()
        self.error = ""
        self.line = ""  # of the program, where the error left PyTorch
        self.process = os.getpid()
        self.written = False
        memory = torch.cuda.memory
        record = memory._record_memory_history
        memory._record_memory_history = lambda *_, **__: None  # the program's own recording would begin anew
        # Not before the program begins to use the card: until then it may fork, and choose its cards.
        torch.cuda._lazy_call(lambda: record("all", context="alloc", stacks="python", max_entries=20_000_000))
        module = importlib.import_module("torch.optim.optimizer")
        module.register_optimizer_step_post_hook(self.after_step)
        made = module.Optimizer.__init__

        def make(optimizer, *arguments, **options):
            made(optimizer, *arguments, **options)
            self.optimizers.add(optimizer)
            self.made_optimizers += _on_card(optimizer)

        module.Optimizer.__init__ = make
        _end_with_parent()
        if DEADLINE < float("inf"):
            threading.Thread(target=self.wait_for_deadline, daemon=True).start()
        atexit.register(self.write, "end")
        self.leave = leave = os._exit

        def leave_at_once(status):
            self.write("end")
            leave(status)

        os._exit = leave_at_once
        self.shown = sys.excepthook
        sys.excepthook = self.on_exception

    def after_step(self, optimizer, *_):
        if not _on_card(optimizer):
            return
        self.step_times.append(time.time_ns() // 1000)
        self.steps[id(optimizer)] = self.steps.get(id(optimizer), 0) + 1
        if all(self.steps.get(id(each), 0) >= STEPS and not _grows(each) for each in list(self.optimizers) if _on_card(each)):
            self.end("steps")

    def wait_for_deadline(self):
        time.sleep(max(0, DEADLINE - time.time()))
        while not self.torch.cuda.is_initialized():  # a process that only waits for others ends with them
            time.sleep(0.2)
        self.end("limit")

    def end(self, why):
        self.write(why)
        sys.stdout.flush()
        sys.stderr.flush()
        self.leave(0)  # whatever the program would do at its end is no part of the answer

    def on_exception(self, kind, error, trace):
        text = f"{kind.__name__}: {error}".split("\n")[0]
        self.error = text.encode("utf-8", "replace").decode()  # a path may hold what is no UTF-8
        self.line = lines.of_traceback(trace, lines.library_of(self.torch))
        self.shown(kind, error, trace)

    @staticmethod
    def card_peak(device):
        """The most that this process held of a card, PyTorch's allocator and all others."""
        peak = ctypes.CDLL(None).hpo_virtual_card_peak
        peak.restype = ctypes.c_longlong
        return peak(device)

    def write(self, why):
        with self.lock:  # a program may train in several threads
            self.write_once(why)

    def write_once(self, why):
        if self.written or os.getpid() != self.process or not self.torch.cuda.is_initialized():
            return  # a child that was forked has nothing of its own
        self.written = True
        stem = os.path.join(self.folder, str(self.process))
        cuda = self.torch.cuda
        devices = [each for each in range(cuda.device_count()) if self.card_peak(each) > 0]
        most = max(devices, key=cuda.max_memory_reserved, default=0)
        told = {
            "why": why,
            "steps": min(self.steps.values(), default=0),
            "optimizers": self.made_optimizers,
            "step_times_us": self.step_times,
            "error": self.error,
            "ranks": int(os.environ.get("WORLD_SIZE") or 1) if (os.environ.get("WORLD_SIZE") or "1").isdigit() else 1,
            "error_line": self.line,
            "torch": self.torch.__version__,
            "architectures": cuda.get_arch_list(),
            "devices": devices,
            "card_peak_bytes": self.card_peak(most),
            "allocated_bytes": cuda.max_memory_allocated(most),
            "reserved_bytes": cuda.max_memory_reserved(most),
            "asked": [{"line": line, "times": times, "whole_number": line in self.asked.whole_numbers} for line, times in self.asked.lines.items() if line],
            "card_questions": [line for line in self.questions if line],
            "sizes_from_data": [{"line": line, **what} for (line, _), what in self.sizes.noted.items()],
        }
        with open(stem + ".json", "w", encoding="utf-8") as file:
            json.dump(told, file)
        # It is long if there were many requests. What stands above is known without it.
        with open(stem + ".part", "wb") as file:
            pickle.dump(cuda.memory._snapshot(), file, protocol=4)
        os.rename(stem + ".part", stem + ".pickle")
