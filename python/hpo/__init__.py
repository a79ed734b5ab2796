# SPDX-License-Identifier: MIT
"""hpo from Python.

A program that runs as a trial (``hpo.command { "python3", "train.py" }``) calls ``trial``, ``plan``, ``report``, ``should_prune``,
``result``, ``attr``, ``constraint``, ``memory`` and ``largest_batch``. A program that runs its own trials makes a ``Study``. The page
docs/python.md of hpo's sources shows it.
"""

from . import lightning, torch, transformers
from ._distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from ._errors import HpoError, NotInTrial, TrialPruned
from ._trial._largest_batch import largest_batch
from ._trial._plan import Plan
from ._trial._program import Trial, attr, constraint, in_trial, memory, plan, report, result, should_prune, trial
from ._study import OpenTrial, Study, TrialRecord
from ._version import __version__

__all__ = [
    "CategoricalDistribution",
    "FloatDistribution",
    "HpoError",
    "IntDistribution",
    "NotInTrial",
    "OpenTrial",
    "Plan",
    "Study",
    "Trial",
    "TrialPruned",
    "TrialRecord",
    "__version__",
    "attr",
    "constraint",
    "in_trial",
    "largest_batch",
    "lightning",
    "memory",
    "plan",
    "report",
    "result",
    "should_prune",
    "torch",
    "transformers",
    "trial",
]
