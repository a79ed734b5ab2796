# SPDX-License-Identifier: MIT
"""Python loads this before a program that `hpo-tune estimate -- PROGRAM` runs on a virtual card.

When the program imports torch, hpo_prediction begins to record what it takes of the card. Nothing in the program is changed.
"""
import importlib.abc
import importlib.machinery
import os
import sys

import card_library

FOLDER = os.environ.get("HPO_PREDICTION_FOLDER")


class TorchFinder(importlib.abc.MetaPathFinder):
    """Finds torch as Python does, and begins the recording when it is imported."""

    def find_spec(self, name, path=None, target=None):
        if name != "torch":
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)  # many only ask whether it is there
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def executed(module):
                card_library.load_for_imported(spec)
                execute(module)
                import hpo_prediction

                hpo_prediction.begin(module, FOLDER)

            spec.loader.exec_module = executed
        return spec


def load_hidden():
    """Another sitecustomize that this one hides."""
    own = os.path.dirname(os.path.abspath(__file__))
    path = list(sys.path)
    sys.path[:] = [each for each in path if os.path.abspath(each or ".") != own]
    this = sys.modules.pop("sitecustomize", None)
    try:
        import sitecustomize  # noqa: F401
    except ImportError:
        if this is not None:
            sys.modules["sitecustomize"] = this
    finally:
        sys.path[:] = path


if FOLDER:
    sys.meta_path.insert(0, TorchFinder())
    card_library.load_for_installed()
load_hidden()
