# SPDX-License-Identifier: MIT
"""Runs studies with hpo-tune, whose trials are Python programs. HPO_BIN is the folder of the tools."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap
import unittest

TESTS = pathlib.Path(__file__).resolve().parent
PACKAGE = TESTS.parent
SOURCES = PACKAGE.parent
TOOLS = pathlib.Path(os.environ.get("HPO_BIN", SOURCES / "build/release/bin"))

ONE_OBJECTIVE = 'objective = { metric = "loss", direction = "minimize" }'


def lua_text(text):
    """A text as a Lua literal."""
    return '"' + "".join(f"\\{byte:03d}" for byte in text.encode("utf-8")) + '"'


def environment(**more):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HPO_")}
    return {**kept, "PYTHONPATH": str(PACKAGE), **more}


def run_python(program, *options, **more):
    """Runs a program outside of any study."""
    return subprocess.run(
        [sys.executable, *options, "-c", textwrap.dedent(program)],
        env=environment(**more), capture_output=True, text=True, timeout=60, check=False,
    )


def python_with(*modules):
    """An interpreter of build/venv-* that can import these. Skips the test if there is none."""
    check = "import importlib.util, sys; sys.exit(any(importlib.util.find_spec(name) is None for name in sys.argv[1:]))"
    for python in sorted(SOURCES.glob("build/venv-*/bin/python")):
        if subprocess.run([python, "-c", check, *modules], env=environment(), timeout=60, check=False).returncode == 0:
            return str(python)
    raise unittest.SkipTest(f"no environment in build/venv-* has {', '.join(modules)}")


def run_on_virtual_card(program, memory=None, **more):
    """Runs a program with PyTorch on a virtual card of so many bytes. Skips the test if no environment has PyTorch for CUDA."""
    python = python_with("torch")
    card = TOOLS.parent / "lib/hpo/virtual_card"
    major = subprocess.run(
        [python, "-c", "import torch; print((torch.version.cuda or '').split('.')[0])"],
        env=environment(), capture_output=True, text=True, timeout=120, check=True,
    ).stdout.strip()
    if not (card / f"libhpo_virtual_card_cuda{major}.so").exists():
        raise unittest.SkipTest(f"{card} has no virtual card for CUDA {major or 'of this PyTorch'}")
    size = {} if memory is None else {"HPO_VIRTUAL_CARD": f"name=small;capability=80;multiprocessors=108;memory={memory};context=0"}
    return subprocess.run(
        [SOURCES / "scripts/on-virtual-card", card, python, "-c", textwrap.dedent(program)],
        env=environment(HPO_CUDA_MAJOR=major, **size, **more), capture_output=True, text=True, timeout=240, check=False,
    )


class StudyTest(unittest.TestCase):
    """A folder for each test, and studies in it."""

    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="hpo-python-")
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def run_study(
        self, program, *options, space='trial:float("x", 0, 1)', objective=ONE_OBJECTIVE, members="", arguments=(), workers=1, status=0,
        python=sys.executable, **more
    ):
        """Runs a study, and gives its trials as hpo-analyze tells them."""
        (self.folder / "program.py").write_text(textwrap.dedent(program), encoding="utf-8")
        words = ", ".join(lua_text(word) for word in [python, str(self.folder / "program.py"), *arguments])
        (self.folder / "study.lua").write_text(
            f"""local hpo = require "hpo"
            return hpo.study {{
              name = "s", trainer = hpo.command {{ {words} }}, {objective},
              sampler = "random", {members}
              space = function(trial) {space} end,
            }}""",
            encoding="utf-8",
        )
        store = str(self.folder / "s.db")
        run = subprocess.run(
            [TOOLS / "hpo-tune", "run", self.folder / "study.lua", "--store", store, "--workers", str(workers), "--device", "cpu", *options],
            env=environment(**more), capture_output=True, text=True, timeout=120, check=False, cwd=self.folder,
        )
        self.assertEqual(run.returncode, status, run.stdout + run.stderr)
        listed = self.analyze("trials", store)["trials"]
        return [self.analyze("trial", store, str(each["number"])) for each in listed]

    def check_reports_and_prunes(self, program, *modules):
        """A training of three epochs as a study: its first trial is complete, its second is pruned after one epoch."""
        trials = self.run_study(
            program, "--trials", "2", members='pruner = "median:startup_trials=1",', arguments=[str(self.folder)],
            python=python_with(*modules)
        )
        self.assertEqual([trial["state"] for trial in trials], ["COMPLETE", "PRUNED"])
        self.assertEqual([each["step"] for each in trials[0]["intermediate"]], [1, 2, 3])
        self.assertEqual(trials[0]["values"], [trials[0]["intermediate"][-1]["value"]])
        self.assertEqual([each["step"] for each in trials[1]["intermediate"]], [1])

    def analyze(self, command, store, *arguments):
        told = subprocess.run(
            [TOOLS / "hpo-analyze", command, *arguments, "--store", store, "--json"],
            env=environment(), capture_output=True, text=True, timeout=60, check=False,
        )
        self.assertEqual(told.returncode, 0, told.stderr)
        return json.loads(told.stdout)
