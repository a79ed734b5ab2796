# SPDX-License-Identifier: MIT
"""Programs that call study.optimize, and do not know of hpo."""

import os
import signal
import subprocess
import textwrap
import time
import unittest

from fronted import FrontTest
from studies import TESTS, environment


class Objectives(FrontTest):
    def test_a_closure_runs_in_copies_and_the_program_goes_on_with_the_best_trial(self):
        ran = self.run_program("""
            import argparse, os, optuna
            def main():
                parser = argparse.ArgumentParser()
                parser.add_argument("--power", type=int)
                power, me = parser.parse_args().power, os.getpid()
                def objective(trial):
                    assert os.getpid() != me
                    x = trial.suggest_float("x", 1, 2)
                    print("in trial", trial.number)
                    return x ** power
                study = optuna.create_study(direction="maximize")
                study.optimize(objective, n_trials=4)
                assert study.best_value == max(trial.params["x"] ** 3 for trial in study.trials)
                assert study.best_trial.params == study.best_params
                print("best", len(study.trials), {trial.state.name for trial in study.trials}, os.getpid() == me)
            main()
        """, arguments=["--power", "3"])
        self.assertEqual(ran.output, "best 4 {'COMPLETE'} True\n")
        self.assertEqual([each["stdout"] for each in ran.attempts], [f"in trial {number}\n" for number in range(4)])
        self.assertEqual(len({each["child"] for each in ran.attempts}), 4)
        opening = ran.opening
        self.assertEqual([opening[name] for name in ("call", "program", "study", "store")], [0, "program.py", None, None])
        self.assertEqual([opening[name] for name in ("directions", "trials", "seconds", "jobs")], [["maximize"], 4, None, 1])
        self.assertEqual([opening["objective"], opening["forks"], opening["why_not"]], ["__main__.main.<locals>.objective", True, ""])

    def test_lambdas_partials_methods_and_objects_are_objectives(self):
        ran = self.run_program("""
            import functools, optuna
            class Object:
                def __init__(self, more): self.more = more
                def __call__(self, trial): return trial.suggest_float("x", 0, 1) + self.more
                def method(self, trial): return self(trial) + 1
            def two(trial, more): return trial.suggest_int("n", 3, 3) + more
            for objective in (lambda trial: 7, functools.partial(two, more=2), Object(4), Object(8).method):
                study = optuna.create_study()
                study.optimize(objective, n_trials=1)
                print(int(study.best_value))
        """)
        self.assertEqual(ran.output.split(), ["7", "5", "4", "9"])
        names = ["__main__.<lambda>", "__main__.two", "__main__.Object", "__main__.Object.method"]
        self.assertEqual([each["objective"] for each in ran.openings], names)
        self.assertEqual([each["call"] for each in ran.openings], [0, 1, 2, 3])

    def test_all_kinds_of_parameters_come_as_the_objects_that_optuna_gives(self):
        ran = self.run_program("""
            import optuna, warnings
            warnings.simplefilter("ignore")
            class Net: pass
            choices = [(1, 2), (3, 4), Net, None, True, 1.5, "a"]
            def objective(trial):
                assert isinstance(trial, optuna.Trial) and isinstance(trial, optuna.trial.BaseTrial)
                assert trial.params == {} and trial.user_attrs == {} and trial.system_attrs == {} and trial.relative_params == {}
                values = [
                    trial.suggest_float("a", 0, 1), trial.suggest_float("b", 0.1, 1, log=True), trial.suggest_float("c", 0, 1, step=0.25),
                    trial.suggest_int("d", 1, 9), trial.suggest_int("e", 1, 9, log=True), trial.suggest_int("f", 2, 8, step=2),
                ]
                assert [type(value) for value in values] == [float] * 3 + [int] * 3
                assert values[2] in (0, 0.25, 0.5, 0.75, 1) and values[5] in (2, 4, 6, 8)
                chosen = trial.suggest_categorical("g", choices)
                assert any(chosen is each for each in choices)
                assert trial.suggest_float("a", 0, 1) == values[0] and trial.suggest_categorical("g", choices) is chosen
                assert list(trial.params) == list("abcdefg") and trial.params["g"] is chosen
                assert trial.distributions["f"] == optuna.distributions.IntDistribution(2, 8, step=2)
                if hasattr(optuna.Trial, "suggest_uniform"):
                    assert 0 <= trial.suggest_uniform("u", 0, 1) <= 1 and 1 <= trial.suggest_loguniform("v", 1, 2) <= 2
                    assert trial.suggest_discrete_uniform("w", 0, 1, 0.5) in (0, 0.5, 1)
                trial.set_user_attr("choice", str(choices.index(chosen)))
                assert trial.user_attrs == {"choice": str(choices.index(chosen))} and trial.datetime_start
                return 0
            study = optuna.create_study()
            study.optimize(objective, n_trials=12)
            print({trial.state.name for trial in study.trials}, len({trial.user_attrs["choice"] for trial in study.trials}) > 3)
            print(sorted(str(each) for each in study.trials[0].distributions["g"].choices))
        """)
        self.assertEqual(ran.output.splitlines()[0], "{'COMPLETE'} True")
        self.assertEqual(ran.output.splitlines()[1], str(sorted(["(1, 2)", "(3, 4)", "Net", "None", "True", "1.5", "a"])))

    def test_changed_distributions_are_refused_or_warned_of_as_optuna_does(self):
        ran = self.run_program("""
            import optuna, warnings
            def objective(trial):
                trial.suggest_float("x", 0, 1)
                with warnings.catch_warnings(record=True) as told:
                    warnings.simplefilter("always")
                    assert trial.suggest_float("x", 0, 2) == trial.params["x"]
                    assert [each.category for each in told] == [RuntimeWarning]
                trial.suggest_categorical("c", ["a", "b"])
                for ask in (
                    lambda: trial.suggest_int("x", 0, 1), lambda: trial.suggest_float("x", 0.1, 1, log=True),
                    lambda: trial.suggest_categorical("c", ["a", "c"]), lambda: trial.suggest_float("y", 1, 0),
                    lambda: trial.suggest_float("y", 0, float("inf")),
                ):
                    try:
                        ask()
                    except ValueError:
                        pass
                    else:
                        assert False
                return 1
            study = optuna.create_study()
            study.optimize(objective, n_trials=1)
            print(study.best_value)
        """)
        self.assertEqual(ran.output, "1.0\n")

    def test_values_that_are_none_are_failures_in_words(self):
        ran = self.run_program("""
            import numpy, optuna
            values = [float("nan"), None, "text", [1, 2], [], {}, float("inf"), numpy.float32(0.5), numpy.array(2), [3], True, "4"]
            study = optuna.create_study()
            study.optimize(lambda trial: values[trial.number], n_trials=len(values))
            print([trial.values for trial in study.trials])
        """)
        self.assertEqual(ran.output, "[None, None, None, None, None, None, [inf], [0.5], [2.0], [3.0], [1.0], [4.0]]\n")
        self.assertIn("the objective returned NaN", ran.attempts[0]["stderr"])
        self.assertIn("the objective returned None; None cannot be made a float", ran.attempts[1]["stderr"])
        self.assertIn("the objective returned 2 values; the study has 1", ran.attempts[3]["stderr"])
        self.assertEqual([each["status"] for each in ran.attempts[:3]], [0, 1, 1])

    def test_an_async_objective_is_told_as_one(self):
        ran = self.run_program("""
            import optuna
            async def objective(trial):
                return 1.0
            optuna.create_study().optimize(objective, n_trials=1)
        """)
        self.assertIn("the objective is an async function; it should be a plain one that calls asyncio.run", ran.attempts[0]["stderr"])
        self.assertNotIn("never awaited", ran.attempts[0]["stderr"])

    def test_several_objectives(self):
        ran = self.run_program("""
            import optuna
            def objective(trial):
                for what in (lambda: trial.report(1, 1), trial.should_prune):
                    try:
                        what()
                    except NotImplementedError:
                        pass
                    else:
                        assert False
                return trial.suggest_float("x", 0, 1), 2
            study = optuna.create_study(directions=["minimize", "maximize"], sampler=optuna.samplers.RandomSampler(seed=7))
            study.optimize(objective, n_trials=2)
            print([len(trial.values) for trial in study.best_trials], [each.name for each in study.directions])
        """)
        self.assertEqual(ran.output, "[2] ['MINIMIZE', 'MAXIMIZE']\n")
        self.assertEqual(ran.opening["pruner"], {"name": "none", "options": {}})
        self.assertEqual(ran.opening["sampler"], {"name": "random", "seed": 7, "options": {}})

    def test_pruning(self):
        program = """
            import optuna
            class Stopped(optuna.TrialPruned): pass
            def objective(trial):
                for step in range(5):
                    trial.report(step / 2, step)
                    trial.report(99, step)  # the first value of a step counts
                    if trial.should_prune():
                        raise optuna.TrialPruned()
                if trial.number == 1:
                    raise Stopped("by itself")
                return 1
            study = optuna.create_study()
            study.optimize(objective, n_trials=2)
            print([(trial.state.name, dict(trial.intermediate_values)) for trial in study.trials])
        """
        ran = self.run_program(program)
        reports = {step: step / 2 for step in range(5)}
        self.assertEqual(ran.output, f"{[('COMPLETE', reports), ('PRUNED', reports)]}\n")
        ran = self.run_program(program, "--prune-at", "1")
        self.assertEqual(ran.output, f"{[('PRUNED', {0: 0.0, 1: 0.5})] * 2}\n")
        self.assertEqual([each["status"] for each in ran.attempts], [0, 0])

    def test_random_numbers_are_other_ones_in_each_trial_and_the_same_in_each_run(self):
        program = """
            import sys, random, numpy, optuna
            if sys.argv[1:]:
                random.seed(5)
                numpy.random.seed(5)
            study = optuna.create_study()
            study.optimize(lambda trial: random.random() + numpy.random.random(), n_trials=3)
            print([trial.value for trial in study.trials])
            print(random.random() if sys.argv[1:] else "")
        """
        first, second = [self.run_program(program, arguments=["seed"]).output for _ in range(2)]
        self.assertEqual(first, second)
        self.assertEqual(len(set(first.splitlines()[0].strip("[]").split(", "))), 3, first)
        self.assertEqual(first.splitlines()[1], "0.6229016948897019")  # Python's own first number of this seed: the program's state is untouched
        started_again = self.run_program(program, arguments=["seed"], OPENBLAS_NUM_THREADS="2")
        self.assertFalse(started_again.opening["forks"])
        self.assertEqual(started_again.output, first)
        third, fourth = [self.run_program(program).output for _ in range(2)]
        self.assertNotEqual(third, fourth)

    def test_files_that_the_program_holds_open_are_written_once(self):
        ran = self.run_program("""
            import optuna
            log = open("log.txt", "w")
            log.write("before\\n")
            def objective(trial):
                log.write(f"trial {trial.number}\\n")
                print("printed without a newline", end="")
                return 0
            study = optuna.create_study()
            print("held back", end="")
            study.optimize(objective, n_trials=3)
            log.write("after\\n")
        """)
        self.assertEqual((self.folder / "log.txt").read_text(), "before\ntrial 0\ntrial 1\ntrial 2\nafter\n")
        self.assertEqual(ran.output, "held back")
        self.assertEqual([each["stdout"] for each in ran.attempts], ["printed without a newline"] * 3)

    def test_another_study_inside_of_an_objective_is_run_by_optuna(self):
        ran = self.run_program("""
            import optuna
            def objective(trial):
                inner = optuna.create_study()
                inner.optimize(lambda trial: trial.suggest_float("y", 2, 3), n_trials=2)
                assert len(inner.trials) == 2
                return inner.best_value
            study = optuna.create_study()
            study.optimize(objective, n_trials=1)
            print(2 <= study.best_value <= 3)
        """)
        self.assertEqual(ran.output, "True\n")

    def test_environment_of_a_trial(self):
        ran = self.run_program("""
            import os, sys, optuna
            def objective(trial):
                import hpo
                assert hpo.in_trial() and hpo.trial().number == trial.number and hpo.plan().device == "cpu"
                hpo.attr("from hpo", 1)
                hpo.report(4, step=2)
                assert "HPO_FRONT" not in os.environ and os.environ["OMP_NUM_THREADS"] == "2"
                assert sys.stdin.read() == "" and not any("takeover" in each for each in sys.path)
                return 0
            assert os.environ["OMP_NUM_THREADS"] == "1"
            study = optuna.create_study()
            study.optimize(objective, n_trials=1)
            [trial] = study.trials
            print(trial.user_attrs, trial.intermediate_values)
        """)
        self.assertEqual(ran.output, "{'from hpo': 1} {2: 4.0}\n")


