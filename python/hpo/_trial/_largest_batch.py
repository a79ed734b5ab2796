# SPDX-License-Identifier: MIT
"""The largest batch that fits into what a trial may take of its device, found by running it."""

from __future__ import annotations

import contextlib
import gc
import operator
import os
import re
import resource
import threading
import traceback
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence

from . import _channel, _memory_share
from .._forking import _reseed

_LEFT_OF_HOST = 16  # a sixteenth of the host's memory that may be taken is left: training holds a little more than one step does

_one_at_a_time = threading.RLock()  # limit and random numbers are the whole process's

_WORDS = re.compile(
    r"out of memory|can't allocate memory|unable to allocate|RESOURCE_EXHAUSTED|(CUBLAS|CUDNN|CUSOLVER)_STATUS_ALLOC_FAILED", re.IGNORECASE
)


def is_out_of_memory(error: BaseException) -> bool:
    """True for MemoryError, and for what PyTorch, TensorFlow, JAX and CUDA's libraries raise where memory is refused."""
    if isinstance(error, MemoryError):
        return True
    return isinstance(error, Exception) and ("OutOfMemory" in type(error).__name__ or _WORDS.search(str(error)) is not None)


class OutOfMemoryError(MemoryError):
    """The trial may not take so much of the host's memory, which has more. hpo knows it by its name."""


def largest_batch(run: Callable[[int], object], sizes: Sequence[int]) -> int:
    """The largest of ``sizes`` that fits. It calls ``run(size)``, which should do all that a step of training does with so many examples.

    ``sizes`` are whole numbers above 0 that grow: ``[16, 32, 64, 128]`` or ``range(8, 1025, 8)``. The smallest is tried first, and then the
    range is halved: of n sizes at most log2(n) + 2 are tried. Each is run twice, because a second step finds the memory in the pieces that
    the first one left. The size that is returned has run. It need not be the largest where more examples take less memory.

    A size fits if ``run`` returns. It does not if ``run`` raises an error of memory: MemoryError, or what PyTorch, TensorFlow and JAX raise.
    If no size fits, the error of the smallest one is raised, or a MemoryError that says what the trial may take. Any other error of ``run`` is
    raised at once.

    In a trial, memory is what the trial may take of its device. On a CPU the program is limited to that while it tries. Elsewhere
    it is what the device has free, or the machine, if the program has not used CUDA.

    What ``run`` changes stays changed, such as weights. The random numbers of ``random``, NumPy and PyTorch go on as if it had not run.
    PyTorch's cache is emptied, and its peaks begin anew. Raises TypeError or ValueError for wrong sizes.
    """
    numbers = _numbers_in(sizes)
    if _channel.channel.in_trial:
        _memory_share.limit_torch()
    with _one_at_a_time, _reseed.kept():
        _try_smallest(run, numbers[0])
        fits, fails = 0, len(numbers)
        while fails - fits > 1:
            middle = (fits + fails) // 2
            if _runs(run, numbers[middle]):
                fits = middle
            else:
                fails = middle
    _forget_refusals()
    return numbers[fits]


def _numbers_in(sizes: Sequence[int]) -> List[int]:
    try:
        numbers = [operator.index(size) for size in sizes]
    except TypeError:
        raise TypeError(f"sizes is {sizes!r}; it should be a list of whole numbers, such as [16, 32, 64]") from None
    if not numbers or numbers[0] < 1 or any(b <= a for a, b in zip(numbers, numbers[1:])):
        raise ValueError(f"sizes is {sizes!r}; it should be at least one whole number above 0, and each larger than the one before")
    return numbers


def _try_smallest(run: Callable[[int], object], size: int) -> None:
    try:
        with _host_limit():
            _run_twice(run, size)
    except BaseException as error:
        share = _share_of_host()
        if share is None or not is_out_of_memory(error):
            raise
        _channel.channel.say({"memory": {"limit": share}})
        place = traceback.extract_tb(error.__traceback__)[-1]
        raise OutOfMemoryError(
            f"a batch of {size}, the smallest, does not fit into the {share / (1 << 20):.2f} MiB that the trial may take "
            f"({place.filename}:{place.lineno})"
        ) from None  # the first error of a chain counts as its cause, and this one would tell that the host has no more
    _give_back()


def _runs(run: Callable[[int], object], size: int) -> bool:
    """False if it runs out of memory."""
    try:
        with _host_limit():
            _run_twice(run, size)
        return True
    except BaseException as error:
        if not is_out_of_memory(error):
            raise
        traceback.clear_frames(error.__traceback__)  # they hold the tensors of the step that failed
        return False
    finally:
        _give_back()


def _run_twice(run: Callable[[int], object], size: int) -> None:
    run(size)
    run(size)
    cuda = _memory_share.used_cuda()
    if cuda is not None:
        cuda.synchronize()


def _give_back() -> None:
    gc.collect()
    cuda = _memory_share.used_cuda()
    if cuda is not None:
        cuda.empty_cache()


def _forget_refusals() -> None:
    """What was tried and did not fit is no peak of the trial, and no reason to run it again with more memory."""
    cuda = _memory_share.used_cuda()
    if cuda is not None:
        cuda.reset_peak_memory_stats()
        cuda.reset_accumulated_memory_stats()


@contextlib.contextmanager
def _host_limit() -> Iterator[None]:
    """Lets allocations beyond what the program may take of a CPU's memory fail, as RLIMIT_DATA does. On a GPU PyTorch has a limit."""
    further = _further_bytes()
    if further is None:
        yield
        return
    before = resource.getrlimit(resource.RLIMIT_DATA)
    limit = _kib_in("/proc/self/status")["VmData"] * 1024 + max(0, further)
    if before[0] != resource.RLIM_INFINITY:
        limit = min(limit, before[0])
    resource.setrlimit(resource.RLIMIT_DATA, (limit, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, before)


def _share_of_host() -> Optional[int]:
    """The bytes of host memory that the trial may take in all. None elsewhere, and if nothing limits it."""
    told = os.environ.get("HPO_HOST_BYTES", "")
    return int(told) if _channel.channel.in_trial and told.isdigit() else None


def _further_bytes() -> Optional[int]:
    """How many more bytes of host memory the program may take. None: nothing limits it, or nothing is known."""
    in_trial = _channel.channel.in_trial
    is_on_cpu = os.environ.get("HPO_DEVICE", "").startswith("cpu") if in_trial else _memory_share.used_cuda() is None
    if not is_on_cpu:
        return None
    share = _share_of_host()
    try:
        may_take = _kib_in("/proc/meminfo")["MemAvailable"] * 1024
        if share is not None:
            # As hpo counts it from outside, but for a copy of a program, which counts for less.
            may_take = min(may_take, share - _kib_in("/proc/self/smaps_rollup")["Pss"] * 1024)
    except (OSError, KeyError):
        return None  # /proc looks unlike Linux
    return may_take - may_take // _LEFT_OF_HOST


def _kib_in(path: str) -> Dict[str, int]:
    """The figures of a file of /proc that stand in kB."""
    with open(path, encoding="utf-8", errors="replace") as file:
        rows = [line.replace(":", " ").split() for line in file]
    return {row[0]: int(row[1]) for row in rows if len(row) == 3 and row[2] == "kB"}
