# SPDX-License-Identifier: MIT
"""Runs an objective that hpo-tune names: ``python -m hpo._loop._named FILE.py NAME ARGUMENTS...``

FILE is imported as a module, so what stands under ``if __name__ == "__main__"`` does not run. NAME is a function, an object that can be
called, or a class of such objects, which is made without arguments. The file need not use Optuna.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from typing import Any, Callable, Dict, List, NoReturn

from . import _connection, _endings, _kept_state, _objective, _program_loop, _suggest
from .._errors import HpoError


def _refuse(text: str) -> NoReturn:
    print(f"hpo: error: {text}", file=sys.stderr)
    sys.exit(2)


def _imported(file: str) -> Any:
    if not os.path.isfile(file):
        _refuse(f"{file}: there is no such file")
    stem = os.path.splitext(os.path.basename(file))[0]
    sys.path.insert(0, os.path.dirname(os.path.abspath(file)))
    spec = importlib.util.spec_from_file_location(stem, os.path.abspath(file))
    if spec is None or spec.loader is None:
        _refuse(f"{file}: this is no Python file; its name should end in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(stem, module)  # a file may have the name of a module that others have imported
    from ..optuna import _optimize

    _optimize.being_imported = file
    try:
        spec.loader.exec_module(module)
    finally:
        _optimize.being_imported = ""
    return module


def _objective_in(module: Any, file: str, name: str) -> Callable[[Any], Any]:
    found = module
    for part in name.split("."):
        found = getattr(found, part, None)
    if found is None:
        own = [each for each, value in vars(module).items() if callable(value) and getattr(value, "__module__", "") == module.__name__]
        _refuse(f"{file}: {name!r} is not there; what can be called in this file: {', '.join(sorted(own)) or 'nothing'}")
    if isinstance(found, type):
        try:
            found = found()
        except TypeError as error:
            _refuse(f"{file}: the class {name} cannot be made without arguments: {error}")
        if not callable(found):
            _refuse(f"{file}: objects of the class {name} cannot be called; it should have a method __call__(self, trial)")
    if not callable(found):
        _refuse(f"{file}: {name!r} is of type {type(found).__name__}; it should be a function, or something else that can be called")
    return found  # type: ignore[no-any-return]


class _Named(_program_loop.Handler):
    def __init__(self, objective: Callable[[Any], Any]) -> None:
        self._objective = objective
        self._opened: Dict[str, Any] = {}

    def opened(self, told: Dict[str, Any]) -> None:
        self._opened = told

    def run_trial(self, words: _endings.Words) -> int:
        told = os.environ.get("HPO_OBJECTIVES")
        objectives = None if told is None else int(told)
        several = objectives is not None and objectives > 1
        if "optuna" in sys.modules:
            from ..optuna import _study

            study = _study.StudyOpenedLater(str(self._opened["store"]), str(self._opened["study"]), words)
            trial: Any = _study.Trial(_study.KINDS, study, words, several)
        else:
            trial = _objective.ObjectiveTrial(_suggest.PlainKinds(), _objective.PlainStudy(words), words, several)
        # As in any study of hpo, a trial that fails ends no study.
        return _objective.run(self._objective, trial, objectives, (BaseException,), words)


def _opening(file: str, name: str, objective: Callable[[Any], Any]) -> Dict[str, Any]:
    """What is said of a study of which hpo-tune knows all that the file does not say."""
    why_not = _program_loop.why_not_fork()
    unsaid = dict.fromkeys(("study", "store", "directions", "trials", "seconds", "sampler", "pruner", "fork_socket"))
    this: Dict[str, Any] = {"op": "optimize", "call": 0, "program": file, "objective": name, "jobs": 1, "catch": ["Exception"]}
    return {**this, **unsaid, "forks": not why_not, "why_not": why_not, "state_note": _kept_state.note_of(objective)}


def main(arguments: List[str]) -> None:
    if len(arguments) < 2:
        _refuse("usage: python -m hpo._loop._named FILE.py NAME ARGUMENTS...")
    file, name = arguments[:2]
    if "HPO_FRONT" not in os.environ:
        _refuse(f"hpo-tune starts this program; try: hpo-tune run {file}:{name}")
    sys.argv = [file, *arguments[2:]]
    objective = _objective_in(_imported(file), file, name)
    handler = _Named(objective)
    if "HPO_OPTIMIZE_CALL" in os.environ:
        handler.opened(json.loads(os.environ["HPO_OPTIMIZE_STUDIES"])[0])
        _program_loop.run_one_attempt(handler)
    connection = _connection.connect()
    if connection is None:
        raise HpoError(f"hpo-tune does not listen at {os.environ['HPO_FRONT']}")
    _program_loop.run(connection, _opening(file, name, objective), handler)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except HpoError as error:
        print(f"hpo: error: {error}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
