# SPDX-License-Identifier: MIT
"""Threads of a program that call ``optimize`` at the same time."""

from __future__ import annotations

import os
import sys
import threading
import time
from typing import Any, List, Optional, Set

# Threads of libraries that hold no lock but for moments, or begin anew in a copy of the process, by the names that Python has of them.
_SURVIVE_FORKS = frozenset(("tqdm_monitor", "sentry-sdk.BackgroundWorker"))
_MOST_SECONDS = 5.0
_waiting: Set[int] = set()  # idents of threads that wait for their turn


class Turns:
    """One thread at a time runs a study with hpo. Others that call ``optimize`` of the same study run after it.

    So all trials of a study in memory are in one place, and the workers of hpo run as many at once as fit.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._owner: Optional[int] = None
        self._study: Any = None

    def take(self, study: Any) -> Optional[float]:
        """Waits while another thread runs the same study, and returns how long, in seconds. None if hpo runs another study."""
        me = threading.get_ident()
        begun = time.monotonic()
        with self._changed:
            waited = 0.0
            while self._owner is not None:
                if self._study is not study or self._owner == me:
                    return None
                _waiting.add(me)
                try:
                    self._changed.wait()
                finally:
                    _waiting.discard(me)
                waited = time.monotonic() - begun
            self._owner, self._study = me, study
            return waited

    def give_back(self) -> None:
        """Lets the next thread take its turn."""
        with self._changed:
            self._owner = self._study = None
            self._changed.notify_all()


def threads_that_work() -> List[threading.Thread]:
    """Threads of Python besides this one that may hold a lock. A copy of the process would wait for that for ever.

    A thread that is about to wait is given a moment for that.
    """
    end = time.monotonic() + _MOST_SECONDS
    while True:
        frames = sys._current_frames()
        me = threading.current_thread()
        others = [(each, frames.get(each.ident or 0)) for each in threading.enumerate() if each is not me]
        working = [(each, frame) for each, frame in others if not _only_waits(each, frame)]
        if not working or time.monotonic() > end or not all(_will_wait(each, frame) for each, frame in working):
            return [each for each, _ in working]
        time.sleep(0.001)


def _only_waits(thread: threading.Thread, frame: Any) -> bool:
    """True for a thread that waits for its turn, for the main thread while it waits for others, and for an idle thread of this one's pool."""
    if thread.ident in _waiting or thread.name in _SURVIVE_FORKS:
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
    if __file__ in files:
        return True
    pools = os.path.dirname(_file_of_pools()) or None
    return _is_of_own_pool(thread) and all(each == threading.__file__ or os.path.dirname(each) == pools for each in files)


def _file_of_pools() -> str:
    return getattr(sys.modules.get("concurrent.futures.thread"), "__file__", None) or ""


def _is_of_own_pool(thread: threading.Thread) -> bool:
    queues = getattr(sys.modules.get("concurrent.futures.thread"), "_threads_queues", {})
    own = queues.get(threading.current_thread())
    return own is not None and queues.get(thread) is own
