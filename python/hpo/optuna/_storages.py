# SPDX-License-Identifier: MIT
"""Where a study of Optuna's is stored, and studies in a storage that hpo-tune cannot use itself.

hpo-tune runs each study in an SQLite file. A study in another storage, such as a journal, is copied to hpo's store, and each trial that has
ended there is written back. System attributes tell what is a copy of what. So nothing is copied twice, whenever the program is killed.

- The study in the store has ``hpo:copied_from``, a text made up for this pair of studies. The program's study has ``hpo:copy:TEXT``.
- A trial that was copied to the store has ``hpo:copied_from``, the number and the state that it had in the program's storage.
- A trial that was written back has ``hpo:copy``, the pair's text and the number that it has in the store.
"""

from __future__ import annotations

import contextlib
import copy
import hashlib
import os
import socket
import sys
import time
import uuid
import weakref
from typing import Any, Callable, Dict, Iterator, List, MutableMapping, Optional, Set, Tuple

import optuna  # type: ignore[import-not-found,unused-ignore]
from optuna.trial import TrialState  # type: ignore[import-not-found,unused-ignore]

from . import _privates
from .._errors import HpoError

_OURS = "hpo:"
_COPIED_FROM = "hpo:copied_from"
_COPY = "hpo:copy"
_LOST = "lost"  # a user attribute: hpo runs the trial again
_LINE_OF_RETRIES = ("failed_trial", "retry_history")  # system attributes with numbers of trials
_LOCK_SECONDS = 60.0


def store_of(study: Any) -> str:
    """The URL of the ordinary SQLite file that holds the study. Empty if it is stored elsewhere."""
    backend = _privates.backend_of(_privates.storage_of(study))
    if not isinstance(backend, optuna.storages.RDBStorage) or not _is_plain_sqlite(backend):
        return ""
    file = _sqlite_file(backend)
    return "sqlite:///" + file if file else ""


def _is_plain_sqlite(backend: Any) -> bool:
    return bool(_url(backend).drivername in ("sqlite", "sqlite+pysqlite"))  # other drivers read files that SQLite itself does not


def _url(backend: Any) -> Any:
    from sqlalchemy.engine import make_url  # type: ignore[import-not-found,unused-ignore]

    return make_url(backend.url)


def _sqlite_file(backend: Any) -> str:
    """The file of an SQLite storage, empty if it is in memory. The program may have changed its folder since it was opened."""
    try:
        connection = backend.engine.raw_connection()
        try:
            return str(connection.cursor().execute("PRAGMA database_list").fetchone()[2] or "")
        finally:
            connection.close()
    except Exception:  # whatever its driver raises
        name = str(_url(backend).database or ":memory:")
        return "" if name == ":memory:" or name.startswith("file:") else os.path.abspath(name)


def is_in_memory(storage: Any) -> bool:
    """True if no other process sees what is stored."""
    backend = _privates.backend_of(storage)
    if isinstance(backend, optuna.storages.InMemoryStorage):
        return True
    return isinstance(backend, optuna.storages.RDBStorage) and _is_plain_sqlite(backend) and not _sqlite_file(backend)


def _described(storage: Any) -> str:
    """What a person calls the storage."""
    backend = _privates.backend_of(storage)
    if isinstance(backend, optuna.storages.RDBStorage):
        url = _url(backend).set(query={})  # it may have a password, too
        return f"database {url.render_as_string(hide_password=True)}"
    if isinstance(backend, optuna.storages.JournalStorage):
        name, path = _privates.journal_of(backend)
        return f"journal {os.path.abspath(path)}" if path is not None else name
    return type(backend).__name__


_known: MutableMapping[Any, ProgramStudy] = weakref.WeakKeyDictionary()  # by the program's study object, which shows the store meanwhile


def program_study(study: Any) -> Optional[ProgramStudy]:
    """The study in the storage that the program has given it. None if hpo-tune uses that storage itself, or if it is in memory."""
    if study not in _known:
        if store_of(study) or is_in_memory(_privates.storage_of(study)):
            return None
        _known[study] = ProgramStudy(study)
    return _known[study]


def names_trials(key: str) -> bool:
    """True for a system attribute of a study that names trials by their identifiers, as samplers keep. In another storage they are others."""
    return ":parent:" in key or key.startswith(("nsga2:population", "nsga:population"))


def _is_shared(key: str) -> bool:
    """True for an attribute of a study that both storages should have."""
    return not key.startswith(_OURS) and not names_trials(key)


