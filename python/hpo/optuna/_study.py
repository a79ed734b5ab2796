# SPDX-License-Identifier: MIT
"""What hpo needs of a study of Optuna's: what it is, its storage, its sampler's draws. Only a program that has imported Optuna uses this."""

from __future__ import annotations

import contextlib
import copy
import gc
import json
import os
import sys
from typing import Any, Dict, Iterator, List, Optional

import optuna  # type: ignore[import-not-found,unused-ignore]

from . import _attributes, _privates, _storages
from .._loop import _endings, _objective, _suggest
from .._json import as_read_again, finite

KINDS = _suggest.OptunaKinds()
_kept: List[Any] = []  # storages that must not be closed: another process uses their connections


def why_not_move(study: Any) -> str:
    """Why a study cannot be moved to a file of hpo's. Empty if it can."""
    asked = study.get_trials(deepcopy=False, states=(optuna.trial.TrialState.RUNNING,))
    if not asked:
        return ""
    # An object of the program knows its trial by the number that this has in the storage of now.
    held = {_privates.trial_id_of(each) for each in gc.get_objects() if type(each) is optuna.trial.Trial and each.study is study}
    return next((f"trial {each.number} was asked for and not told" for each in asked if _privates.trial_id_of(each) in held), "")


def _only_value(distribution: Any) -> Any:
    """The value of a distribution that has one alone."""
    return distribution.choices[0] if isinstance(distribution, optuna.distributions.CategoricalDistribution) else distribution.low


def look_anew(study: Any) -> None:
    """Lets a study see what others have written to its storage."""
    _privates.forget_trials(study)
    read = getattr(_privates.storage_of(study), "read_trials_from_remote_storage", None)
    if read is not None:  # Optuna before 3.2 does not look by itself
        read(_privates.study_id_of(study))


def names_constraints() -> bool:
    """True if this version of Optuna reads constraints by name. Earlier ones read a list."""
    return hasattr(optuna.trial.FrozenTrial, "constraints")


def url_of(store: str) -> str:
    """The URL of a store that hpo-tune has named."""
    return store if store.startswith("sqlite:") else "sqlite:///" + os.path.abspath(store)


def opened_store(url: str, kept: Optional[_attributes.Kept] = None) -> Any:
    """A storage of Optuna's over a file that others write at the same time. ``kept``: attributes that it cannot hold."""
    # Optuna before 3.2 does not know the revision that hpo writes, although the tables are the same.
    is_old = tuple(int(part) for part in optuna.__version__.split(".")[:2]) < (3, 2)
    storage = optuna.storages.RDBStorage(url, engine_kwargs={"connect_args": {"timeout": 60}}, skip_compatibility_check=is_old)
    return optuna.storages.get_storage(storage) if kept is None else _StorageOfProgram(storage, kept)


class _StorageOfProgram(_privates.cached_storage()):  # type: ignore[misc,unused-ignore]
    """The storage of a study whose trials hpo runs. It gives the program the attributes that the file cannot hold."""

    def __init__(self, backend: Any, kept: _attributes.Kept) -> None:
        super().__init__(backend)
        self.kept = kept

    def __reduce__(self) -> Any:  # what another program reads is the file
        return _privates.cached_storage(), (_privates.backend_of(self),)

    def set_study_user_attr(self, study_id: int, key: str, value: Any) -> None:
        super().set_study_user_attr(study_id, key, self.kept.keep(None, key, value) if self.kept.anything else value)

    def get_study_user_attrs(self, study_id: int) -> Dict[str, Any]:
        return self.kept.shown(None, super().get_study_user_attrs(study_id))

    def set_trial_user_attr(self, trial_id: int, key: str, value: Any) -> None:
        kept = self.kept.keep(self.get_trial_number_from_id(trial_id), key, value) if self.kept.anything else value
        super().set_trial_user_attr(trial_id, key, kept)

    def create_new_trial(self, study_id: int, template_trial: Any = None) -> int:
        if template_trial is None or not self.kept.anything:
            return int(super().create_new_trial(study_id, template_trial))
        trial_id = int(super().create_new_trial(study_id, _as_stored(template_trial)))
        number = self.get_trial_number_from_id(trial_id)
        for name, value in template_trial.user_attrs.items():
            self.kept.keep(number, name, value)
        return trial_id

    def get_trial(self, trial_id: int) -> Any:
        return shown_trial(super().get_trial(trial_id), self.kept)

    def get_best_trial(self, study_id: int) -> Any:
        return shown_trial(super().get_best_trial(study_id), self.kept)

    def get_all_trials(self, study_id: int, deepcopy: bool = True, states: Any = None) -> Any:
        trials = super().get_all_trials(study_id, deepcopy, states)
        numbers = self.kept.numbers()
        return [shown_trial(each, self.kept) if each.number in numbers else each for each in trials] if numbers else trials


