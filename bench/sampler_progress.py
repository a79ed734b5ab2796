# SPDX-License-Identifier: MIT
"""What a study of sampler_comparison.py has found so far, as one number. Less is better."""


def hypervolume(points, reference):
    """The volume that the points dominate, up to the reference point. It is exact. Less is better in each objective.

    Two objectives are swept from the left. More are cut into slices between the values of the last objective. A slice has one objective less.

    >>> hypervolume([(1, 2), (2, 1), (2, 2)], (3, 3))
    3.0
    """
    inside = [point for point in points if all(value < bound for value, bound in zip(point, reference))]
    if not inside:
        return 0.0
    if len(reference) == 1:
        return float(reference[0] - min(inside)[0])
    volume = 0.0
    if len(reference) == 2:
        least = reference[1]
        for first, second in sorted(inside):
            if second < least:
                volume += (reference[0] - first) * (least - second)
                least = second
        return volume
    inside.sort(key=lambda point: point[-1])
    ends = [point[-1] for point in inside[1:]] + [reference[-1]]
    for count, (point, end) in enumerate(zip(inside, ends), 1):
        if end > point[-1]:
            volume += (end - point[-1]) * hypervolume([other[:-1] for other in inside[:count]], reference[:-1])
    return volume


class Progress:
    """Takes the trials of a study one after the other. Without `reference` there is one objective."""

    def __init__(self, reference=None):
        self.reference = reference
        self.feasible = []

    def add(self, values, constraints=()):
        """A constraint above 0 is violated. Such a trial counts nowhere."""
        if all(constraint <= 0 for constraint in constraints):
            self.feasible.append(tuple(values))

    def best(self):
        """The least value, or minus the hypervolume. Before the first feasible trial it is infinite."""
        if not self.feasible:
            return float("inf")
        if self.reference is None:
            return min(self.feasible)[0]
        return 0.0 - hypervolume(self.feasible, self.reference)
