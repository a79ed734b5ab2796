# SPDX-License-Identifier: MIT
"""The package itself."""

import subprocess
import unittest

from studies import TOOLS, run_python

import hpo


class Package(unittest.TestCase):
    def test_the_version_is_the_one_of_the_project(self):
        for tool in ("hpo-tune", "hpo-analyze", "hpo-worker"):
            told = subprocess.run([TOOLS / tool, "--version"], capture_output=True, text=True, timeout=60, check=True).stdout
            self.assertEqual(told, hpo.__version__ + "\n")

    def test_every_public_name_has_a_docstring(self):
        for name in hpo.__all__:
            if not name.startswith("__"):
                self.assertTrue(getattr(hpo, name).__doc__, name)

    def test_importing_it_needs_the_standard_library_alone(self):
        run = run_python("import hpo; [getattr(hpo, name) for name in hpo.__all__]", "-S")  # -S: without installed packages
        self.assertEqual(run.returncode, 0, run.stderr)


if __name__ == "__main__":
    unittest.main()
