# SPDX-License-Identifier: MIT
"""The package itself."""

import re
import unittest

from studies import SOURCES, run_python

import hpo


class Package(unittest.TestCase):
    def test_the_version_is_the_one_of_the_project(self):
        project = (SOURCES / "CMakeLists.txt").read_text(encoding="utf-8")
        [version] = re.findall(r"^project\(hpo VERSION (\S+)", project, re.M)
        self.assertEqual(hpo.__version__, version)

    def test_every_public_name_has_a_docstring(self):
        for name in hpo.__all__:
            if not name.startswith("__"):
                self.assertTrue(getattr(hpo, name).__doc__, name)

    def test_importing_it_needs_the_standard_library_alone(self):
        run = run_python("import hpo; [getattr(hpo, name) for name in hpo.__all__]", "-S")  # -S: without installed packages
        self.assertEqual(run.returncode, 0, run.stderr)


if __name__ == "__main__":
    unittest.main()
