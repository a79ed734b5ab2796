# SPDX-License-Identifier: MIT
"""Tells hpo what a PyTorch program holds of its GPU, from PyTorch's own statistics.

Importing this module does not import PyTorch, and nothing here initialises CUDA.
"""

from __future__ import annotations

import atexit
import os
import threading
from types import TracebackType
from typing import Any, Dict, Optional, Type, Union

from ._trial import _channel, _memory_share, _program


def _index_of(device: Union[int, str, object]) -> int:
    """The number of a CUDA device that is named as 1, "cuda:1" or torch.device("cuda:1")."""
    text = f"cuda:{device}" if isinstance(device, int) else str(device)
    kind, _, number = text.partition(":")
    if kind != "cuda" or not number.isdigit():
        raise ValueError(f"device is {device!r}; it should be a CUDA device with its number, such as 'cuda:0'")
    return int(number)


def _figures_of(cuda: Any, index: int) -> Dict[str, int]:
    stats = cuda.memory_stats(index)
    names = {
        "allocated": "allocated_bytes.all.current",
        "reserved": "reserved_bytes.all.current",
        "peak_allocated": "allocated_bytes.all.peak",
        "peak_reserved": "reserved_bytes.all.peak",
    }
    return {name: int(stats[key]) for name, key in names.items() if key in stats}


def _figures(device: Optional[int]) -> Dict[str, int]:
    """The figures of a device, or of the one that holds most. Empty if the program has not used CUDA."""
    cuda = _memory_share.used_cuda()
    if cuda is None:
        return {}
    indices = range(cuda.device_count()) if device is None else [device]
    return max((_figures_of(cuda, index) for index in indices), key=lambda figures: figures.get("peak_reserved", 0), default={})


class Watch:
    """Reports memory until it is stopped, or until its ``with`` block or the program ends. ``hpo.torch.watch`` makes one."""

    def __init__(self, interval: float, device: Optional[int]) -> None:
        self._interval = interval
        self._device = device
        self._told: Dict[str, int] = {}
        self._stopped = threading.Event()
        # On a trial for the CPU the figures of a GPU would be taken for the CPU's.
        self._active = _channel.channel.in_trial and (device is not None or os.environ.get("HPO_DEVICE", "").startswith("cuda"))
        if self._active:
            atexit.register(self._end)
            threading.Thread(target=self._run, name="hpo.torch.watch", daemon=True).start()

    def _run(self) -> None:
        while not self._stopped.wait(self._interval):
            try:
                self.report()
            except Exception:  # a program does not fail because its memory could not be told
                return

    def _end(self) -> None:
        """At the end of the program. An error here would hide why the program ended."""
        try:
            self.stop()
        except Exception:
            pass

    def report(self) -> bool:
        """Reports the memory now. False if there is nothing to tell, or nothing new."""
        figures = _figures(self._device) if self._active else {}
        if not figures or figures == self._told:
            return False
        _program.memory(**figures)
        self._told = figures
        return True

    def stop(self) -> None:
        """Reports once more, and stops."""
        if not self._stopped.is_set():
            self._stopped.set()
            atexit.unregister(self._end)
            self.report()

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        if error is None:
            self.stop()
        else:
            self._end()


def watch(interval: float = 10.0, device: Union[None, int, str, object] = None) -> Watch:
    """Reports what PyTorch holds of the GPU: allocated and reserved bytes now, and their peaks.

    It reports every ``interval`` seconds if something has changed, and at the end of the program. PyTorch keeps the peaks itself, so a
    long interval misses none. Without ``device`` it reports the device whose reserved peak is highest. Call it once, at the beginning, or
    use it as ``with hpo.torch.watch():``. It also limits PyTorch to what hpo has reserved of the GPU, as ``hpo.trial`` does.

    It reports nothing in a trial on the CPU, before the program has initialised CUDA, and outside of hpo.
    Raises ValueError if the interval is not above 0, or the device is no CUDA device with a number.
    """
    if not interval > 0:
        raise ValueError(f"interval is {interval!r}; it should be a number of seconds above 0")
    if _channel.channel.in_trial:
        _memory_share.limit_torch()
    return Watch(interval, None if device is None else _index_of(device))
