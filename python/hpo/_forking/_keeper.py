# SPDX-License-Identifier: MIT
"""The process between the program and its copies. It leaves nothing of a copy behind.

It is the twin of the one that the trainer ``command`` makes for a program (plugins/command/kept_program.cpp).
"""

from __future__ import annotations

import gc
import os
import select
import signal
import socket
import struct
import time
from typing import Callable, Iterable, List, Optional

from . import _request, _signals
from ._request import Request

_NEWS = struct.Struct("<iiqq")  # the copy, the keeper or the wait status, bytes, the monotonic clock at its end in ns
_PAGE = os.sysconf("SC_PAGE_SIZE")
_ORPHANED = -1  # in place of bytes: the copy was ended because the program has gone


def _resident() -> int:
    """Bytes of memory that this process holds."""
    file = os.open("/proc/self/statm", os.O_RDONLY)
    try:
        return int(os.read(file, 4096).split()[1]) * _PAGE
    finally:
        os.close(file)


def _close_all_but(kept: Iterable[int]) -> None:
    wanted = set(kept)
    for name in os.listdir("/proc/self/fd"):
        if int(name) not in wanted:
            try:
                os.close(int(name))
            except OSError:
                pass  # the one that listed the folder


def _kill_children() -> None:
    """Kills the children of this process."""
    me = str(os.getpid())
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                parent = file.read().rpartition(b")")[2].split()[1].decode("ascii")
            if parent == me:
                os.kill(int(name), signal.SIGKILL)
        except (OSError, IndexError):
            pass  # it has gone


class Standby:
    """What the program and its keepers tell each other, if a keeper may serve one request after another."""

    def __init__(self) -> None:
        self.retire, self._held = os.pipe2(os.O_CLOEXEC)
        self._heard, self.notes = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._idle = 0

    def descriptors(self) -> List[int]:
        return [self.retire, self._held, self._heard, self.notes]

    def idle(self) -> int:
        """How many keepers wait for a request."""
        try:
            heard = os.read(self._heard, 65536)
            self._idle = max(0, self._idle + heard.count(b"+") - heard.count(b"-"))
        except BlockingIOError:
            pass
        return self._idle

    def forget(self) -> None:
        """The keepers that should wait do not answer."""
        self._idle = 0

    def become_keepers(self) -> None:
        """Closes what the program alone uses."""
        os.close(self._held)
        os.close(self._heard)

    def note(self, what: bytes) -> None:
        try:
            os.write(self.notes, what)
        except OSError:
            pass  # the program has gone, or does not count any more

    def close(self) -> None:
        """Keepers end once they have nothing to keep."""
        for each in self.descriptors():
            os.close(each)


class _Spare:
    """A copy that was forked ahead, as the keeper has it."""

    def __init__(self, process: int, resident: int, connection: socket.socket) -> None:
        self.process = process
        self.resident = resident
        self._connection = connection

    def give(self, request: Request) -> bool:
        """Gives it its request. False if somebody has killed it."""
        with self._connection:
            try:
                _request.send(self._connection, request)
                return True
            except OSError:
                return False

    def end(self) -> None:
        self._connection.close()
        os.kill(self.process, signal.SIGKILL)


