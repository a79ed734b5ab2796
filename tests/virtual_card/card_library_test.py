# SPDX-License-Identifier: MIT
"""Which virtual card is loaded for which PyTorch, on installations that are made up.

    card_library_test.py FOLDER LIBRARY      FOLDER: lib/hpo/virtual_card; LIBRARY: asks for functions that the card does not have
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

CARD, LIBRARY = map(pathlib.Path, sys.argv[1:3])
SHOW = "print(sorted({line.split('/')[-1].strip() for line in open('/proc/self/maps') if 'hpo_virtual_card' in line}))"
failed = []


def check(true, what):
    print("ok  " if true else "FAIL", what, flush=True)
    if not true:
        failed.append(what)


def make_torch(site, version, cuda):
    folder = site / "torch"
    (folder / "lib").mkdir(parents=True)
    (folder / "version.py").write_text(f"from typing import Optional\n__version__ = '{version}'\ncuda: Optional[str] = {cuda!r}\nhip = None\n")
    # It is no PyTorch that could be recorded: the program ends while it is imported.
    (folder / "__init__.py").write_text(f"{SHOW}\nimport sys\nsys.exit(0)\n")
    shutil.copy(LIBRARY, folder / "lib" / "libtorch_cuda.so")


def run(version, cuda, program="import torch"):
    """What the program printed, its status, why it was refused, and what the report says."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch) / "folder"
        site = pathlib.Path(scratch) / "site"
        folder.mkdir()
        site.mkdir()
        if version:
            make_torch(site, version, cuda)
        environment = dict(os.environ, PYTHONPATH=f"{CARD / 'site-packages'}:{site}", HPO_PREDICTION_FOLDER=str(folder),
                           HPO_VIRTUAL_CARD="name=card;memory=1073741824;quiet=1")
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, env=environment)
        refused = (folder / "refused").read_text() if (folder / "refused").exists() else ""
        report = (folder / "report").read_text().splitlines() if (folder / "report").exists() else []
        return done.stdout + done.stderr, done.returncode, refused, [json.loads(line) for line in report]


def loads(cuda):
    return str([f"libhpo_virtual_card_cuda{cuda}.so", "libhpo_virtual_card_nvml.so"]) + "\n"


check(run("2.6.0+cu124", "12.4") == (loads(12), 0, "", []), "PyTorch for CUDA 12 gets the card for CUDA 12")
check(run("2.11.0+cu130", "13.0") == (loads(13), 0, "", []), "PyTorch for CUDA 13 gets the card for CUDA 13")
check(run("2.4.1+cu121", "12.1", SHOW)[0] == loads(12), "the card is there from the beginning, before torch is imported")
check(run("2.6.0+cpu", None, SHOW)[0] == "[]\n", "PyTorch without CUDA gets none")
check(run("", "", SHOW)[0] == "[]\n", "without PyTorch there is none")

tried = "the virtual card is for PyTorch 2.4 and later, with CUDA 12 or 13"
out, status, refused, _ = run("2.3.1+cu121", "12.1")
check(status == 1 and refused == f"the program's PyTorch, 2.3.1+cu121, is too old: {tried}", f"an old PyTorch is refused ({refused!r})")
out, status, refused, _ = run("2.3.1+cu121", "12.1", "print('no torch')")
check(status == 0 and refused == "" and out == "no torch\n", "an old PyTorch that is not imported hinders nobody")
out, status, refused, _ = run("2.6.0+cu118", "11.8")
check(status == 1 and refused == f"the program's PyTorch, 2.6.0+cu118, is for CUDA 11.8: {tried}", f"so is one for CUDA 11 ({refused!r})")

out, _, _, told = run("2.12.0+cu130", "13.0")
check(out == loads(13) and told == [{"untried": "PyTorch 2.12.0+cu130 is newer than those that were tried, up to 2.11"},
                                    {"not_modelled": "cudaFromTheFuture (PyTorch 2.12.0+cu130 asks for it)"}],
      f"what a new PyTorch asks for and the card does not have is named ({told})")
print("all is well" if not failed else f"{len(failed)} failed")
sys.exit(1 if failed else 0)
