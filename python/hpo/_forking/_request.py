# SPDX-License-Identifier: MIT
"""Requests for copies of this process, and the sockets on which they come."""

from __future__ import annotations

import json
import os
import select
import socket
import struct
import sys
from dataclasses import dataclass
from typing import Dict, List, Optional

_DESCRIPTORS = 6
_LONGEST = 16 << 20  # bytes
_SECONDS = 10.0


@dataclass(frozen=True)
class Request:
    """What a copy is to have."""

    text: bytes
    """What a keeper passes on as it is: only the copy looks into it."""
    given: List[int]
    """Standard output, standard error, reports, answers, news and life."""

    def environment(self) -> Dict[str, str]:
        """Raises ValueError if the text does not tell it."""
        told = json.loads(self.text)
        environment = told.get("environment") if isinstance(told, dict) else None
        if not isinstance(environment, dict):
            raise ValueError("a request without an environment")
        return {name: str(value) for name, value in environment.items()}

    def close(self) -> None:
        for each in self.given:
            os.close(each)


def receive(connection: socket.socket) -> Request:
    """Reads a request. Raises ValueError or OSError if it is none."""
    connection.settimeout(_SECONDS)
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
                if length > _LONGEST:
                    raise ValueError(f"a request of {length} bytes")
                continue
            more = connection.recv(65536)
            if not more:
                raise ValueError("a request that is cut short")
            heard += more
        if len(descriptors) != _DESCRIPTORS:
            raise ValueError("a request without its six descriptors")
        return Request(heard[4 : 4 + length], descriptors)
    except BaseException:
        for each in descriptors:
            os.close(each)
        raise


def send(connection: socket.socket, request: Request) -> None:
    """Passes a request on. Raises OSError if nobody has read all of it."""
    data = len(request.text).to_bytes(4, "little") + request.text
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, struct.pack(f"{_DESCRIPTORS}i", *request.given))]
    sent = connection.sendmsg([data], rights)
    if sent < len(data):  # who has read all of it may have closed the connection already
        connection.sendall(data[sent:])


def wait_for(connection: socket.socket) -> Request:
    """The request that comes on a connection, however long that takes. Ends the process if there will be none."""
    with connection:
        poller = select.poll()
        poller.register(connection, select.POLLIN)
        poller.poll()
        try:
            return receive(connection)
        except (OSError, ValueError):  # the other side has gone
            os._exit(0)


def accept(listener: socket.socket) -> Optional[Request]:
    """The next request. None if there is none that can be read. Its sender then sees the end of its pipes."""
    try:
        connection, _ = listener.accept()
    except OSError:  # another process has taken it, or its sender has gone
        return None
    with connection:
        try:
            return receive(connection)
        except (OSError, ValueError) as error:
            print(f"hpo: a request for a trial's process cannot be read: {error}", file=sys.stderr)
            return None


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
        made.setblocking(False)
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
