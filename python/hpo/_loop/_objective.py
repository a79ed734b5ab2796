# SPDX-License-Identifier: MIT
"""The trial that an objective gets from hpo, and one run of the objective."""

from __future__ import annotations

import copy
import datetime
import json
import math
import os
import sys
import time
import traceback
import types
import warnings
from collections.abc import Sequence as SequenceOfAnything
from typing import Any, Callable, Dict, List, Optional, Sequence, SupportsFloat, Tuple, Type

from . import _endings, _suggest
from .._trial import _channel, _memory_share
from .._errors import HpoError
from .._json import finite, number_in


class PlainStudy:
    """What ``trial.study`` is in a program without Optuna."""

    def __init__(self, words: _endings.Words) -> None:
        self.study_name = os.environ.get("HPO_STUDY", "")
        self.user_attrs: Dict[str, Any] = {}
        self.stop = words.stop

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            f"trial.study.{name} is not known, because the program does not use Optuna; known: study_name, stop, user_attrs"
        )


class ObjectiveTrial:
    """Answers what an Optuna trial answers. Parameters come from hpo when they are suggested for the first time."""

    def __init__(self, kinds: Any, study: Any, words: _endings.Words, several_objectives: bool) -> None:
        self.study = study
        self._kinds = kinds
        self._words = words
        self._number = words.number
        self._several_objectives = several_objectives
        self._params: Dict[str, Any] = {}
        self._distributions: Dict[str, Any] = {}
        self._user_attrs: Dict[str, Any] = {}
        self._system_attrs: Dict[str, Any] = {}
        self._constraints: Dict[str, float] = {}
        self._reported: Dict[int, float] = {}
        self._begun = datetime.datetime.now()

    number = property(lambda self: self._number)
    datetime_start = property(lambda self: self._begun)
    params = property(lambda self: dict(self._params))
    distributions = property(lambda self: copy.copy(self._distributions))
    user_attrs = property(lambda self: copy.deepcopy(self._user_attrs))
    system_attrs = property(lambda self: copy.deepcopy(self._system_attrs))
    relative_params = property(lambda self: {})
    constraints = property(lambda self: dict(self._constraints))

    def suggest_float(self, name: str, low: float, high: float, step: Optional[float] = None, log: bool = False) -> float:
        """A number from ``low`` to ``high``. The same name gives the same value again."""
        return float(self._suggest(name, self._kinds.real(low, high, step, log)))

    def suggest_uniform(self, name: str, low: float, high: float) -> float:
        return self.suggest_float(name, low, high)

    def suggest_loguniform(self, name: str, low: float, high: float) -> float:
        return self.suggest_float(name, low, high, log=True)

    def suggest_discrete_uniform(self, name: str, low: float, high: float, q: float) -> float:
        return self.suggest_float(name, low, high, step=q)

    def suggest_int(self, name: str, low: int, high: int, step: int = 1, log: bool = False) -> int:
        """A whole number from ``low`` to ``high``."""
        return int(self._suggest(name, self._kinds.whole(low, high, step, log)))

    def suggest_categorical(self, name: str, choices: Sequence[Any]) -> Any:
        """One of the choices, the very object."""
        return self._suggest(name, self._kinds.choice(choices), choices)

    def _suggest(self, name: str, distribution: Any, choices: Optional[Sequence[Any]] = None) -> Any:
        if name in self._params:
            old = self._distributions[name]
            self._kinds.check_compatible(old, distribution)
            if old != distribution:
                warnings.warn(
                    f"parameter {name!r} was suggested from {old} before; its value stays, and {distribution} is ignored",
                    RuntimeWarning,
                    stacklevel=3,
                )
            return self._params[name]
        if not isinstance(name, str):
            raise TypeError(f"the name of a parameter is {name!r}; it should be a text")
        told = _suggest.told(self._kinds, distribution)
        if any(isinstance(bound, float) and not math.isfinite(bound) for bound in told["attributes"].values()):
            raise ValueError(f"parameter {name!r}: {distribution} should have finite bounds")
        answer = self._answer(name, told)
        if answer is None:
            raise HpoError(f"parameter {name!r} cannot be suggested, because nobody answers: hpo-tune has ended, or this is no trial of it")
        if answer.get("stopped"):
            raise AttemptEnds
        if "error" in answer:
            raise self._words.left_exception(str(answer["error"])) or ValueError(str(answer["error"]))
        value = answer["value"]
        if choices is not None:
            value = choices[_suggest.position_of(value, told["attributes"]["choices"])]
        else:
            value = number_in(value) if told["name"] == "FloatDistribution" else int(value)
            if not distribution.low <= value <= distribution.high:
                warnings.warn(f"parameter {name!r} has the value {value}, which is out of the range of {distribution}", stacklevel=3)
        self._params[name] = value
        self._distributions[name] = distribution
        return value

    @staticmethod
    def _answer(name: str, told: Dict[str, Any]) -> Optional[Dict[str, Any]]:
        if not os.environ.get("HPO_PREDICTING"):
            return _channel.channel.request({"suggest": {"name": name, "distribution": told}})
        # A run on a virtual card: nobody hears it, and hpo knows the parameters of the trial that it stands for.
        known = json.loads(os.environ.get("HPO_PARAMS", "{}"))
        if name not in known:
            raise HpoError(f"parameter {name!r} is not known before the trial runs")
        return {"value": known[name]}

    def report(self, value: SupportsFloat, step: int) -> None:
        """Reports an intermediate value. The first one of a step counts."""
        self._require_one_objective("report")
        try:
            number = float(value)
        except (TypeError, ValueError):
            raise TypeError(f"the reported value is a {type(value).__name__}; it should be a number") from None
        try:
            step = int(step)
        except (TypeError, ValueError):
            raise TypeError(f"the step is a {type(step).__name__}; it should be a whole number") from None
        if step < 0:
            raise ValueError(f"the step is {step}; it should not be negative")
        if step in self._reported:
            warnings.warn(f"step {step} was reported before, so the value is ignored", stacklevel=2)
            return
        self._reported[step] = number
        _channel.channel.say({"step": step, "value": number})

    def should_prune(self) -> bool:
        """True if the objective should raise TrialPruned."""
        self._require_one_objective("should_prune")
        return self._asked() is True

    @staticmethod
    def _asked() -> Optional[bool]:
        """hpo's verdict. None if this process cannot ask: one that the objective has spawned has not the descriptors of the trial."""
        return _channel.channel.ask()

    def _require_one_objective(self, what: str) -> None:
        if self._several_objectives:
            raise NotImplementedError(f"trial.{what}: a study with several objectives has no intermediate values")

    def set_user_attr(self, key: str, value: Any) -> None:
        """Stores something about the trial: what JSON can hold, or if the study is in the program's memory, what pickle can."""
        try:
            _channel.channel.say({"attr": {key: self._told_attribute(key, value)}})
        except (TypeError, ValueError) as error:
            raise type(error)(f"user attribute {key!r}: {error}") from None
        self._user_attrs[key] = value

    def _told_attribute(self, key: str, value: Any) -> Any:
        """What the store gets of a user attribute."""
        return finite(value)

    def set_constraint(self, key: str, value: SupportsFloat) -> None:
        """Tells a constraint of the trial. A value above 0 is a violation. The first value of a key counts."""
        try:
            number = float(value)
        except (TypeError, ValueError):
            raise TypeError(f"constraint {key!r} is a {type(value).__name__}; it should be a number") from None
        if math.isnan(number):
            raise ValueError(f"constraint {key!r} is NaN; it should be a number")
        if key in self._constraints:
            warnings.warn(f"constraint {key!r} was set before, so the value is ignored", stacklevel=2)
            return
        _channel.channel.say({"constraint": {key: finite(number)}})
        self._constraints[key] = number

    def set_system_attr(self, key: str, value: Any) -> None:
        self._system_attrs[key] = value

    def __repr__(self) -> str:
        return f"<trial {self._number} of hpo, params {self._params}>"


