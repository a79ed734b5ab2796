# SPDX-License-Identifier: MIT
"""``Study.optimize`` of Optuna, taken over in a program that hpo-tune has started."""

from __future__ import annotations

import copy
import functools
import itertools
import json
import math
import os
import sys
import threading
from typing import Any, Callable, Dict, Iterable, List, Optional, Set, Tuple, Type

from . import _policies, _privates
from .._forking import _turns_of_threads
from .._loop import _connection, _endings, _kept_state, _objective, _program_loop
from .._errors import HpoError

_calls = itertools.count()
_turns = _turns_of_threads.Turns()
being_imported = ""  # the file that hpo._loop._named imports at the moment
_said: Set[str] = set()  # why Optuna runs a study itself, of what is said once


def _count_by_optuna(what: bytes) -> None:
    """Lets hpo-tune count what Optuna does itself, a byte each: it tells so when the program has ended.

    t: a call of tell. o: a call of optimize. k: one of them is in the kernel of a notebook.
    """
    front = os.environ.get("HPO_FRONT")
    if front is None or "HPO_OPTIMIZE_CALL" in os.environ:  # a trial, or another start of the program for one
        return
    try:
        file = os.open(front + ".by_optuna", os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.write(file, what)
        finally:
            os.close(file)
    except OSError:
        pass  # hpo-tune has ended


def take_over(study_class: Any) -> None:
    """From now on hpo runs the trials of each study."""
    original = study_class.optimize
    original_tell = study_class.tell

    @functools.wraps(original_tell)
    def tell(self: Any, *arguments: Any, **named: Any) -> Any:
        told = original_tell(self, *arguments, **named)
        _count_by_optuna(b"t")
        return told

    @functools.wraps(original)
    def optimize(
        self: Any,
        func: Callable[[Any], Any],
        n_trials: Optional[int] = None,
        timeout: Optional[float] = None,
        n_jobs: int = 1,
        catch: Any = (),
        callbacks: Optional[Iterable[Callable[[Any, Any], None]]] = None,
        gc_after_trial: bool = False,
        show_progress_bar: bool = False,
    ) -> None:
        def by_optuna(reason: str, once: bool = False) -> None:
            if reason and not (once and reason in _said):
                print(f"hpo: {reason}, so Optuna runs this study itself", file=sys.stderr)
            _said.add(reason)
            _count_by_optuna(b"o")
            if "HPO_LOOKING" in os.environ:
                _program_loop.leave()
            original(self, func, n_trials, timeout, n_jobs, catch, callbacks, gc_after_trial, show_progress_bar)

        callbacks = list(callbacks or ())  # a generator gives its callbacks once
        if "HPO_FRONT" not in os.environ:  # inside of a trial, for example
            return by_optuna("")
        if _is_kernel():
            _count_by_optuna(b"k")  # what the kernel prints goes into the notebook, which may be nobody's to see
            return by_optuna("the program is the kernel of a notebook, which can neither be copied nor started again", once=True)
        if being_imported:
            raise HpoError(
                f"{being_imported} calls study.optimize while it is imported. Put that under if __name__ == '__main__', or start the whole "
                f"program with: hpo-tune run -- python {being_imported}"
            )
        if _privates.is_in_optimize(self):
            raise RuntimeError("study.optimize was called inside of study.optimize of the same study")
        tuner = _kept_state.keeps_its_best(func)
        if tuner:
            return by_optuna(f"{tuner} needs the best model that its objective keeps in the program", once=True)
        why_left = _policies.why_left_to_optuna(self.sampler)
        if why_left:
            return by_optuna(why_left, once=True)
        caught = tuple(catch) if isinstance(catch, Iterable) else (catch,)
        number = next(_calls)
        if "HPO_OPTIMIZE_CALL" in os.environ:
            return _Call(self, func, caught, callbacks, number).in_program_of_one_attempt()
        waited = _turns.take(self)
        if waited is None:
            return by_optuna("hpo runs another study of this program at the moment")
        reason, once = "", False
        try:
            if waited > 0 and _privates.is_stopped(self):  # study.stop() ends the calls of all threads
                return None
            call = _Call(self, func, caught, callbacks, number)
            reason = call.why_not_move()
            connection = None if reason else _connection.connect()
            if connection is not None:
                call.run(connection, _whole_number(n_trials), _seconds(timeout, waited), n_jobs)
            elif not reason:
                reason = f"hpo-tune does not listen at {os.environ['HPO_FRONT']}"
        except _program_loop.Refused as refused:
            _connection.disconnect()
            if refused.by_optuna:
                reason, once = str(refused), True
            elif refused.busy:
                reason = "another process of this program runs its study with hpo"
            else:
                raise HpoError(str(refused)) from None
        finally:
            _turns.give_back()
        if reason:
            by_optuna(reason, once)

    study_class.optimize = optimize
    study_class.tell = tell
    if "HPO_OPTIMIZE_CALL" in os.environ:
        for name in ("enqueue_trial", "add_trial"):
            setattr(study_class, name, _not_again(getattr(study_class, name)))


def _not_again(add: Callable[..., None]) -> Callable[..., None]:
    """For a program that is started again for one attempt: what it does before ``optimize`` is in the study since it was started first."""

    @functools.wraps(add)
    def add_once(self: Any, *words: Any, **more: Any) -> None:
        from . import _storages

        if "HPO_FRONT" not in os.environ or _storages.is_in_memory(_privates.storage_of(self)):  # inside of the trial, or of no other process
            add(self, *words, **more)

    return add_once


def _is_kernel() -> bool:
    """True in the process that runs the cells of a notebook."""
    kernel = getattr(sys.modules.get("ipykernel.kernelapp"), "IPKernelApp", None)
    return kernel is not None and bool(kernel.initialized())


def _whole_number(n_trials: Any) -> Optional[int]:
    """So many trials Optuna begins: it counts until there are no fewer."""
    return None if n_trials is None or n_trials == math.inf else max(0, math.ceil(n_trials))


def _seconds(timeout: Any, waited: float) -> Optional[float]:
    return None if timeout is None or timeout == math.inf else max(0.0, float(timeout) - waited)


def name_of(objective: Any) -> str:
    """What the objective is called in its module."""
    while isinstance(objective, functools.partial):
        objective = objective.func
    name = getattr(objective, "__qualname__", type(objective).__qualname__)
    return f"{getattr(objective, '__module__', None) or type(objective).__module__}.{name}"


class _Call(_program_loop.Handler):
    """One call of optimize."""

    def __init__(
        self, study: Any, objective: Callable[[Any], Any], catch: Tuple[Type[BaseException], ...], callbacks: List[Any], number: int
    ) -> None:
        from . import _storages, _study

        self._optuna = _study
        self._study = study
        self._objective = objective
        self._catch = catch
        self._callbacks = callbacks
        self._number = number
        self._front = os.environ["HPO_FRONT"]
        self._url = _storages.store_of(study)
        self._program_study = _storages.program_study(study)
        self._sampler = _study.OwnSampler(study)
        self._is_own_sampler = False

    def why_not_move(self) -> str:
        """Why the study cannot be moved to a store of hpo's, if it must be."""
        return "" if self._url else self._optuna.why_not_move(self._study)

    def run(self, connection: _connection.Connection, n_trials: Optional[int], timeout: Optional[float], n_jobs: int) -> None:
        """Runs the trials, and raises what optimize raises."""
        study = self._study
        _privates.set_stop(study, False)
        _privates.set_in_optimize(study, True)
        try:
            _program_loop.run(connection, self._opening(n_trials, timeout, n_jobs), self)
        finally:
            _privates.set_in_optimize(study, False)
            if self._program_study is not None:
                self._program_study.write_back_all()
            self._optuna.look_anew(study)
            self._optuna.show_in_memory(study)

    def _opening(self, n_trials: Optional[int], timeout: Optional[float], n_jobs: int) -> Dict[str, Any]:
        study = self._study
        in_memory = not self._url and self._program_study is None
        several = len(study.directions) > 1
        sampler, sampler_note = _policies.sampler_of(study.sampler, several, _policies.turn_of(study))
        self._is_own_sampler = sampler is None
        pruner, pruner_note = _policies.pruner_of(study.pruner, several)
        why_not = _program_loop.why_not_fork()
        opening = {
            "op": "optimize",
            "call": self._number,
            "program": sys.argv[0] if sys.argv else "",
            "objective": name_of(self._objective),
            "study": None if in_memory and study.study_name.startswith("no-name-") else study.study_name,
            "store": self._url or None,
            "copy_of": None if self._url or self._program_study is None else self._program_study.words,
            "directions": [each.name.lower() for each in study.directions],
            "trials": n_trials,
            "seconds": timeout,
            "sampler": sampler,
            "pruner": pruner,
            "one_worker": sampler is None and n_jobs == 1 and _policies.wants_one_worker(study.sampler),
            "jobs": n_jobs,
            "catch": [getattr(each, "__name__", repr(each)) for each in self._catch],
            "forks": not why_not,
            "why_not": why_not,
            "fork_socket": None,
            "tells_reached": True,
            "names_constraints": self._optuna.names_constraints(),
        }
        state_note = _kept_state.note_of(self._objective)
        notes = {"sampler_note": sampler_note, "pruner_note": pruner_note, "state_note": state_note}
        return {**opening, **{name: note for name, note in notes.items() if note}}

    def opened(self, told: Dict[str, Any]) -> None:
        url, name = self._optuna.url_of(str(told["store"])), str(told["study"])
        if self._program_study is not None:
            self._optuna.copy_to_store(self._study, self._program_study, url, name, self._front)
        elif not self._url:
            self._optuna.move_to_store(self._study, url, name, self._front)
        else:
            self._optuna.show_stored(self._study, url, name, self._front)
        self._url = url

    def before_fork(self) -> None:
        self._optuna.release_connections(self._study)
        if self._program_study is not None:
            self._program_study.release_connections()

    def run_trial(self, words: _endings.Words) -> int:
        self._optuna.enter_trial(self._study, self._url, words)
        return self.run_here(words)

    def run_here(self, words: _endings.Words) -> int:
        count = len(self._study.directions)
        trial = self._optuna.Trial(self._optuna.KINDS, self._study, words, count > 1)
        return _objective.run(self._objective, trial, count, self._catch, words)

    def stays_as_it_is(self) -> bool:
        return not self._callbacks and not self._is_own_sampler

    def finished(self, told: Dict[str, Any], raises: bool) -> Dict[str, float]:
        is_sampler_told = self._is_own_sampler or self._sampler.computes_constraints()
        if not self._callbacks and not is_sampler_told and self._program_study is None:
            return {}
        self._optuna.look_anew(self._study)
        trial = self._optuna.frozen_trial(self._study, told["trial"])
        if is_sampler_told:
            trial = self._sampler.finished(trial, self._is_own_sampler)
        if self._program_study is not None:  # before the callbacks, which may raise
            self._program_study.write_back(trial)
        if not raises:  # Optuna calls none for a trial whose exception it raises
            for callback in self._callbacks:
                callback(self._study, copy.deepcopy(trial))
        return self._sampler.constraints_of(trial)

    def wants_to_stop(self) -> bool:
        return _privates.is_stopped(self._study)

    def begin(self, number: int, again: bool) -> Dict[str, Any]:
        return self._sampler.begin(number, again)

    def draw(self, told: Dict[str, Any]) -> Any:
        return self._sampler.draw(told["trial"], told["name"], told["distribution"])

    def judge(self, number: int) -> bool:
        return self._optuna.own_pruner_ends(self._study, number)

    def in_program_of_one_attempt(self) -> None:
        """The program was started for one attempt of a trial, because it could not be copied. Earlier calls return at once."""
        studies = json.loads(os.environ["HPO_OPTIMIZE_STUDIES"])
        chosen = int(os.environ["HPO_OPTIMIZE_CALL"])
        if self._number < len(studies) and studies[self._number] is not None:
            self._url = self._optuna.url_of(studies[self._number]["store"])
            self._optuna.show_stored(self._study, self._url, studies[self._number]["study"], self._front)
        if self._number < chosen:
            return
        if self._number == chosen and "HPO_OPTIMIZE_REACHED" in os.environ:
            _program_loop.tell_reached(os.environ["HPO_OPTIMIZE_REACHED"])
        if self._number > chosen:  # of another thread; this process ends with the attempt
            threading.Event().wait()
        _program_loop.run_one_attempt(self)
