# SPDX-License-Identifier: MIT
"""What values a parameter of a Study can have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Sequence, Union

Choice = Union[None, bool, int, float, str]


@dataclass(frozen=True)
class FloatDistribution:
    """Numbers from ``low`` to ``high``: all of them, or those ``step`` apart. ``log``: evenly over the powers of ten."""

    low: float
    high: float
    log: bool = False
    step: Optional[float] = None


@dataclass(frozen=True)
class IntDistribution:
    """Whole numbers from ``low`` to ``high``, ``step`` apart. ``log``: evenly over the powers of ten."""

    low: int
    high: int
    log: bool = False
    step: int = 1


@dataclass(frozen=True, init=False)
class CategoricalDistribution:
    """One of several texts, numbers, True, False or None."""

    choices: Sequence[Choice]

    def __init__(self, choices: Sequence[Choice]) -> None:
        for choice in choices:
            if not (choice is None or isinstance(choice, (bool, int, float, str))):
                raise TypeError(f"the choice {choice!r} should be a text, a number, True, False or None")
        object.__setattr__(self, "choices", tuple(choices))


Distribution = Union[FloatDistribution, IntDistribution, CategoricalDistribution]


def encoded(name: str, distribution: Distribution) -> Dict[str, Any]:
    """As ``hpo-tune serve`` reads it. Raises TypeError if it is no distribution."""
    if isinstance(distribution, CategoricalDistribution):
        choices: List[Choice] = list(distribution.choices)
        return {"name": "CategoricalDistribution", "attributes": {"choices": choices}}
    if isinstance(distribution, (FloatDistribution, IntDistribution)):
        kind = "FloatDistribution" if isinstance(distribution, FloatDistribution) else "IntDistribution"
        range_ = {"low": distribution.low, "high": distribution.high, "log": distribution.log, "step": distribution.step}
        return {"name": kind, "attributes": range_}
    raise TypeError(
        f"parameter {name!r}: {distribution!r} should be a FloatDistribution, an IntDistribution or a CategoricalDistribution"
    )


def decoded(distribution: Distribution, told: Any) -> Any:
    """The value that hpo told, as the program knows it: the very choice that was given, and 1.0 for a float."""
    if isinstance(distribution, FloatDistribution):
        return float(told)
    if isinstance(distribution, CategoricalDistribution):
        for choice in distribution.choices:
            if type(choice) is type(told) and choice == told:
                return choice
        for choice in distribution.choices:
            if isinstance(told, (int, float)) and isinstance(choice, (int, float)) and choice == told:
                return choice
    return told
