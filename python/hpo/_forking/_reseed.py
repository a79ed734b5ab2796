# SPDX-License-Identifier: MIT
"""Random numbers of a trial that runs in a copy of the program.

In one process each trial of Optuna draws other random numbers. Copies of a process would all draw the same ones. So each trial's
generators begin at a state that follows from the state which the program has when it reaches ``optimize``, and from the trial's number. A
program that seeds its generators has the same numbers in each run. One that does not has others in each run. Another attempt of a trial
has the numbers of the first one. HPO_SEED is not used: a program that seeds itself would then depend on two seeds.

``random``, NumPy's global generator and PyTorch's are covered. A generator that the program made itself stays a copy.
"""

from __future__ import annotations

import contextlib
import random
import sys
from typing import Iterator


def state_of_random() -> int:
    """What the state of ``random`` is. It must be asked for before the fork, because Python seeds ``random`` anew after one."""
    return hash(random.getstate()[1])


def reseed(state: int, number: int) -> None:
    """Begins the random numbers of a trial."""
    random.seed(f"{state} {number}")
    numpy = sys.modules.get("numpy.random")
    if numpy is not None:
        _, keys, position = numpy.get_state()[:3]
        numpy.seed(random.Random(b"%s %d %d" % (keys.tobytes(), position, number)).getrandbits(32))
    torch = sys.modules.get("torch")
    if torch is not None and hasattr(torch, "manual_seed"):
        torch.manual_seed(random.Random(f"{torch.initial_seed()} {number}").getrandbits(63))


def rehearse() -> None:
    """Does what is slow for the first time. What ``reseed`` does afterwards is the same as without it.

    PyTorch keeps the stack of who seeds it, for an error of a card that is not in use yet. So Python reads the sources of all functions on it.
    """
    torch = sys.modules.get("torch")
    if torch is not None and hasattr(torch, "manual_seed"):
        torch.manual_seed(torch.initial_seed())


@contextlib.contextmanager
def kept() -> Iterator[None]:
    """What runs in it draws random numbers that the program does not miss: its generators go on as if nothing had been drawn."""
    python = random.getstate()
    numpy = sys.modules.get("numpy.random")
    numpys = numpy.get_state() if numpy is not None else None
    torch = sys.modules.get("torch")
    torch = torch if hasattr(torch, "get_rng_state") else None
    torchs = torch.get_rng_state() if torch is not None else None
    cards = torch.cuda.get_rng_state_all() if torch is not None and torch.cuda.is_initialized() else None
    try:
        yield
    finally:
        random.setstate(python)
        if numpy is not None:
            numpy.set_state(numpys)
        if torch is not None:
            torch.set_rng_state(torchs)
            if cards is not None:
                torch.cuda.set_rng_state_all(cards)
