# SPDX-License-Identifier: MIT
"""Threads of a program that call ``optimize`` at the same time."""

from __future__ import annotations

import threading
import time
from typing import Any, Optional, Set

_waiting: Set[int] = set()  # idents of threads that wait for their turn


def waits(ident: Optional[int]) -> bool:
    """True for a thread that waits for its turn."""
    return ident in _waiting


class Turns:
    """One thread at a time runs a study with hpo. Others that call ``optimize`` of the same study run after it.

    So all trials of a study in memory are in one place, and the workers of hpo run as many at once as fit.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._owner: Optional[int] = None
        self._study: Any = None

    def take(self, study: Any) -> Optional[float]:
        """Waits while another thread runs the same study, and returns how long, in seconds. None if hpo runs another study."""
        me = threading.get_ident()
        begun = time.monotonic()
        with self._changed:
            waited = 0.0
            while self._owner is not None:
                if self._study is not study or self._owner == me:
                    return None
                _waiting.add(me)
                try:
                    self._changed.wait()
                finally:
                    _waiting.discard(me)
                waited = time.monotonic() - begun
            self._owner, self._study = me, study
            return waited

    def give_back(self) -> None:
        """Lets the next thread take its turn."""
        with self._changed:
            self._owner = self._study = None
            self._changed.notify_all()
