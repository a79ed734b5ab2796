# SPDX-License-Identifier: MIT
"""Each private name of Optuna that hpo touches, once. A release of Optuna that changes one of them breaks this module and no other.

Optuna may be half imported while this module is: a function finds what it needs when it is called.
"""

from __future__ import annotations

import sys
from typing import Any, Dict, Iterator, List, Optional, Tuple


def _optuna() -> Any:
    return sys.modules["optuna"]


# A study.


def storage_of(study: Any) -> Any:
    return study._storage


def study_id_of(study: Any) -> int:
    """The number of the study in its storage."""
    return int(study._study_id)


def has_storage(study: Any) -> bool:
    """False for a study object that is only being made."""
    return bool(vars(study).get("_storage"))


def set_storage(study: Any, storage: Any) -> None:
    study._storage = storage


def set_study_id(study: Any, study_id: int) -> None:
    study._study_id = study_id


def forget_trials(study: Any) -> None:
    """Lets the study ask its storage for all trials again."""
    study._thread_local.cached_all_trials = None


def set_in_optimize(study: Any, inside: bool) -> None:
    """Lets ``study.stop`` know whether it is called within ``optimize``."""
    study._thread_local.in_optimize_loop = inside


def is_in_optimize(study: Any) -> bool:
    return bool(study._thread_local.in_optimize_loop)


def set_stop(study: Any, stop: bool) -> None:
    study._stop_flag = stop


def is_stopped(study: Any) -> bool:
    """True if ``study.stop`` was called."""
    return bool(study._stop_flag)


def filtered(study: Any, trial: Any) -> Any:
    """The study as samplers see it: a pruner may hide other trials from them."""
    return _optuna().pruners._filter_study(study, trial)


# A trial.


def trial_id_of(trial: Any) -> int:
    return int(trial._trial_id)


def trials_are_drawn_when_made() -> bool:
    return hasattr(_optuna().trial.Trial, "_init_relative_params")


# A storage.


def cached_storage() -> Any:
    """The class of the storage that only remembers what one below it has."""
    return _optuna().storages._CachedStorage


def backend_of(storage: Any) -> Any:
    """The storage below the one that only remembers."""
    return storage._backend if isinstance(storage, cached_storage()) else storage


def journal_of(storage: Any) -> Tuple[str, Optional[str]]:
    """Of a JournalStorage: the name of its backend's class, and the path of its file if it has one."""
    backend = storage._backend
    return type(backend).__name__, getattr(backend, "_file_path", None)


def remember(storage: Any, study_id: int, trials: List[Any]) -> None:
    """Lets a storage that remembers trials know these as they are now."""
    add = getattr(storage, "_add_trials_to_cache", None)
    if add is not None:
        add(study_id, trials)


def checks_of_updates(storage: Any) -> Iterator[Tuple[Any, str]]:
    """The functions, as objects and names, that refuse to change a trial that has ended."""
    for owner, name in ((backend_of(storage), "check_trial_is_updatable"), (storage, "_check_trial_is_updatable")):  # the latter before 3.2
        if hasattr(owner, name):
            yield owner, name


# Samplers and pruners.


def generator_of(sampler: Any) -> Any:
    """The sampler's generator of random numbers."""
    lazy = sampler._rng
    return getattr(lazy, "_rng", lazy)  # Optuna makes it when it is needed


def has_constraints_func(sampler: Any) -> bool:
    return getattr(sampler, "_constraints_func", None) is not None


def adds_no_trials(brute_force: Any) -> bool:
    """True if a BruteForceSampler keeps a tree of what was drawn (since Optuna 3.2)."""
    return hasattr(brute_force, "_populate_tree")


def is_bound_search_space(part: Any) -> bool:
    """True for a part of a sampler that remembers the search space of one study."""
    return hasattr(part, "_include_pruned") and getattr(part, "_study_id", None) is not None


def unbound_search_space(part: Any) -> Any:
    """The same part, bound to no study."""
    return type(part)(part._include_pruned)


def has_search_space(grid: Any, space: Any) -> bool:
    """True if a GridSampler has this space."""
    return bool(grid._same_search_space(space))


def points_of(grid: Any) -> int:
    """How many points a GridSampler has."""
    return int(grid._n_min_trials)


def tpe_options(sampler: Any) -> Dict[str, Any]:
    """The options of a TPESampler that hpo's tpe has, too. AttributeError if this version of Optuna has others."""
    options: Dict[str, Any] = {"startup_trials": sampler._n_startup_trials, "ei_candidates": sampler._n_ei_candidates}
    if sampler._parzen_estimator_parameters.prior_weight is not None:
        options["prior_weight"] = sampler._parzen_estimator_parameters.prior_weight
    return options


def tpe_differs(sampler: Any, is_multivariate_usual: bool) -> str:
    """The option of a TPESampler that hpo's tpe does not have. Empty if there is none."""
    estimator = sampler._parzen_estimator_parameters
    gamma = getattr(sampler, "_gamma", None)
    if has_constraints_func(sampler):
        return "constraints_func"
    if getattr(sampler, "_group", False):
        return "group=True"
    if is_multivariate_usual and sampler._multivariate is False:
        return "multivariate=False"
    if gamma is not None and gamma.__name__ != "default_gamma":
        return "gamma"
    if getattr(estimator.weights, "__name__", "") != "default_weights":
        return "weights"
    if not getattr(estimator, "consider_prior", True):
        return "consider_prior=False"
    if not getattr(estimator, "consider_magic_clip", True):
        return "consider_magic_clip=False"
    if getattr(estimator, "consider_endpoints", False):
        return "consider_endpoints=True"
    if getattr(getattr(sampler, "_parzen_estimator_cls", None), "__name__", "_ParzenEstimator") != "_ParzenEstimator":
        return "a Parzen estimator of its own"
    return ""


def percentile_options(pruner: Any) -> Dict[str, Any]:
    """The options of a PercentilePruner. AttributeError if this version of Optuna has others."""
    return {
        "startup_trials": pruner._n_startup_trials,
        "warmup_steps": pruner._n_warmup_steps,
        "interval_steps": pruner._interval_steps,
        "min_trials": pruner._n_min_trials,
        "percentile": pruner._percentile,
    }
