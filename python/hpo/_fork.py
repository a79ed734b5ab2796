# SPDX-License-Identifier: MIT
"""Attempts of trials as copies of this process. Each copy has a keeper, which leaves nothing of it behind.

The keeper is the twin of the one that the trainer ``command`` makes for a program (plugins/command/kept_program.cpp).
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found,unused-ignore]
import ctypes
import fcntl
import gc
import io
import json
import os
import select
import signal
import socket
import struct
import sys
import threading
import time
import weakref
from typing import Any, Callable, Dict, Iterable, List, NoReturn, Optional, Set, Tuple

from . import _channel, _imports, _reseed

_NEWS = struct.Struct("<iiq")  # the child, the keeper or the wait status, bytes
_DESCRIPTORS = 6
_LONGEST_REQUEST = 16 << 20  # bytes
_REQUEST_SECONDS = 10.0
_TAKEN_OVER = ("HPO_", "CUDA_", "PYTORCH_", "OMP_", "MKL_", "OPENBLAS_")
_PR_SET_PDEATHSIG, _PR_SET_NAME, _PR_SET_CHILD_SUBREAPER = 1, 15, 36
_libc = ctypes.CDLL(None, use_errno=True)


def why_not() -> str:
    """Why this process cannot be copied safely. Empty if it can."""
    torch = sys.modules.get("torch")
    cuda = getattr(torch, "cuda", None)
    if cuda is not None and cuda.is_initialized():
        return "CUDA is initialised"
    if threading.active_count() > 1:
        return f"{threading.active_count() - 1} threads run besides the one that calls optimize"
    try:
        tasks = len(os.listdir("/proc/self/task"))
    except OSError:
        return "/proc is not there, so its threads cannot be counted"
    if tasks > 1:
        return f"{tasks - 1} threads of a library run"
    return ""


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
        _libc.fflush(None)


def _resident() -> int:
    """Bytes of memory that this process holds."""
    with open("/proc/self/statm", "rb") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _receive(connection: socket.socket) -> Tuple[Dict[str, str], List[int]]:
    """The environment that a copy is to have, and its descriptors. Raises ValueError or OSError if it is none."""
    connection.settimeout(_REQUEST_SECONDS)
    space = socket.CMSG_SPACE(_DESCRIPTORS * 4)
    heard, control, _, _ = connection.recvmsg(65536, space, socket.MSG_CMSG_CLOEXEC)
    descriptors: List[int] = []
    for level, kind, data in control:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            descriptors += struct.unpack(f"{len(data) // 4}i", data[: len(data) // 4 * 4])
    try:
        length: Optional[int] = None
        while length is None or len(heard) < 4 + length:
            if length is None and len(heard) >= 4:
                length = int.from_bytes(heard[:4], "little")
                if length > _LONGEST_REQUEST:
                    raise ValueError(f"a request of {length} bytes")
                continue
            more = connection.recv(65536)
            if not more:
                raise ValueError("a request that is cut short")
            heard += more
        request = json.loads(heard[4 : 4 + length])
        environment = request.get("environment") if isinstance(request, dict) else None
        if len(descriptors) != _DESCRIPTORS or not isinstance(environment, dict):
            raise ValueError("a request without its six descriptors or its environment")
        return {name: str(value) for name, value in environment.items()}, descriptors
    except BaseException:
        for each in descriptors:
            os.close(each)
        raise


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


def _set_all_signals(handler: int) -> None:
    # The functions below those of the module signal, which takes a quarter of a millisecond for its enumerations.
    for number in _signal.valid_signals():
        try:
            _signal.signal(number, handler)
        except (OSError, ValueError):
            pass  # it cannot be set: SIGKILL, SIGSTOP, and those of libc


class _Keeper:
    """Waits for the end of one copy, then ends all that came from it."""

    def __init__(self, news: int, life: int) -> None:
        self._news = news
        self._life = life
        self._child = -1
        self._ended = False
        self._status = 0
        self._most = 0

    def begin(self, become_child: Callable[[int], None]) -> None:
        """Returns twice: in the copy, once ``become_child`` has returned, and in the keeper, once nothing is left of the copy."""
        gc.disable()
        os.setsid()
        _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        _libc.prctl(_PR_SET_NAME, b"hpo-keeper", 0, 0, 0)
        _set_all_signals(_signal.SIG_IGN)
        awake, wake = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        self._resident = _resident()
        keeper = os.getpid()
        self._child = os.fork()
        if self._child == 0:
            os.close(awake)
            os.close(wake)
            become_child(keeper)
            return
        _close_all_but((self._news, self._life, awake, wake))
        self._tell(keeper, 0)
        self._wait(awake)
        self._end_children()
        self._tell(self._status, max(0, self._most - self._resident))
        os.close(self._news)  # its reader waits for that, and the end of a process takes the kernel some milliseconds

    def _tell(self, second: int, size: int) -> None:
        try:
            os.write(self._news, _NEWS.pack(self._child, second, size))
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

    def _wait(self, awake: int) -> None:
        poller = select.poll()
        poller.register(awake, select.POLLIN)
        poller.register(self._life, select.POLLIN)
        while not self._ended:
            if any(descriptor == self._life for descriptor, _ in poller.poll()):
                return  # nobody holds the other end any more
            try:
                os.read(awake, 4096)
            except BlockingIOError:
                pass
            self._reap()

    def _end_children(self) -> None:
        pause = 0.0002
        while self._reap():
            _kill_children()
            time.sleep(pause)
            pause = min(pause * 2, 0.02)


def _become_copy(keeper: int, given: List[int], environment: Dict[str, str], close: Iterable[int]) -> None:
    """Makes this process, which the keeper has forked, the one that runs the objective."""
    os.setsid()
    _libc.prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    if os.getppid() != keeper:
        os._exit(127)
    for each in close:
        os.close(each)
    null = os.open("/dev/null", os.O_RDONLY)
    # First above the numbers that are wanted, so that none is overwritten before it is moved.
    streams = [fcntl.fcntl(each, fcntl.F_DUPFD_CLOEXEC, 3) for each in (null, given[0], given[1])]
    lines = [fcntl.fcntl(each, fcntl.F_DUPFD_CLOEXEC, 3) for each in (given[2], given[3])]
    for each in {null, *given}:
        os.close(each)
    for number, each in enumerate(streams):
        os.dup2(each, number)
        os.close(each)
    signal.set_wakeup_fd(-1)
    _set_all_signals(_signal.SIG_DFL)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)  # as in any Python program
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for name in [each for each in os.environ if each.startswith("HPO_")]:
        del os.environ[name]
    os.environ.update({name: value for name, value in environment.items() if name.startswith(_TAKEN_OVER)})
    os.environ.pop("HPO_FRONT", None)
    os.environ.update(HPO_REPORT_FD=str(lines[0]), HPO_ANSWER_FD=str(lines[1]))


def _use_threads(count: int) -> None:
    """Libraries that are loaded already have read the program's limit of one thread."""
    torch = sys.modules.get("torch")
    if torch is not None and hasattr(torch, "set_num_threads"):
        torch.set_num_threads(count)
    limits = sys.modules.get("threadpoolctl")
    if limits is not None and hasattr(limits, "threadpool_limits"):
        limits.threadpool_limits(count)
    os.environ.setdefault("LOKY_MAX_CPU_COUNT", str(count))  # what joblib makes of n_jobs=-1


