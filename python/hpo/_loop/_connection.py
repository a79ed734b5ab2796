# SPDX-License-Identifier: MIT
"""The connection between a program and hpo-tune."""

from __future__ import annotations

import json
import os
import socket
from typing import Any, Dict, List, Optional

from .._errors import HpoError
from .._json import line_of

_LONGEST_LINE = 1 << 30  # bytes; the trials of a study in memory are told in one line


class Connection:
    """Lines of JSON to hpo-tune and back."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.owner = os.getpid()
        self._heard = b""
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._socket.connect(path)
        except OSError:
            self._socket.close()
            raise

    def fileno(self) -> int:
        return self._socket.fileno()

    def say(self, said: Dict[str, Any]) -> None:
        """Raises HpoError if hpo-tune has gone."""
        try:
            self._socket.sendall(line_of(said, _LONGEST_LINE))
        except OSError as error:
            raise HpoError(f"hpo-tune does not listen any more: {error}") from None

    def hear(self) -> List[Dict[str, Any]]:
        """Waits for something, and returns the lines that are complete. Raises HpoError if hpo-tune has gone."""
        try:
            got = self._socket.recv(1 << 16)
        except OSError as error:
            raise HpoError(f"hpo-tune has ended: {error}") from None
        if not got:
            raise HpoError("hpo-tune has ended")
        *lines, self._heard = (self._heard + got).split(b"\n")
        return [json.loads(line) for line in lines if line.strip()]

    def close(self) -> None:
        self._socket.close()


_connection: Optional[Connection] = None


def connect() -> Optional[Connection]:
    """The connection of this process. None if hpo-tune does not listen."""
    global _connection
    path = os.environ.get("HPO_FRONT")
    if path is None:
        return None
    if _connection is None or _connection.owner != os.getpid():
        try:
            _connection = Connection(path)
        except OSError:
            return None
    return _connection


def disconnect() -> None:
    """Forgets the connection, so that the next call connects anew."""
    global _connection
    if _connection is not None and _connection.owner == os.getpid():
        _connection.close()
    _connection = None
