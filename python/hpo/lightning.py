# SPDX-License-Identifier: MIT
"""A callback for the Trainer of PyTorch Lightning. The module can be imported without Lightning."""

from __future__ import annotations

import importlib
import sys
from typing import Any, Tuple

from ._trial._metric import FollowedMetric, with_base


def _callback_base() -> Any:
    """Lightning's Callback, of the package that the program uses: lightning.pytorch, or pytorch_lightning."""
    names = ["lightning.pytorch", "pytorch_lightning"]
    for name in names:
        if name in sys.modules:
            return sys.modules[name].Callback
    for name in names:
        try:
            return importlib.import_module(name).Callback
        except ModuleNotFoundError as error:
            if error.name not in (name, name.partition(".")[0]):
                raise
    raise ImportError("HpoCallback needs PyTorch Lightning: the package lightning, or pytorch_lightning", name="lightning")


class HpoCallback:
    """Reports a metric after every validation while fitting, and ends a pruned trial: ``Trainer(callbacks=[HpoCallback("val_loss")])``.

    The metric is one that the module logs while it validates. A pruned trial raises hpo.TrialPruned out of ``fit()``. At the end the last
    value is told as the trial's result, except with ``result=False``. ``step`` is ``"epoch"`` for the epoch, from 1, or ``"step"`` for
    the steps of the optimizer. The memory of PyTorch is told, too. Only the first process of several reports. Outside of hpo it does
    nothing but look for the metric.

    Raises ImportError if Lightning is missing, and HpoError from ``fit()`` if the metric is not measured.
    """

    def __new__(cls, *arguments: Any, **named: Any) -> HpoCallback:
        return object.__new__(with_base(cls, _callback_base()))

    def __init__(self, metric: str = "val_loss", *, step: str = "epoch", result: bool = True) -> None:
        super().__init__()
        self._followed = FollowedMetric(metric, step, result)

    def __reduce__(self) -> Tuple[Any, ...]:
        return _again, (self._followed.metric, self._followed.step, self._followed.result)

    def on_fit_start(self, trainer: Any, pl_module: Any) -> None:
        if trainer.is_global_zero:
            self._followed.begin()

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        if trainer.is_global_zero and not trainer.sanity_checking:
            step = trainer.global_step if self._followed.step == "step" else trainer.current_epoch + 1
            self._followed.evaluated(trainer.callback_metrics, step)

    def on_fit_end(self, trainer: Any, pl_module: Any) -> None:
        if trainer.is_global_zero:
            self._followed.end()


def _again(metric: str, step: str, result: bool) -> HpoCallback:
    return HpoCallback(metric, step=step, result=result)