def shown_trial(trial: Any, kept: Optional[_attributes.Kept]) -> Any:
    """A trial of the store with the attributes that are kept."""
    if kept is None or isinstance(trial.user_attrs, _attributes.Attributes):
        return trial
    attributes = kept.shown(trial.number, trial.user_attrs)
    if attributes is trial.user_attrs:
        return trial
    shown = copy.copy(trial)  # the storage keeps its own
    shown.user_attrs = attributes
    return shown


def kept_of(study: Any) -> Optional[_attributes.Kept]:
    """The attributes of a study that its store cannot hold. None if nobody keeps them."""
    kept: Optional[_attributes.Kept] = vars(_privates.storage_of(study)).get("kept")
    return kept


def _keep_attributes(study: Any, front: str) -> None:
    """From now on a study in a database of the program gives back numbers that its file cannot hold."""
    if kept_of(study) is None:
        _privates.set_storage(study, _StorageOfProgram(_privates.backend_of(_privates.storage_of(study)), _attributes.Kept(front, study.study_name, anything=False)))


def move_to_store(study: Any, url: str, name: str, front: str) -> None:
    """From now on the study object shows a study in a file, which gets what the study had: attributes, and trials that wait or have ended."""
    attributes = study.user_attrs
    of_optuna = _privates.storage_of(study).get_study_system_attrs(_privates.study_id_of(study))  # the names of the metrics, for example
    trials = study.get_trials(deepcopy=False)
    memory = _storages.StudyInMemory(_privates.storage_of(study), _privates.study_id_of(study))
    show_stored(study, url, name, front)
    storage, study_id = _privates.storage_of(study), _privates.study_id_of(study)
    there = storage.get_study_system_attrs(study_id)
    for key, value in attributes.items():
        storage.set_study_user_attr(study_id, key, value)
    for key, value in of_optuna.items():
        if key not in there and not _storages.names_trials(key):
            storage.set_study_system_attr(study_id, key, value)
    known = [(_identity(each), each.number) for each in storage.get_all_trials(study_id, deepcopy=False)]
    for trial in trials:
        # An earlier run of the program may have told the same.
        identity = _identity(_as_stored(trial))
        number = next((number for each, number in known if each == identity), None) if trial.state.is_finished() else None
        if number is not None:
            memory.has(number, trial)
        elif trial.state.is_finished() or trial.state == optuna.trial.TrialState.WAITING:
            trial_id = storage.create_new_trial(study_id, template_trial=trial)
            memory.has(storage.get_trial_number_from_id(trial_id), trial)
    memory.keep_for(study)
    look_anew(study)


def show_in_memory(study: Any) -> None:
    """Writes what has ended to the memory that the study was in, if the program can look at it."""
    memory = _storages.StudyInMemory.of(study)
    if memory is None:
        return
    try:
        memory.bring_up_to_date(study)
    except Exception as error:  # whatever a storage raises. What optimize has raised is more important
        print(f"hpo: the memory that the study was in lacks trials ({type(error).__name__}: {error}); hpo's store has them", file=sys.stderr)


def copy_to_store(study: Any, program_study: _storages.ProgramStudy, url: str, name: str, front: str) -> None:
    """From now on the study object shows a study in a file, which is a copy of the one in the program's storage."""
    storage = opened_store(url, _attributes.Kept(front, name, anything=False))
    path = url[len("sqlite:///") :]
    program_study.join(storage, storage.get_study_id_from_name(name), path, name, _as_stored)
    if _shows(study, url, name):
        look_anew(study)
    else:
        _show(study, storage, name)


def _shows(study: Any, url: str, name: str) -> bool:
    """True if the study object shows this study of a file."""
    own = _storages.store_of(study)
    if not own or study.study_name != name:
        return False
    try:
        return os.path.samefile(own[len("sqlite:///") :], url[len("sqlite:///") :])
    except OSError:
        return False


def show_stored(study: Any, url: str, name: str, front: str) -> None:
    """From now on the study object shows a study in a file. ``front``: where hpo-tune listens."""
    if _shows(study, url, name):
        _keep_attributes(study, front)
        return
    is_in_memory = isinstance(_privates.backend_of(_privates.storage_of(study)), optuna.storages.InMemoryStorage)
    _show(study, opened_store(url, _attributes.Kept(front, name, anything=is_in_memory)), name)


