# SPDX-License-Identifier: MIT
"""What an objective changes in the program's own variables. It is lost, because a trial runs in a process of its own.

The sources of the objective, and of the functions of its module that it calls, are read. A variable that they assign is named. So is a list, a
dictionary or the like that they change in place, and an attribute of the objective's own object that somebody needs after the trial.
"""

from __future__ import annotations

import ast
import collections
import functools
import inspect
import itertools
import linecache
import os
import types
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Iterator, List, Optional, Set, Tuple, Union

from .._forking import _imports

_Function = Union[ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda]
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_CONTAINERS = (list, dict, set, bytearray, collections.deque)
# Methods that add. One that only removes, such as pop, uses in the trial what it takes.
_ADDING = frozenset("append appendleft extend extendleft insert add setdefault".split())
_TABLES = frozenset(["loc", "iloc", "at", "iat"])  # of a data frame
_MOST_FUNCTIONS = 200


@dataclass(frozen=True)
class Change:
    """A variable of the program that an objective changes."""

    name: str
    file: str
    line: int
    is_certain: bool  # False: in a function inside of the objective, which it may never call


class _Unknown:
    """The value of a name that cannot be known before the objective runs."""


_UNKNOWN = _Unknown()


@dataclass
class _Scope:
    """The names of a function inside of the objective, or of the objective itself."""

    bound: Set[str] = field(default_factory=set)
    of_module: Set[str] = field(default_factory=set)  # declared global
    of_outer: Set[str] = field(default_factory=set)  # declared nonlocal


