# SPDX-License-Identifier: MIT
"""Studies whose objective is a function of this program: ask and tell through ``hpo-tune serve``."""

from __future__ import annotations

import math
import time
import traceback
import warnings
import weakref
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, SupportsFloat, SupportsIndex, Tuple, Type, Union

from . import _distributions, _serve
from ._distributions import CategoricalDistribution, Choice, Distribution, FloatDistribution, IntDistribution
from ._errors import HpoError, TrialPruned
from ._json import finite, line_of, number_in
from ._trial._program import number_of, numbers_of, step_of

Values = Union[SupportsFloat, Sequence[SupportsFloat]]


@dataclass(frozen=True)
class TrialRecord:
    """What a study knows of a trial."""

    number: int
    state: str
    """``complete``, ``pruned``, ``fail``, ``running`` or ``waiting``."""
    values: List[float]
    """One for each objective. Empty if there are none."""
    params: Dict[str, Any]
    reports: Dict[int, float]
    """The intermediate values by step."""
    constraints: Dict[str, float]
    """A value above 0 is a violation."""
    user_attrs: Dict[str, Any]
    started: Optional[str]
    """The time in UTC, such as ``2026-11-26 08:05:39.658134Z``."""
    completed: Optional[str]

    @property
    def value(self) -> float:
        """The value of the only objective. Raises HpoError if there is none, or several."""
        if len(self.values) != 1:
            raise HpoError(f"trial {self.number} is {self.state} and has {len(self.values)} values; see its member values")
        return self.values[0]


def _record_of(told: Mapping[str, Any]) -> TrialRecord:
    return TrialRecord(
        number=told["trial"],
        state=told["state"],
        values=[number_in(value) for value in told["values"]],
        params=dict(told["params"]),
        reports={step: number_in(value) for step, value in told["reports"]},
        constraints={name: number_in(value) for name, value in told["constraints"].items()},
        user_attrs=dict(told["attrs"]),
        started=told["started"],
        completed=told["completed"],
    )


class OpenTrial:
    """A trial that was asked for and not told yet."""

    def __init__(self, study: Study, number: int, params: Dict[str, Any]) -> None:
        self._study = study
        self._number = number
        self._params = params
        self._prune = False
        self._user_attrs: Dict[str, Any] = {}
        self._constraints: Dict[str, float] = {}

    @property
    def number(self) -> int:
        """The number of the trial in its study, from 0."""
        return self._number

    @property
    def params(self) -> Dict[str, Any]:
        """The parameters that were suggested so far."""
        return dict(self._params)

    @property
    def user_attrs(self) -> Dict[str, Any]:
        """What ``set_user_attr`` has set."""
        return dict(self._user_attrs)

    def suggest_float(self, name: str, low: float, high: float, *, step: Optional[float] = None, log: bool = False) -> float:
        """A number from ``low`` to ``high``. The same name gives the same value again."""
        return float(self._suggest(name, FloatDistribution(low, high, log, step)))

    def suggest_int(self, name: str, low: int, high: int, *, step: int = 1, log: bool = False) -> int:
        """A whole number from ``low`` to ``high``."""
        return int(self._suggest(name, IntDistribution(low, high, log, step)))

    def suggest_categorical(self, name: str, choices: Sequence[Choice]) -> Any:
        """One of the choices. They must be the same in all trials of a study."""
        return self._suggest(name, CategoricalDistribution(choices))

    def _suggest(self, name: str, distribution: Distribution) -> Any:
        told = self._study._request("suggest", trial=self._number, name=name, distribution=_distributions.encoded(name, distribution))
        self._params[name] = _distributions.decoded(distribution, told["value"])
        return self._params[name]

    def report(self, value: SupportsFloat, step: SupportsIndex) -> None:
        """Keeps an intermediate value of the objective. The first value of a step counts."""
        told = self._study._request(
            "report", trial=self._number, step=step_of(step), value=number_of("the reported value", value)
        )
        self._prune = told["prune"]

    def should_prune(self) -> bool:
        """True if the latest report says that the trial is not worth finishing. The objective should then raise hpo.TrialPruned."""
        return self._prune

    def set_user_attr(self, name: str, value: Any) -> None:
        """Keeps something about the trial: what JSON can hold. It is stored once the trial is told. NaN and infinities become texts."""
        kept = finite(value)
        try:
            line_of({name: kept}, _serve.LONGEST_LINE)
        except (TypeError, ValueError) as error:
            raise type(error)(f"attribute {name!r}: {error}") from None
        self._user_attrs[name] = kept

    def set_constraint(self, name: str, value: SupportsFloat) -> None:
        """Keeps by how much the trial violates a limit. Above 0 it is infeasible. It is stored once the trial is told."""
        self._constraints[name] = number_of(f"constraint {name!r}", value)