def _show(study: Any, storage: Any, name: str) -> None:
    _kept.append(_privates.storage_of(study))
    _privates.set_storage(study, storage)
    _privates.set_study_id(study, storage.get_study_id_from_name(name))
    study.study_name = name
    _forget_spaces(study.sampler)
    look_anew(study)


def _forget_spaces(sampler: Any) -> None:
    """Lets a sampler look for the spaces of the study's trials anew. What it remembers is bound to the number of the study in a storage."""
    for name, each in list(vars(sampler).items()):
        if isinstance(each, optuna.samplers.BaseSampler):
            _forget_spaces(each)
        elif _privates.is_bound_search_space(each):
            setattr(sampler, name, _privates.unbound_search_space(each))


def _identity(trial: Any) -> Any:
    return trial.state, trial.values, trial.params


def _as_stored(trial: Any) -> Any:
    """A trial with choices and attributes that a store can hold."""
    stored = copy.copy(trial)
    stored.distributions = {name: _stored_distribution(each) for name, each in trial.distributions.items()}
    stored.params = {name: _stored_value(trial, name, each) for name, each in trial.params.items()}
    stored.user_attrs = _attributes.as_stored(trial.user_attrs)
    attributes = dict(trial.system_attrs)
    if "fixed_params" in attributes:  # the values of a trial that waits
        attributes["fixed_params"] = {name: _suggest.plain_value(value) for name, value in attributes["fixed_params"].items()}
    stored.system_attrs = _without_what_json_cannot_hold(attributes)
    return stored


def _stored_distribution(distribution: Any) -> Any:
    if not isinstance(distribution, optuna.distributions.CategoricalDistribution):
        return distribution
    return optuna.distributions.CategoricalDistribution(_suggest.plain_choices(distribution.choices))


def _stored_value(trial: Any, name: str, value: Any) -> Any:
    choices = getattr(trial.distributions[name], "choices", None)
    if choices is None:
        return _suggest.plain_value(value)
    return _suggest.plain_choices(choices)[int(trial.distributions[name].to_internal_repr(value))]


class _OpenedLater:
    """A storage that is opened once it is used. A copy of a process must not use the connections of the original.

    ``kept`` has the attributes of a study that was in memory. There, system attributes may be arrays of NumPy, too.
    """

    def __init__(self, url: str, kept: Optional[_attributes.Kept]) -> None:
        self._url = url
        self.kept = kept
        self._storage: Any = None

    def set_trial_system_attr(self, trial_id: int, key: str, value: Any) -> None:
        self.__getattr__("set_trial_system_attr")(trial_id, key, as_read_again(value) if self.kept is not None and self.kept.anything else value)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # copy and pickle ask for these before there is anything
            raise AttributeError(name)
        if self._storage is None:
            self._storage = opened_store(self._url, self.kept)
        return getattr(self._storage, name)


class StudyOpenedLater:
    """``trial.study`` where no program has made a study: the one of the store, loaded once it is used."""

    def __init__(self, store: str, name: str, words: _endings.Words) -> None:
        self._store = store
        self._name = name
        self._study: Any = None
        self.stop = words.stop

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if self._study is None:
            self._study = optuna.load_study(study_name=self._name, storage=opened_store(url_of(self._store)))
        return getattr(self._study, name)


def enter_trial(study: Any, url: str, words: _endings.Words) -> None:
    """Makes the program's study object one that the process of a trial can use."""
    _kept.append(_privates.storage_of(study))
    _privates.set_storage(study, _OpenedLater(url, kept_of(study)))
    _privates.forget_trials(study)
    _privates.set_in_optimize(study, True)
    study.stop = words.stop


def release_connections(study: Any) -> None:
    """Closes the connections that nobody uses, so that a copy of the process has none of them."""
    engine = getattr(_privates.backend_of(_privates.storage_of(study)), "engine", None)
    if engine is not None:
        engine.dispose()


def _without_what_json_cannot_hold(attributes: Dict[str, Any]) -> Dict[str, Any]:
    kept = {}
    for name, value in attributes.items():
        try:
            kept[name] = json.loads(json.dumps(finite(value)))
        except (TypeError, ValueError):
            pass  # a store cannot hold it; Optuna's own cannot, either
    return kept


