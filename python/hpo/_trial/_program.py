# SPDX-License-Identifier: MIT
"""What a program calls that runs as a trial: a command of ``hpo.command { "python3", "train.py" }``."""

from __future__ import annotations

import json
import operator
import os
from dataclasses import dataclass
from typing import Any, Dict, Iterable, List, Mapping, Optional, SupportsFloat, SupportsIndex, Union, cast

from . import _channel, _memory_share
from .._errors import HpoError, NotInTrial
from .._json import finite
from ._plan import Plan, plan_of

_HOW_TO_START = (
    'this program does not run as a trial (HPO_PARAMS is not set). Start it with "hpo-tune run STUDY.lua", where STUDY.lua has '
    'trainer = hpo.command { "python3", "train.py" }'
)


@dataclass(frozen=True)
class Trial:
    """The trial that this program is."""

    params: Dict[str, Any]
    """The parameters: numbers, texts, True, False or None, by name."""
    number: int
    """The number of the trial in its study, from 0."""
    attempt: int
    """0, and one more each time the trial is tried again after a failure."""
    study: str
    """The name of the study."""
    metric: str
    """The name of the metric that ``report`` and ``result`` tell."""
    seed: int
    """A seed of this trial's own. It is the same in every attempt."""
    device: str
    """The device as this program sees it: ``cpu``, ``cuda:0``."""
    plan: Plan
    checkpoint_folder: Optional[str]
    """The folder for checkpoints of this trial, or None."""
    resume_step: Optional[int]
    """The step of the checkpoint to go on from, or None."""


def in_trial() -> bool:
    """True if this program runs as a trial of hpo."""
    return _channel.channel.in_trial


def _variable(name: str) -> str:
    if name not in os.environ:
        raise HpoError(f"{name} is not set, although HPO_PARAMS is; hpo sets both for a program that it starts")
    return os.fsencode(os.environ[name]).decode("utf-8", "replace")  # hpo writes UTF-8, whatever the program's locale is


def _object_in(name: str) -> Dict[str, Any]:
    text = _variable(name)
    try:
        found = json.loads(text)
    except ValueError as error:
        raise HpoError(f"{name} is no JSON: {error}") from None
    if not isinstance(found, dict):
        raise HpoError(f"{name} is {text[:80]!r}; it should be a JSON object")
    return found


def _whole_in(name: str) -> int:
    text = _variable(name)
    try:
        return int(text)
    except ValueError:
        raise HpoError(f"{name} is {text[:80]!r}; it should be a whole number") from None


def _require_trial(function: str) -> None:
    if not in_trial():
        raise NotInTrial(f"hpo.{function}(): {_HOW_TO_START}")


def plan() -> Plan:
    """How this trial should run. Outside of hpo it raises NotInTrial."""
    _require_trial("plan")
    return plan_of(_object_in("HPO_PLAN"), _variable("HPO_DEVICE"))


def trial() -> Trial:
    """The trial that this program is. Outside of hpo it raises NotInTrial, which says how to start the program.

    On a GPU it limits PyTorch, if that is imported, to what hpo has reserved for the trial.
    """
    _require_trial("trial")
    _memory_share.limit_torch()
    return Trial(
        params=_object_in("HPO_PARAMS"),
        number=_whole_in("HPO_TRIAL"),
        attempt=_whole_in("HPO_ATTEMPT"),
        study=_variable("HPO_STUDY"),
        metric=_variable("HPO_METRIC"),
        seed=_whole_in("HPO_SEED"),
        device=_variable("HPO_DEVICE"),
        plan=plan(),
        checkpoint_folder=_variable("HPO_CHECKPOINT_FOLDER") or None,
        resume_step=_whole_in("HPO_RESUME_STEP") if _variable("HPO_RESUME_STEP") else None,
    )


def number_of(what: str, value: SupportsFloat) -> float:
    """The value as a float. A tensor or an array of one element is a number, too."""
    if isinstance(value, (str, bytes, bytearray)):
        raise TypeError(f"{what} is {value!r}; it should be a number")
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise TypeError(f"{what} is {value!r}; it should be a number ({error})") from None


def numbers_of(what: str, value: Union[SupportsFloat, Iterable[SupportsFloat]]) -> List[float]:
    """A number, or each number of a list, as floats."""
    one = isinstance(value, (str, bytes)) or getattr(value, "ndim", None) == 0 or not hasattr(value, "__iter__")
    values: List[Any] = [value] if one else list(cast(Iterable[Any], value))
    return [number_of(what, each) for each in values]


def step_of(step: SupportsIndex) -> int:
    """The step as an int. Raises TypeError or ValueError if it is no whole number of at least 0."""
    try:
        number = operator.index(step)
    except TypeError:
        raise TypeError(f"step is {step!r}; it should be a whole number") from None
    if not 0 <= number < 1 << 63:
        raise ValueError(f"step is {number}; it should be a whole number from 0 to 2**63 - 1")
    return number


