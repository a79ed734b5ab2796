# SPDX-License-Identifier: MIT
"""What a copy of the program does before and after it runs the objective."""

from __future__ import annotations

import fcntl
import gc
import io
import os
import signal
import sys
import weakref
from typing import Iterable

from . import _imports, _reseed, _signals
from .._trial import _channel, _memory_share
from ._request import Request

_threads = os.environ.get("OMP_NUM_THREADS", "")  # what libraries use
_TAKEN_OVER = ("HPO_", "CUDA_", "PYTORCH_", "OMP_", "MKL_", "OPENBLAS_")


class Outputs:
    """The files that this process writes. What it has not written yet would be written by each copy, too."""

    def __init__(self) -> None:
        kinds = {io.TextIOWrapper, io.BufferedWriter, io.BufferedRandom}
        self._files = [weakref.ref(each) for each in gc.get_objects() if type(each) in kinds]

    def flush(self) -> None:
        found = [each() for each in self._files]
        texts_first = sorted(found, key=lambda each: not isinstance(each, io.TextIOWrapper))
        for file in [*texts_first, sys.stdout, sys.stderr]:
            try:
                if file is not None and not file.closed:
                    file.flush()
            except (AttributeError, OSError, ValueError):
                pass  # it is not open for writing, or nobody reads it any more
        _signals.flush_c_streams()


def leave_keeper(keeper: int, close: Iterable[int]) -> None:
    """Makes this process, which the keeper has forked, one of its own. What it needs to know of its trial comes after."""
    os.setsid()
    _signals.end_with_parent()
    if os.getppid() != keeper:
        os._exit(127)
    for each in close:
        os.close(each)
    signal.set_wakeup_fd(-1)
    _signals.set_defaults()


def become_copy(request: Request, drop: Iterable[str]) -> None:
    """Makes this process, which has left the keeper, the one that runs the objective."""
    given = request.given
    null = os.open("/dev/null", os.O_RDONLY)
    # First above the numbers that are wanted, so that none is overwritten before it is moved.
    streams = [fcntl.fcntl(each, fcntl.F_DUPFD_CLOEXEC, 3) for each in (null, given[0], given[1])]
    lines = [fcntl.fcntl(each, fcntl.F_DUPFD_CLOEXEC, 3) for each in (given[2], given[3])]
    for each in {null, *given}:
        os.close(each)
    for number, each in enumerate(streams):
        os.dup2(each, number)
        os.close(each)
    for name in drop:
        os.environ.pop(name, None)
    for name, value in request.environment().items():
        if name.startswith(_TAKEN_OVER) and name != "HPO_FRONT" and os.environ.get(name) != value:
            os.environ[name] = value
    os.environ["HPO_REPORT_FD"] = str(lines[0])  # update() would look through all classes of mappings, which is slow in a copy
    os.environ["HPO_ANSWER_FD"] = str(lines[1])
    _use_threads(os.environ.get("OMP_NUM_THREADS", ""))


def rehearse(like: Request) -> None:
    """Does ahead, in a process that waits for its request, what it would do first if it got one like this."""
    _reseed.rehearse()
    try:
        _use_threads(like.environment().get("OMP_NUM_THREADS", ""))
    except ValueError:
        pass  # that one could not be read


def _use_threads(limit: str) -> None:
    """Libraries that are loaded already have read the program's limit of one thread."""
    global _threads
    if limit == _threads or not limit.isdigit() or int(limit) == 0:
        return
    _threads, count = limit, int(limit)
    torch = sys.modules.get("torch")
    if torch is not None and hasattr(torch, "set_num_threads"):
        torch.set_num_threads(count)
    limits = sys.modules.get("threadpoolctl")
    if limits is not None and hasattr(limits, "threadpool_limits"):
        limits.threadpool_limits(count)


def begin_trial(random_state: int) -> None:
    """What a process does before it runs an objective, whether it is a copy or was started for one attempt."""
    _channel.channel = _channel.Channel(os.environ)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.reconfigure(line_buffering=True)  # type: ignore[union-attr]
        except (AttributeError, OSError, ValueError):
            pass  # the program has put something else there
    if "OMP_NUM_THREADS" in os.environ:
        os.environ.setdefault("LOKY_MAX_CPU_COUNT", os.environ["OMP_NUM_THREADS"])  # what joblib makes of n_jobs=-1
    _memory_share.limit_torch()
    _imports.begin_trial()
    _reseed.reseed(random_state, int(os.environ["HPO_TRIAL"]))