class Studies(FrontTest):
    def test_two_calls_go_on_with_one_study_and_what_it_had_is_kept(self):
        ran = self.run_program("""
            import optuna
            class First(optuna.samplers.RandomSampler):
                def sample_independent(self, study, trial, name, distribution):
                    return distribution.choices[0] if name == "c" else 0.5
            study = optuna.create_study(study_name="mine", sampler=First())
            study.set_user_attr("about", {"a": [1]})
            if hasattr(study, "set_metric_names"):
                study.set_metric_names(["loss"])
            trial = study.ask()
            trial.suggest_categorical("c", ["a", (1, 2)])
            study.ask()  # never told, so it is not kept
            trial.report(0.5, 1)
            trial.set_user_attr("note", "told")
            study.tell(trial, 3)
            study.enqueue_trial({"x": 0.25}, user_attrs={"why": "enqueued"})
            objective = lambda trial: trial.suggest_float("x", 0, 1)
            def first(trial):
                assert trial.user_attrs == {"why": "enqueued"}
                return objective(trial)
            study.optimize(first, n_trials=1)
            study.optimize(objective, n_trials=1)
            assert [trial.params.get("x") for trial in study.trials][1] == 0.25, study.trials
            study.optimize(objective, n_trials=1, timeout=60)
            assert study.user_attrs["about"] == {"a": [1]} and study.study_name == "mine"
            assert getattr(study, "metric_names", ["loss"]) == ["loss"]
            told, enqueued = study.trials[:2]
            assert told.params == {"c": "a"} and told.distributions["c"].choices == ("a", "(1, 2)"), told
            print(len(study.trials), told.value, told.user_attrs, told.intermediate_values, enqueued.user_attrs)
        """)
        self.assertEqual(ran.output, "4 3.0 {'note': 'told'} {1: 0.5} {'why': 'enqueued'}\n")
        first, _, second = ran.openings
        self.assertEqual([first["study"], first["store"], first["trials"]], ["mine", None, 1])
        self.assertEqual([second["call"], second["trials"], second["seconds"]], [2, 1, 60])
        self.assertTrue(second["store"].startswith("sqlite:////"))

    def test_a_study_in_a_file_stays_there(self):
        ran = self.run_program("""
            import optuna
            study = optuna.create_study(storage="sqlite:///own.db", study_name="s")
            study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=2)
            again = optuna.load_study(study_name="s", storage="sqlite:///own.db")
            print(len(study.trials), again.best_value == study.best_value)
        """)
        self.assertEqual(ran.output, "2 True\n")
        self.assertEqual([ran.opening["study"], ran.opening["store"]], ["s", f"sqlite:///{self.folder.resolve()}/own.db"])

    def test_callbacks_are_not_called_for_a_trial_whose_exception_optimize_raises(self):
        ran = self.run_program("""
            import optuna
            def objective(trial):
                if trial.number == 1:
                    raise KeyError("the cause")
                return 1
            def callback(study, trial):
                print("callback", trial.number, trial.state.name, study.best_value)
            study = optuna.create_study()
            try:
                study.optimize(objective, n_trials=3, callbacks=[callback])
            except KeyError as error:
                print("raised", error)
            study = optuna.create_study()
            study.optimize(objective, n_trials=2, callbacks=[callback], catch=KeyError)
        """)
        self.assertEqual(ran.output.splitlines(), ["callback 0 COMPLETE 1.0", "raised 'the cause'", "callback 0 COMPLETE 1.0", "callback 1 FAIL 1.0"])

    def test_threads_that_share_a_study_add_their_trials_to_it_one_after_the_other(self):
        ran = self.run_program("""
            import optuna, threading
            from concurrent.futures import ThreadPoolExecutor
            study = optuna.create_study()
            threads = [threading.Thread(target=study.optimize, args=[lambda trial: trial.suggest_float("x", 0, 1)], kwargs={"n_trials": 5}) for _ in range(3)]
            for each in threads:
                each.start()
            for each in threads:
                each.join()
            print(len(study.trials), {trial.state.name for trial in study.trials})
            with ThreadPoolExecutor(4) as pool:
                for _ in range(6):
                    pool.submit(study.optimize, lambda trial: 1, n_trials=2)
            print(len(study.trials))

            def stop(study, trial):
                study.stop()
            threads = [threading.Thread(target=study.optimize, args=[lambda trial: 1], kwargs={"n_trials": 5, "callbacks": [stop]}) for _ in range(3)]
            threads[0].start()
            threads[0].join()
            print(len(study.trials))
        """)
        self.assertEqual(ran.output.splitlines(), ["15 {'COMPLETE'}", "27", "28"])
        self.assertEqual(len(ran.openings), 3 + 6 + 1)

    def test_constraints_of_a_trial_are_told_and_not_written_around_hpo(self):
        ran = self.run_program("""
            import optuna, warnings
            def objective(trial):
                x = trial.suggest_float("x", 0, 1)
                trial.set_constraint("first", x - 0.5)
                trial.set_constraint("second", -1)
                with warnings.catch_warnings(record=True) as told:
                    warnings.simplefilter("always")
                    trial.set_constraint("second", 3)
                assert len(told) == 1 and trial.constraints == {"first": x - 0.5, "second": -1.0}
                for wrong, kind in (("much", TypeError), (float("nan"), ValueError)):
                    try:
                        trial.set_constraint("third", wrong)
                        assert False
                    except kind:
                        pass
                return x
            study = optuna.create_study()
            study.optimize(objective, n_trials=4)
            print([trial.system_attrs["constraints:first"] == trial.params["x"] - 0.5 for trial in study.trials])
        """)
        self.assertEqual(ran.output, "[True, True, True, True]\n")
        self.assertEqual([each["said"][2] for each in ran.attempts], [{"constraint": {"second": -1.0}}] * 4)

    def test_a_constraints_func_computes_for_each_trial_also_for_enqueued_ones(self):
        ran = self.run_program("""
            import optuna, warnings
            warnings.simplefilter("ignore")
            def objective(trial):
                x = trial.suggest_float("x", -10, 10)
                trial.set_user_attr("c", (5 - x,))
                return x
            sampler = optuna.samplers.TPESampler(seed=1, constraints_func=lambda trial: trial.user_attrs["c"])
            study = optuna.create_study(sampler=sampler)
            study.enqueue_trial({"x": -10.0})
            study.enqueue_trial({"x": 5.0})
            study.optimize(objective, n_trials=6)
            print([list(trial.system_attrs["constraints"]) == [5 - trial.params["x"]] for trial in study.trials])
        """)
        self.assertEqual(ran.output, f"{[True] * 6}\n")

    def test_arrays_in_system_attributes_are_kept_as_a_study_in_memory_keeps_them(self):
        ran = self.run_program("""
            import optuna
            class Array:  # as one of NumPy
                def tolist(self): return [0.25, float("nan")]
            def objective(trial):
                trial.storage.set_trial_system_attr(trial._trial_id, "of a library", Array())
                trial.set_system_attr("of the objective", {"a": Array()})
                return 1
            study = optuna.create_study()
            study.optimize(objective, n_trials=1)
            attributes = study.trials[0].system_attrs
            print(attributes["of a library"], attributes["of the objective"])
            study = optuna.create_study(storage="sqlite:///own.db")
            try:
                study.optimize(objective, n_trials=1)
            except TypeError as error:
                print("TypeError")
        """)
        self.assertEqual(ran.output.splitlines(), ["[0.25, nan] {'a': [0.25, nan]}", "TypeError"])

    def test_a_process_that_the_objective_spawns_asks_the_studys_own_pruner(self):
        ran = self.run_program("""
            import multiprocessing, optuna

            def first_rank(trial, queue):
                trial.report(99.0, 0)
                queue.put(trial.should_prune())

            def objective(trial):
                if trial.number < 3:
                    trial.report(1.0, 0)
                    return 1.0
                spawn = multiprocessing.get_context("spawn")
                queue = spawn.Queue()
                child = spawn.Process(target=first_rank, args=(trial, queue))
                child.start()
                prune = queue.get(timeout=60)
                child.join()
                if prune:
                    raise optuna.TrialPruned
                return 0.5

            if __name__ == "__main__":
                study = optuna.create_study(pruner=optuna.pruners.MedianPruner(n_startup_trials=2), storage="sqlite:///own.db")
                study.optimize(objective, n_trials=4)
                print([trial.state.name for trial in study.trials])
        """)
        self.assertEqual(ran.output, "['COMPLETE', 'COMPLETE', 'COMPLETE', 'PRUNED']\n")

    def test_callbacks_see_each_trial_and_may_stop_the_study(self):
        ran = self.run_program("""
            import optuna
            seen = []
            def callback(study, trial):
                seen.append((trial.number, trial.state.name, trial.value, len(study.trials), study.best_value))
                if trial.number == 2:
                    study.stop()
            study = optuna.create_study()
            study.optimize(lambda trial: trial.number + 10, n_trials=100, callbacks=[callback])
            print(seen)
        """)
        self.assertEqual(ran.output, f"{[(n, 'COMPLETE', n + 10.0, n + 1, 10.0) for n in range(3)]}\n")

    def test_an_objective_may_stop_the_study_and_look_at_it(self):
        for start in ({}, {"OPENBLAS_NUM_THREADS": "2"}):
            with self.subTest(start):
                ran = self.run_program("""
                    import optuna
                    study = optuna.create_study(study_name="s")
                    study.set_user_attr("a", 1)
                    def objective(trial):
                        assert trial.study is study and study.user_attrs == {"a": 1} and study.study_name
                        if trial.number == 2:
                            assert study.best_value == 5 and len(study.trials) == 3
                            (study if trial.number else trial.study).stop()
                        return 5 + trial.number
                    study.optimize(objective, n_trials=100)
                    print(len(study.trials), study.best_value)
                """, **start)
                self.assertEqual(ran.output, "3 5.0\n")
                self.assertEqual(ran.opening["forks"], not start)

    def test_what_the_trial_writes_through_the_storage_arrives(self):
        ran = self.run_program("""
            import copy, pickle, optuna
            def objective(trial):
                trial.suggest_float("x", 0, 1)
                if hasattr(trial, "set_constraint"):
                    trial.set_constraint("memory", -1)
                    assert trial.constraints == {"memory": -1}
                trial.storage.set_trial_system_attr(trial._trial_id, "mine", 1)
                assert pickle.loads(pickle.dumps(trial)).params == copy.deepcopy(trial).params == trial.params
                return 1
            study = optuna.create_study()
            study.optimize(objective, n_trials=1)
            print(study.trials[0].system_attrs["mine"], getattr(study.trials[0], "constraints", None) in (None, {"memory": -1}))
        """)
        self.assertEqual(ran.output, "1 True\n")

    def test_threads_that_a_callback_starts_are_noted(self):
        ran = self.run_program("""
            import threading, time, optuna
            def callback(study, trial):
                threading.Thread(target=time.sleep, args=[60], daemon=True).start()
            study = optuna.create_study()
            study.optimize(lambda trial: 1, n_trials=2, callbacks=[callback])
            print(len(study.trials))
        """)
        self.assertEqual(ran.output, "2\n")
        self.assertEqual(ran.errors.count("hpo: since optimize began, 1 thread runs"), 1, ran.errors)

    def test_the_samplers_own_draws_come_from_one_process(self):
        ran = self.run_program("""
            import os, optuna
            me = os.getpid()
            class Own(optuna.samplers.BaseSampler):
                told, begun = [], []
                def infer_relative_search_space(self, study, trial):
                    return {"x": optuna.distributions.FloatDistribution(0, 100)}
                def sample_relative(self, study, trial, space):
                    assert os.getpid() == me
                    return {"x": float(trial.number)}
                def sample_independent(self, study, trial, name, distribution):
                    assert os.getpid() == me and trial.params == ({} if name == "y" else {"y": 20 + trial.number})
                    return {"y": 20 + trial.number, "z": distribution.choices[-1] if name == "z" else None}[name]
                def before_trial(self, study, trial):
                    self.begun.append(trial.number)
                def after_trial(self, study, trial, state, values):
                    self.told.append((trial.number, state.name, values))
                    study._storage.set_trial_system_attr(trial._trial_id, "constraints", [1.0])
            def objective(trial):
                x, y, z = trial.suggest_float("x", 0, 100), trial.suggest_int("y", 0, 50), trial.suggest_categorical("z", [(1,), (2,)])
                assert (x, y, z) == (trial.number, 20 + trial.number, (2,))
                return x
            study = optuna.create_study(sampler=Own())
            study.optimize(objective, n_trials=3)
            print(Own.told, Own.begun or [0, 1, 2])
            print([trial.system_attrs["constraints"] for trial in study.trials])
        """)
        self.assertEqual(ran.output.splitlines()[0], f"{[(n, 'COMPLETE', [float(n)]) for n in range(3)]} [0, 1, 2]")
        self.assertEqual(ran.output.splitlines()[1], "[[1.0], [1.0], [1.0]]")
        self.assertEqual(ran.opening["sampler"], None)
        self.assertIn("hpo has no Own", ran.opening["sampler_note"])

    def test_a_sampler_that_raises_ends_the_study_with_its_exception(self):
        ran = self.run_program("""
            import optuna
            class Own(optuna.samplers.RandomSampler):
                def sample_independent(self, study, trial, name, distribution):
                    raise KeyError("the sampler is broken")
            study = optuna.create_study(sampler=Own())
            study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=5)
        """, status=1)
        self.assertIn("KeyError: 'the sampler is broken'", ran.errors)
        self.assertEqual(len(ran.attempts), 1)