def begin_trial(random_state: int) -> None:
    """What a process does before it runs an objective, whether it is a copy or was started for one attempt."""
    _channel.channel = _channel.Channel(os.environ)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.reconfigure(line_buffering=True)  # type: ignore[union-attr]
        except (AttributeError, OSError, ValueError):
            pass  # the program has put something else there
    threads = os.environ.get("OMP_NUM_THREADS", "")
    if threads.isdigit() and int(threads) > 0:
        _use_threads(int(threads))
    _imports.begin_trial()
    _reseed.reseed(random_state, int(os.environ["HPO_TRIAL"]))


class Copies:
    """Makes a copy of this process for each request on a socket. The copy calls ``run``, and its result is the exit status."""

    def __init__(self, path: str, run: Callable[[], int], before_fork: Callable[[], None]) -> None:
        self.path = path
        self._run = run
        self._before_fork = before_fork
        self._outputs = Outputs()
        self._keepers: Set[int] = set()
        self._noted = ""
        self.close_in_copy: List[int] = []  # descriptors of the program that a copy has no use for
        self._listener = listening(path, socket.SOCK_STREAM)

    def fileno(self) -> int:
        return self._listener.fileno()

    def serve(self) -> None:
        """Answers one request. A request that cannot be read is dropped, so its sender sees the end of its pipes."""
        connection, _ = self._listener.accept()
        try:
            environment, given = _receive(connection)
        except (OSError, ValueError) as error:
            print(f"hpo: a request for a trial's process cannot be read: {error}", file=sys.stderr)
            connection.close()
            return
        self._note_threads()
        self._before_fork()
        self._outputs.flush()
        random_state = _reseed.state_of_random()
        # A signal would raise KeyboardInterrupt in the copy, which would then go on as a second program. The keeper lets signals through
        # once it ignores them.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:
            keeper = os.fork()
            if keeper == 0:
                self._become_keeper(connection, environment, given, random_state)
            self._keepers.add(keeper)
        except OSError as error:
            print(f"hpo: no process can be made for a trial: {error}", file=sys.stderr)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        for each in given:
            os.close(each)
        connection.close()

    def _become_keeper(
        self, connection: socket.socket, environment: Dict[str, str], given: List[int], random_state: int
    ) -> NoReturn:
        me = os.getpid()
        status = 1
        collects = gc.isenabled()

        def become_copy(keeper: int) -> None:
            nonlocal status
            if collects:
                gc.enable()
            gc.freeze()  # what the program holds is never looked at again, so its pages stay shared
            close = [connection.fileno(), self._listener.fileno(), *self.close_in_copy]
            _become_copy(keeper, given, environment, close)
            begin_trial(random_state)
            status = self._run()

        try:
            _Keeper(news=given[4], life=given[5]).begin(become_copy)
            status = 0 if os.getpid() == me else status
        except BaseException:
            if os.getpid() != me:
                sys.excepthook(*sys.exc_info())
        finally:
            if os.getpid() != me:
                self._outputs.flush()
            os._exit(status)

    def _note_threads(self) -> None:
        reason = why_not()
        if reason and reason != self._noted:
            print(f"hpo: since optimize began, {reason}. A copy of this process may hang; start them inside of the objective", file=sys.stderr)
        self._noted = reason

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
        """Takes no more requests, and waits for the keepers."""
        self._listener.close()
        remove(self.path)
        end = time.monotonic() + seconds
        self.reap()
        while self._keepers and time.monotonic() < end:
            time.sleep(0.005)
            self.reap()


def listening(path: str, kind: int) -> socket.socket:
    """A socket at a path, which only this user may use."""
    remove(path)
    made = socket.socket(socket.AF_UNIX, kind)
    try:
        before = os.umask(0o177)
        try:
            made.bind(path)
        finally:
            os.umask(before)
        if kind == socket.SOCK_STREAM:
            made.listen(128)
        return made
    except BaseException:
        made.close()
        raise


def remove(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass
