# SPDX-License-Identifier: MIT
"""What an objective's suggest calls make of their arguments: distributions of Optuna's if the program uses it, and else of hpo's."""

from __future__ import annotations

import json
import sys
from typing import Any, Dict, List, Sequence

from .._distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from .._json import finite


def _text_of(choice: Any) -> str:
    """A text for a choice that JSON cannot hold. It is the same in each run of the program."""
    if isinstance(choice, (tuple, list, set, frozenset)):
        inside = [_text_of(each) for each in choice]
        inside = sorted(inside) if isinstance(choice, (set, frozenset)) else inside
        return f"{type(choice).__name__}({', '.join(inside)})" if not isinstance(choice, tuple) else f"({', '.join(inside)})"
    name = getattr(choice, "__qualname__", None)
    if name is not None:  # a class or a function
        return str(name)
    text = repr(choice)
    return text if " at 0x" not in text else type(choice).__qualname__  # an address is another one in each run


def _plain(choice: Any) -> Any:
    """The choice as JSON holds it."""
    if choice is None or isinstance(choice, (bool, int, str)):
        return choice
    if isinstance(choice, float):
        return finite(float(choice))
    return _text_of(choice)


def plain_choices(choices: Sequence[Any]) -> List[Any]:
    """The choices as they are told to hpo: those that JSON cannot hold become texts, which are not the same for two choices."""
    told: List[Any] = []
    for choice in choices:
        text = _plain(choice)
        if text is not choice and isinstance(text, str):
            alike = sum(1 for each in told if isinstance(each, str) and (each == text or each.startswith(text + " #")))
            text = f"{text} #{alike + 1}" if alike > 0 else text
        told.append(text)
    return told


def plain_value(value: Any) -> Any:
    """A parameter's value as JSON holds it. A number of NumPy becomes a number."""
    return value.item() if hasattr(value, "item") and getattr(value, "ndim", 0) == 0 else _plain(value)


def position_of(told: Any, sent: Sequence[Any]) -> int:
    """Which of the choices that were sent hpo has told. Raises ValueError if it is none of them."""
    for index, each in enumerate(sent):
        if type(each) is type(told) and each == told:
            return index
    for index, each in enumerate(sent):
        if not isinstance(told, str) and each is not None and not isinstance(each, str) and each == told:
            return index
    raise ValueError(f"{told!r} is none of the choices {list(sent)!r}")


class PlainKinds:
    """For a program without Optuna. hpo checks the ranges."""

    def real(self, low: float, high: float, step: Any, log: bool) -> Any:
        return FloatDistribution(float(low), float(high), bool(log), None if step is None else float(step))

    def whole(self, low: int, high: int, step: int, log: bool) -> Any:
        return IntDistribution(int(low), int(high), bool(log), int(step))

    def choice(self, choices: Sequence[Any]) -> Any:
        return CategoricalDistribution(plain_choices(choices))

    def attributes(self, distribution: Any) -> Dict[str, Any]:
        return dict(vars(distribution))

    def check_compatible(self, old: Any, new: Any) -> None:
        """Raises ValueError if a parameter cannot be suggested from both in one trial."""
        if type(old) is not type(new):
            raise ValueError("the kind of the parameter is another one than before")
        if isinstance(old, CategoricalDistribution):
            if json.dumps(old.choices) != json.dumps(new.choices):
                raise ValueError("the choices are other ones than before; a parameter has the same choices in all trials")
        elif old.log != new.log:
            raise ValueError("log is another one than before")


class OptunaKinds:
    """For a program that uses Optuna: its distributions, with its own errors and warnings."""

    @property
    def _module(self) -> Any:
        return sys.modules["optuna"].distributions

    def real(self, low: float, high: float, step: Any, log: bool) -> Any:
        return self._module.FloatDistribution(low, high, log=log, step=step)

    def whole(self, low: int, high: int, step: int, log: bool) -> Any:
        return self._module.IntDistribution(low, high, log=log, step=step)

    def choice(self, choices: Sequence[Any]) -> Any:
        return self._module.CategoricalDistribution(choices=choices)

    def attributes(self, distribution: Any) -> Dict[str, Any]:
        return dict(distribution._asdict())

    def check_compatible(self, old: Any, new: Any) -> None:
        self._module.check_distribution_compatibility(old, new)


def told(kinds: Any, distribution: Any) -> Dict[str, Any]:
    """A distribution as hpo reads it."""
    attributes = kinds.attributes(distribution)
    if "choices" in attributes:
        attributes["choices"] = plain_choices(attributes["choices"])
    return {"name": type(distribution).__name__, "attributes": attributes}
