# SPDX-License-Identifier: MIT
"""Optuna's samplers and pruners by hpo's names. What hpo does not have is told as None, with the reason."""

from __future__ import annotations

import inspect
import random
import weakref
from typing import Any, Dict, List, Optional, Tuple

from . import _privates

Told = Tuple[Optional[Dict[str, Any]], str]


def _name_of(policy: Any) -> str:
    """The class, if it is Optuna's own and no other one that was derived from it."""
    cls = type(policy)
    return str(cls.__name__) if cls.__module__.partition(".")[0] == "optuna" else ""


def is_of_the_program(policy: Any) -> bool:
    """True for a class that neither Optuna nor one of its collections has."""
    return not type(policy).__module__.partition(".")[0].startswith("optuna")


def wants_one_worker(sampler: Any) -> bool:
    """True for a class of the program, which may rely on one trial after the other, and for one that would run points of its tree twice."""
    return is_of_the_program(sampler) or _is_brute_force(sampler)


def _is_brute_force(sampler: Any) -> bool:
    return type(sampler).__name__ == "BruteForceSampler"


def why_left_to_optuna(sampler: Any) -> str:
    """Why hpo cannot ask this sampler. Empty if it can."""
    if _is_brute_force(sampler) and not _privates.adds_no_trials(sampler):
        return "BruteForceSampler of Optuna before 3.2 adds trials for each value that it draws, and hpo draws some that no trial asks for"
    return ""


def seed_of(generator: Any) -> Optional[int]:
    """The seed of a generator that has drawn nothing yet. None if there was no seed, or if it cannot be read."""
    if generator is None or not hasattr(generator, "get_state"):
        return None
    _, keys, position = generator.get_state()[:3]
    first, second = int(keys[0]), int(keys[1])
    # A whole number is the first key, and each key follows from the one before (Matsumoto and Nishimura, 2002).
    follows = second == (1812433253 * (first ^ (first >> 30)) + 1) & 0xFFFFFFFF
    return first if position == len(keys) and follows else None


def _unlike_ours(sampler: Any, several_objectives: bool) -> str:
    """With what hpo's TPE does not draw as this one does. Empty if it draws the same."""
    if several_objectives:
        return "several objectives"
    multivariate = inspect.signature(type(sampler).__init__).parameters["multivariate"].default
    return _privates.tpe_differs(sampler, multivariate is None)  # later versions of Optuna draw together if nothing is said


_studies_of: "weakref.WeakKeyDictionary[Any, List[weakref.ReferenceType[Any]]]" = weakref.WeakKeyDictionary()


def turn_of(study: Any) -> int:
    """How many other studies its sampler has drawn for before. One that several studies share draws anew in each of them."""
    studies = _studies_of.setdefault(study.sampler, [])
    known = [each() is study for each in studies]
    if True not in known:
        studies.append(weakref.ref(study))
        return len(known)
    return known.index(True)


def _seed_for(sampler: Any, turn: int) -> Optional[int]:
    seed = seed_of(_privates.generator_of(sampler))
    return seed if seed is None or turn == 0 else random.Random(f"{seed} {turn}").getrandbits(32)


# Samplers that hpo has under a name of its own. They do not draw the same values. Those of _FASTER were measured by
# bench/sampler_comparison.py: a draw takes a tenth of the time or less.
_OURS = {"GPSampler": "gp", "CmaEsSampler": "cmaes", "QMCSampler": "qmc", "BruteForceSampler": "brute_force"}
_FASTER = ("gp", "cmaes")


def sampler_of(sampler: Any, several_objectives: bool, turn: int = 0) -> Told:
    """What to tell hpo of a study's sampler, which has drawn for so many other studies."""
    name = _name_of(sampler)
    own = "so the study's own sampler goes on choosing"
    try:
        if name == "RandomSampler":
            return {"name": "random", "seed": _seed_for(sampler, turn), "options": {}}, ""
        if name == "TPESampler":
            unlike = _unlike_ours(sampler, several_objectives)
            if unlike:
                return None, f"with {unlike} hpo's tpe draws other values, {own}"
            return {"name": "tpe", "seed": _seed_for(sampler, turn), "options": _privates.tpe_options(sampler)}, ""
    except (AttributeError, KeyError):
        return None, f"hpo cannot read the options of {name} of this version of Optuna, {own}"
    if name in _OURS:
        ours = _OURS[name]
        gain = ", which takes less time a draw" if ours in _FASTER else ""
        return None, f"the study's own {name} goes on choosing; --sampler {ours} takes that of hpo{gain}"
    return None, f"hpo has no {type(sampler).__name__}, {own}"


def pruner_of(pruner: Any, several_objectives: bool) -> Told:
    """What to tell hpo of a study's pruner."""
    name = _name_of(pruner)
    if several_objectives or name == "NopPruner":
        return {"name": "none", "options": {}}, ""
    if name not in ("MedianPruner", "PercentilePruner"):
        return None, f"hpo has no {type(pruner).__name__}, so the study's own pruner goes on judging"
    try:
        options = _privates.percentile_options(pruner)
        if name == "MedianPruner":
            del options["percentile"]
    except AttributeError:
        return None, f"hpo cannot read the options of {name} of this version of Optuna, so the study's own pruner goes on judging"
    return {"name": "median" if name == "MedianPruner" else "percentile", "options": options}, ""