class Policies(FrontTest):
    def test_samplers_and_pruners_by_hpos_names(self):
        self.write("""
            import warnings, optuna
            from optuna import samplers, pruners
            from hpo.optuna._policies import pruner_of, sampler_of, turn_of
            warnings.simplefilter("ignore")
            tpe = {"startup_trials": 10, "ei_candidates": 24, "prior_weight": 1.0}
            def same(got, expected):
                assert got == (expected, ""), (got, expected)
            def none(got, *words):
                assert got[0] is None and all(word in got[1] for word in words), got
            same(sampler_of(samplers.RandomSampler(), False), {"name": "random", "seed": None, "options": {}})
            same(sampler_of(samplers.RandomSampler(seed=4294967295), False), {"name": "random", "seed": 4294967295, "options": {}})
            same(sampler_of(samplers.TPESampler(), False), {"name": "tpe", "seed": None, "options": tpe})
            same(
                sampler_of(samplers.TPESampler(seed=0, n_startup_trials=3, n_ei_candidates=7), False),
                {"name": "tpe", "seed": 0, "options": {**tpe, "startup_trials": 3, "ei_candidates": 7}},
            )
            shared = samplers.TPESampler(seed=7)
            one, two = (optuna.create_study(sampler=shared) for _ in range(2))
            assert [turn_of(each) for each in (one, one, two, one)] == [0, 0, 1, 0]
            seeds = [sampler_of(shared, False, turn)[0]["seed"] for turn in (0, 1, 2, 1)]
            assert seeds[0] == 7 and len(set(seeds)) == 3 and seeds[1] == seeds[3], seeds
            drawn = samplers.RandomSampler(seed=3)
            getattr(drawn._rng, "rng", drawn._rng).uniform()
            assert sampler_of(drawn, False)[0]["seed"] is None  # where it stands is not known
            for words in ("group=True", "constraints_func", "gamma", "weights", "consider_endpoints=True", "consider_magic_clip=False"):
                options = {
                    "group=True": {"multivariate": True, "group": True}, "constraints_func": {"constraints_func": lambda trial: [0]},
                    "gamma": {"gamma": lambda count: 1}, "weights": {"weights": lambda count: None},
                    "consider_endpoints=True": {"consider_endpoints": True}, "consider_magic_clip=False": {"consider_magic_clip": False},
                }[words]
                none(sampler_of(samplers.TPESampler(**options), False), words, "the study's own sampler goes on choosing")
            none(sampler_of(samplers.TPESampler(), True), "several objectives")
            none(sampler_of(samplers.CmaEsSampler.__new__(samplers.CmaEsSampler), False), "the study's own CmaEsSampler goes on choosing; --sampler cmaes")
            class Own(samplers.TPESampler): pass
            none(sampler_of(Own(), False), "hpo has no Own")
            five = {"startup_trials": 5, "warmup_steps": 0, "interval_steps": 1, "min_trials": 1}
            same(pruner_of(pruners.MedianPruner(), False), {"name": "median", "options": five})
            same(
                pruner_of(pruners.PercentilePruner(25.0, 2, 3, 4, n_min_trials=6), False),
                {
                    "name": "percentile",
                    "options": {"percentile": 25.0, "startup_trials": 2, "warmup_steps": 3, "interval_steps": 4, "min_trials": 6},
                },
            )
            same(pruner_of(pruners.NopPruner(), False), {"name": "none", "options": {}})
            same(pruner_of(pruners.HyperbandPruner(), True), {"name": "none", "options": {}})
            none(pruner_of(pruners.HyperbandPruner(), False), "hpo has no HyperbandPruner")
        """)
        run = subprocess.run([self.python, "program.py"], env=environment(), cwd=self.folder, capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(run.returncode, 0, run.stderr)


class Ends(FrontTest):
    def test_an_exception_ends_the_study_and_is_raised_as_it_was(self):
        for start in ({}, {"OPENBLAS_NUM_THREADS": "2"}):
            with self.subTest(start):
                ran = self.run_program("""
                    import optuna
                    class Own(Exception): pass
                    study = optuna.create_study()
                    def fail():
                        raise Own("in trial", 2)
                    try:
                        study.optimize(lambda trial: fail() if trial.number == 2 else 1, n_trials=9)
                    except Own as error:
                        assert "in fail" in str(error.__cause__), error.__cause__
                        print(error.args, [trial.state.name for trial in study.trials])
                """, **start)
                self.assertEqual(ran.output, "('in trial', 2) ['COMPLETE', 'COMPLETE', 'FAIL']\n")
                self.assertIn("Own: ('in trial', 2)", ran.attempts[2]["stderr"])
                self.assertNotIn("_objective.py", ran.attempts[2]["stderr"])

    def test_an_exception_that_cannot_be_copied_is_raised_in_words(self):
        ran = self.run_program("""
            import optuna
            def objective(trial):
                class Local(Exception): pass
                raise Local("cannot be pickled")
            try:
                optuna.create_study().optimize(objective, n_trials=9)
            except RuntimeError as error:
                print(error)
        """)
        self.assertIn("Local: cannot be pickled", ran.output)

    def test_exceptions_of_catch_end_nothing(self):
        ran = self.run_program("""
            import optuna
            def objective(trial):
                raise [ValueError, KeyError, ZeroDivisionError][trial.number]("x")
            study = optuna.create_study()
            study.optimize(objective, n_trials=2, catch=(ValueError, LookupError))
            try:
                study.optimize(objective, n_trials=9, catch=ArithmeticError)
            except IndexError as error:
                print([trial.state.name for trial in study.trials])
        """)
        self.assertEqual(ran.output, f"{['FAIL'] * 4}\n")
        self.assertEqual([each["catch"] for each in ran.openings], [["ValueError", "LookupError"], ["ArithmeticError"]])

    def test_failures_of_memory_and_of_the_process_end_no_study(self):
        ran = self.run_program("""
            import os, optuna
            def objective(trial):
                if trial.number == 0:
                    raise RuntimeError("CUDA out of memory")
                if trial.number == 1:
                    os.abort()
                if trial.number == 2 and os.environ["HPO_ATTEMPT"] == "0":
                    raise RuntimeError("CUDA out of memory")
                return 1
            study = optuna.create_study()
            study.optimize(objective, n_trials=4)
            print([trial.state.name for trial in study.trials])
        """, "--retries", "1")
        self.assertEqual(ran.output, "['FAIL', 'FAIL', 'COMPLETE', 'COMPLETE']\n")
        self.assertEqual([each["trial"] for each in ran.attempts], [0, 0, 1, 2, 2, 3])

    def test_sys_exit_in_an_objective_ends_the_program_as_with_optuna(self):
        ran = self.run_program("""
            import sys, optuna
            optuna.create_study().optimize(lambda trial: sys.exit(7), n_trials=9)
        """, status=7)
        self.assertEqual(len(ran.attempts), 1)

    def test_an_exception_in_a_callback_is_raised(self):
        ran = self.run_program("""
            import optuna
            def callback(study, trial):
                raise ValueError("in the callback")
            try:
                optuna.create_study().optimize(lambda trial: 1, n_trials=9, callbacks=[callback])
            except ValueError as error:
                print(error)
        """)
        self.assertEqual(ran.output, "in the callback\n")
        self.assertLess(len(ran.attempts), 9)

    def test_what_hpo_tune_says_at_the_end_is_raised(self):
        program = """
            import optuna
            try:
                optuna.create_study().optimize(lambda trial: 1, n_trials=1)
            except BaseException as error:
                print(f"{type(error).__module__}.{type(error).__name__}: {error}")
        """
        for why, expected in {
            "breaker": "hpo.HpoError: the reason", "error": "hpo.HpoError: the reason", "interrupted": "builtins.KeyboardInterrupt: ",
            "stopped": "",
        }.items():
            with self.subTest(why):
                self.assertEqual(self.run_program(program, "--end-with", why).output.strip(" \n"), expected.strip())
        self.assertEqual(self.run_program(program, "--refuse", "no such device").output, "hpo.HpoError: no such device\n")

    def test_ctrl_c_is_a_keyboard_interrupt_after_the_running_trials(self):
        ran = self.run_program("""
            import os, signal, time, optuna
            def objective(trial):
                os.kill(parent, signal.SIGINT)
                time.sleep(0.1)
                return 1
            parent = os.getpid()
            study = optuna.create_study()
            try:
                study.optimize(objective, n_trials=99)
            except KeyboardInterrupt:
                print([trial.state.name for trial in study.trials])
        """)
        self.assertEqual(ran.output, "['COMPLETE']\n")

    def test_an_interrupted_callback_ends_the_study(self):
        ran = self.run_program("""
            import os, signal, time, optuna
            def callback(study, trial):
                os.kill(os.getpid(), signal.SIGINT)
                time.sleep(60)
            study = optuna.create_study()
            try:
                study.optimize(lambda trial: 1, n_trials=99, callbacks=[callback])
            except KeyboardInterrupt:
                print(len(study.trials))
            study.optimize(lambda trial: 1, n_trials=1)  # the connection is as good as before
            print(len(study.trials))
        """)
        self.assertEqual(ran.output, "1\n2\n")

    def test_ctrl_c_twice_ends_at_once(self):
        ran = self.run_program("""
            import os, signal, time, optuna
            def objective(trial):
                os.kill(parent, signal.SIGINT)
                time.sleep(0.2)
                os.kill(parent, signal.SIGINT)
                time.sleep(60)
            parent = os.getpid()
            study = optuna.create_study()
            begun = time.monotonic()
            try:
                study.optimize(objective, n_trials=99)
            except KeyboardInterrupt:
                print(time.monotonic() - begun < 30)
        """)
        self.assertEqual(ran.output, "True\n")

    def test_a_process_beside_the_first_one_runs_its_study_with_optuna(self):
        ran = self.run_program("""
            import os, subprocess, sys, optuna
            def callback(study, trial):
                other = "import optuna; s = optuna.create_study(); s.optimize(lambda trial: 1, n_trials=2); print('other', len(s.trials))"
                subprocess.run([sys.executable, "-c", other], check=True)
            study = optuna.create_study()
            study.optimize(lambda trial: 1, n_trials=1, callbacks=[callback])
        """)
        self.assertEqual(ran.output, "other 2\n")
        self.assertIn("hpo: another process of this program runs its study with hpo, so Optuna runs this study itself", ran.errors)

    def test_without_hpo_tune_optuna_runs_the_study(self):
        self.write("import optuna; s = optuna.create_study(); s.optimize(lambda trial: 1, n_trials=2); print(len(s.trials))")
        path = f"{TESTS.parent / 'hpo/takeover'}:{TESTS.parent}"
        for front in ({}, {"HPO_FRONT": "/nowhere/at/all"}):
            run = subprocess.run(
                [self.python, "program.py"], env={**environment(), "PYTHONPATH": path, **front}, cwd=self.folder, capture_output=True,
                text=True, timeout=60, check=False,
            )
            self.assertEqual(run.stdout, "2\n", run.stderr)
            self.assertEqual("hpo-tune does not listen at" in run.stderr, bool(front))

    def test_hpo_tune_may_die(self):
        self.write("""
            import os, signal, optuna
            tune = os.getppid()
            def objective(trial):
                os.kill(tune, signal.SIGKILL)
                open("child", "w").write(str(os.getpid()))
                import time
                time.sleep(60)
            try:
                optuna.create_study().optimize(objective, n_trials=3)
            except Exception as error:
                open("raised", "w").write(f"{type(error).__name__}: {error}")
        """)
        subprocess.run(
            [self.python, TESTS / "fake_tune.py", "--log", "log", "--", self.python, "program.py"], env=environment(), cwd=self.folder,
            capture_output=True, timeout=60, check=False,
        )
        end = time.monotonic() + 20
        while not (self.folder / "raised").exists() and time.monotonic() < end:
            time.sleep(0.05)
        time.sleep(0.05)
        self.assertEqual((self.folder / "raised").read_text(), "HpoError: hpo-tune has ended")
        if (self.folder / "child").exists():
            with self.assertRaises(ProcessLookupError):
                os.kill(int((self.folder / "child").read_text()), signal.SIG_DFL)


class Takeover(FrontTest):
    def test_the_next_sitecustomize_runs_and_nothing_of_hpo_is_imported(self):
        (self.folder / "sitecustomize.py").write_text("import sys; sys.mine = __file__", encoding="utf-8")
        self.write("""
            import sys
            print(sys.mine.endswith("sitecustomize.py"), sorted(each for each in sys.modules if each.partition(".")[0] == "hpo"))
        """)
        ran = self.run_fronted(["program.py"], PYTHONPATH=str(self.folder))
        self.assertEqual([ran.status, ran.output], [0, "True []\n"], ran.errors)

    def test_a_program_may_have_a_module_of_the_name_hpo(self):
        program = """
            import optuna
            def objective(trial):
                return trial.suggest_float("x", 0, 1)
            study = optuna.create_study()
            study.optimize(objective, n_trials=2)
            print("best", len(study.trials))
        """
        self.write("own = 7", "hpo.py")
        ran = self.run_program("import hpo\n" + textwrap.dedent(program) + "print(hpo.own)")
        self.assertEqual([ran.output, len(ran.attempts)], ["best 2\n7\n", 2], ran.errors)
        self.write(program, "hpo.py")
        ran = self.run_fronted(["hpo.py"])
        self.assertEqual([ran.output, len(ran.attempts)], ["best 2\n", 2], ran.errors)

    def test_a_folder_of_the_name_hpo_beside_the_program_is_not_taken_for_the_package(self):
        program = """
            import optuna
            study = optuna.create_study()
            study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=2)
        """
        (self.folder / "hpo").mkdir()
        self.assertEqual(len(self.run_program(program).attempts), 2)
        self.write("", "hpo/__init__.py")
        self.assertEqual(len(self.run_program(program).attempts), 2)


if __name__ == "__main__":
    unittest.main()
