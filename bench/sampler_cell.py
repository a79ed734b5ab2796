# SPDX-License-Identifier: MIT
"""Runs one sampler of one tool on one problem of sampler_problems.py, in a process of its own. sampler_comparison.py starts it.

  sampler_cell.py TOOL SAMPLER PROBLEM SEED TRIALS DRIVER     prints the best values and the seconds as JSON

A best value is what sampler_progress.py says of the trials so far. Each tool is told the constraints of a trial with their sign, also those
that hold.

TOOL is hpo, optuna, rustuna or smac. SAMPLER may have options, as in TPESampler:multivariate=False,n_startup_trials=5. The sampler `default`
is the one that create_study takes by itself. The seconds are processor time of suggestions: ask and all questions, without tell and without
the value. Optuna and Rustuna run a short study before it counts, because they load some modules at their first suggestions only.
"""

import ast
import contextlib
import importlib
import json
import subprocess
import sys
import tempfile
import time
import warnings

import sampler_problems
from sampler_progress import Progress

CHECKPOINTS = (25, 50, 100, 200, 1000, 10000)


class Driver:
    """One of hpo's samplers in the program sampler_driver."""

    def __init__(self, program, sampler, problem, seed):
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        self.process = subprocess.Popen([program, sampler, str(seed)], text=True, **pipes)
        self.kinds = {parameter.name: parameter.kind for parameter in problem.parameters}
        self.send("\n".join([str(problem.objectives()), *(parameter.line() for parameter in problem.parameters), ""]))

    def send(self, text):
        with contextlib.suppress(BrokenPipeError):  # then ask says why
            self.process.stdin.write(text + "\n")
            self.process.stdin.flush()

    def ask(self):
        line = self.process.stdout.readline()
        if not line.endswith("\n"):
            raise RuntimeError(self.process.stderr.read().strip() or f"sampler_driver ended with status {self.process.wait()}")
        pairs = [word.split("=") for word in line.split()]
        return {name: float(value) if self.kinds[name] == "float" else int(value) for name, value in pairs}

    def tell(self, values, constraints):
        self.send(" ".join([*(f"constraint {constraint!r}" for constraint in constraints), *map(repr, values)]))

    def seconds(self):
        """All seconds and the mean of the last ten suggestions."""
        end = self.process.communicate()[0].split("\n")[-2].split()
        return float(end[2]), float(end[4])


class Timed:
    """A tool in Python, whose `suggest_all` is timed."""

    def __init__(self):
        self.each = []

    def ask(self):
        begin = time.process_time()
        values = self.suggest_all()
        self.each.append(time.process_time() - begin)
        return values

    def seconds(self):
        """All seconds and the mean of the last ten suggestions."""
        last = self.each[-10:]
        return sum(self.each), sum(last) / len(last)


class Study(Timed):
    """A sampler of a tool with Optuna's interface."""

    def __init__(self, tool, sampler, problem, seed):
        super().__init__()
        directions = ["minimize"] * problem.objectives()
        self.study = tool.create_study(sampler=make_sampler(tool, sampler, directions, seed), directions=directions)
        self.parameters = problem.parameters

    def suggest_all(self):
        self.trial = self.study.ask()
        values = {}
        for parameter in self.parameters:
            if parameter.only_if is None or values.get(parameter.only_if[0]) == parameter.only_if[1]:
                values[parameter.name] = self.suggest(parameter)
        return values

    def suggest(self, parameter):
        if parameter.kind == "categorical":
            return self.trial.suggest_categorical(parameter.name, list(range(parameter.high + 1)))
        suggest = self.trial.suggest_float if parameter.kind == "float" else self.trial.suggest_int
        return suggest(parameter.name, parameter.low, parameter.high, log=parameter.log)

    def tell(self, values, constraints):
        for i, constraint in enumerate(constraints):
            self.trial.set_constraint(f"c{i}", constraint)
        self.study.tell(self.trial.number, list(values))


