# SPDX-License-Identifier: MIT
"""Modules that a trial has imported are imported in the program, if that is safe."""

import os
import textwrap
import unittest

from fronted import FrontTest
from studies import PACKAGE

# The folder of the test counts as one of installed modules, and no import is too short.
BEFORE = """
import os, sys, time
from hpo._forking import _imports
_imports._installed = _imports._installed + (os.getcwd() + os.sep,)
_imports._LEAST_SECONDS = 0.0
def times(name):
    return open(name).read().count("\\n") if os.path.exists(name) else 0
def wait_for(what):
    end = time.monotonic() + 60
    while not what():
        assert time.monotonic() < end
        time.sleep(0.01)
"""

WRITES_THAT_IT_IS_IMPORTED = "with open({!r}, 'a') as file: file.write('imported\\n')\n"


class Imports(FrontTest):
    module = ""

    def run_objective(self, body, *options, **more):
        (self.folder / "objectives.py").write_text(BEFORE + textwrap.dedent(body), encoding="utf-8")
        ran = self.run_fronted(["-m", "hpo._loop._named", "objectives.py", "objective"], "--no-store", *options, **more)
        self.assertEqual([[each["status"], each["stderr"]] for each in ran.attempts], [[0, ""]] * len(ran.attempts))
        return [each["said"][-1].get("value") for each in ran.attempts]

    def write_module(self, name, body=""):
        (self.folder / name).parent.mkdir(exist_ok=True)
        (self.folder / f"{name}.py").write_text(WRITES_THAT_IT_IS_IMPORTED.format(name.rpartition("/")[2] + ".log") + textwrap.dedent(body), encoding="utf-8")

    def test_what_the_first_trial_has_imported_is_there_in_later_ones(self):
        self.write_module("slow", "import random; random.random()")
        values = self.run_objective("""
            def objective(trial):
                there = "slow" in sys.modules
                if trial.number == 1:
                    wait_for(lambda: times("slow.log") == 3)  # in the first trial, in a process that tries it, and in the program
                elif trial.number == 0:
                    import slow
                return there
        """, "--trials", "3")
        self.assertEqual([values[0], values[2]], [0.0, 1.0])

    def test_packages_that_lie_elsewhere_are_installed_too(self):
        for folder in ("site-packages", "dist-packages", "own"):
            self.write_module(f"{folder}/of_{folder[:4]}")
        path = os.pathsep.join([str(PACKAGE), *(str(self.folder / folder) for folder in ("site-packages", "dist-packages", "own"))])
        values = self.run_objective("""
            _imports._installed = _imports._installed[:-1]  # without the folder of the test
            def objective(trial):
                there = ["of_site" in sys.modules, "of_dist" in sys.modules, "of_own" in sys.modules]
                if trial.number == 1:
                    wait_for(lambda: times("of_site.log") == 3 and times("of_dist.log") == 3)
                elif trial.number == 0:
                    import of_site, of_dist, of_own
                return there[0] + 2 * there[1] + 4 * there[2]
        """, "--trials", "3", PYTHONPATH=path)
        self.assertEqual([values[0], values[2]], [0.0, 3.0])

    def test_a_module_that_starts_a_thread_is_not_imported_in_the_program(self):
        self.write_module("threads", "import threading, time; threading.Thread(target=time.sleep, args=[60], daemon=True).start()")
        self.write_module("after")
        values = self.run_objective("""
            def objective(trial):
                if trial.number == 0:
                    import threads
                if trial.number == 1:
                    wait_for(lambda: times("threads.log") == 2)
                if trial.number == 2:
                    import after
                if trial.number == 3:
                    wait_for(lambda: times("after.log") == 3)  # by then the program has heard of the other one
                return "threads" in sys.modules
        """, "--trials", "5")
        self.assertEqual(values, [1.0, 0.0, 0.0, 0.0, 0.0])
        self.assertEqual((self.folder / "threads.log").read_text().count("\n"), 2)

    def test_the_modules_of_the_program_itself_are_left_to_the_trials(self):
        self.write_module("own")
        values = self.run_objective("""
            _imports._installed = ()
            def objective(trial):
                there = "own" in sys.modules
                import own
                return there
        """, "--trials", "4")
        self.assertEqual(values, [0.0] * 4)
        self.assertEqual((self.folder / "own.log").read_text().count("\n"), 4)


if __name__ == "__main__":
    unittest.main()
