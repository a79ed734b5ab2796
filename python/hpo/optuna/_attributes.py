# SPDX-License-Identifier: MIT
"""User attributes that a store cannot hold as they are, such as a model or NaN. They are kept while the program lives, pickled in files.

The store gets what it can hold, or a text that says what it was. The program sees the very value, as with a study that Optuna has in memory.
"""

from __future__ import annotations

import copy
import hashlib
import json
import math
import os
import pickle
import warnings
from typing import Any, Callable, Dict, Iterator, Optional

from .._trial import _channel
from .._json import as_read_again, finite, is_whole_number_of_hpo, line_of


class Attributes(Dict[str, Any]):
    """Attributes, some of which are read from a file once somebody wants them."""

    def __init__(self, attributes: Dict[str, Any], unread: Dict[str, Callable[[], Any]]) -> None:
        super().__init__(attributes)
        self._unread = unread

    def __getitem__(self, name: str) -> Any:
        read = self._unread.pop(name, None)
        if read is not None:
            super().__setitem__(name, read())
        return super().__getitem__(name)

    def __setitem__(self, name: str, value: Any) -> None:
        self._unread.pop(name, None)
        super().__setitem__(name, value)

    def __delitem__(self, name: str) -> None:
        self._unread.pop(name, None)
        super().__delitem__(name)

    def __iter__(self) -> Iterator[str]:  # so that dict() and ** ask __getitem__
        return super().__iter__()

    def _read_all(self) -> None:
        for name in list(self._unread):
            self[name]

    def get(self, name: str, default: Any = None) -> Any:
        return self[name] if name in self else default

    def items(self) -> Any:
        self._read_all()
        return super().items()

    def values(self) -> Any:
        self._read_all()
        return super().values()

    def pop(self, name: str, *default: Any) -> Any:
        if name in self:
            self[name]
        return super().pop(name, *default)

    def popitem(self) -> Any:
        self._read_all()
        return super().popitem()

    def clear(self) -> None:
        self._unread.clear()
        super().clear()

    def update(self, *others: Any, **named: Any) -> None:
        for name, value in dict(*others, **named).items():
            self[name] = value

    def __ior__(self, other: Any) -> "Attributes":  # type: ignore[override]
        self.update(other)
        return self

    def setdefault(self, name: str, default: Any = None) -> Any:
        return self[name] if name in self else super().setdefault(name, default)

    def __or__(self, other: Any) -> Any:
        return dict(self) | other

    def __ror__(self, other: Any) -> Any:
        return other | dict(self)

    def copy(self) -> Dict[str, Any]:
        return dict(self)

    def __eq__(self, other: object) -> bool:
        return dict(self) == other

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None

    def __repr__(self) -> str:
        return repr(dict(self))

    def __deepcopy__(self, memo: Dict[int, Any]) -> "Attributes":
        read = {name: copy.deepcopy(super(Attributes, self).__getitem__(name), memo) for name in self}
        return Attributes(read, dict(self._unread))

    def __reduce__(self) -> Any:
        return dict, (dict(self),)


def _is_plain(value: Any) -> bool:
    """True if JSON gives the value back as it was."""
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, int):
        return is_whole_number_of_hpo(value)
    if value is None or isinstance(value, str):
        return True
    if type(value) is list:
        return all(_is_plain(each) for each in value)
    return type(value) is dict and all(isinstance(name, str) and _is_plain(each) for name, each in value.items())


def _copied(value: Any) -> Callable[[], Any]:
    return lambda: copy.deepcopy(value)


def _told(name: str, value: Any) -> Any:
    """What a store gets of an attribute. Raises TypeError or ValueError for what JSON cannot hold."""
    told = finite(value)
    line_of({"attr": {name: told}}, _channel.LONGEST_LINE)
    return told


def _text_for(value: Any) -> str:
    return f"<{type(value).__name__}, kept by the program>"


