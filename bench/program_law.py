#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Records tests/virtual_card/programs/sizes.py on a virtual card with 240 combinations of batch, length and width, for bench/program_law.cpp.

    program_law.py HPO_TUNE PYTHON FOLDER      PYTHON: with PyTorch for CUDA

Takes about ten minutes. Combinations that FOLDER has already are left out.
"""

import itertools
import pathlib
import subprocess
import sys

PROGRAM = pathlib.Path(__file__).resolve().parent.parent / "tests" / "virtual_card" / "programs" / "sizes.py"
BATCHES = (4, 8, 16, 32, 64)
LENGTHS = (64, 128, 192, 256, 384, 512)
WIDTHS = (128, 192, 256, 320, 384, 512, 640, 768)


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    tune, python, folder = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    folder.mkdir(parents=True, exist_ok=True)
    combinations = list(itertools.product(BATCHES, LENGTHS, WIDTHS))
    for done, (batch, length, width) in enumerate(combinations, 1):
        snapshot = folder / f"{batch}_{length}_{width}.pickle"
        if snapshot.exists():
            continue
        words = ["--batch", str(batch), "--length", str(length), "--width", str(width)]
        subprocess.run(
            [tune, "estimate", "--card", "RTX-4090", "--snapshot", str(snapshot), "--json", "--", python, str(PROGRAM), *words],
            check=True,
            stdout=subprocess.DEVNULL,
            timeout=120,
        )
        print(f"{done} of {len(combinations)}", flush=True)


if __name__ == "__main__":
    main()
