# SPDX-License-Identifier: MIT
"""What the package raises beside Python's own exceptions."""


class HpoError(RuntimeError):
    """The base of all errors that this package defines, except TrialPruned."""


class NotInTrial(HpoError):
    """The program was not started as a trial, so there are no parameters."""


class TrialPruned(Exception):
    """The trial is pruned. Raise it if ``should_prune`` answered True."""


for _each in (HpoError, NotInTrial, TrialPruned):
    _each.__module__ = __name__.partition(".")[0]  # as users name them: hpo.HpoError