class Study:
    """A study whose trials this program runs.

    ``name`` is its name in the store. ``directions`` is ``"minimize"``, ``"maximize"``, or a list of them; without it a new study
    minimizes. ``store`` is an SQLite file, which hpo's tools and Optuna read; a study of that name that is there goes on. Without a store
    the study is kept in memory. ``sampler`` and ``pruner`` are written as for ``hpo-tune run``: ``"tpe:startup_trials=20"``. ``seed`` is
    the root of all randomness. ``tool`` is the program hpo-tune, if it is neither beside the package nor in PATH.

    It runs ``hpo-tune serve`` until ``close``, the end of a ``with`` block, or the end of the program. Several processes may work on one
    study: each makes a Study with the same store. Thread safety: any number of threads.
    All methods raise HpoError, with hpo's text, if something is refused.
    """

    def __init__(
        self,
        name: str,
        directions: Union[None, str, Sequence[str]] = None,
        store: Optional[str] = None,
        sampler: Optional[str] = None,
        pruner: Optional[str] = None,
        seed: Optional[int] = None,
        *,
        tool: Optional[str] = None,
    ) -> None:
        wanted = [directions] if isinstance(directions, str) else None if directions is None else list(directions)
        if sampler is None and seed is not None:
            sampler = "auto"
        self._server = _serve.Server(tool)
        self._end = weakref.finalize(self, self._server.close)
        self._name = name
        self._stopped = False
        try:
            told = self._request(
                "create_study",
                directions=wanted,
                store=None if store is None else str(store),
                sampler=None if sampler is None else {"name": sampler, "seed": seed},
                pruner=pruner,
            )
        except BaseException:
            self._end()
            raise
        self._directions: List[str] = told["directions"]

    def _request(self, op: str, **members: Any) -> Dict[str, Any]:
        told = self._server.request(op, study=self._name, **members)
        for note in told.get("notes", ()):
            warnings.warn(f"study {self._name!r}: {note}", stacklevel=3)
        return told

    @property
    def name(self) -> str:
        """The name of the study."""
        return self._name

    @property
    def directions(self) -> List[str]:
        """``minimize`` or ``maximize`` for each objective."""
        return list(self._directions)

    def ask(self, space: Optional[Mapping[str, Distribution]] = None) -> OpenTrial:
        """Begins a trial. With a space it has a value for each parameter in it; others can be suggested later."""
        members = {} if space is None else {"space": {name: _distributions.encoded(name, each) for name, each in space.items()}}
        told = self._request("ask", **members)
        params = {name: _distributions.decoded(space[name], value) if space else value for name, value in told["params"].items()}
        return OpenTrial(self, told["trial"], params)

    def tell(
        self, trial: Union[OpenTrial, int], values: Optional[Values] = None, state: Optional[str] = None, *, error: Optional[str] = None
    ) -> None:
        """Ends a trial that was asked for: ``complete`` with a value for each objective, ``pruned``, or ``fail`` with an error's text.

        Without a state it is ``complete`` if there are values, and else ``fail``. A value may be infinite, but not NaN.
        """
        number = trial.number if isinstance(trial, OpenTrial) else trial
        members: Dict[str, Any] = {"trial": number, "state": state or ("fail" if values is None else "complete")}
        if values is not None:
            members["values"] = numbers_of("the value", values)
        if error is not None:
            members["error"] = error
        if isinstance(trial, OpenTrial):
            if trial._user_attrs:
                members["attrs"] = trial._user_attrs
            if trial._constraints:
                members["constraints"] = trial._constraints
        self._request("tell", **members)

    def enqueue(self, params: Mapping[str, Any]) -> int:
        """Adds a trial with these values, which a later ``ask`` begins. Returns its number."""
        return int(self._request("enqueue", params=dict(params))["trial"])

    def optimize(
        self,
        objective: Callable[[OpenTrial], Values],
        n_trials: Optional[int] = None,
        timeout: Optional[float] = None,
        catch: Union[Type[Exception], Tuple[Type[Exception], ...]] = (),
    ) -> None:
        """Calls the objective with one trial after another: ``n_trials`` more, or until ``timeout`` seconds have passed, or ``stop``.

        The objective returns a value, or one for each objective. A trial that raises TrialPruned is pruned. One that returns NaN has
        failed, and so has one that raises another error. The error ends ``optimize`` except if it is one of ``catch``. A trial that is
        interrupted is lost, and a later run of the study begins it again.

        Raises ValueError if neither ``n_trials`` nor ``timeout`` is given.
        """
        if n_trials is None and timeout is None:
            raise ValueError("optimize needs n_trials or timeout")
        self._stopped = False
        begun, count = time.monotonic(), 0
        while not self._stopped and (n_trials is None or count < n_trials):
            if timeout is not None and time.monotonic() - begun >= timeout:
                break
            count += 1
            trial = self.ask()
            try:
                numbers = numbers_of("the objective's value", objective(trial))
                if len(numbers) != len(self._directions):
                    raise ValueError(f"the objective returned {len(numbers)} values; the study has {len(self._directions)} objectives")
            except TrialPruned:
                self.tell(trial, state="pruned")
            except Exception as error:
                self.tell(trial, state="fail", error="".join(traceback.format_exception_only(type(error), error)).strip())
                if not isinstance(error, catch):
                    raise
            else:
                if any(math.isnan(number) for number in numbers):
                    self.tell(trial, state="fail", error="the objective is NaN")
                else:
                    self.tell(trial, numbers)

    def stop(self) -> None:
        """``optimize`` ends after the running trial. An objective may call it."""
        self._stopped = True

    @property
    def trials(self) -> List[TrialRecord]:
        """All trials by number, also those of other processes."""
        return [_record_of(each) for each in self._request("trials")["trials"]]

    @property
    def best_trials(self) -> List[TrialRecord]:
        """The best trial; with several objectives, those that no other one beats in every objective. Empty while none is complete."""
        return [_record_of(each) for each in self._request("best")["best"]]

    @property
    def best_trial(self) -> TrialRecord:
        """The best trial. Raises HpoError if none is complete, or if there are several objectives."""
        if len(self._directions) > 1:
            raise HpoError(f"study {self._name!r} has {len(self._directions)} objectives and no single best trial; see best_trials")
        best = self.best_trials
        if not best:
            raise HpoError(f"study {self._name!r} has no complete trial, so none is the best")
        return best[0]

    def close(self) -> None:
        """Ends ``hpo-tune serve``. Trials that were not told are lost, and a later run of the study begins them again."""
        self._end()

    def __enter__(self) -> Study:
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        self.close()
