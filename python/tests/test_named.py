# SPDX-License-Identifier: MIT
"""Objectives that are named, FILE.py:NAME, and python -m hpo."""

import os
import subprocess
import sys
import unittest

from fronted import FrontTest
from studies import environment


class Named(FrontTest):
    module = ""  # the standard library alone

    def run_named(self, program, name, *options, status=0, file="objectives.py", arguments=(), **more):
        self.write(program, file)
        ran = self.run_fronted(["-m", "hpo._loop._named", file, name, *arguments], "--no-store", *options, **more)
        self.assertEqual(ran.status, status, ran.output + ran.errors + str([each["stderr"] for each in ran.attempts]))
        return ran

    def test_a_function_an_object_a_class_and_a_method_are_objectives(self):
        program = """
            import sys
            import beside
            def function(trial):
                assert __name__ == "objectives" and sys.argv == ["objectives.py", "--epochs", "3"], sys.argv
                assert sys.modules["objectives"].function is function and beside.here
                return trial.suggest_float("x", 1, 2)
            class Counted:
                def __call__(self, trial):
                    return 10 + trial.number
                def method(self, trial):
                    return 20
            counted = Counted()
            several = lambda trial: (1, 2)
            if __name__ == "__main__":
                raise AssertionError
        """
        self.write("here = True", "beside.py")
        for name, expected in {"function": None, "Counted": 11, "counted": 11, "counted.method": 20, "several": [1, 2]}.items():
            with self.subTest(name):
                ran = self.run_named(program, name, "--trials", "2", arguments=["--epochs", "3"])
                said = [each for each in ran.attempts[1]["said"] if "suggest" not in each]
                if expected is None:
                    self.assertTrue(1 <= said[0]["value"] <= 2)
                    self.assertNotEqual(said, ran.attempts[0]["said"])
                else:
                    self.assertEqual(said, [{"values": expected} if isinstance(expected, list) else {"value": expected}])
        opening = ran.opening
        self.assertEqual([opening[each] for each in ("program", "objective", "directions", "trials")], ["objectives.py", "several", None, None])
        self.assertTrue(opening["forks"])

    def test_the_trial_answers_without_optuna_what_optunas_answers(self):
        ran = self.run_named("""
            import sys
            class TrialPruned(Exception): pass
            choices = ["a", (1, 2), dict, None, 2.5]
            def objective(trial):
                assert "optuna" not in sys.modules
                assert 0 <= trial.suggest_uniform("u", 0, 1) <= 1 and 1 <= trial.suggest_loguniform("v", 1, 2) <= 2
                assert trial.suggest_discrete_uniform("w", 0, 1, 0.5) in (0, 0.5, 1)
                n = trial.suggest_int("n", 1, 8, log=True)
                chosen = trial.suggest_categorical("c", choices)
                assert any(chosen is each for each in choices) and trial.suggest_categorical("c", choices) is chosen
                assert list(trial.params) == list("uvwnc") and trial.distributions["n"].high == 8
                for ask in (
                    lambda: trial.suggest_float("n", 1, 8), lambda: trial.suggest_int("n", 1, 8),
                    lambda: trial.suggest_categorical("c", ["b"]), lambda: trial.suggest_float("low", 2, 1),
                ):
                    try:
                        ask()
                    except ValueError:
                        pass
                    else:
                        raise AssertionError
                assert trial.study.study_name == "named" and trial.study.user_attrs == {} and trial.datetime_start
                try:
                    trial.study.best_value
                except AttributeError as error:
                    assert "study_name, stop" in str(error), error
                trial.set_user_attr("a", [1])
                try:
                    trial.set_user_attr("b", object())
                except TypeError as error:
                    assert "user attribute 'b'" in str(error), error
                trial.report(0.5, 3)
                if trial.should_prune():
                    raise TrialPruned
                if trial.number == 1:
                    trial.study.stop()
                return n
        """, "objective", "--prune-at", "4", "--trials", "9")
        self.assertEqual([each["status"] for each in ran.attempts], [0, 0], ran.attempts)
        said = ran.attempts[0]["said"]
        self.assertEqual([each for each in said if "suggest" not in each][:3], [{"attr": {"a": [1]}}, {"step": 3, "value": 0.5}, {"answer": True}])
        asked = {each["suggest"]["name"]: each["suggest"]["distribution"] for each in said if "suggest" in each}
        self.assertEqual(asked["c"], {"name": "CategoricalDistribution", "attributes": {"choices": ["a", "(1, 2)", "dict", None, 2.5]}})
        self.assertEqual(asked["w"], {"name": "FloatDistribution", "attributes": {"low": 0, "high": 1, "log": False, "step": 0.5}})
        self.assertEqual(asked["n"], {"name": "IntDistribution", "attributes": {"low": 1, "high": 8, "log": True, "step": 1}})

    def test_trial_pruned_is_known_by_its_name_and_failures_end_nothing(self):
        ran = self.run_named("""
            class TrialPruned(Exception): pass
            class Own(TrialPruned): pass
            def objective(trial):
                if trial.number == 0:
                    raise Own
                if trial.number == 1:
                    raise SystemExit(0)
                raise ValueError("mine")
        """, "objective", "--trials", "3")
        self.assertEqual(ran.attempts[0]["said"], [{"pruned": True}])
        self.assertEqual([each["status"] for each in ran.attempts], [0, 1, 1])
        self.assertIn("ValueError: mine", ran.attempts[2]["stderr"])

    def test_a_file_with_threads_is_started_again_for_each_attempt(self):
        ran = self.run_named("""
            import threading, time
            threading.Thread(target=time.sleep, args=[60], daemon=True).start()
            def objective(trial):
                return trial.suggest_int("x", 5, 5)
        """, "objective", "--trials", "2")
        self.assertEqual([each["said"][-1] for each in ran.attempts], [{"value": 5}] * 2)
        self.assertFalse(ran.opening["forks"])
        self.assertRegex(ran.opening["why_not"], r"^1 thread runs besides the one that calls optimize \(Thread-1.*\)$")

    def test_what_cannot_work_is_one_error(self):
        program = """
            number = 3
            def one(trial): pass
            class Needs:
                def __init__(self, what): pass
            class Silent: pass
        """
        for name, expected in {
            "two": "objectives.py: 'two' is not there; what can be called in this file: Needs, Silent, one",
            "number": "objectives.py: 'number' is of type int; it should be a function, or something else that can be called",
            "Needs": "objectives.py: the class Needs cannot be made without arguments: ",
            "Silent": "objectives.py: objects of the class Silent cannot be called; it should have a method __call__(self, trial)",
        }.items():
            ran = self.run_named(program, name, status=2)
            self.assertIn(f"hpo: error: {expected}", ran.errors)
            self.assertEqual(ran.errors.count("\n"), 1, ran.errors)
        ran = self.run_fronted(["-m", "hpo._loop._named", "missing.py", "f"], "--no-store")
        self.assertEqual([ran.status, ran.errors], [2, "hpo: error: missing.py: there is no such file\n"])
        ran = self.run_named(program, "one", "--refuse", "no device", status=1)
        self.assertEqual(ran.errors, "hpo: error: no device\n")
        run = subprocess.run([sys.executable, "-m", "hpo._loop._named", "a.py", "f"], env=environment(), capture_output=True, text=True, check=False)
        self.assertEqual([run.returncode, run.stderr], [2, "hpo: error: hpo-tune starts this program; try: hpo-tune run a.py:f\n"])

    def test_a_file_that_fails_when_it_is_imported_shows_where(self):
        ran = self.run_named("import missing_module", "objective", status=1)
        self.assertIn("ModuleNotFoundError: No module named 'missing_module'", ran.errors)


