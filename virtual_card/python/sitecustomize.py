# SPDX-License-Identifier: MIT
"""Python loads this before a program that `hpo-tune estimate -- PROGRAM` runs on a virtual card.

When the program imports torch, PyTorch begins to record what it takes of the card. The recording is written after some optimizer steps, which
end the program, or when the program ends by itself. Nothing in the program is changed. Each process that used the card writes two files into
HPO_PREDICTION_FOLDER, named by its process number: NUMBER.pickle, a memory snapshot, and NUMBER.json, how it ended.
"""
import atexit
import ctypes
import importlib
import importlib.abc
import importlib.machinery
import json
import os
import pickle
import signal
import sys
import threading
import weakref

FOLDER = os.environ.get("HPO_PREDICTION_FOLDER")
STEPS = int(os.environ.get("HPO_PREDICTION_STEPS", "2"))


def line_of(trace, library):
    """The innermost line of a traceback outside a library, as "folder/file.py:LINE function"; "" if there is none."""
    found = ""
    while trace is not None:
        file = os.path.abspath(trace.tb_frame.f_code.co_filename)
        if not file.startswith(library + os.sep):
            short = os.sep.join(file.split(os.sep)[-2:])
            found = f"{short}:{trace.tb_lineno} {trace.tb_frame.f_code.co_name}"
        trace = trace.tb_next
    return found


def answer_no(torch):
    """Lets "is anything NaN or infinite?" be answered by no. A virtual card has no values: it says yes to every other question."""

    def is_no(value):
        return getattr(value, "_hpo_no", False)

    def marked(function, wanted):
        def ask(*arguments, **options):
            answer = function(*arguments, **options)
            if isinstance(answer, torch.Tensor) and answer.is_cuda and wanted(arguments):
                answer._hpo_no = True
            return answer

        return ask

    def begins(function):
        return marked(function, lambda arguments: True)

    def passed_on(function):
        return marked(function, lambda arguments: any(map(is_no, arguments)))

    def told(function):
        def ask(tensor, *arguments, **options):
            return False if is_no(tensor) else function(tensor, *arguments, **options)

        return ask

    for owner in (torch, torch.Tensor):
        for name in ("isnan", "isinf"):
            setattr(owner, name, begins(getattr(owner, name)))
        for name in ("any", "logical_or"):
            setattr(owner, name, passed_on(getattr(owner, name)))
    torch.Tensor.__or__ = passed_on(torch.Tensor.__or__)
    for name in ("__bool__", "item"):
        setattr(torch.Tensor, name, told(getattr(torch.Tensor, name)))


def on_card(optimizer):
    return any(each.is_cuda for group in optimizer.param_groups for each in group["params"])


def end_with_parent():
    """If hpo-tune is killed, so is the program that it started."""
    if os.environ.get("HPO_PREDICTION_PARENT") == str(os.getppid()):
        set_parent_death_signal = 1
        ctypes.CDLL(None).prctl(set_parent_death_signal, int(signal.SIGKILL))


class Recording:
    """What one process takes of the card."""

    def __init__(self, torch):
        self.torch = torch
        self.steps = {}  # of each optimizer that has something on the card
        self.optimizers = weakref.WeakSet()
        self.lock = threading.Lock()
        self.error = ""
        self.line = ""  # of the program, where the error left PyTorch
        self.process = os.getpid()
        self.written = False
        memory = torch.cuda.memory
        memory._record_memory_history("all", context="alloc", stacks="python", max_entries=20_000_000)
        memory._record_memory_history = lambda *_, **__: None  # the program's own recording would begin anew
        module = importlib.import_module("torch.optim.optimizer")
        module.register_optimizer_step_post_hook(self.after_step)
        made = module.Optimizer.__init__

        def make(optimizer, *arguments, **options):
            made(optimizer, *arguments, **options)
            self.optimizers.add(optimizer)

        module.Optimizer.__init__ = make
        end_with_parent()
        try:
            signal.signal(signal.SIGTERM, self.on_limit)
        except ValueError:
            pass  # torch was imported by another thread
        answer_no(torch)
        atexit.register(self.write, "end")
        self.shown = sys.excepthook
        sys.excepthook = self.on_exception

    def after_step(self, optimizer, *_):
        if not on_card(optimizer):
            return
        self.steps[id(optimizer)] = self.steps.get(id(optimizer), 0) + 1
        if all(self.steps.get(id(each), 0) >= STEPS for each in list(self.optimizers) if on_card(each)):
            self.end("steps")

    def on_limit(self, *_):
        self.end("limit")

    def end(self, why):
        self.write(why)
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)  # whatever the program would do at its end is no part of the answer

    def on_exception(self, kind, error, trace):
        self.error = f"{kind.__name__}: {error}".split("\n")[0]
        self.line = line_of(trace, os.path.dirname(os.path.abspath(self.torch.__file__)))
        self.shown(kind, error, trace)

    def write(self, why):
        with self.lock:  # a program may train in several threads
            self.write_once(why)

    def write_once(self, why):
        if self.written or os.getpid() != self.process or not self.torch.cuda.is_initialized():
            return  # a child that was forked has nothing of its own
        self.written = True
        snapshot = self.torch.cuda.memory._snapshot()
        stem = os.path.join(FOLDER, str(self.process))
        with open(stem + ".part", "wb") as file:
            pickle.dump(snapshot, file, protocol=4)
        os.rename(stem + ".part", stem + ".pickle")
        told = {
            "why": why,
            "steps": min(self.steps.values(), default=0),
            "error": self.error,
            "error_line": self.line,
            "torch": self.torch.__version__,
            "allocated_bytes": self.torch.cuda.max_memory_allocated(),
            "reserved_bytes": self.torch.cuda.max_memory_reserved(),
        }
        with open(stem + ".json", "w", encoding="utf-8") as file:
            json.dump(told, file)


def begin(torch):
    if torch.version.cuda is None:
        with open(os.path.join(FOLDER, "no_cuda"), "w", encoding="utf-8") as file:
            file.write(torch.__version__)
        sys.stdout.flush()
        os._exit(0)
    Recording(torch)


class TorchFinder(importlib.abc.MetaPathFinder):
    """Finds torch as Python does, and begins the recording when it is imported."""

    def find_spec(self, name, path=None, target=None):
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def executed(module):
                execute(module)
                begin(module)

            spec.loader.exec_module = executed
        return spec


def load_hidden():
    """Another sitecustomize that this one hides."""
    own = os.path.dirname(os.path.abspath(__file__))
    path = list(sys.path)
    sys.path[:] = [each for each in path if os.path.abspath(each or ".") != own]
    this = sys.modules.pop("sitecustomize", None)
    try:
        import sitecustomize  # noqa: F401
    except ImportError:
        if this is not None:
            sys.modules["sitecustomize"] = this
    finally:
        sys.path[:] = path


if FOLDER:
    sys.meta_path.insert(0, TorchFinder())
load_hidden()