class ProgramStudy:
    """A study in the program's own storage, and its copy in hpo's store."""

    def __init__(self, study: Any) -> None:
        self._program = _Side(_privates.storage_of(study), _privates.study_id_of(study))
        self._store: Optional[_Side] = None
        self._store_path = ""
        self._pair = ""
        self._written: Set[int] = set()  # trials that were written back, by their numbers in the store
        self._looked_at = 0  # so many of the program's trials were looked at for that
        self._first_copies: Dict[int, int] = {}  # numbers of copies in the store, by the number that they had in the program's storage
        self._attributes: Dict[Tuple[str, str], Any] = {}  # of the study, as the program's storage has them
        self._is_behind = False
        self._has_told = False
        self.words = _described(_privates.storage_of(study))

    def is_joined(self) -> bool:
        """True if the study object shows the store."""
        return self._store is not None

    def join(self, storage: Any, study_id: int, path: str, name: str, as_stored: Callable[[Any], Any]) -> None:
        """Makes the study of the store a copy of the program's, and the reverse. Raises HpoError if it is the copy of another one."""
        store = _Side(storage, study_id)
        with _alone(path):
            self._pair = self._paired(store, path, name)
            self._copy_attributes(store)
            self._copy_trials(store, as_stored)
            self._write_all(store)
            self._store, self._store_path = store, path

    def _paired(self, store: _Side, path: str, name: str) -> str:
        pair = store.system_attributes().get(_COPIED_FROM)
        if pair is None and not store.trials():
            pair = uuid.uuid4().hex
            self._program.set_system_attribute(f"{_COPY}:{pair}", True)
            store.set_system_attribute(_COPIED_FROM, pair)
        elif pair is None or f"{_COPY}:{pair}" not in self._program.system_attributes():
            raise HpoError(
                f"study {name!r} of store {path} is no copy of the one in the program's {self.words}, so their trials are not mixed; "
                "choose another store with --store FILE, or another name in the store with --study NAME"
            )
        return str(pair)

    def _copy_attributes(self, store: _Side) -> None:
        _copy_shared_attributes(self._program, store)
        for of_store in store.attributes():
            self._attributes.update({(of_store.kind, key): value for key, value in of_store.read().items()})

    def _write_attributes(self, store: _Side) -> None:
        """Writes back what has changed."""
        for of_program, of_store in zip(self._program.attributes(), store.attributes()):
            for key, value in of_store.read().items():
                place = (of_store.kind, key)
                if _is_shared(key) and (place not in self._attributes or not _is_same(self._attributes[place], value)):
                    of_program.write(key, value)
                    self._attributes[place] = value

    def _copy_trials(self, store: _Side, as_stored: Callable[[Any], Any]) -> None:
        """Copies trials that have ended or that wait, and that the store does not have."""
        copies = _first_copies(store.trials())
        for trial in self._program.trials():
            there = copies.get(trial.number)
            if self._is_written_back(trial):
                continue
            if there is None and (trial.state.is_finished() or trial.state == TrialState.WAITING):
                mark = {_COPIED_FROM: [trial.number, trial.state.name]}
                store.create(_with(as_stored(trial), mark, (_LOST,), _LINE_OF_RETRIES))
            elif there is not None and there.state == TrialState.WAITING and trial.state.is_finished():
                if store.claim(there):  # another process has run it meanwhile, without hpo
                    store.fill(there, as_stored(trial), {_COPIED_FROM: there.system_attrs[_COPIED_FROM]})

    def _is_written_back(self, trial: Any) -> bool:
        return bool(trial.system_attrs.get(_COPY, [""])[0] == self._pair)

    def _look_for_written(self) -> None:
        trials = self._program.trials()
        for trial in trials[self._looked_at :]:
            if self._is_written_back(trial) and trial.state.is_finished():
                self._written.add(trial.system_attrs[_COPY][1])
        self._looked_at = len(trials)

    def _write_all(self, store: _Side) -> None:
        self._written, self._looked_at = set(), 0
        trials = store.trials()
        self._first_copies = {number: trial.number for number, trial in _first_copies(trials).items()}
        for trial in trials:
            if trial.state.is_finished():
                self._write(trial)

    def _write(self, trial: Any) -> None:
        """Writes back a trial of the store that has ended, unless that was done."""
        self._look_for_written()
        number, state = _copied_from(trial)
        is_copy = number is not None and self._first_copies.get(number, trial.number) == trial.number
        if trial.number in self._written or (is_copy and state != TrialState.WAITING.name):
            return
        mark = {_COPY: [self._pair, trial.number]}
        if is_copy and self._claim(number, mark):
            self._program.fill(self._program.trial(number), trial, mark)
        else:
            self._program.create(_with(trial, mark))
        self._written.add(trial.number)

    def _claim(self, number: int, mark: Dict[str, Any]) -> bool:
        """Takes a trial that waits in the program's storage. False if another process has taken it."""
        trial = self._program.trial(number)
        if trial.state == TrialState.RUNNING:  # taken before the program was killed
            return self._is_written_back(trial)
        if trial.state != TrialState.WAITING:
            return False
        self._program.set_trial_system_attributes(trial, mark)
        if self._program.claim(trial):
            return True
        with contextlib.suppress(RuntimeError):  # it has even ended
            self._program.set_trial_system_attributes(trial, {_COPY: [""]})
        return False

    def write_back(self, trial: Any) -> None:
        """Writes back a trial that has ended. A failure is told, and tried again later: the store has the trial."""
        self._try(lambda: self._write(trial))

    def write_back_all(self) -> None:
        """Writes back all that was not, when the program leaves ``optimize``."""
        self._is_behind = True
        self._try(lambda: None)

    def _try(self, write: Callable[[], None]) -> None:
        store = self._store
        if store is None:
            return
        was_behind, self._is_behind = self._is_behind, True
        try:
            with _alone(self._store_path):
                if was_behind:
                    self._write_all(store)
                else:
                    write()
                self._write_attributes(store)
            self._is_behind = self._has_told = False
        except Exception as error:  # whatever a storage raises
            if not self._has_told:
                self._has_told = True
                print(
                    f"hpo: trials cannot be written to the program's {self.words} now ({type(error).__name__}: {error}); {self._store_path} "
                    "has them, and hpo writes them after a later trial, or when the program is started again",
                    file=sys.stderr,
                )

    def release_connections(self) -> None:
        """Closes the connections that nobody uses, so that a copy of the process has none of them."""
        engine = getattr(_privates.backend_of(self._program.storage), "engine", None)
        if engine is not None:
            engine.dispose()


