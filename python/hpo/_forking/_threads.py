# SPDX-License-Identifier: MIT
"""Threads of this process that a copy of it would not have, and would miss."""

from __future__ import annotations

import os
import sys
import threading
import time
from typing import Any, List, Tuple

from . import _thread_stacks, _turns_of_threads

# Threads of libraries that hold no lock but for moments, or begin anew in a copy of the process: how the names begin that Python has of them.
_OF_PYTHON_THAT_SURVIVE = ("tqdm_monitor", "sentry-sdk.BackgroundWorker", "MLflowTelemetryConsumer-")
# Threads of libraries that work in a copy of a process without the thread, by the names that the kernel has of them (15 characters).
_OF_LIBRARIES_THAT_SURVIVE = frozenset(
    (
        "jemalloc_bg_thd",  # of jemalloc, which pyarrow and Polars have: it prepares for forks itself
        "polars-ooc-clea",  # of Polars, from its import on: it removes files that Polars has moved out of memory
    )
)
# Pools of threads that a copy of the process makes anew, by the library whose code their idle threads alone run.
_POOLS_THAT_SURVIVE = ("libarrow.so",)  # of pyarrow, from its first read on
_SECONDS_TO_WAIT = 5.0  # for threads that are about to wait
_SECONDS_TO_END = 0.3  # for threads of Python that have ended, and that the kernel still has


def missed(may_wait: bool) -> Tuple[str, List[str]]:
    """Why a copy would miss threads, and their names. Empty if it would miss none.

    ``may_wait``: threads that are about to wait or to end are given a moment for that.
    """
    names = [each.name for each in _that_work(_SECONDS_TO_WAIT if may_wait else 0.0)]
    if names:
        return f"{len(names)} {'thread runs' if len(names) == 1 else 'threads run'} besides the one that calls optimize", names
    end = time.monotonic() + (_SECONDS_TO_END if may_wait else 0.0)
    try:
        names = _of_libraries()
        while names and time.monotonic() < end:
            time.sleep(0.002)
            names = _of_libraries()
    except OSError:
        return "/proc is not there, so its threads cannot be counted", []
    return (f"{len(names)} {'thread of a library runs' if len(names) == 1 else 'threads of a library run'}" if names else ""), names


def _of_libraries() -> List[str]:
    """Names of the threads that Python does not know, without those that survive a fork. Raises OSError if /proc is not there."""
    # Before Python 3.13 a thread object has the identifier of before the last fork.
    known = {str(each.native_id) for each in threading.enumerate()} | {str(threading.get_native_id())}
    names = []
    for task in os.listdir("/proc/self/task"):
        if task in known:
            continue
        try:
            with open(f"/proc/self/task/{task}/comm", encoding="utf-8", errors="replace") as file:
                name = file.read().rstrip("\n")
        except OSError:  # it has ended
            continue
        if name in _OF_LIBRARIES_THAT_SURVIVE:
            continue
        libraries = _thread_stacks.libraries_below_wait(task)
        if not libraries or not all(each.startswith(_POOLS_THAT_SURVIVE) for each in libraries):
            names.append(f"{name} of {libraries[-1]}" if libraries else name)
    return names


def _that_work(seconds: float) -> List[threading.Thread]:
    """Threads of Python besides this one that may hold a lock. A copy of the process would wait for that for ever."""
    end = time.monotonic() + seconds
    while True:
        frames = sys._current_frames()
        me = threading.current_thread()
        others = [(each, frames.get(each.ident or 0)) for each in threading.enumerate() if each is not me]
        working = [(each, frame) for each, frame in others if not _only_waits(each, frame)]
        if not working or time.monotonic() >= end or not all(_will_wait(each, frame) for each, frame in working):
            return [each for each, _ in working]
        time.sleep(0.001)


def _only_waits(thread: threading.Thread, frame: Any) -> bool:
    """True for a thread that waits for its turn, for the main thread while it waits for others, and for an idle thread of this one's pool."""
    if _turns_of_threads.waits(thread.ident) or thread.name.startswith(_OF_PYTHON_THAT_SURVIVE):
        return True
    if frame is None:
        return False
    file, function = frame.f_code.co_filename, frame.f_code.co_name
    if thread is threading.main_thread():
        return file == threading.__file__ and function in ("_wait_for_tstate_lock", "join", "wait")
    return function == "_worker" and file == _file_of_pools() and _is_of_own_pool(thread)


def _will_wait(thread: threading.Thread, frame: Any) -> bool:
    """True for a thread that is about to call optimize, or is at its beginning or end, or is between two tasks of this one's pool."""
    if getattr(getattr(thread, "_target", None), "__name__", "") == "optimize":  # it has just been started
        return True
    files = set()
    while frame is not None:
        files.add(frame.f_code.co_filename)
        frame = frame.f_back
    if _turns_of_threads.__file__ in files:
        return True
    pools = os.path.dirname(_file_of_pools()) or None
    return _is_of_own_pool(thread) and all(each == threading.__file__ or os.path.dirname(each) == pools for each in files)


def _file_of_pools() -> str:
    return getattr(sys.modules.get("concurrent.futures.thread"), "__file__", None) or ""


def _is_of_own_pool(thread: threading.Thread) -> bool:
    queues = getattr(sys.modules.get("concurrent.futures.thread"), "_threads_queues", {})
    own = queues.get(threading.current_thread())
    return own is not None and queues.get(thread) is own
