# SPDX-License-Identifier: MIT
"""The tables of sampler_comparison.py."""

import collections
import dataclasses

import numpy
import sampler_problems
import scipy.stats
from sampler_cell import CHECKPOINTS, plain_name


@dataclasses.dataclass(frozen=True)
class Cell:
    """What one sampler did on one problem with one seed. `best` has what sampler_progress.py says after so many trials."""

    tool: str
    problem: str
    seed: int
    trials: int
    best: dict[int, float]
    seconds: float | None
    last: float | None
    error: str | None

    def at(self, checkpoint):
        """The best value after `checkpoint` trials; infinite if the cell failed, None if it is shorter."""
        return float("inf") if self.error and checkpoint <= self.trials else self.best.get(checkpoint)


class Results:
    """Cells by tool and problem."""

    def __init__(self, cells):
        self.by_key = collections.defaultdict(list)
        for cell in sorted(cells, key=lambda cell: cell.seed):
            self.by_key[cell.tool, cell.problem].append(cell)
        self.tools = sorted({cell.tool for cell in cells})
        present = {cell.problem for cell in cells}
        self.problems = [name for name in sampler_problems.catalogue() if name in present]

    def values(self, tool, problem, checkpoint):
        """The best values by their seeds."""
        found = {cell.seed: cell.at(checkpoint) for cell in self.by_key.get((tool, problem), [])}
        return {seed: value for seed, value in found.items() if value is not None}


def group_of(problem):
    return sampler_problems.catalogue()[problem].group


def print_table(head, rows):
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    for row in [head, *rows]:
        print("  ".join(text.ljust(width) for text, width in zip(row, widths)).rstrip())
    print()


def quantile(values, share):
    """The value below which `share` of the values lie, between neighbours where it has to be; failed cells are infinite."""
    ordered = sorted(values)
    whole, part = divmod(share * (len(ordered) - 1), 1)
    low, high = ordered[int(whole)], ordered[min(int(whole) + 1, len(ordered) - 1)]
    return low if part == 0 or low == high else low + part * (high - low)


def quartiles(values, infinite):
    """The median, and the quartiles in brackets. `infinite` says what an infinite one means."""
    if not values:
        return "-"
    low, middle, high = (f"{quantile(values, share):.4g}".replace("inf", infinite) for share in (0.25, 0.5, 0.75))
    return f"{middle} [{low}, {high}]"


def show_problems(results):
    for problem in results.problems:
        group = group_of(problem)
        if group == "speed":
            continue
        longest = max(cell.trials for tool in results.tools for cell in results.by_key.get((tool, problem), []))
        checkpoints = [checkpoint for checkpoint in CHECKPOINTS if checkpoint <= longest]
        measure = ", minus the hypervolume" if group == "objectives" else ""
        rows = []
        for tool in results.tools:
            cells = results.by_key.get((tool, problem), [])
            failed = sum(cell.error is not None for cell in cells)
            seeds = f"{len(cells)}" + (f" ({failed} failed)" if failed else "")
            infinite = "infeasible" if group == "constrained" and not failed else "failed"
            if cells:
                bests = [results.values(tool, problem, checkpoint).values() for checkpoint in checkpoints]
                rows.append([tool, seeds, *(quartiles(best, infinite) for best in bests)])
        print_table([f"{problem} ({group}{measure})", "seeds", *(f"{checkpoint} trials" for checkpoint in checkpoints)], rows)


def holm(p_values):
    """The p values, corrected by Holm's method for their number."""
    corrected = dict.fromkeys(p_values)
    largest = 0.0
    for i, key in enumerate(sorted(p_values, key=p_values.get)):
        largest = max(largest, min(1.0, p_values[key] * (len(p_values) - i)))
        corrected[key] = largest
    return corrected


def difference(ours, theirs):
    """The p value of Mann and Whitney's two-sided test."""
    if len(set(ours) | set(theirs)) == 1:
        return 1.0
    return float(scipy.stats.mannwhitneyu(ours, theirs, alternative="two-sided").pvalue)


def pairs(results):
    """Each sampler of hpo with each of the same name of another tool. hpo's auto is a default sampler."""
    same = {"auto": "default"}
    for ours in results.tools:
        tool, sampler = ours.split(":", 1)
        name = same.get(plain_name(sampler), plain_name(sampler))
        if tool == "hpo":
            for theirs in results.tools:
                if not theirs.startswith("hpo:") and plain_name(theirs.split(":", 1)[1]) == name:
                    yield ours, theirs


