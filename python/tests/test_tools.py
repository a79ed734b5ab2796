# SPDX-License-Identifier: MIT
"""Where the package finds hpo's programs, in folders that look like installations."""

import os
import pathlib
import shutil
import tempfile
import unittest
import warnings
from unittest import mock

from studies import PACKAGE, run_python

from hpo import HpoError, __version__, _tools


class Finding(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="hpo-tools-")
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def program(self, *where, says=__version__):
        path = self.folder.joinpath(*where)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\necho {says}\n", encoding="utf-8")
        path.chmod(0o755)
        return str(path)

    def find(self, name="hpo-tune", path="", scripts="nowhere", user="nowhere"):
        def folder_of(kind, scheme=None):
            assert kind == "scripts"
            return str(self.folder / (user if scheme else scripts))

        with mock.patch.object(_tools.sysconfig, "get_path", folder_of), mock.patch.object(
            _tools, "_SITE", str(self.folder / "lib/python3/site-packages")
        ), mock.patch.dict(os.environ, PATH=str(self.folder / path)):
            return _tools.find_tool(name)

    def test_what_was_installed_with_the_package_comes_before_the_path(self):
        in_path = self.program("path", "hpo-tune")
        self.assertEqual(self.find(path="path"), in_path)
        of_user = self.program("user", "hpo-tune")
        self.assertEqual(self.find(path="path", user="user"), of_user)
        of_prefix = self.program("bin", "hpo-tune")
        self.assertEqual(self.find(path="path", user="user"), of_prefix)
        of_target = self.program("lib/python3/site-packages/bin", "hpo-tune")
        self.assertEqual(self.find(path="path", user="user"), of_target)
        of_environment = self.program("environment", "hpo-tune")
        self.assertEqual(self.find(path="path", user="user", scripts="environment"), of_environment)

    def test_what_a_person_names_is_taken(self):
        named = self.program("own", "hpo-tune")
        self.program("environment", "hpo-tune")
        self.assertEqual(self.find(named, scripts="environment"), named)
        other = self.program("path", "other-name")
        self.assertEqual(self.find("other-name", path="path", scripts="environment"), other)

    def test_without_one_there_is_none(self):
        self.assertIsNone(self.find())
        (self.folder / "environment").mkdir()
        (self.folder / "environment/hpo-tune").write_text("no program")
        self.assertIsNone(self.find(scripts="environment"))

    def test_another_version_is_told(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            _tools.warn_of_other_version(self.program("same"))
            _tools.warn_of_other_version(str(self.folder / "absent"))
        with self.assertWarnsRegex(UserWarning, f"has version 0.1.9, and the package hpo has {__version__}"):
            _tools.warn_of_other_version(self.program("other", says="0.1.9"))

    def test_a_former_distribution_of_ours_is_refused_and_another_project_is_not(self):
        shutil.copytree(PACKAGE / "hpo", self.folder / "site/hpo", ignore=shutil.ignore_patterns("__pycache__"))
        look = f"import sys; sys.path.insert(0, {str(self.folder / 'site')!r}); import hpo._tools as t; t.refuse_former_distribution()"
        others = self.folder / "site/HPO-0.4.dist-info"
        others.mkdir()
        (others / "METADATA").write_text("Name: HPO\nSummary: Another project\n")
        self.assertEqual(run_python(look).returncode, 0)
        ours = self.folder / "site/hpo-0.1.0.dist-info"
        ours.mkdir()
        (ours / "METADATA").write_text("Name: hpo\nSummary: The Python side of hpo, hyperparameter optimisation that survives the GPU\n")
        refused = run_python(look)
        self.assertEqual(refused.returncode, 1)
        self.assertIn("pip uninstall -y hpo hpo-tune; pip install hpo-tune", refused.stderr)
        with mock.patch.object(_tools, "_SITE", str(self.folder / "site")), self.assertRaises(HpoError):
            _tools.refuse_former_distribution()


if __name__ == "__main__":
    unittest.main()