class NamedWithOptuna(FrontTest):
    def test_the_trial_and_its_study_are_optunas(self):
        self.write("""
            import optuna
            def objective(trial):
                assert isinstance(trial, optuna.Trial)
                if trial.number == 1:
                    raise optuna.TrialPruned
                return trial.suggest_categorical("x", ["a"]) == "a"
        """)
        ran = self.run_fronted(["-m", "hpo._loop._named", "program.py", "objective"], "--no-store", "--trials", "2")
        self.assertEqual([each["said"][-1] for each in ran.attempts], [{"value": 1.0}, {"pruned": True}], ran.attempts)

    def test_a_file_that_optimizes_when_it_is_imported_is_refused(self):
        self.write("""
            import optuna
            def objective(trial): return 1
            optuna.create_study().optimize(objective, n_trials=1)
        """)
        ran = self.run_fronted(["-m", "hpo._loop._named", "program.py", "objective"], "--no-store")
        self.assertEqual(ran.status, 1)
        self.assertIn("program.py calls study.optimize while it is imported. Put that under if __name__", ran.errors)


class Module(unittest.TestCase):
    def run_module(self, *words, **more):
        return subprocess.run(
            [sys.executable, "-m", "hpo", *words], env=environment(**more), capture_output=True, text=True, timeout=60, check=False
        )

    def test_it_is_hpo_tune_run_with_this_python(self):
        for words, before, after in (
            (["--trials", "30", "train.py", "--epochs", "3"], ["--trials", "30"], ["train.py", "--epochs", "3"]),
            (["train.py"], [], ["train.py"]),
            (["-v", "-m", "package.train", "a.py"], ["-v"], ["-m", "package.train", "a.py"]),
        ):
            run = self.run_module(*words, HPO_TUNE="/bin/echo")
            self.assertEqual(run.stdout.split(), ["run", *before, "--", sys.executable, *after], run.stderr)

    def test_what_is_missing_is_said(self):
        run = self.run_module("--trials", "3")
        self.assertEqual(run.returncode, 2)
        self.assertIn("python -m hpo: error: no program is given; usage: ", run.stderr)
        run = self.run_module("train.py", PATH=os.path.dirname(__file__))
        self.assertEqual(run.returncode, 2)
        self.assertIn("python -m hpo: error: hpo-tune is neither beside this package nor in PATH. ", run.stderr)
        run = self.run_module("train.py", HPO_TUNE="/nowhere")
        self.assertIn("HPO_TUNE is '/nowhere', which is no program that can be started", run.stderr)


if __name__ == "__main__":
    unittest.main()
