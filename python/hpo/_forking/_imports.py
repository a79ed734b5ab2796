# SPDX-License-Identifier: MIT
"""Modules that each trial would import anew are imported in the program, once.

A library may import much of itself when it is used for the first time: PyTorch 2 takes about a second for its first optimizer. In one process
that is paid once, in copies of a process by each of them. So a trial tells which installed modules it has imported. They are imported by way
of trial in a process of their own. If no thread runs and no device is in use there afterwards, the program imports them, too.
"""

from __future__ import annotations

import importlib
import itertools
import json
import os
import random
import signal
import sys
import sysconfig
import time
from typing import Any, Callable, List, Set

from . import _signals

_LEAST_SECONDS = 0.03  # less is not worth an import in the program
_MOST_SECONDS = 120.0

# Packages may also lie elsewhere: of the user, of Debian, of the Python below a virtual environment.
_folders = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
_folders += [folder for folder in sys.path if os.path.basename(os.path.normpath(folder)) in ("site-packages", "dist-packages")]
_installed = tuple(os.path.join(folder, "") for folder in dict.fromkeys(_folders))
_tried: Set[str] = set()


def is_of_package(file: str) -> bool:
    """True for a file of Python or of an installed package, and for none. False for one of the program."""
    return not file or os.path.abspath(file).startswith(_installed)


def _is_installed(name: str, module: Any) -> bool:
    """True for a module of Python or of an installed package. What the program's own modules do when they are imported is its concern."""
    spec = getattr(module, "__spec__", None)
    if spec is None or spec.loader is None or spec.name != name or name.partition(".")[0] == __name__.partition(".")[0]:
        return False
    return spec.origin in ("built-in", "frozen") or str(spec.origin).startswith(_installed)


def _import_all(names: List[str]) -> None:
    state = random.getstate()
    for name in names:
        if name not in sys.modules:
            try:
                importlib.import_module(name)
            except Exception:
                pass  # it needs something that the trial had
    random.setstate(state)


class Attempt:
    """Imports modules in a process of their own, to see what comes of it."""

    def __init__(self, names: List[str], why_not: Callable[[], str], close: List[int]) -> None:
        _tried.update(names)
        self._names = names
        self._end = time.monotonic() + _MOST_SECONDS
        self._result, write = os.pipe2(os.O_CLOEXEC)
        with _signals.held_back():
            self._process = os.fork()
            if self._process == 0:
                self._try(write, why_not, close)
        os.close(write)

    def _try(self, write: int, why_not: Callable[[], str], close: List[int]) -> None:
        try:
            for each in (*close, self._result):
                os.close(each)
            null = os.open("/dev/null", os.O_RDWR)
            for each in range(3):
                os.dup2(null, each)
            begun = time.monotonic()
            _import_all(self._names)
            told = {"seconds": time.monotonic() - begun, "why_not": why_not()}
            os.write(write, json.dumps(told).encode("ascii"))
        finally:
            os._exit(0)

    def fileno(self) -> int:
        return self._result

    def finish(self) -> bool:
        """Waits for the result, and imports the modules here if that is safe and worth it. Returns whether it has done so."""
        told = json.loads(os.read(self._result, 65536) or b"{}")
        self.close()
        if told.get("why_not") != "" or told["seconds"] < _LEAST_SECONDS:
            return False
        _import_all(self._names)
        return True

    def is_late(self) -> bool:
        return time.monotonic() > self._end

    def close(self) -> None:
        os.close(self._result)
        try:
            os.kill(self._process, signal.SIGKILL)
            os.waitpid(self._process, 0)
        except (ChildProcessError, ProcessLookupError):
            pass  # the program has taken it


def untried(names: List[str], there: bool = False) -> List[str]:
    """Those that were not tried before, and that are not there, or are."""
    return [name for name in names if (name in sys.modules) == there and name not in _tried]


_before = 0


def begin_trial() -> None:
    """What is imported from now on is new."""
    global _before
    _before = len(sys.modules)


def imported_by_trial() -> List[str]:
    """Installed modules that came since, in their order."""
    # Modules are kept in their order. To look at an older one would copy the page of memory that its name is on.
    newest = list(itertools.islice(reversed(sys.modules.items()), max(0, len(sys.modules) - _before)))
    return untried([name for name, module in reversed(newest) if _is_installed(name, module)], there=True)
