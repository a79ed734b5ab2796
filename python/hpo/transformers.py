# SPDX-License-Identifier: MIT
"""A callback for the Trainer of Hugging Face transformers. The module can be imported without transformers."""

from __future__ import annotations

import importlib
import math
from typing import Any, Mapping, Optional, Tuple

from ._trial._metric import FollowedMetric, with_base


class HpoCallback:
    """Reports a metric at every evaluation while training, and ends a pruned trial: ``Trainer(..., callbacks=[HpoCallback("eval_loss")])``.

    A pruned trial raises hpo.TrialPruned out of ``train()``. At the end of training the last value is told as the trial's result, except
    with ``result=False``. ``step`` is ``"step"`` for the steps of the optimizer, or ``"epoch"`` for epochs, rounded up. Trials whose
    batches have different sizes are better compared by epochs. The memory of PyTorch is told, too. Only the first process of several
    reports. Outside of hpo it does nothing but look for the metric.

    Raises ImportError if transformers is missing, and HpoError from ``train()`` if the metric is not measured.
    """

    def __new__(cls, *arguments: Any, **named: Any) -> HpoCallback:
        base = importlib.import_module("transformers").TrainerCallback
        return object.__new__(with_base(cls, base))

    def __init__(self, metric: str = "eval_loss", *, step: str = "step", result: bool = True) -> None:
        super().__init__()
        self._followed = FollowedMetric(metric, step, result)

    def __reduce__(self) -> Tuple[Any, ...]:
        return _again, (self._followed.metric, self._followed.step, self._followed.result)

    def on_train_begin(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        if state.is_world_process_zero:
            self._followed.begin()

    def on_evaluate(self, args: Any, state: Any, control: Any, metrics: Optional[Mapping[str, Any]] = None, **more: Any) -> None:
        if state.is_world_process_zero:
            step = state.global_step if self._followed.step == "step" else math.ceil(state.epoch or 0)
            self._followed.evaluated(metrics or {}, step)

    def on_train_end(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        if state.is_world_process_zero:
            self._followed.end()


def _again(metric: str, step: str, result: bool) -> HpoCallback:
    return HpoCallback(metric, step=step, result=result)
