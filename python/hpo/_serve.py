# SPDX-License-Identifier: MIT
"""A process of ``hpo-tune serve`` and what is said to it."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from typing import Any, Dict, Optional

from . import _tools
from ._errors import HpoError
from ._json import line_of

LONGEST_LINE = 16 << 20  # bytes


def _tool_at(given: Optional[str]) -> str:
    _tools.refuse_former_distribution()
    found = _tools.find_tool(given or "hpo-tune")
    if found is None:
        place = f"{given!r} is no program that can be started" if given else "hpo-tune is neither beside this package nor in PATH"
        raise HpoError(f"{place}. Put the folder of hpo's tools in PATH, or name the program: hpo.Study(..., tool='.../hpo-tune')")
    _tools.warn_of_other_version(found)
    return found


class Server:
    """Sends a request, and returns its answer. Thread safety: any number of threads, one process."""

    def __init__(self, tool: Optional[str]) -> None:
        # In a session of its own, Ctrl-C reaches this program alone, which then can still tell how its trials ended.
        self._process = subprocess.Popen(
            [_tool_at(tool), "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
        )
        self._owner = os.getpid()
        self._lock = threading.Lock()
        self._requests = 0

    def request(self, op: str, **members: Any) -> Dict[str, Any]:
        """Raises HpoError with the text of hpo if the request is refused, or if hpo-tune has ended."""
        if os.getpid() != self._owner:
            raise HpoError(f"{op}: a Study can be used only by the process that made it; make one in this process, with the same store")
        if self._process.stdin is None or self._process.stdout is None or self._process.stdin.closed:
            raise HpoError(f"{op}: the study is closed")
        with self._lock:
            self._requests += 1
            line = line_of({"op": op, "id": self._requests, **members}, LONGEST_LINE)
            try:
                self._process.stdin.write(line)
                self._process.stdin.flush()
                answer = self._answer_to(self._requests, self._process.stdout)
            except BrokenPipeError:
                answer = None
        if answer is None:
            raise HpoError(f"{op}: hpo-tune serve has ended with status {self._process.wait()}")
        if not answer["ok"]:
            raise HpoError(str(answer["error"]))
        return answer

    def _answer_to(self, number: int, answers: Any) -> Optional[Dict[str, Any]]:
        for line in answers:
            answer: Dict[str, Any] = json.loads(line)
            if answer.get("id") == number:  # an interrupted call may have left an older answer
                return answer
        return None

    def close(self) -> None:
        """Ends the process. Trials that were not told are lost; a later run of the study begins them again."""
        if os.getpid() != self._owner or self._process.stdin is None or self._process.stdout is None:
            return
        with self._lock:
            if self._process.stdin.closed:
                return
            try:
                self._process.stdin.write(b'{"op": "quit"}\n')
                self._process.stdin.close()
            except BrokenPipeError:
                pass
            self._process.stdout.read()
            self._process.wait()
            self._process.stdout.close()
