# SPDX-License-Identifier: MIT
"""Attempts of trials as copies of this process."""

from __future__ import annotations

import gc
import os
import select
import socket
import sys
import time
from typing import Callable, List, NoReturn, Optional, Set, Tuple

from . import _large_pages, _request, _reseed, _signals, _threads, _trial_copy
from .._trial import _memory_share
from ._keeper import Keeper, Standby
from ._request import Request

_IDLE_SECONDS = 0.05  # a keeper that waits takes a request within this time


def why_not() -> str:
    """Why this process cannot be copied safely. Empty if it can."""
    return _why_not(may_wait=True)[0]


def why_not_with_names(may_wait: bool = True) -> str:
    """The same, with the names of the threads, so that a person can find who starts them. ``may_wait``: see _threads.missed."""
    reason, names = _why_not(may_wait)
    return f"{reason} ({', '.join(names[:3])}{', ...' if len(names) > 3 else ''})" if names else reason


def _why_not(may_wait: bool) -> Tuple[str, List[str]]:
    if _memory_share.used_cuda() is not None:
        return "CUDA is initialised", []
    return _threads.missed(may_wait)


class Copies:
    """Makes a copy of this process for each request on a socket. The copy calls ``run``, and its result is the exit status.

    ``before_fork`` is called before. With ``again``, the keeper of a copy takes further requests, which saves one of two forks. Then the
    program must not change what a copy sees, or must call ``renew``.
    """

    def __init__(self, path: str, run: Callable[[], int], before_fork: Callable[[], None], again: bool = False) -> None:
        self.path = path
        self._run = run
        self._before_fork = before_fork
        self._standby = Standby() if again else None
        self._outputs = _trial_copy.Outputs()
        self._keepers: Set[int] = set()
        self._is_joined = False
        self._noted = ""
        self._last: Optional[Request] = None  # without its descriptors
        self._is_ahead = False
        self._variables = [name for name in os.environ if name.startswith("HPO_")]  # of the program, not of a trial
        self.close_in_copy: List[int] = []  # descriptors of the program that a copy has no use for
        self._alive, self._held = os.pipe2(os.O_CLOEXEC)  # keepers see when this process has gone
        self._listener = _request.listening(path, socket.SOCK_STREAM)

    def fileno(self) -> int:
        return self._listener.fileno()

    def descriptors(self) -> List[int]:
        """All that a process which is no copy should close."""
        return [self.fileno(), self._alive, self._held, *self.close_in_copy, *([] if self._standby is None else self._standby.descriptors())]

    def serve(self) -> None:
        """Answers one request, if no keeper does. One that cannot be read is dropped, so its sender sees the end of its pipes."""
        if self._is_taken_by_keeper():
            return
        request = _request.accept(self._listener)
        if request is None:
            return
        self._last = Request(request.text, [])
        try:
            self._fork_keeper(request)
        except OSError as error:
            print(f"hpo: no process can be made for a trial: {error}", file=sys.stderr)
        finally:  # also if Ctrl-C comes here: whoever asks must see the end of the pipes
            request.close()

    def fork_ahead(self) -> None:
        """Makes one keeper more than there are trials at a time. It waits with a copy, so no trial waits for a fork."""
        if self._standby is None or self._last is None:
            return
        self._is_ahead = True
        try:
            self._fork_keeper(None)
        except OSError:
            pass  # it is only faster with it

    def _fork_keeper(self, request: Optional[Request]) -> None:
        self._note_threads()
        self._before_fork()
        self._outputs.flush()
        if not self._is_joined:
            self._is_joined = True
            _large_pages.join()
        random_state = _reseed.state_of_random()
        with _signals.held_back():
            keeper = os.fork()
            if keeper == 0:
                self._become_keeper(request, random_state)
        self._keepers.add(keeper)

    def _is_taken_by_keeper(self) -> bool:
        end = time.monotonic() + _IDLE_SECONDS
        while self._standby is not None and self._standby.idle() > 0:
            time.sleep(0.0005)
            if not select.select([self._listener], [], [], 0)[0]:
                return True
            if time.monotonic() > end:
                self._standby.forget()
        return False

    def _become_keeper(self, request: Optional[Request], random_state: int) -> NoReturn:
        me = os.getpid()
        status = 1
        collects = gc.isenabled()

        def leave_keeper(keeper: int, close: List[int]) -> None:
            if collects:
                gc.enable()
            gc.freeze()  # what the program holds is never looked at again, so its pages stay shared
            _trial_copy.leave_keeper(keeper, close)

        def rehearse() -> None:
            if self._last is not None:
                _trial_copy.rehearse(self._last)

        def become_copy(request: Request) -> None:
            nonlocal status
            _trial_copy.become_copy(request, self._variables)
            _trial_copy.begin_trial(random_state)
            status = self._run()

        try:
            Keeper(self._listener, self._alive, self._standby, [*self.close_in_copy, self._held]).serve(request, leave_keeper, rehearse, become_copy)
            status = 0 if os.getpid() == me else status
        except BaseException:
            if os.getpid() != me:
                sys.excepthook(*sys.exc_info())
        finally:
            if os.getpid() != me:
                self._outputs.flush()
            os._exit(status)

    def _note_threads(self) -> None:
        reason = why_not_with_names(may_wait=False)
        if reason == self._noted:  # each fork asks, and most find nothing new
            return
        reason = why_not_with_names()
        if reason and reason != self._noted:
            print(f"hpo: since optimize began, {reason}. A copy of this process may hang; start them inside of the objective", file=sys.stderr)
        self._noted = reason

    def renew(self) -> None:
        """Copies are made from the program as it is now."""
        self._is_joined = False
        if self._standby is not None:
            self._standby.close()
            self._standby = Standby()
            if self._is_ahead:
                self.fork_ahead()

    def reap(self) -> None:
        """Takes the keepers that have ended."""
        for keeper in list(self._keepers):
            try:
                gone, _ = os.waitpid(keeper, os.WNOHANG)
            except ChildProcessError:
                gone = keeper  # the program has taken it
            if gone != 0:
                self._keepers.discard(keeper)

    def has_keepers(self) -> bool:
        return bool(self._keepers)

    def close(self, seconds: float = 5.0) -> None:
        """Takes no more requests, ends what still runs, and waits for the keepers."""
        if self._standby is not None:
            self._standby.close()
        self._listener.close()
        os.close(self._alive)
        os.close(self._held)
        _request.remove(self.path)
        end = time.monotonic() + seconds
        self.reap()
        while self._keepers and time.monotonic() < end:
            time.sleep(0.001)
            self.reap()