class Keeper:
    """Forks a copy for a request, waits for its end, and then ends all that came from it.

    With a standby it takes further requests. A fork of a fork is as good as one of the program while nothing has changed there. Then it
    also forks the next copy ahead, as soon as an attempt is over, while hpo-tune still prepares the next one. That is as good, too: from
    the end of one attempt to the fork for the next, a keeper runs nothing of the program. What is outside of the process, such as a file,
    is looked at by the copy once it has its request. The copy that waits has no descriptor of an attempt, because there is none yet. It
    is no part of an attempt's memory for the same reason.
    """

    def __init__(self, listener: socket.socket, program: int, standby: Optional[Standby], close: Iterable[int]) -> None:
        self._listener = listener
        self._program = program  # a pipe whose other end the program alone holds
        self._standby = standby
        self._close = list(close)  # what neither a keeper nor a copy has a use for
        self._spare: Optional[_Spare] = None

    def serve(
        self,
        request: Optional[Request],
        leave_keeper: Callable[[int, List[int]], None],
        rehearse: Callable[[], None],
        become_copy: Callable[[Request], None],
    ) -> None:
        """Returns in each copy, once ``become_copy`` has returned, and in the keeper, once there is nothing left to keep.

        A copy calls ``leave_keeper`` at once, ``rehearse`` while it waits for its request, and ``become_copy`` once it has it. Without a request
        the keeper waits for its first one, with a copy that waits, too. That needs a standby.
        """
        gc.disable()
        os.setsid()
        _signals.adopt_orphans()
        _signals.go_on_after_parent()
        _signals.set_name(b"hpo-keeper")
        _signals.ignore_all()
        self._awake, wake = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        _signals.let_through()
        for each in self._close:
            os.close(each)
        if self._standby is not None:
            self._standby.become_keepers()
        keeper = os.getpid()
        ours = [self._awake, wake, self._listener.fileno(), self._program]
        if self._standby is not None:
            ours += [self._standby.retire, self._standby.notes]
        if request is None and self._standby is not None:
            self._standby.note(b"+")
        while True:
            if request is not None:
                if not self._has_taken(request):
                    self._resident = _resident()
                    self._child = os.fork()
                    if self._child == 0:
                        leave_keeper(keeper, ours)
                        return become_copy(request)
                *others, self._news, self._life = request.given
                if self._standby is None:
                    _close_all_but((self._news, self._life, self._program, self._awake, wake))
                else:  # what the program holds open is for the next copies
                    for each in others:
                        os.close(each)
                self._keep(keeper)
            connection = self._fork_ahead()
            if connection is not None:
                leave_keeper(keeper, ours)
                rehearse()
                return become_copy(_request.wait_for(connection))
            request = self._next()
            if request is None:
                return

    def _fork_ahead(self) -> Optional[socket.socket]:
        """Forks the next copy, if there may be one. Returns in that copy what its request will come on, and None in the keeper."""
        if self._standby is None:
            return None
        ours, its = socket.socketpair()
        resident = _resident()
        try:
            process = os.fork()
        except OSError:  # no memory or no process is left now; the next request tries again
            ours.close()
            its.close()
            return None
        if process == 0:
            ours.close()
            return its
        its.close()
        self._spare = _Spare(process, resident, ours)
        return None

    def _has_taken(self, request: Request) -> bool:
        """Gives the request to the copy that was forked ahead. False if there is none."""
        spare, self._spare = self._spare, None
        if spare is None or not spare.give(request):
            return False
        self._child, self._resident = spare.process, spare.resident
        return True

    def _keep(self, keeper: int) -> None:
        self._ended, self._status, self._most, self._orphaned, self._ended_at = False, 0, 0, False, 0
        self._tell(keeper, 0)
        self._wait()
        self._end_children()
        self._tell(self._status, _ORPHANED if self._orphaned else max(0, self._most - self._resident))
        if self._standby is not None:
            self._standby.note(b"+")  # before anybody can know that the attempt is over, and ask for the next one
        os.close(self._news)  # its reader waits for that, and the end of a process takes the kernel some milliseconds
        os.close(self._life)

    def _next(self) -> Optional[Request]:
        """Waits for another request. None if the program wants no more."""
        if self._standby is None:
            return None
        poller = select.poll()
        poller.register(self._standby.retire, select.POLLIN)
        poller.register(self._listener, select.POLLIN)
        while True:
            if any(descriptor == self._standby.retire for descriptor, _ in poller.poll()):
                if self._spare is not None:
                    self._spare.end()
                    self._end_children()
                return None
            request = _request.accept(self._listener)
            if request is not None:
                self._standby.note(b"-")
                return request

    def _tell(self, second: int, size: int) -> None:
        try:
            os.write(self._news, _NEWS.pack(self._child, second, size, self._ended_at))
        except OSError:
            pass  # nobody wants to know

    def _reap(self) -> bool:
        """Takes the children that have ended. False if there are no others."""
        while True:
            try:
                gone, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if gone == 0:
                return True
            if gone == self._child:
                self._ended, self._status, self._most = True, status, usage.ru_maxrss * 1024
                self._ended_at = time.monotonic_ns()

    def _wait(self) -> None:
        poller = select.poll()
        for each in (self._awake, self._life, self._program):
            poller.register(each, select.POLLIN)
        while not self._ended:
            gone = {descriptor for descriptor, _ in poller.poll()} - {self._awake}
            if gone:  # nobody holds the other end any more
                self._orphaned = self._program in gone
                return
            try:
                os.read(self._awake, 4096)
            except BlockingIOError:
                pass
            self._reap()

    def _end_children(self) -> None:
        pause = 0.0002
        while self._reap():
            _kill_children()
            time.sleep(pause)
            pause = min(pause * 2, 0.02)
