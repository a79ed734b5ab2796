# SPDX-License-Identifier: MIT
"""Where hpo's programs are: those that were installed with this package, before those in PATH."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sysconfig
import warnings
from typing import Iterator, Optional

from ._errors import HpoError
from ._version import __version__

_SITE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # site-packages


def _folders() -> Iterator[str]:
    yield sysconfig.get_path("scripts")  # of a virtual environment, activated or not, or of the Python that runs
    yield os.path.join(_SITE, "bin")  # pip install --target
    yield os.path.abspath(os.path.join(_SITE, "..", "..", "..", "bin"))  # pip install --prefix
    yield sysconfig.get_path("scripts", f"{os.name}_user")  # pip install --user


def find_tool(name: str) -> Optional[str]:
    """The path of a program of hpo's. ``name`` is ``hpo-tune``, or what a person calls it. None if there is none."""
    if os.path.basename(name) != name or not name.startswith("hpo-"):
        return shutil.which(name)
    own = (os.path.join(folder, name) for folder in _folders())
    return next((path for path in own if os.access(path, os.X_OK)), None) or shutil.which(name)


def refuse_former_distribution() -> None:
    """Raises HpoError if this package was installed under its former name, too. Who updates that one gets another project's package."""
    try:
        installed = os.listdir(_SITE)
    except OSError:
        return
    for folder in installed:
        if not re.fullmatch(r"hpo-\d.*\.dist-info", folder):
            continue
        try:
            with open(os.path.join(_SITE, folder, "METADATA"), encoding="utf-8", errors="replace") as file:
                is_ours = "Summary: The Python side of hpo, hyperparameter optimisation" in file.read(4096)
        except OSError:
            continue
        if is_ours:
            raise HpoError(
                f"hpo was installed under its former name, too: {os.path.join(_SITE, folder)}. Remove both, and install it again: "
                "pip uninstall -y hpo hpo-tune; pip install hpo-tune"
            )


def warn_of_other_version(tool: str) -> None:
    """Warns if a program of hpo's has another version than this package."""
    try:
        found = subprocess.run([tool, "--version"], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return  # who starts it for its work will see why
    version = found.stdout.decode("utf-8", "replace").strip()
    if version != __version__:
        warnings.warn(
            f"{tool} has version {version or 'unknown'}, and the package hpo has {__version__}. Install both from one place, or put the "
            "folder of the right hpo-tune first in PATH",
            stacklevel=3,
        )
