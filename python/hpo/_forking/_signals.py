# SPDX-License-Identifier: MIT
"""Signals and other words to the kernel that Python has no function for, or a slow one."""

from __future__ import annotations

# The functions below those of the module signal, which takes a quarter of a millisecond for its enumerations.
import _signal  # type: ignore[import-not-found,unused-ignore]
import ctypes
import signal
from contextlib import contextmanager
from typing import Iterator

_PR_SET_PDEATHSIG, _PR_SET_NAME, _PR_SET_CHILD_SUBREAPER = 1, 15, 36
_libc = ctypes.CDLL(None, use_errno=True)


def ignore_all() -> None:
    _set_all(_signal.SIG_IGN)


def set_defaults() -> None:
    """All signals do what they do in a new Python program."""
    _set_all(_signal.SIG_DFL)
    _signal.signal(_signal.SIGPIPE, _signal.SIG_IGN)
    _signal.signal(_signal.SIGINT, _signal.default_int_handler)


def _set_all(handler: int) -> None:
    for number in _signal.valid_signals():
        try:
            _signal.signal(number, handler)
        except (OSError, ValueError):
            pass  # it cannot be set: SIGKILL, SIGSTOP, and those of libc


@contextmanager
def held_back() -> Iterator[None]:
    """Signals come after the block. Between a fork and what follows, one would raise KeyboardInterrupt in the copy of the program, too."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def let_through() -> None:
    signal.pthread_sigmask(signal.SIG_SETMASK, [])


def adopt_orphans() -> None:
    """Descendants of this process whose parent ends become its children."""
    _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def end_with_parent() -> None:
    """The kernel kills this process when its parent ends."""
    _libc.prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)


def go_on_after_parent() -> None:
    """The kernel lets this process go on when its parent ends, should somebody have stopped it."""
    _libc.prctl(_PR_SET_PDEATHSIG, int(signal.SIGCONT), 0, 0, 0)


def set_name(name: bytes) -> None:
    _libc.prctl(_PR_SET_NAME, name, 0, 0, 0)


def flush_c_streams() -> None:
    _libc.fflush(None)
