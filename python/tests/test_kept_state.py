# SPDX-License-Identifier: MIT
"""What an objective changes in the program's variables."""

import collections
import functools
import logging
import sys
import unittest

from hpo._loop import _kept_state

results, by_kind, seen_sizes, settings = [], {"good": []}, collections.Counter(), {"rate": 0.1}
best = {"score": 0.0, "model": None}
best_model, last = None, None
table = [1, 2, 3]
logger = logging.getLogger("objective")


def assigns_globals(trial):
    global best_model, last
    last = trial
    if best_model is None:
        best_model = object()


def appends(trial):
    results.append(trial)


def changes_deeper(trial):
    by_kind["good"].append(trial)
    seen_sizes[trial] += 1


def keeps_the_best(trial):
    if trial > best["score"]:
        best["score"], best["model"] = trial, object()


class State:
    score, settings = 0.0, None

    @classmethod
    def counts(cls, trial):
        cls.score += trial


def keeps_in_a_class(trial):
    State.settings = trial  # the trial sets what it then uses
    if trial > State.score:
        State.score = trial
    return State.settings


def helper(history):
    history.append(1)


def calls_a_helper(trial):
    helper(results)


@functools.lru_cache(maxsize=None)
def cached(size):
    return [size]


def keeps_nothing(trial):
    rate = trial.suggest_float("rate", 0, 1)
    settings["rate"] = rate  # the trial sets what it then uses
    settings["sizes"] = trial.suggest_int("n", 1, 2)
    own, counts = [], {}
    own.append(sum(table))
    counts["a"] = counts.get("a", 0) + 1
    counts[rate] = [each for each in own]

    def step(loss):
        nonlocal own
        own = own + [loss]

    step(rate)
    logger.info("a line")
    sys.path.append("/nowhere")
    cached(3)
    trial.set_user_attr("own", own)
    return len(results) + settings["rate"]


class Objective:
    def __init__(self):
        self.calls, self.best, self.log, self.model, self.unused = 0, None, [], None, None

    def __call__(self, trial):
        self.calls += 1
        self.model = object()  # each trial makes its own
        self.unused = self.model
        self.keep(trial)
        return self.unused

    def keep(self, value):
        self.best = value
        self.log.append(value)

    def begins_anew(self, trial):
        self.log = []
        self.log.append(trial)


def decorated(function):
    @functools.wraps(function)
    def call(*arguments):
        return function(*arguments)

    return call


def inner(counts):
    count, seen = 0, []

    def objective(trial):
        nonlocal count
        count += 1

        def callback():
            seen.append(count)

        callback()

    if counts:
        return objective, lambda trial: seen.append(trial)
    return (lambda trial: len(seen) + count,)


the_best_of_the_program = Objective().best  # so that its attribute is read outside of the class


class KeptState(unittest.TestCase):
    def names(self, objective):
        return [each.name for each in _kept_state.changes_of(objective)]

    def test_what_is_assigned_or_changed_in_place_is_named(self):
        self.assertEqual(self.names(assigns_globals), ["last", "best_model"])
        self.assertEqual(self.names(appends), ["results"])
        self.assertEqual(self.names(keeps_in_a_class), ["State.score"])
        self.assertEqual(self.names(State.counts), ["cls.score"])
        self.assertEqual(self.names(changes_deeper), ["by_kind", "seen_sizes"])
        self.assertEqual(self.names(keeps_the_best), ["best"])
        self.assertEqual([(each.name, each.is_certain) for each in _kept_state.changes_of(inner(True)[0])], [("count", True), ("seen", False)])
        self.assertEqual(self.names(inner(True)[1]), ["seen"])

    def test_it_is_found_through_calls_partials_methods_objects_and_decorators(self):
        self.assertEqual(self.names(calls_a_helper), ["results"])
        self.assertEqual(self.names(lambda trial: calls_a_helper(trial)), ["results"])
        self.assertEqual(self.names(functools.partial(lambda trial, history: history.append(trial), history=results)), ["history"])
        self.assertEqual(self.names(Objective()), ["self.calls", "self.best", "self.log"])
        self.assertEqual(self.names(Objective().keep), ["self.best", "self.log"])
        self.assertEqual(self.names(decorated(appends)), ["results"])

    def test_what_a_trial_needs_alone_is_no_state(self):
        self.assertEqual(self.names(keeps_nothing), [])
        self.assertEqual(self.names(Objective().begins_anew), [])
        self.assertEqual(self.names(inner(False)[0]), [])
        self.assertEqual(self.names(max), [])
        self.assertEqual(self.names(cached), [])
        self.assertEqual(_kept_state.note_of(keeps_nothing), "")

    @unittest.skipIf(sys.version_info < (3, 11), "a code object does not tell its columns")
    def test_lambdas_on_one_line_are_told_apart(self):
        first, second = lambda trial: results.append(trial), lambda trial: len(results) + trial
        self.assertEqual([self.names(first), self.names(second)], [["results"], []])

    def test_code_without_a_source_is_left_alone(self):
        space = {}
        exec("def objective(trial):\n    global kept\n    kept = 1\n", space)
        self.assertEqual(self.names(space["objective"]), [])

    def test_the_note_names_variables_and_lines(self):
        line = keeps_the_best.__code__.co_firstlineno + 2
        self.assertEqual(
            _kept_state.note_of(keeps_the_best),
            f"the objective changes best (test_kept_state.py:{line}), which the program will not see, because each trial runs in a process of "
            "its own; to keep something, use trial.set_user_attr or a file, or run it with --isolation none",
        )


if __name__ == "__main__":
    unittest.main()
