# SPDX-License-Identifier: MIT
"""What the callbacks for training frameworks have in common: they follow one metric."""

from __future__ import annotations

from typing import Any, Mapping, Optional, Set, Type, TypeVar

from . import _program
from .. import torch
from .._errors import HpoError, TrialPruned

_T = TypeVar("_T")


class FollowedMetric:
    """Reports a metric, prunes, and tells the last value as the result."""

    def __init__(self, metric: str, step: str, result: bool) -> None:
        if step not in ("step", "epoch"):
            raise ValueError(f"step is {step!r}; it should be 'step' or 'epoch'")
        self.metric = metric
        self.step = step
        self.result = result
        self._training = False
        self._seen: Set[str] = set()
        self._last: Optional[Any] = None
        self._watch: Optional[torch.Watch] = None

    def begin(self) -> None:
        """Training begins. The first question makes hpo wait for the next ones instead of sending a signal."""
        self._training = True
        self._last = None
        self._watch = torch.watch()
        if _program.should_prune():
            raise TrialPruned

    def evaluated(self, metrics: Mapping[str, Any], step: int) -> None:
        """Some metrics were measured. Those that are not measured while training are left alone."""
        if not self._training:
            return
        if self.metric not in metrics:
            # Several data sets may come one after another. If one comes for the second time, the metric will not come at all.
            if self._last is None and self._seen and self._seen.issuperset(metrics):
                raise self._missing()
            self._seen.update(metrics)
            return
        self._last = metrics[self.metric]
        _program.report(self._last, step)
        if self._watch is not None:
            self._watch.report()
        if _program.should_prune():
            raise TrialPruned(f"pruned at step {step}")

    def end(self) -> None:
        """Training has ended well."""
        self._training = False
        if self._watch is not None:
            self._watch.stop()
        if self._last is None:
            raise self._missing()
        if self.result:
            _program.result(self._last)

    def _missing(self) -> HpoError:
        known = f"; there are: {', '.join(sorted(self._seen))}" if self._seen else "; nothing was evaluated while training"
        return HpoError(f"HpoCallback: the metric {self.metric!r} was not measured{known}")


def with_base(cls: Type[_T], base: type) -> Type[_T]:
    """The class with a base of a framework, which is imported only once it is needed."""
    if issubclass(cls, base):
        return cls
    return type(cls.__name__, (cls, base), {"__module__": cls.__module__, "__qualname__": cls.__qualname__})
