# SPDX-License-Identifier: MIT
"""Python imports this file when it starts, because hpo-tune puts its folder first in PYTHONPATH.

If HPO_FRONT names hpo-tune's socket, ``Study.optimize`` is taken over once the program imports Optuna. Nothing of hpo is imported before
that. The program may have a module `hpo` of its own. The next ``sitecustomize`` of the path runs as it would have run without this one.
"""

import os
import sys

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def _take_over(study: type) -> None:
    """Changes ``optimize`` of the class. If `hpo` is another module for the program, such as its file hpo.py, that one is not imported."""
    import importlib.util

    name = "hpo"
    found = importlib.util.find_spec(name)
    folders = found.submodule_search_locations if found is not None else None
    if not any(os.path.exists(os.path.join(folder, "takeover", "sitecustomize.py")) for folder in folders or ()):
        name = "_hpo_of_hpo_tune"
        spec = importlib.util.spec_from_file_location(name, os.path.join(_PACKAGE, "__init__.py"), submodule_search_locations=[_PACKAGE])
        assert spec is not None and spec.loader is not None
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    importlib.import_module(name + ".optuna._optimize").take_over(study)


class _WhenOptunaIsImported:
    """Finds the module that has ``Study`` as everybody else finds it, and changes ``Study.optimize`` once it is loaded."""

    def find_spec(self, name, path=None, target=None):  # type: ignore[no-untyped-def]
        if name != "optuna.study.study":
            return None
        sys.meta_path.remove(self)
        for finder in list(sys.meta_path):
            spec = finder.find_spec(name, path, target)
            if spec is None:
                continue
            load = getattr(spec.loader, "exec_module", None)
            if load is not None:

                def exec_module(module):  # type: ignore[no-untyped-def]
                    load(module)
                    try:
                        _take_over(module.Study)
                    except Exception as error:
                        why = error if sys.version_info >= (3, 9) else "hpo's package needs Python 3.9 or later"
                        print(f"hpo: study.optimize is not taken over, Optuna runs it itself: {why}", file=sys.stderr)

                try:
                    spec.loader.exec_module = exec_module  # type: ignore
                except AttributeError:
                    print("hpo: study.optimize is not taken over, because the loader of Optuna is unknown", file=sys.stderr)
            return spec
        return None


def _run_the_next_one(folder: str) -> None:
    """Loads the sitecustomize that this one hides."""
    rest = [each for each in sys.path if os.path.abspath(each) != folder]
    sys.path[:] = rest  # the program sees the path that it would have without hpo
    finder = sys.modules["_frozen_importlib_external"].PathFinder
    spec = finder.find_spec("sitecustomize", rest)
    if spec is None or spec.loader is None:
        return
    module = type(sys)("sitecustomize")
    module.__spec__ = spec
    module.__loader__ = spec.loader
    module.__file__ = spec.origin
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


def _end_with_hpo_tune(starter: str) -> None:
    """If hpo-tune is killed before the program reaches optimize, the program would run its study by itself."""
    if starter != str(os.getppid()):
        return
    import ctypes

    ctypes.CDLL(None).prctl(1, 15, 0, 0, 0)  # PR_SET_PDEATHSIG, SIGTERM
    if starter != str(os.getppid()):
        sys.exit("hpo: hpo-tune has ended")


_end_with_hpo_tune(os.environ.pop("HPO_FRONT_PID", ""))
if "HPO_FRONT" in os.environ:
    sys.meta_path.insert(0, _WhenOptunaIsImported())
_run_the_next_one(os.path.dirname(os.path.abspath(__file__)))