def show_tests(results, checkpoints):
    for ours, theirs in pairs(results):
        for checkpoint in checkpoints:
            values = {}
            for problem in results.problems:
                both = [list(results.values(tool, problem, checkpoint).values()) for tool in (ours, theirs)]
                if group_of(problem) != "speed" and all(both):
                    values[problem] = both
            if not values:
                continue
            corrected = holm({problem: difference(*both) for problem, both in values.items()})
            medians = {problem: [quantile(each, 0.5) for each in both] for problem, both in values.items()}
            sides = {problem: (a > b) - (a < b) for problem, (a, b) in medians.items()}
            counts = collections.Counter(sides.values())
            print(
                f"{ours} and {theirs} after {checkpoint} trials: lower median on {counts[-1]} of {len(values)} problems, equal on {counts[0]}"
            )
            for word, side in (("better", -1), ("worse", 1)):
                named = [problem for problem, p in corrected.items() if p < 0.01 and sides[problem] == side]
                print(f"  significantly {word} (p < 0.01): {', '.join(named) or 'none'}")
            print()


def mean_rank(results, tools, problems, checkpoint):
    """The mean over problems of the mean over seeds of each tool's rank, where all of them have a value; and the number of problems."""
    of_problems = []
    for problem in problems:
        values = [results.values(tool, problem, checkpoint) for tool in tools]
        seeds = set.intersection(*map(set, values))
        if seeds:
            of_problems.append(numpy.mean([scipy.stats.rankdata([each[seed] for each in values]) for seed in seeds], axis=0))
    return (numpy.mean(of_problems, axis=0) if of_problems else None), len(of_problems)


def show_ranks(results, defaults):
    absent = [tool for tool in defaults if tool not in results.tools]
    tools = [tool for tool in defaults if tool in results.tools]
    if absent:
        print(f"Ranks: no cells of {', '.join(absent)}\n")
    if len(tools) < 2:
        return
    rows = []
    for groups in (("tables",), ("bbob",), ("tables", "bbob"), ("objectives",), ("constrained",)):
        problems = [problem for problem in results.problems if group_of(problem) in groups]
        for checkpoint in CHECKPOINTS:
            ranks, count = mean_rank(results, tools, problems, checkpoint)
            if count:
                rows.append([" and ".join(groups), f"{count}", f"{checkpoint}", *(f"{rank:.3f}" for rank in ranks)])
    print_table(["mean rank", "problems", "trials", *tools], rows)


def show_times(results):
    kinds = ("one objective", "several objectives", "constrained")
    of_group = {"objectives": 1, "constrained": 2}
    times = collections.defaultdict(list)
    for (tool, problem), cells in results.by_key.items():
        group = group_of(problem)
        if group != "speed":
            times[of_group.get(group, 0), tool] += [cell for cell in cells if not cell.error]
    rows = []
    for (kind, tool), cells in sorted(times.items()):
        if cells:
            mean, last = numpy.mean([cell.seconds / cell.trials for cell in cells]), numpy.mean([cell.last for cell in cells])
            rows.append([kinds[kind], tool, f"{len(cells)}", f"{1e3 * mean:.4g}", f"{1e3 * last:.4g}"])
    if rows:
        print_table(["processor time of a suggestion", "tool", "cells", "mean, ms", "mean of the last ten, ms"], rows)
    rows = []
    for problem in results.problems:
        for tool in results.tools:
            for cell in results.by_key.get((tool, problem), []):
                if group_of(problem) == "speed":
                    said = [f"failed: {cell.error}", ""] if cell.error else [f"{cell.seconds:.3g}", f"{1e3 * cell.last:.4g}"]
                    rows.append([f"{problem}, {cell.trials} trials", tool, f"{cell.seed}", *said])
    if rows:
        print_table(["long studies", "tool", "seed", "processor time, s", "mean of the last ten, ms"], rows)


def show_failures(results):
    counts = collections.Counter((cell.tool, cell.error) for cells in results.by_key.values() for cell in cells if cell.error)
    if counts:
        print_table(["failed", "cells", "because of"], [[tool, f"{count}", error] for (tool, error), count in sorted(counts.items())])


def show(cells, defaults, checkpoints):
    """Prints all tables."""
    results = Results(cells)
    show_problems(results)
    show_tests(results, checkpoints)
    show_ranks(results, defaults)
    show_times(results)
    show_failures(results)