_in_memory: MutableMapping[Any, StudyInMemory] = weakref.WeakKeyDictionary()  # by the program's study object, which shows the store


class StudyInMemory:
    """A study that was in memory before the study object showed hpo's store. The program may look at it through the storage."""

    def __init__(self, storage: Any, study_id: int) -> None:
        self._side = _Side(storage, study_id)
        self._numbers: Dict[int, int] = {}  # in memory, by the number in the store
        self._written: Set[int] = set()  # trials of the store that have ended in memory, too

    @staticmethod
    def of(study: Any) -> Optional[StudyInMemory]:
        return _in_memory.get(study)

    def keep_for(self, study: Any) -> None:
        _in_memory[study] = self

    def has(self, number_in_store: int, trial: Any) -> None:
        """Says that a trial of the store is one of memory."""
        self._numbers[number_in_store] = trial.number
        if trial.state.is_finished():
            self._written.add(number_in_store)

    def bring_up_to_date(self, study: Any) -> None:
        """Writes what the store has, unless nothing but this object can look at the memory."""
        backend = _privates.backend_of(self._side.storage)  # what the program holds. Around a database Optuna has a wrapper
        only_ours = 3  # the reference of the side or of the wrapper, `backend`, and the argument of getrefcount
        if sys.getrefcount(backend) <= only_ours:
            return
        for trial in study.get_trials(deepcopy=False):
            if trial.number in self._written or not trial.state.is_finished():
                continue
            number = self._numbers.get(trial.number)
            there = None if number is None else self._side.trial(number)
            if there is not None and self._side.claim(there):
                self._side.fill(there, trial, {})
            else:
                self._side.create(_with(trial, {}))
            self._written.add(trial.number)
        _copy_shared_attributes(_Side(_privates.storage_of(study), _privates.study_id_of(study)), self._side)


class _Attributes:
    """User or system attributes of a study."""

    def __init__(self, kind: str, side: _Side) -> None:
        self.kind = kind
        self._side = side

    def read(self) -> Dict[str, Any]:
        return dict(getattr(self._side.storage, f"get_study_{self.kind}_attrs")(self._side.study_id))

    def write(self, key: str, value: Any) -> None:
        getattr(self._side.storage, f"set_study_{self.kind}_attr")(self._side.study_id, key, value)