class Smac(Timed):
    """SMAC3 with its random forest, or with its Gaussian process. It gets problems of one objective without constraints only."""

    def __init__(self, sampler, problem, seed, trials):
        super().__init__()
        if problem.reference or problem.constraints:
            raise ValueError("smac: several objectives and constraints are not compared")
        parameters = problem.parameters
        import ConfigSpace
        import smac

        facades = {
            "default": smac.HyperparameterOptimizationFacade,
            "rf": smac.HyperparameterOptimizationFacade,
            "gp": smac.BlackBoxFacade,
        }
        if sampler not in facades:
            raise ValueError(f"smac: unknown sampler '{sampler}'; known: {', '.join(facades)}")
        make = {
            "float": lambda p: ConfigSpace.Float(p.name, (p.low, p.high), log=p.log),
            "int": lambda p: ConfigSpace.Integer(p.name, (p.low, p.high), log=p.log),
            "categorical": lambda p: ConfigSpace.Categorical(p.name, list(range(p.high + 1))),
        }
        space = ConfigSpace.ConfigurationSpace(seed=seed)
        space.add([make[parameter.kind](parameter) for parameter in parameters])
        for parameter in parameters:
            if parameter.only_if:
                asked, index = parameter.only_if
                space.add(ConfigSpace.EqualsCondition(space[parameter.name], space[asked], index))
        self.folder = tempfile.TemporaryDirectory()
        scenario = smac.Scenario(space, deterministic=True, n_trials=trials, seed=seed, output_directory=self.folder.name)
        self.facade = facades[sampler](scenario, lambda config, seed: 0.0, logging_level=50, overwrite=True)  # it is never called

    def suggest_all(self):
        self.trial = self.facade.ask()
        return dict(self.trial.config)

    def tell(self, values, constraints):
        from smac.runhistory import TrialValue

        self.facade.tell(self.trial, TrialValue(cost=values[0]))


def plain_name(sampler):
    """The name of a sampler that tools have in common: tpe for TPESampler and for tpe:n_startup_trials=5."""
    return sampler.split(":")[0].lower().removesuffix("sampler")


def make_sampler(tool, sampler, directions, seed):
    known = {plain_name(name): kind for name, kind in vars(tool.samplers).items() if name.endswith("Sampler")}
    known["default"] = type(tool.create_study(directions=directions).sampler)
    name = plain_name(sampler)
    if name not in known:
        raise ValueError(f"{tool.__name__}: unknown sampler '{sampler}'; known: {', '.join(sorted(known))}")
    options = [option.split("=", 1) for option in sampler.partition(":")[2].split(",") if option]
    return known[name](seed=seed, **{option: ast.literal_eval(value) for option, value in options})


def short_problem(problem):
    """A problem of two numbers with as many objectives and constraints."""
    return sampler_problems.Problem(
        [sampler_problems.real(name, 0, 1) for name in ("x", "y")],
        lambda values: (*values.values(), 0.0)[: problem.objectives()] if problem.reference else sum(values.values()),
        problem.reference,
        (lambda values: (values["x"] - 0.9,)) if problem.constraints else None,
    )


def make(tool, sampler, problem, seed, trials, driver):
    if tool == "hpo":
        return Driver(driver, sampler, problem, seed)
    warnings.simplefilter("ignore")
    if tool == "smac":
        return Smac(sampler, problem, seed, trials)
    module = importlib.import_module(tool)
    if tool == "optuna":
        module.logging.set_verbosity(module.logging.ERROR)
    short = short_problem(problem)
    study = Study(module, sampler, short, seed)
    for _ in range(12):
        study.tell(*short.measure(study.ask()))
    return Study(module, sampler, problem, seed)


def main():
    tool, sampler, name, seed, trials, driver = sys.argv[1:]
    seed, trials = int(seed), int(trials)
    problem = sampler_problems.catalogue()[name].make(seed)
    study = make(tool, sampler, problem, seed, trials, driver)
    progress = Progress(problem.reference)
    at = {}
    for number in range(1, trials + 1):
        values, constraints = problem.measure(study.ask())
        study.tell(values, constraints)
        progress.add(values, constraints)
        if number in CHECKPOINTS:
            at[number] = progress.best()
    seconds, last = study.seconds()
    print(json.dumps({"best": at, "seconds": seconds, "last": last}))


if __name__ == "__main__":
    main()