class Trial(_objective.ObjectiveTrial, optuna.trial.Trial):  # type: ignore[misc,unused-ignore]
    """A trial of hpo that is also one of Optuna's. What hpo does not answer itself goes through the storage."""

    @property
    def storage(self) -> Any:
        return _privates.storage_of(self.study)

    @property
    def _trial_id(self) -> int:
        return int(self.storage.get_trial_id_from_study_id_trial_number(_privates.study_id_of(self.study), self._number))

    @property
    def _cached_frozen_trial(self) -> Any:
        return self.storage.get_trial(self._trial_id)

    def should_prune(self) -> bool:
        """True if the objective should raise TrialPruned. A process that the objective has spawned asks the study's own pruner."""
        self._require_one_objective("should_prune")
        answer = self._asked()
        if answer is not None:
            return bool(answer)
        trial = self._cached_frozen_trial
        trial.intermediate_values = {**trial.intermediate_values, **self._reported}
        return bool(self.study.pruner.prune(self.study, trial))

    @property
    def user_attrs(self) -> Dict[str, Any]:
        """Also those with which the trial was enqueued."""
        return {**self.storage.get_trial_user_attrs(self._trial_id), **copy.deepcopy(self._user_attrs)}

    def _told_attribute(self, key: str, value: Any) -> Any:
        kept = kept_of(self.study) if _privates.has_storage(self.study) else None
        return kept.keep(self._number, key, value) if kept else super()._told_attribute(key, value)

    def set_system_attr(self, key: str, value: Any) -> None:
        self.storage.set_trial_system_attr(self._trial_id, key, value)
        super().set_system_attr(key, value)


class _OpenTrial:
    """What a sampler has drawn for a trial so far."""

    def __init__(self, trial: Any) -> None:
        self.trial = trial
        self.proposed: Dict[str, Any] = {}
        self.space: Dict[str, Any] = {}  # of what is proposed
        self.raised: Dict[str, Exception] = {}  # by parameter; raised again when the objective asks for it
        self.raised_by_all: Optional[Exception] = None  # the same for each parameter

    def propose(self, name: str, value: Any) -> None:
        """Takes a value of ``sample_relative``. hpo uses it if the objective's range contains it."""
        if name not in self.space:
            self.raised[name] = ValueError(f"parameter {name!r} was drawn by sample_relative, but infer_relative_search_space has no such parameter")
            return
        try:
            told = _told_value(self.space[name], value)
        except (ValueError, OverflowError) as error:
            self.raised[name] = error
            return
        self.proposed[name] = {"value": told, "distribution": _suggest.told(KINDS, self.space[name])}


def _told_value(distribution: Any, value: Any) -> Any:
    """What a sampler has drawn, as it is told to hpo. Raises what Optuna raises for a value of another kind."""
    internal = distribution.to_internal_repr(value)
    if hasattr(distribution, "choices"):
        return _suggest.plain_value(value)
    return int(internal) if isinstance(distribution, optuna.distributions.IntDistribution) else finite(float(internal))