def report(value: SupportsFloat, step: SupportsIndex) -> None:
    """Reports an intermediate value of the objective after a step: an epoch, or a number of batches.

    The pruner compares it with other trials at the same step. NaN and infinities may be reported. Outside of hpo it does nothing.

    Raises TypeError or ValueError if the value is no number, or the step no whole number of at least 0.
    """
    _channel.channel.say({"step": step_of(step), "value": number_of("the reported value", value)})


def should_prune() -> bool:
    """True if the trial is pruned, or the run ends. The program should then end soon, without a result.

    It waits for hpo's answer, some milliseconds. Without an answer for a minute it is False. hpo ends a program that goes on: first with
    SIGTERM, five seconds later with SIGKILL (option ``grace_ms``). A program that has never asked gets SIGTERM at once. So call this
    function once before the first report if the program must clean up. Only one process of a program may ask. Outside of hpo the answer
    is False.
    """
    return _channel.channel.ask() is True


def result(value: Union[SupportsFloat, Iterable[SupportsFloat]]) -> None:
    """Tells the value of the trial, or a list of values if the study has several objectives, in their order.

    If it is called again, the last call counts. A trial that was pruned should not call it: it would count as complete. Outside of hpo
    it does nothing. Raises TypeError if something is no number, and ValueError for an empty list.
    """
    numbers = numbers_of("the result", value)
    if not numbers:
        raise ValueError("the result is an empty list; it should be a number, or one for each objective")
    _channel.channel.say({"value": numbers[0]} if len(numbers) == 1 else {"values": numbers})


def attr(name: str, value: Any) -> None:
    """Stores something about the trial: what JSON can hold, and numbers and arrays of NumPy and PyTorch.

    NaN and infinities are stored as the texts NaN, Infinity and -Infinity, and whole numbers of more than 64 bits as their digits, because hpo
    can read no such numbers.
    If it is called again with the same name, the last call counts. Outside of hpo it does nothing. Raises TypeError or ValueError if the
    value cannot be written as JSON, or takes more than 1 MiB.
    """
    if not isinstance(name, str):
        raise TypeError(f"the name of an attribute is {name!r}; it should be a text")
    try:
        _channel.channel.say({"attr": {name: finite(value)}})
    except (TypeError, ValueError) as error:
        raise type(error)(f"attribute {name!r}: {error}") from None


def constraint(name: str, value: SupportsFloat) -> None:
    """Tells a constraint of the trial. A value above 0 is a violation: samplers avoid such trials, and none of them is the best.

    If it is called again with the same name, the last call counts. Outside of hpo it does nothing. Raises TypeError or ValueError if the
    name is no text, or the value no number.
    """
    if not isinstance(name, str):
        raise TypeError(f"the name of a constraint is {name!r}; it should be a text")
    number = number_of(f"constraint {name!r}", value)
    if number != number:
        raise ValueError(f"constraint {name!r} is NaN; it should be a number")
    _channel.channel.say({"constraint": {name: finite(number)}})


def memory(
    allocated: Optional[SupportsIndex] = None,
    reserved: Optional[SupportsIndex] = None,
    *,
    peak_allocated: Optional[SupportsIndex] = None,
    peak_reserved: Optional[SupportsIndex] = None,
    free: Optional[SupportsIndex] = None,
    capacity: Optional[SupportsIndex] = None,
) -> None:
    """Tells what the program holds of its device, in bytes. ``hpo.torch.watch`` does it for PyTorch.

    ``allocated`` is in use; ``reserved`` is what the allocator holds. The peaks are the highest so far. ``free`` and ``capacity`` are the
    device's. Leave out what is not known. Outside of hpo it does nothing. Raises TypeError or ValueError if a figure is no whole number
    of at least 0, or if there is none.
    """
    given: Mapping[str, Optional[SupportsIndex]] = {
        "allocated": allocated,
        "reserved": reserved,
        "peak_allocated": peak_allocated,
        "peak_reserved": peak_reserved,
        "free": free,
        "capacity": capacity,
    }
    figures: Dict[str, int] = {}
    for name, figure in given.items():
        if figure is None:
            continue
        try:
            figures[name] = operator.index(figure)
        except TypeError:
            raise TypeError(f"{name} is {figure!r}; it should be a whole number of bytes") from None
        if not 0 <= figures[name] < 1 << 63:
            raise ValueError(f"{name} is {figures[name]}; it should be a number of bytes")
    if not figures:
        raise TypeError("hpo.memory() needs at least one figure: " + ", ".join(given))
    _channel.channel.say({"memory": figures})
