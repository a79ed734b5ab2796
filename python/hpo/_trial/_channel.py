# SPDX-License-Identifier: MIT
"""The two descriptors between a program and hpo: one for reports, one for answers."""

from __future__ import annotations

import fcntl
import json
import os
import select
import stat
import sys
import threading
from typing import Any, Dict, Mapping, Optional, Tuple

from .._json import line_of

LONGEST_LINE = 1 << 20  # bytes; hpo reads no longer line
ANSWER_SECONDS = 60.0  # hpo answers within milliseconds


class _Pipe:
    """A descriptor that a variable names. It counts only while it is a pipe of this direction, and the same one as at the beginning.

    A child of the program may have the variable without the descriptor. Another file may have its number, there or later.
    """

    def __init__(self, environment: Mapping[str, str], name: str, access: int) -> None:
        self._access = access
        try:
            self.descriptor = int(environment.get(name, ""))
        except ValueError:
            self.descriptor = -1
        self._identity = self._look()

    def _look(self) -> Optional[Tuple[int, int]]:
        try:
            found = os.fstat(self.descriptor)
            is_ours = stat.S_ISFIFO(found.st_mode) and fcntl.fcntl(self.descriptor, fcntl.F_GETFL) & os.O_ACCMODE == self._access
            return (found.st_dev, found.st_ino) if is_ours else None
        except (OverflowError, OSError):
            return None

    def is_there(self) -> bool:
        return self._identity is not None and self._look() == self._identity


class Speaker:
    """What a trial speaks to hpo with."""

    in_trial: bool

    def say(self, said: Mapping[str, Any]) -> None:
        """Tells something. Outside of hpo it does nothing."""
        raise NotImplementedError

    def request(self, said: Mapping[str, Any], seconds: Optional[float] = None) -> Optional[Dict[str, Any]]:
        """Tells something that hpo answers, and waits for the answer. None if nobody can answer, or not within these seconds."""
        raise NotImplementedError

    def ask(self) -> Optional[bool]:
        """Asks whether the program should end, and waits for the answer. None if nobody can answer."""
        answer = self.request({"answer": True}, ANSWER_SECONDS)
        return None if answer is None else answer.get("prune") is True


class Channel(Speaker):
    """Writes lines to hpo and reads its answers. Thread safety: any number of threads."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.in_trial = "HPO_PARAMS" in environment
        self._report = _Pipe(environment, "HPO_REPORT_FD", os.O_WRONLY)
        self._answer = _Pipe(environment, "HPO_ANSWER_FD", os.O_RDONLY)
        self._lock = threading.RLock()
        self._unanswered = 0
        self._heard = b""
        os.register_at_fork(after_in_child=self._renew_lock)

    def _renew_lock(self) -> None:
        self._lock = threading.RLock()  # a thread that is not in the child may have held it

    def say(self, said: Mapping[str, Any]) -> None:
        """Writes one line. Without the descriptor it is printed, with the mark that hpo looks for. Outside of hpo it does nothing."""
        line = line_of(said, LONGEST_LINE)
        if not self.in_trial:
            return
        with self._lock:
            if not self._report.is_there():
                sys.stdout.write("\n@hpo " + line.decode("ascii"))  # a line of its own, whatever was printed before
                sys.stdout.flush()
                return
            while line:
                line = line[os.write(self._report.descriptor, line) :]

    def request(self, said: Mapping[str, Any], seconds: Optional[float] = None) -> Optional[Dict[str, Any]]:
        """Writes a line that hpo answers, and waits for the answer. None if nobody can answer, or not within these seconds."""
        with self._lock:
            if not self.in_trial or not self._report.is_there() or not self._answer.is_there():
                return None
            self._unanswered += 1
            self.say(said)
            answer: Dict[str, Any] = {}
            while self._unanswered > 0:  # an interrupted call may have left an older answer
                line = self._next_line(self._answer.descriptor, seconds)
                if line is None:
                    return None
                self._unanswered -= 1
                answer = json.loads(line)
            return answer

    def _next_line(self, descriptor: int, seconds: Optional[float]) -> Optional[bytes]:
        while b"\n" not in self._heard:
            poller = select.poll()
            poller.register(descriptor, select.POLLIN)
            if not poller.poll(None if seconds is None else seconds * 1000):
                return None
            got = os.read(descriptor, 4096)
            if not got:
                return None
            self._heard += got
        line, _, self._heard = self._heard.partition(b"\n")
        return line


channel: Speaker = Channel(os.environ)
