# SPDX-License-Identifier: MIT
"""Trials that run in the program itself, one at a time (``hpo-tune run --isolation none``)."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TYPE_CHECKING, Any, Dict, Mapping, Optional

from . import _endings
from .._trial import _channel
from .._json import finite, line_of

if TYPE_CHECKING:
    from ._program_loop import Loop


class _Channel(_channel.Speaker):
    """The connection of the call of optimize, for ``hpo.report`` and a trial in the program."""

    in_trial = True

    def __init__(self, loop: Loop, trial: int) -> None:
        self._loop = loop
        self._trial = trial
        self._unanswered = 0

    def say(self, said: Mapping[str, Any]) -> None:
        self._say(said, False)

    def request(self, said: Mapping[str, Any], seconds: Optional[float] = None) -> Optional[Dict[str, Any]]:
        self._unanswered += 1
        self._say(said, True)
        answer: Dict[str, Any] = {}
        while self._unanswered > 0:  # a call that was interrupted may have left an older answer
            answer = self._loop.answer_of_hpo()
            self._unanswered -= 1
        return answer

    def _say(self, said: Mapping[str, Any], asks: bool) -> None:
        line_of(said, _channel.LONGEST_LINE)  # raises what a process of its own would get
        self._loop.say({"op": "said", "trial": self._trial, "line": finite(dict(said)), "asks": asks})  # JSON has no NaN


class _Here(_endings.Words):
    """A trial's words to the program, which needs no copy of an exception."""

    def __init__(self, loop: Loop, path: str, number: int) -> None:
        super().__init__(path, number)
        self._loop = loop

    def imported(self, names: Any) -> None:
        pass

    def took(self, seconds: float) -> None:
        pass

    def stop(self) -> None:
        self._loop.stop()

    def raised(self, error: BaseException) -> None:
        self._loop.has_raised(self.number, error)


class _Tee:
    """Standard error, of which the end is kept."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._kept = ""

    def write(self, text: str) -> int:
        self._kept = (self._kept + text)[-65536:]
        return int(self._stream.write(text) or len(text))

    def __getattr__(self, name: str) -> Any:  # all else is the stream's own: buffer, encoding, isatty
        return getattr(self._stream, name)

    def kept(self) -> str:
        return self._kept


@contextlib.contextmanager
def _variables(environment: Mapping[str, str]) -> Any:
    before = {name: os.environ.get(name) for name in environment}
    os.environ.update(environment)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def run(loop: Loop, message: Dict[str, Any]) -> None:
    """Runs a trial that hpo-tune has begun, and says how it ended. What the objective raises goes to ``Loop.has_raised``."""
    trial = int(message["trial"])
    before = _channel.channel
    errors = _Tee(sys.stderr)
    end: Dict[str, Any] = {"status": 1, "interrupted": True, "error": ""}
    try:
        _channel.channel = _Channel(loop, trial)
        with _variables(message["environment"]), contextlib.redirect_stderr(errors):
            status = loop.handler.run_here(_Here(loop, loop.words_path, trial))
        end = {"status": status, "error": errors.kept() if status != 0 else ""}
    finally:
        _channel.channel = before
        loop.say({"op": "said", "trial": trial, "end": end})