def as_stored(attributes: Dict[str, Any]) -> Dict[str, Any]:
    """Attributes with texts for those that JSON cannot hold."""
    stored = {}
    for name, value in attributes.items():
        try:
            stored[name] = json.loads(line_of({"": _told(name, value)}, _channel.LONGEST_LINE))[""]
        except (TypeError, ValueError):
            stored[name] = _text_for(value)
    return stored


class Kept:
    """The attributes of one study, and of its trials. ``front``: the path of hpo-tune's socket, beside which the files are.

    ``anything``: the study is in the program's memory, so an attribute may be anything. One in a database may have what Optuna's own storage
    takes, and keeps what JSON makes of it.
    """

    def __init__(self, front: str, study: str, anything: bool) -> None:
        self._folder = os.path.join(front + ".kept", hashlib.sha1(study.encode("utf-8", "replace")).hexdigest())
        self.anything = anything
        self._owner = os.getpid()
        self._held: Dict[Optional[int], Dict[str, Any]] = {}  # what the program has set and pickle cannot hold

    def keep(self, number: Optional[int], name: str, value: Any) -> Any:
        """Keeps an attribute of a trial, or of the study if ``number`` is None. Returns what the store is to have instead.

        Raises TypeError or ValueError if nobody can keep it.
        """
        is_told = True
        try:
            told = _told(name, value)
        except (TypeError, ValueError):
            if not self.anything:
                raise
            is_told = False
            told = _text_for(value)
        if self._held:
            self._held.get(number, {}).pop(name, None)
        if is_told and _is_plain(value):
            self._forget(number, name)
        elif not os.environ.get("HPO_PREDICTING"):
            self._write(number, name, value if self.anything else as_read_again(value), must=not is_told)
        return told

    def _write(self, number: Optional[int], name: str, value: Any, must: bool) -> None:
        path = self._file_of(number, name)
        try:
            data = pickle.dumps(value)
        except Exception as error:  # whatever such a class raises
            self._forget(number, name)
            if os.getpid() == self._owner:  # no process but this one needs it
                self._held.setdefault(number, {})[name] = value
            elif must:
                kind = type(value).__name__
                raise TypeError(f"a {kind} is nothing that JSON or pickle can hold: {error}") from None
            return
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        with open(path + ".new", "wb") as file:
            file.write(data)
        os.replace(path + ".new", path)

    def _forget(self, number: Optional[int], name: str) -> None:
        try:
            os.remove(self._file_of(number, name))
        except OSError:
            pass  # there was none

    def _folder_of(self, number: Optional[int]) -> str:
        return os.path.join(self._folder, "study" if number is None else str(number))

    def _file_of(self, number: Optional[int], name: str) -> str:
        return os.path.join(self._folder_of(number), hashlib.sha1(name.encode("utf-8", "replace")).hexdigest())

    def shown(self, number: Optional[int], attributes: Dict[str, Any]) -> Dict[str, Any]:
        """Attributes that come from the store, with what is kept in its place."""
        unread = {name: _copied(value) for name, value in self._held.get(number, {}).items() if name in attributes}
        try:
            files = set(os.listdir(self._folder_of(number)))
        except OSError:
            files = set()
        for name, stored in attributes.items() if files else ():
            path = self._file_of(number, name)
            if os.path.basename(path) in files and name not in unread:
                unread[name] = self._reader(path, name, stored)
        return Attributes(attributes, unread) if unread else attributes

    def numbers(self) -> "set[int]":
        """The trials of which something is kept."""
        try:
            found = os.listdir(self._folder)
        except OSError:
            found = []
        return {int(each) for each in found if each.isdigit()} | {each for each in self._held if each is not None}

    @staticmethod
    def _reader(path: str, name: str, stored: Any) -> Callable[[], Any]:
        def read() -> Any:
            try:
                with open(path, "rb") as file:
                    return pickle.load(file)
            except Exception as error:  # the file has gone with hpo-tune, or the program lacks the class
                warnings.warn(f"user attribute {name!r} cannot be read again, only what the store has of it: {error}", stacklevel=3)
                return stored

        return read
