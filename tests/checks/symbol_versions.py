#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What scripts/limit-symbol-versions does to a library: which symbols a linker then takes.

    symbol_versions.py COMPILER
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "limit-symbol-versions"
COMPILER = "g++"


class SymbolVersions(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.library = self.folder / "libm.so.6"
        system = subprocess.run([COMPILER, "-print-file-name=libm.so.6"], check=True, capture_output=True, text=True).stdout.strip()
        shutil.copy(system, self.library)

    def limit(self, version, names):
        subprocess.run([SCRIPT, version, names, self.library], check=True, stdout=subprocess.DEVNULL)

    def linked(self, name):
        """The symbol, with its version, that a program which calls the function gets; None if it cannot be linked."""
        source, program = self.folder / "program.cpp", self.folder / "program"
        source.write_text(f'extern "C" double {name}(double, double); int main(int n, char**) {{ return {name}(n, n) > 100; }}')
        words = [COMPILER, "-fno-builtin", "-nodefaultlibs", source, self.library, "-lc", "-o", program]
        link = subprocess.run(words, capture_output=True, text=True)
        if link.returncode != 0:
            self.assertIn(f"undefined reference to `{name}'", link.stderr)
            return None
        symbols = subprocess.run(["readelf", "--wide", "--dyn-syms", program], check=True, capture_output=True, text=True).stdout.split()
        return next(word for word in symbols if word.startswith(name + "@"))

    def test_a_library_as_it_is(self):
        self.assertEqual(self.linked("pow"), "pow@GLIBC_2.29")
        self.assertEqual(self.linked("fmod")[:5], "fmod@")

    def test_a_named_symbol_is_taken_as_it_was(self):
        self.limit("2.28", "exp,pow")
        self.assertEqual(self.linked("pow"), "pow@GLIBC_2.2.5")
        self.assertEqual(self.linked("fmin"), "fmin@GLIBC_2.2.5")

    def test_another_newer_symbol_is_not_linked(self):
        # That of 2.25 takes numbers, and that of 2.31 pointers.
        self.assertEqual(self.linked("totalorder"), "totalorder@GLIBC_2.31")
        self.limit("2.28", "exp")
        self.assertIsNone(self.linked("pow"))
        self.assertIsNone(self.linked("totalorder"))

    def test_a_limit_above_it_changes_nothing(self):
        before = self.library.read_bytes()
        self.limit("2.99", "exp,pow")
        self.assertEqual(self.library.read_bytes(), before)

    def test_what_is_no_library_is_refused(self):
        self.library.write_text("no library")
        done = subprocess.run([SCRIPT, "2.28", "exp", self.library], capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("expected a shared library of glibc", done.stderr)
        self.assertEqual(self.library.read_text(), "no library")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        COMPILER = sys.argv.pop()
    unittest.main()
