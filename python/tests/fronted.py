# SPDX-License-Identifier: MIT
"""Runs programs with fake_tune.py, which stands in for hpo-tune."""

import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile
import textwrap
import unittest

from studies import TESTS, environment, python_with


class Ran:
    """What a program has done."""

    def __init__(self, process, log):
        self.status, self.output, self.errors = process.returncode, process.stdout, process.stderr
        self.opening = log["openings"][0] if log["openings"] else None
        self.openings, self.attempts, self.refused = log["openings"], log["attempts"], log["refused"]


class FrontTest(unittest.TestCase):
    """A folder for each test, and programs in it."""

    module = "optuna"  # what the programs need

    @classmethod
    def setUpClass(cls):
        here = importlib.util.find_spec(cls.module) is not None if cls.module else True
        cls.python = sys.executable if here else python_with(cls.module)

    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="hpo-front-")
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def write(self, program, name="program.py"):
        (self.folder / name).write_text(textwrap.dedent(program), encoding="utf-8")

    def run_fronted(self, words, *options, **more):
        """Runs words of which the first is what Python runs."""
        log = self.folder / "log.json"
        log.unlink(missing_ok=True)
        process = subprocess.run(
            [self.python, TESTS / "fake_tune.py", "--log", log, *options, "--", self.python, *words],
            env=environment(**more), capture_output=True, text=True, timeout=120, check=False, cwd=self.folder,
        )
        self.assertTrue(log.exists(), process.stderr)
        return Ran(process, json.loads(log.read_text(encoding="utf-8")))

    def run_program(self, program, *options, status=0, arguments=(), **more):
        self.write(program)
        ran = self.run_fronted(["program.py", *arguments], *options, **more)
        self.assertEqual(ran.status, status, ran.output + ran.errors + str([each["stderr"] for each in ran.attempts]))
        return ran

