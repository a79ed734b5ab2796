#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Installs the package into a new environment with pip, and looks at what is there.

    install.py

It needs PyPI for the build tool. If PyPI does not answer, it ends with 77.
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile
import venv

SOURCES = pathlib.Path(__file__).resolve().parents[2]

LOOK = """
import importlib.metadata, pathlib, sys
import hpo
metadata = importlib.metadata.metadata("hpo")
assert pathlib.Path(hpo.__file__).is_relative_to(sys.prefix), hpo.__file__
assert metadata["Version"] == hpo.__version__, metadata["Version"]
assert metadata.get_all("Requires-Dist") is None, metadata.get_all("Requires-Dist")
assert pathlib.Path(hpo.__file__).with_name("py.typed").exists()
installed = {path.name for path in pathlib.Path(hpo.__file__).parent.glob("*.py")}
written = {path.name for path in pathlib.Path(sys.argv[1]).glob("*.py")}
assert installed == written, installed ^ written
"""

with tempfile.TemporaryDirectory(prefix="hpo-install-") as folder:
    copy = pathlib.Path(folder, "python")  # setuptools writes into the folder that it builds
    shutil.copytree(SOURCES / "python", copy)
    environment = pathlib.Path(folder, "environment")
    venv.create(environment, with_pip=True)
    status = subprocess.run([SOURCES / "scripts/pip-install", environment, copy], check=False).returncode
    if status == 0:
        status = subprocess.run([environment / "bin/python", "-I", "-c", LOOK, copy / "hpo"], check=False).returncode
sys.exit(status)
