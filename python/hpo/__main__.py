# SPDX-License-Identifier: MIT
"""``python -m hpo [OPTIONS] train.py ARGUMENTS...`` runs a program that calls ``study.optimize`` with hpo.

It is the same as ``hpo-tune run OPTIONS -- python train.py ARGUMENTS...`` with this Python. The program is the first word that ends in
``.py``, or ``-m MODULE``.
"""

import os
import sys
from typing import List, NoReturn

from . import _tools
from ._errors import HpoError

_USAGE = "usage: python -m hpo [OPTIONS OF hpo-tune run] PROGRAM.py ARGUMENTS...   (or -m MODULE instead of PROGRAM.py)"


def _refuse(text: str) -> NoReturn:
    print(f"python -m hpo: error: {text}", file=sys.stderr)
    sys.exit(2)


def main(words: List[str]) -> NoReturn:
    if words in (["-h"], ["--help"]):
        print(_USAGE)
        sys.exit(0)
    at = next((index for index, word in enumerate(words) if word == "-m" or (word.endswith(".py") and not word.startswith("-"))), None)
    if at is None:
        _refuse(f"no program is given; {_USAGE}")
    try:
        _tools.refuse_former_distribution()
    except HpoError as error:
        _refuse(str(error))
    wanted = os.environ.get("HPO_TUNE") or "hpo-tune"
    tool = _tools.find_tool(wanted)
    if tool is None:
        place = "hpo-tune is neither beside this package nor in PATH" if wanted == "hpo-tune" else f"HPO_TUNE is {wanted!r}, which is no program that can be started"
        _refuse(f"{place}. Put the folder of hpo's tools in PATH, or name the program in HPO_TUNE")
    sys.stdout.flush()
    os.execv(tool, [tool, "run", *words[:at], "--", sys.executable, *words[at:]])


if __name__ == "__main__":
    main(sys.argv[1:])