def _numbers_in(value: Any, count: Optional[int]) -> Tuple[List[float], str]:
    """The objective's values, or what is wrong with them. ``count`` is how many there should be, if it is known."""
    # Most objectives return a number. Whether it is a sequence would be looked up through all classes of sequences, which is slow in a copy.
    one = isinstance(value, (float, int, str, bytes)) or not isinstance(value, SequenceOfAnything)
    values = [value] if one else list(value)
    numbers: List[float] = []
    for each in values:
        try:
            numbers.append(float(each))
        except (TypeError, ValueError, OverflowError):
            if isinstance(each, types.CoroutineType):
                each.close()  # else Python warns that nobody awaited it
                return [], "the objective is an async function; it should be a plain one that calls asyncio.run"
            return [], f"the objective returned {value!r}; {each!r} cannot be made a float"
    if not numbers or (count is not None and len(numbers) != count):
        returned = f"{len(numbers)} value{'' if len(numbers) == 1 else 's'}"
        return [], f"the objective returned {returned}; the study has {count or 'at least 1'}"
    return numbers, ""


def is_pruned(error: BaseException) -> bool:
    """True for TrialPruned of Optuna or of hpo."""
    return any(each.__name__ == "TrialPruned" for each in type(error).__mro__)


class AttemptEnds(BaseException):
    """hpo has asked the attempt to end. It says nothing about the objective."""


def run(
    objective: Callable[[Any], Any], trial: Any, count: Optional[int], catch: Tuple[Type[BaseException], ...], words: _endings.Words
) -> int:
    """Runs the objective once, and says how it ended. Returns the exit status: 1 if it failed."""
    begun = time.perf_counter()
    try:
        try:
            value = objective(trial)
        finally:
            words.took(time.perf_counter() - begun)
    except BaseException as error:
        if isinstance(error, AttemptEnds):
            return 1
        if is_pruned(error):
            reason = str(error)
            _channel.channel.say({"pruned": True, "reason": reason} if reason else {"pruned": True})
            return 0
        error.__traceback__ = error.__traceback__.tb_next if error.__traceback__ else None  # without this function
        traceback.print_exception(type(error), error, error.__traceback__)
        if not isinstance(error, catch):
            words.raised(error)
        return 1
    refused = _memory_share.refused()
    if refused:  # with more of the card it would not have gone on with less
        _channel.channel.say({"memory": refused})
        print("CUDA out of memory. The program caught it, and went on with less", file=sys.stderr)
        return 1
    numbers, problem = _numbers_in(value, count)
    if problem:
        try:
            raise ValueError(problem)
        except ValueError:
            traceback.print_exc()  # with the heading by which hpo knows an exception
        return 1
    _channel.channel.say({"values": numbers} if len(numbers) > 1 else {"value": numbers[0]})
    if any(math.isnan(number) for number in numbers):
        print("the objective returned NaN, so the trial has failed", file=sys.stderr)
    return 0