class _Side:
    """A study in one of the two storages, through what all storages of Optuna's have."""

    def __init__(self, storage: Any, study_id: int) -> None:
        self.storage = storage
        self.study_id = study_id

    def attributes(self) -> List[_Attributes]:
        return [_Attributes("user", self), _Attributes("system", self)]

    def system_attributes(self) -> Dict[str, Any]:
        return _Attributes("system", self).read()

    def set_system_attribute(self, key: str, value: Any) -> None:
        _Attributes("system", self).write(key, value)

    def trials(self) -> List[Any]:
        """All trials in the order of their numbers, as they are now."""
        read = getattr(self.storage, "read_trials_from_remote_storage", None)
        if read is not None:  # Optuna before 3.2 does not look by itself
            read(self.study_id)
        return list(self.storage.get_all_trials(self.study_id, deepcopy=False))

    def trial(self, number: int) -> Any:
        return self.trials()[number]

    def create(self, trial: Any) -> int:
        """Adds a trial as it is, and returns the number that it gets."""
        trial_id = self.storage.create_new_trial(self.study_id, template_trial=trial)
        return int(self.storage.get_trial_number_from_id(trial_id))

    def set_trial_system_attributes(self, trial: Any, attributes: Dict[str, Any]) -> None:
        for key, value in attributes.items():
            self.storage.set_trial_system_attr(_privates.trial_id_of(trial), key, value)

    def claim(self, trial: Any) -> bool:
        """Makes a waiting trial a running one. False if another process was faster."""
        try:
            return bool(self.storage.set_trial_state_values(_privates.trial_id_of(trial), TrialState.RUNNING))
        except RuntimeError:  # it has even ended
            return False

    def fill(self, there: Any, trial: Any, attributes: Dict[str, Any]) -> None:
        """Makes a running trial equal to one that has ended."""
        for name, value in trial.params.items():
            distribution = trial.distributions[name]
            self.storage.set_trial_param(_privates.trial_id_of(there), name, distribution.to_internal_repr(value), distribution)
        for step, value in trial.intermediate_values.items():
            self.storage.set_trial_intermediate_value(_privates.trial_id_of(there), step, value)
        for key, value in trial.user_attrs.items():
            self.storage.set_trial_user_attr(_privates.trial_id_of(there), key, value)
        self.set_trial_system_attributes(there, _with(trial, attributes).system_attrs)
        self.storage.set_trial_state_values(_privates.trial_id_of(there), trial.state, trial.values)


def _is_same(one: Any, other: Any) -> bool:
    """True if both are surely equal. Arrays of NumPy compare element by element."""
    try:
        return one is other or bool(one == other)
    except Exception:
        return False


def _copy_shared_attributes(source: _Side, target: _Side) -> None:
    """Gives a study the attributes of another that both should have."""
    for of_source, of_target in zip(source.attributes(), target.attributes()):
        there = of_target.read()
        for key, value in of_source.read().items():
            if _is_shared(key) and (key not in there or not _is_same(there[key], value)):
                of_target.write(key, value)


def _copied_from(trial: Any) -> Tuple[Any, str]:
    """The number and the state that a trial of the store had in the program's storage. None if it was begun in the store."""
    number, state = trial.system_attrs.get(_COPIED_FROM, (None, ""))
    return number, state


def _first_copies(trials: List[Any]) -> Dict[int, Any]:
    """The trials of the store that are copies, by the number that they had in the program's storage. What hpo runs in place of a lost trial
    has its attributes, too, and is no copy."""
    copies: Dict[int, Any] = {}
    for trial in trials:
        number, _ = _copied_from(trial)
        if number is not None:
            copies.setdefault(number, trial)
    return copies


def _with(trial: Any, system: Dict[str, Any], without_user: Tuple[str, ...] = (), without_system: Tuple[str, ...] = ()) -> Any:
    """The trial with these system attributes, and without those that tell of other copies of it."""
    changed = copy.copy(trial)
    changed.user_attrs = {key: value for key, value in trial.user_attrs.items() if key not in without_user}
    kept = {key: value for key, value in trial.system_attrs.items() if not key.startswith(_OURS) and key not in without_system}
    changed.system_attrs = {**kept, **system}
    return changed


@contextlib.contextmanager
def _alone(path: str) -> Iterator[None]:
    """Only one process copies to and from a store at a time. The kernel takes the name back if the process is killed."""
    file = os.stat(path)
    name = hashlib.sha256(f"{file.st_dev} {file.st_ino}".encode("ascii")).hexdigest()
    end = time.monotonic() + _LOCK_SECONDS
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as held:
        while True:
            try:
                held.bind("\0hpo-copies-" + name)
                break
            except OSError:
                if time.monotonic() > end:
                    raise HpoError(f"another process copies trials to or from {path} for more than {_LOCK_SECONDS:.0f} s") from None
                time.sleep(0.01)
        yield
