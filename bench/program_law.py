#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Records a program of tests/virtual_card/programs on a virtual card with all combinations of three sizes, for bench/program_law.cpp.

    program_law.py HPO_TUNE PYTHON FOLDER [PROGRAM]      PYTHON: with PyTorch for CUDA

PROGRAM is sizes (240 combinations, about ten minutes), convolutions or recurrent (80 each). Combinations that FOLDER has already are left out.
"""

import itertools
import pathlib
import subprocess
import sys

PROGRAMS = pathlib.Path(__file__).resolve().parent.parent / "tests" / "virtual_card" / "programs"
SIZES = {
    "sizes": {"batch": (4, 8, 16, 32, 64), "length": (64, 128, 192, 256, 384, 512), "width": (128, 192, 256, 320, 384, 512, 640, 768)},
    "convolutions": {"batch": (8, 16, 32, 64, 128), "image": (16, 32, 48, 64), "width": (16, 24, 32, 64)},
    "recurrent": {"batch": (16, 32, 64, 128, 256), "length": (8, 16, 32, 64), "width": (64, 96, 128, 256)},
}


def main():
    if len(sys.argv) not in (4, 5) or sys.argv[-1] in ("-h", "--help"):
        sys.exit(__doc__)
    tune, python, folder = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    program = sys.argv[4] if len(sys.argv) == 5 else "sizes"
    if program not in SIZES:
        sys.exit(f"unknown program '{program}'; known: {', '.join(SIZES)}")
    folder.mkdir(parents=True, exist_ok=True)
    combinations = list(itertools.product(*SIZES[program].values()))
    for done, values in enumerate(combinations, 1):
        snapshot = folder / ("_".join(map(str, values)) + ".pickle")
        if snapshot.exists():
            continue
        words = [word for name, value in zip(SIZES[program], values) for word in (f"--{name}", str(value))]
        subprocess.run(
            [tune, "estimate", "--card", "RTX-4090", "--snapshot", str(snapshot), "--json", "--", python, str(PROGRAMS / f"{program}.py"), *words],
            check=True,
            stdout=subprocess.DEVNULL,
            timeout=120,
        )
        print(f"{done} of {len(combinations)}", flush=True)


if __name__ == "__main__":
    main()
