# SPDX-License-Identifier: MIT
"""What a trial and the program say to each other besides reports and parameters: exceptions, and that the study is to stop."""

from __future__ import annotations

import json
import os
import pickle
import socket
import traceback
from typing import Any, Dict, List, Optional, Tuple, Type

_LONGEST_WORD = 64 << 10  # bytes of one datagram


def _again(kind: Type[BaseException], arguments: Tuple[Any, ...], state: Dict[str, Any]) -> BaseException:
    """An exception as it was. Its __init__ may want other arguments than those that it keeps."""
    error = kind.__new__(kind, *arguments)
    error.args = arguments
    error.__dict__.update(state)
    return error


def text_of(error: BaseException) -> str:
    """The exception as hpo-tune and the answers to a trial tell it."""
    return f"{type(error).__name__}: {error}"


class _Copied:
    """Is pickled as the exception that it holds."""

    def __init__(self, error: BaseException) -> None:
        self._error = error

    def __reduce__(self) -> Tuple[Any, ...]:
        return _again, (type(self._error), self._error.args, dict(self._error.__dict__))


def _pickled(error: BaseException) -> bytes:
    """The exception as bytes that give it back. Raises ValueError if there are none."""
    for each in (error, _Copied(error)):  # the built-in ones keep more than their arguments
        try:
            data = pickle.dumps(each)
            again = pickle.loads(data)
            if type(again) is type(error) and again.args == error.args:
                return data
        except Exception:
            pass
    raise ValueError("it cannot be copied")


def _file_of(path: str, number: int) -> str:
    return f"{path}.{number}"


def leave_exception(path: str, number: int, error: BaseException) -> None:
    """Leaves an exception for a trial, which raises it (Words.left_exception). ``path`` is where its words go.

    One that cannot be copied becomes one of the nearest base class that can.
    """
    for kind in type(error).__mro__:
        try:
            data = _pickled(error if kind is type(error) else kind(*error.args))
        except Exception:  # whatever such a class raises
            continue
        try:
            with open(_file_of(path, number), "wb") as file:
                file.write(pickle.dumps((text_of(error), data)))
        except OSError:
            pass  # the trial raises a ValueError of the same text
        return


class Words:
    """What a trial says to the program, and what the program has left for it. ``path`` is that of the program's socket."""

    def __init__(self, path: str, number: int) -> None:
        self._path = path
        self.number = number

    def imported(self, names: List[str]) -> None:
        """Tells which modules the trial has imported, as many as fit."""
        text = ""
        for name in names:
            if len(text) + len(name) < _LONGEST_WORD - 1024:
                text += name + " "
        self._say({"imported": text}, b"")

    def took(self, seconds: float) -> None:
        """Tells how long the objective itself ran."""
        self._say({"took": seconds}, b"")

    def stop(self) -> None:
        self._say({"stop": True}, b"")

    def raised(self, error: BaseException) -> None:
        """Tells the exception itself. If it cannot be copied, a RuntimeError with its type and text."""
        try:
            data = _pickled(error)
            if len(data) > _LONGEST_WORD - 1024:
                raise ValueError
        except ValueError:
            text = "".join(traceback.format_exception_only(type(error), error)).strip()
            data = pickle.dumps(RuntimeError(text[:8192]))
        told = "".join(traceback.format_exception(type(error), error, error.__traceback__))
        self._say({"traceback": told[-8192:]}, data)

    def left_exception(self, text: str) -> Optional[BaseException]:
        """The exception of this text that the program has left for this trial, once."""
        path = _file_of(self._path, self.number)
        try:
            with open(path, "rb") as file:
                data = file.read()
            os.remove(path)
        except OSError:
            return None
        try:
            told, error = pickle.loads(data)
            raised: BaseException = pickle.loads(error)
        except Exception:  # this process may lack the class
            return None
        return raised if told == text else None

    def _say(self, said: Dict[str, Any], data: bytes) -> None:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
            try:
                sender.sendto(json.dumps({"trial": self.number, **said}).encode("ascii") + b"\n" + data, self._path)
            except OSError:
                pass  # the program has gone
