# SPDX-License-Identifier: MIT
"""The programs of docs/python.md run, and print what the page says."""

import re
import subprocess
import sys
import unittest

from studies import SOURCES, TOOLS, StudyTest, environment

PAGE = (SOURCES / "docs/python.md").read_text(encoding="utf-8")


def blocks(language):
    return [code for found, code in re.findall(r"^```(\w*)\n(.*?)^```$", PAGE, re.M | re.S) if found == language]


class Page(StudyTest):
    def run_block(self, code, *command):
        (self.folder / "train.py").write_text(code, encoding="utf-8")
        path = f"{TOOLS}:{self.folder}:/usr/bin:/bin"
        (self.folder / "python3").symlink_to(sys.executable)
        run = subprocess.run(
            command or ["python3", "train.py"],
            env=environment(PATH=path), cwd=self.folder, capture_output=True, text=True, timeout=120, check=False,
        )
        self.assertEqual(run.returncode, 0, run.stderr)
        return run.stdout + run.stderr

    def test_the_first_study_prints_what_the_page_says(self):
        (self.folder / "study.lua").write_text(blocks("lua")[0], encoding="utf-8")
        program = next(code for code in blocks("python") if "hpo.trial()" in code)
        said = self.run_block(program, *"hpo-tune run study.lua --workers 1 --progress plain".split())
        said = re.sub(r"\(\d+\.?\d* s\)", "(TIME)", said).splitlines()
        for line in re.sub(r"\(\d+\.?\d* s\)", "(TIME)", blocks("")[0]).splitlines():
            if line != "...":
                self.assertIn(line, said)

    def test_studies_in_python_print_what_the_page_says(self):
        programs = [code for code in blocks("python") if "hpo.Study" in code]
        self.assertEqual(len(programs), 2)
        for number, program in enumerate(programs):
            with self.subTest(number):
                self.assertEqual(self.run_block(program), blocks("")[number + 1])
                (self.folder / "python3").unlink()

    def test_every_block_is_python(self):
        for code in blocks("python"):
            compile(code, "docs/python.md", "exec")


if __name__ == "__main__":
    unittest.main()