class OwnSampler:
    """The study's own sampler draws for hpo. It stays in one process, because each copy of it would draw the same."""

    def __init__(self, study: Any) -> None:
        self._study = study
        self._open: Dict[int, _OpenTrial] = {}  # by number

    @contextlib.contextmanager
    def _sees_no_guesses(self) -> Iterator[None]:
        """A running trial has parameters in the store that hpo expects it to ask for. BruteForceSampler takes them for branches of its tree."""
        if not isinstance(self._study.sampler, optuna.samplers.BruteForceSampler):
            yield
            return
        storage = _privates.storage_of(self._study)
        original = storage.get_all_trials

        def without_guesses(study_id: int, deepcopy: bool = True, states: Any = None) -> List[Any]:
            shown = []
            for trial in original(study_id, deepcopy=deepcopy, states=states):
                if trial.state == optuna.trial.TrialState.RUNNING:
                    trial = copy.copy(trial)
                    trial.params, trial.distributions = {}, {}
                shown.append(trial)
            return shown

        storage.get_all_trials = without_guesses
        try:
            yield
        finally:
            del storage.get_all_trials

    def has_begun(self, number: int) -> bool:
        """True if the sampler has drawn for the trial."""
        return number in self._open

    def begin(self, number: int, again: bool = False) -> Dict[str, Any]:
        """Draws for a trial, or, ``again``, returns what was drawn last for it."""
        if again and number in self._open:
            return self._open[number].proposed
        study = self._study
        look_anew(study)
        trial = frozen_trial(study, number)
        opened = self._open[number] = _OpenTrial(trial)
        shown = _privates.filtered(study, trial)
        if hasattr(study.sampler, "before_trial"):  # since Optuna 3.2
            study.sampler.before_trial(shown, trial)
        try:
            opened.space = study.sampler.infer_relative_search_space(shown, trial)
            values = study.sampler.sample_relative(shown, trial, opened.space)
        except Exception as error:
            if _privates.trials_are_drawn_when_made():  # such an Optuna draws when it makes a trial, so optimize raises it
                raise
            opened.raised_by_all = error
            return {}
        trial.system_attrs = frozen_trial(study, number).system_attrs  # the sampler may have written to the storage
        if isinstance(study.sampler, optuna.samplers.GridSampler) and self._has_begun_each_point():
            _privates.set_stop(study, True)
        for name, value in values.items():
            opened.propose(name, value)
        return opened.proposed

    def _has_begun_each_point(self) -> bool:
        """True if each point of a grid has a trial. The sampler would begin one of them once more beside trials that run."""
        sampler = self._study.sampler
        trials = self._study.get_trials(deepcopy=False)
        points = {
            each.system_attrs["grid_id"]
            for each in trials
            if "grid_id" in each.system_attrs and _privates.has_search_space(sampler, each.system_attrs["search_space"])
        }
        return len(points) >= _privates.points_of(sampler)

    def draw(self, number: int, name: str, told: Dict[str, Any]) -> Any:
        """Draws one parameter. What the sampler raises is raised again each time."""
        study = self._study
        look_anew(study)
        if number not in self._open:
            self.begin(number)
        opened = self._open[number]
        raised = opened.raised.get(name, opened.raised_by_all)
        if raised is not None:
            raise raised
        trial = opened.trial
        distribution = optuna.distributions.json_to_distribution(json.dumps(told))
        shown = _privates.filtered(study, trial)
        try:
            if name in opened.proposed:
                optuna.distributions.check_distribution_compatibility(opened.space[name], distribution)
            if distribution.single():  # Optuna does not ask a sampler either
                value = _only_value(distribution)
            else:
                with self._sees_no_guesses():
                    value = study.sampler.sample_independent(shown, trial, name, distribution)
            told_value = _told_value(distribution, value)
        except Exception as error:
            opened.raised[name] = error
            raise
        trial.params[name], trial.distributions[name] = value, distribution  # as far as the sampler sees it
        return told_value

    def computes_constraints(self) -> bool:
        """True if the sampler has a ``constraints_func``. It computes a trial's constraints even if another sampler has drawn for it."""
        return _privates.has_constraints_func(self._study.sampler)

    def constraints_of(self, trial: Any) -> Dict[str, float]:
        """The constraints that the sampler has computed of a trial that has ended, by name."""
        if not self.computes_constraints() or trial.state == optuna.trial.TrialState.FAIL:
            return {}
        return {str(index): float(each) for index, each in enumerate(trial.system_attrs.get("constraints") or ())}

    def finished(self, trial: Any, draws: bool) -> Any:
        """Tells the sampler, and returns the trial with what the sampler has stored of it. ``draws``: it draws for the trials."""
        study = self._study
        if draws and not self.has_begun(trial.number):
            self.begin(trial.number)  # Optuna lets it draw for enqueued trials, too
        self._open.pop(trial.number, None)
        # Samplers write their constraints here, which Optuna's storages do not take once a trial has ended.
        replaced = list(_privates.checks_of_updates(_privates.storage_of(study)))
        for storage, name in replaced:
            setattr(storage, name, lambda *_: None)
        try:
            with self._sees_no_guesses():
                study.sampler.after_trial(_privates.filtered(study, trial), trial, trial.state, trial.values)
        finally:
            for storage, name in replaced:
                delattr(storage, name)
        # What the storage remembers of a trial that has ended is from before.
        ended = frozen_trial(study, trial.number)
        _privates.remember(_privates.storage_of(study), _privates.study_id_of(study), [ended])
        return ended


def own_pruner_ends(study: Any, number: int) -> bool:
    """The verdict of the study's own pruner on a running trial, after its latest report."""
    look_anew(study)
    return bool(study.pruner.prune(study, frozen_trial(study, number)))


def frozen_trial(study: Any, number: int) -> Any:
    """A trial as the storage has it now."""
    backend = _privates.backend_of(_privates.storage_of(study))
    trial_id = backend.get_trial_id_from_study_id_trial_number(_privates.study_id_of(study), number)
    return shown_trial(copy.deepcopy(backend.get_trial(trial_id)), kept_of(study))
