# SPDX-License-Identifier: MIT
"""Whose code a thread of this process runs, where neither Python nor the thread's name tells.

The kernel tells where the stack of a thread that waits ends. The return addresses on it lie in the libraries that have called each other.
Linux on x86-64 alone.
"""

from __future__ import annotations

import functools
import os
import struct
from typing import List, Tuple

_FUTEX = 202  # the system call in which an idle thread waits
_MOST = 16384  # bytes of a stack
_OF_THE_SYSTEM = ("libc.so", "libc-", "libpthread", "libstdc++.so", "libm.so", "ld-linux", "[vdso]")


def libraries_below_wait(task: str) -> List[str]:
    """File names of the libraries on the stack of a thread that waits for others, the innermost first, without those of the system.

    Empty if it does not wait so, or if that cannot be seen.
    """
    try:
        with open(f"/proc/self/task/{task}/syscall", encoding="ascii") as file:
            words = file.read().split()
        if len(words) < 3 or words[0] != str(_FUTEX) or os.uname().machine != "x86_64":
            return []
        return list(_libraries_on_stack(task, int(words[-2], 16)))
    except (OSError, ValueError, StopIteration):
        return []


@functools.lru_cache(maxsize=1024)  # a thread that waits again at the same place has the same stack, and each fork asks
def _libraries_on_stack(task: str, pointer: int) -> Tuple[str, ...]:
    """The libraries on a thread's stack, which ends at this address. The thread's number only tells threads apart."""
    mapped = _mapped()
    end = next(last for first, last, _ in mapped if first <= pointer < last)
    memory = os.open("/proc/self/mem", os.O_RDONLY)  # a stack that goes meanwhile is an error here, and no crash
    try:
        stack = os.pread(memory, min(end - pointer, _MOST), pointer)
    finally:
        os.close(memory)
    code = [(first, last, os.path.basename(name)) for first, last, name in mapped if name]
    found: List[str] = []
    for (word,) in struct.iter_unpack("<Q", stack[: len(stack) // 8 * 8]):
        name = next((name for first, last, name in code if first <= word < last), "")
        if name and name not in found and not name.startswith(_OF_THE_SYSTEM):
            found.append(name)
    return tuple(found)


def _mapped() -> List[Tuple[int, int, str]]:
    """Parts of this process's memory. Those with the code of a file have its name, others none."""
    parts = []
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as file:
        for line in file:
            fields = line.split(None, 5)
            first, last = fields[0].split("-")
            name = fields[5].strip() if len(fields) > 5 and "x" in fields[1] else ""
            parts.append((int(first, 16), int(last, 16), name if name.startswith(("/", "[vdso]")) else ""))
    return parts