def _own_nodes(function: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a function in the order of the source, without those of functions and classes inside of it, which come as one node."""
    body = function.body if isinstance(function.body, list) else [function.body]  # type: ignore[attr-defined]
    waiting = list(reversed(body))
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
            # What is assigned is computed first. sorted() leaves all else in its order.
            first = [getattr(node, name, None) for name in ("value", "iter")]
            waiting.extend(reversed(sorted(ast.iter_child_nodes(node), key=lambda each: not any(each is one for one in first))))


def _scope_of(function: _Function) -> _Scope:
    scope = _Scope()
    arguments = function.args
    for each in itertools.chain(arguments.posonlyargs, arguments.args, arguments.kwonlyargs, [arguments.vararg, arguments.kwarg]):
        if each is not None:
            scope.bound.add(each.arg)
    for node in _own_nodes(function):
        if isinstance(node, ast.Global):
            scope.of_module.update(node.names)
        elif isinstance(node, ast.Nonlocal):
            scope.of_outer.update(node.names)
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            scope.bound.add(node.id)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            scope.bound.update((each.asname or each.name).partition(".")[0] for each in node.names)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            scope.bound.add(node.name)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            scope.bound.add(node.name)
    scope.bound -= scope.of_module | scope.of_outer
    return scope


@functools.lru_cache(maxsize=None)
def _tree_of(file: str) -> Optional[ast.Module]:
    try:
        return ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError):
        return None


def _node_of(code: types.CodeType) -> Optional[_Function]:
    """The function of a code object in its source. None if it cannot be told which one it is."""
    tree = _tree_of(code.co_filename)
    found = []
    for node in ast.walk(tree) if tree is not None else ():
        if not isinstance(node, _FUNCTIONS):
            continue
        name = "<lambda>" if isinstance(node, ast.Lambda) else node.name
        line = min([node.lineno] + [each.lineno for each in getattr(node, "decorator_list", [])])
        count = len(node.args.posonlyargs) + len(node.args.args)
        if name == code.co_name and line == code.co_firstlineno and count == code.co_argcount:
            found.append(node)
    if len(found) > 1 and hasattr(code, "co_positions"):  # lambdas on one line; since Python 3.11
        last = max((line, column) for line, _, column, _ in code.co_positions() if line is not None and column is not None)
        found = [each for each in found if (each.lineno, each.col_offset) <= last < (each.end_lineno, each.end_col_offset)]
    return found[0] if len(found) == 1 else None


def _holds_state(value: Any) -> bool:
    """True for what a program changes in place to keep something."""
    return isinstance(value, _CONTAINERS) or type(value).__module__.partition(".")[0] in ("numpy", "pandas")


class _Reader:
    """Reads one function that an objective calls, or is."""

    def __init__(
        self, all_changes: "_Changes", function: types.FunctionType, node: _Function, given: Dict[str, Any], called: Dict[str, str], is_method: bool
    ) -> None:
        self._all = all_changes
        self._code = function.__code__
        self._globals = function.__globals__
        self._given = given  # values of parameters, as far as they are known
        self._called = called  # what the caller calls them
        self._node = node
        self._free: Dict[str, Any] = {}
        for name, cell in zip(self._code.co_freevars, function.__closure__ or ()):
            try:
                self._free[name] = cell.cell_contents
            except ValueError:  # not assigned yet
                self._free[name] = _UNKNOWN
        self._self = self._code.co_varnames[0] if is_method else ""
        self._read_names: Set[str] = set()  # so far
        self._changed: Set[ast.AST] = set()  # names whose object is changed, which is no reading

    def read(self) -> None:
        self._read(self._node, [], True)

    def _read(self, function: _Function, outer: List[_Scope], is_certain: bool) -> None:
        scopes = [*outer, _scope_of(function)]
        for node in _own_nodes(function):
            if isinstance(node, _FUNCTIONS):
                self._read(node, scopes, False)
            else:
                self._look_at(node, scopes, is_certain)

    def _look_at(self, node: ast.AST, scopes: List[_Scope], is_certain: bool) -> None:
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            if self._found(node.id, scopes)[0] in ("global", "free"):
                self._note(node.id, node, is_certain)
        elif isinstance(node, ast.Name):
            if node not in self._changed:
                self._read_names.add(node.id)
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Subscript):
            self._change_in_place(node.target.value, node, scopes, is_certain)
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Attribute):
            self._use_attribute(node.target, scopes, is_certain, reads=True)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in itertools.chain.from_iterable(ast.walk(each) for each in targets):
                if isinstance(target, ast.Subscript) and isinstance(target.ctx, ast.Store):
                    self._set_item(target, node.value, scopes, is_certain)
        elif isinstance(node, ast.Attribute):
            self._use_attribute(node, scopes, is_certain)
        elif isinstance(node, ast.Call):
            self._look_at_call(node, scopes, is_certain)

    def _set_item(self, target: ast.Subscript, value: ast.AST, scopes: List[_Scope], is_certain: bool) -> None:
        """Under a name that stands in the source, a trial often sets what it then uses itself: ``config["lr"] = rate``."""
        is_named = isinstance(target.slice, (ast.Constant, ast.Slice))
        names = {each.id for each in ast.walk(value) if isinstance(each, ast.Name)} | self._read_names
        owner = self._base_of(target.value)
        self._changed.add(owner)
        if not is_named or (isinstance(owner, ast.Name) and owner.id in names):
            self._change_in_place(target.value, target, scopes, is_certain)

    @staticmethod
    def _base_of(changed: ast.AST) -> ast.AST:
        """``history`` of ``history["loss"]`` and of ``history.loc``."""
        while isinstance(changed, ast.Subscript) or (isinstance(changed, ast.Attribute) and changed.attr in _TABLES):
            changed = changed.value
        return changed

    def _found(self, name: str, scopes: List[_Scope]) -> Tuple[str, Any]:
        """Where a name belongs: "local", "given", "free", "global"; and its value, if it is known."""
        for scope in reversed(scopes):
            if name in scope.of_module:
                return "global", self._globals.get(name, _UNKNOWN)
            if name in scope.bound:
                is_parameter = scope is scopes[0] and name in self._given
                return ("given", self._given[name]) if is_parameter else ("local", _UNKNOWN)
        if name in self._free:
            return "free", self._free[name]
        return "global", self._globals.get(name, _UNKNOWN)

    def _value_of(self, node: ast.AST, scopes: List[_Scope]) -> Any:
        if isinstance(node, ast.Name):
            return self._found(node.id, scopes)[1]
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            owner = self._value_of(node.value, scopes)
            of_others = isinstance(owner, types.ModuleType) and _imports.is_of_package(getattr(owner, "__file__", None) or "")
            if owner is not _UNKNOWN and not of_others and hasattr(owner, "__dict__"):
                return vars(owner).get(node.attr, _UNKNOWN)
        return _UNKNOWN

    def _change_in_place(self, changed: ast.AST, where: ast.AST, scopes: List[_Scope], is_certain: bool) -> None:
        changed = self._base_of(changed)
        if not _holds_state(self._value_of(changed, scopes)):
            return
        if isinstance(changed, ast.Name):
            is_given = self._found(changed.id, scopes)[0] == "given"
            self._note(self._called.get(changed.id, changed.id) if is_given else changed.id, where, is_certain)
        elif isinstance(changed, ast.Attribute) and isinstance(changed.value, ast.Name) and self._text_of(changed) not in self._all.begun:
            self._note(self._text_of(changed), where, is_certain)

    @staticmethod
    def _text_of(attribute: ast.Attribute) -> str:
        return f"{attribute.value.id}.{attribute.attr}"  # type: ignore[attr-defined]

    def _use_attribute(self, node: ast.Attribute, scopes: List[_Scope], is_certain: bool, reads: bool = False) -> None:
        """An attribute is kept if a trial reads it before it assigns it. One of the objective's own object also if others read it."""
        if not isinstance(node.value, ast.Name):
            return
        kind, owner = self._found(node.value.id, scopes)
        if kind == "local" or owner is _UNKNOWN or isinstance(owner, types.ModuleType):
            return
        is_own = kind == "given" and node.value.id == self._self
        name = self._text_of(node)
        if isinstance(node.ctx, ast.Load):
            self._all.read_first.add(name)
        elif reads or name in self._all.read_first or (is_own and self._is_read_elsewhere(node.attr)):
            self._note(name, node, is_certain)
        else:
            self._all.begun.add(name)

    def _is_read_elsewhere(self, attribute: str) -> bool:
        """True if the file has a read of this attribute outside of the class of the objective's object."""
        tree = _tree_of(self._code.co_filename)
        waiting: List[ast.AST] = [] if tree is None else [tree]
        while waiting:
            node = waiting.pop()
            if isinstance(node, ast.ClassDef) and any(each is self._node for each in ast.walk(node)):
                continue
            if isinstance(node, ast.Attribute) and node.attr == attribute and isinstance(node.ctx, ast.Load):
                return True
            waiting.extend(ast.iter_child_nodes(node))
        return False

    def _look_at_call(self, node: ast.Call, scopes: List[_Scope], is_certain: bool) -> None:
        called = node.func
        if isinstance(called, ast.Attribute) and called.attr in _ADDING:
            self._change_in_place(called.value, node, scopes, is_certain)
        function: Any = _UNKNOWN
        given: List[Any] = []
        if isinstance(called, ast.Name):
            function = self._value_of(called, scopes)
        elif isinstance(called, ast.Attribute):
            owner = self._value_of(called.value, scopes)
            if owner is not _UNKNOWN and not isinstance(owner, (type, types.ModuleType)):
                function = getattr(type(owner), called.attr, _UNKNOWN)
                given = [owner]
        if not isinstance(function, types.FunctionType) or function.__globals__ is not self._globals:
            return
        plain = list(itertools.takewhile(lambda each: not isinstance(each, ast.Starred), node.args))
        parameters = function.__code__.co_varnames
        written = dict(zip(parameters[len(given) : function.__code__.co_argcount], plain))
        written.update((each.arg, each.value) for each in node.keywords if each.arg is not None)
        called_names = {name: each.id for name, each in written.items() if isinstance(each, ast.Name)}
        values = {**dict(zip(parameters, given)), **{name: self._value_of(each, scopes) for name, each in written.items()}}
        self._all.read(function, values, {name: self._called.get(each, each) for name, each in called_names.items()}, bool(given))

    def _note(self, name: str, node: ast.AST, is_certain: bool) -> None:
        line = getattr(node, "lineno", self._code.co_firstlineno)
        self._all.note(Change(name, self._code.co_filename, line, is_certain))


class _Changes:
    """What an objective and the functions that it calls change."""

    def __init__(self) -> None:
        self.found: Dict[str, Change] = {}
        self.begun: Set[str] = set()  # attributes that a trial assigns before it reads them
        self.read_first: Set[str] = set()
        self._functions: Set[types.CodeType] = set()

    def note(self, change: Change) -> None:
        self.found.setdefault(change.name, change)

    def read(self, function: types.FunctionType, given: Dict[str, Any], called: Dict[str, str], is_method: bool) -> None:
        """Reads a function. ``given``: values of its parameters. ``called``: the names that its caller has for them.

        ``is_method``: the first one is the object.
        """
        code = function.__code__
        if code in self._functions or len(self._functions) >= _MOST_FUNCTIONS or _imports.is_of_package(code.co_filename):
            return
        self._functions.add(code)
        node = _node_of(code)
        if node is not None:
            known = {name: value for name, value in given.items() if value is not _UNKNOWN}
            _Reader(self, function, node, known, called, is_method).read()


def changes_of(objective: Callable[[Any], Any]) -> List[Change]:
    """What an objective changes in the program, in the order in which it was found. Empty as well if its source is not known."""
    given: List[Any] = []
    named: Dict[str, Any] = {}
    called: Any = objective
    is_method = False
    while isinstance(called, functools.partial):
        given, named, called = [*called.args, *given], {**called.keywords, **named}, called.func
    if inspect.ismethod(called):
        given, called, is_method = [called.__self__, *given], called.__func__, True
    elif not isinstance(called, types.FunctionType) and isinstance(getattr(type(called), "__call__", None), types.FunctionType):
        given, called, is_method = [called, *given], type(called).__call__, True
    changes = _Changes()
    while isinstance(called, types.FunctionType):
        changes.read(called, {**dict(zip(called.__code__.co_varnames, given)), **named}, {}, is_method)
        called = getattr(called, "__wrapped__", None)  # what a decorator has replaced
    return list(changes.found.values())


def note_of(objective: Callable[[Any], Any]) -> str:
    """What a person should know of the variables that an objective changes. Empty if it changes none."""
    try:
        changes = changes_of(objective)
    except Exception:  # a note is not worth a program
        return ""
    if not changes:
        return ""
    shown = [f"{each.name} ({os.path.basename(each.file)}:{each.line})" for each in changes[:5]]
    more = len(changes) - len(shown)
    listed = ", ".join(shown) + (f" and {more} more" if more else "")
    changing = "changes" if any(each.is_certain for each in changes) else "may change"
    return (
        f"the objective {changing} {listed}, which the program will not see, because each trial runs in a process of its own; "
        "to keep something, use trial.set_user_attr or a file, or run it with --isolation none"
    )


def keeps_its_best(objective: Callable[[Any], Any]) -> str:
    """The name of a library's tuner whose objective keeps the best model, which the tuner then needs. Empty for all others."""
    for each in type(objective).__mro__:
        if each.__name__ == "_OptunaObjective" and "_lightgbm_tuner" in each.__module__:
            return "LightGBMTuner"
    return ""
