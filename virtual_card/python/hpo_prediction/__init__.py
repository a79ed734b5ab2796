# SPDX-License-Identifier: MIT
"""What `hpo-tune estimate -- PROGRAM` does inside a Python program: it records what the program takes of a virtual card."""
import os
import sys

from . import card_questions, initial_values, values
from .known_values import KnownValues
from .recording import Recording
from .sizes_from_data import SizesFromData


def begin(torch, folder):
    """Called when the program has imported torch."""
    if torch.version.cuda is None:
        with open(os.path.join(folder, "no_cuda"), "w", encoding="utf-8") as file:
            file.write(torch.__version__)
        sys.stdout.flush()
        os._exit(0)
    asked = values.Asked()
    known = KnownValues(torch)
    sizes = SizesFromData(torch, known)
    values.answer(torch, asked, sizes, known)
    initial_values.skip(torch)
    questions = {}
    card_questions.watch(torch, questions)
    Recording(torch, folder, asked, sizes, questions)
