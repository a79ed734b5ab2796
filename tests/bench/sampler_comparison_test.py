#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What bench/sampler_comparison.py measures: hypervolumes, feasible trials, and problems whose values are known. Problems need numpy."""

import importlib.util
import math
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))

from sampler_progress import Progress, hypervolume


class Hypervolumes(unittest.TestCase):
    def test_one_objective_is_a_length(self):
        self.assertEqual(hypervolume([(4,), (3,), (7,)], (5,)), 2)

    def test_two_objectives_are_the_area_below_the_stairs(self):
        self.assertEqual(hypervolume([(1, 3), (2, 2), (3, 1)], (4, 4)), 3 * 1 + 2 * 1 + 1 * 1)
        self.assertEqual(hypervolume([(3, 1), (1, 3), (2, 2)], (4, 5)), 3 * 2 + 2 * 1 + 1 * 1)

    def test_three_objectives_are_the_boxes_less_what_they_share(self):
        self.assertEqual(hypervolume([(1, 2, 3)], (4, 4, 4)), 3 * 2 * 1)
        self.assertEqual(hypervolume([(0, 1, 1), (1, 0, 1), (1, 1, 0)], (2, 2, 2)), 3 * 2 - 3 * 1 + 1)
        self.assertEqual(hypervolume([(0, 0, 2), (2, 2, 0)], (3, 3, 3)), 9 + 3 - 1)

    def test_four_objectives_are_cut_in_slices_too(self):
        self.assertEqual(hypervolume([(0, 1, 1, 1), (1, 0, 1, 1)], (2, 2, 2, 2)), 2 + 2 - 1)

    def test_what_is_dominated_or_twice_there_adds_nothing(self):
        for front in ([(1, 2), (2, 1)], [(1, 2, 2), (2, 1, 1)]):
            worse = [tuple(value + 0.5 for value in front[0]), front[1]]
            reference = (3,) * len(front[0])
            self.assertEqual(hypervolume(front + worse, reference), hypervolume(front, reference))

    def test_what_reaches_the_reference_point_in_one_objective_adds_nothing(self):
        self.assertEqual(hypervolume([(0, 3), (3, 0), (math.nan, 0), (0, math.inf)], (3, 3)), 0)
        self.assertEqual(hypervolume([], (1, 1)), 0)


class Bests(unittest.TestCase):
    def test_one_objective_has_its_least_value(self):
        progress = Progress()
        for value in (3.0, 1.0, 2.0):
            progress.add((value,))
        self.assertEqual(progress.best(), 1)

    def test_several_have_minus_the_hypervolume(self):
        progress = Progress((3, 3))
        progress.add((1, 2))
        self.assertEqual(progress.best(), -2)
        progress.add((2, 1))
        self.assertEqual(progress.best(), -3)

    def test_only_feasible_trials_count(self):
        progress = Progress()
        progress.add((1.0,), (-1.0, 0.5))
        self.assertEqual(progress.best(), math.inf)
        progress.add((2.0,), (-1.0, 0.0))
        progress.add((0.0,), (0.1, -1.0))
        self.assertEqual(progress.best(), 2)


@unittest.skipUnless(importlib.util.find_spec("numpy"), "numpy is not installed")
class Problems(unittest.TestCase):
    def measure(self, name, *values):
        import sampler_problems

        problem = sampler_problems.catalogue()[name].make(0)
        return problem.measure(dict(zip((parameter.name for parameter in problem.parameters), values)))

    def assert_values(self, name, parameters, expected):
        values, constraints = self.measure(name, *parameters)
        self.assertEqual(constraints, ())
        self.assertEqual(len(values), len(expected))
        for value, known in zip(values, expected):
            self.assertAlmostEqual(value, known, places=12)

    def test_zdt_has_its_published_fronts(self):
        self.assert_values("zdt1_10", [0.25] + [0] * 9, [0.25, 0.5])
        self.assert_values("zdt2_10", [0.5] + [0] * 9, [0.5, 0.75])
        self.assert_values("zdt3_10", [0.25] + [0] * 9, [0.25, 0.5 - 0.25])

    def test_zdt_is_ten_times_as_far_where_all_others_are_1(self):
        self.assert_values("zdt1_10", [0.4] + [1] * 9, [0.4, 10 * (1 - 0.2)])

    def test_the_front_of_dtlz2_is_part_of_the_unit_sphere(self):
        self.assert_values("dtlz2_6", [0, 0] + [0.5] * 4, [1, 0, 0])
        self.assert_values("dtlz2_6", [0.5, 0.5] + [0.5] * 4, [0.5, 0.5, math.sqrt(0.5)])
        self.assert_values("dtlz2_6", [1, 0.3] + [0.5, 0, 1, 0.5], [0, 0, 1.5])

    def test_gramacys_optimum_lies_on_the_edge_of_its_first_constraint(self):
        (value,), (first, second) = self.measure("gramacy", 0.1954, 0.4044)
        self.assertAlmostEqual(value, 0.5998, places=4)
        self.assertAlmostEqual(first, 0, places=3)
        self.assertLess(second, 0)

    def test_gardners_second_square_is_feasible_where_the_sines_have_other_signs(self):
        (value,), (constraint,) = self.measure("gardner_2", 1.5 * math.pi, 0.5 * math.pi)
        self.assertAlmostEqual(value, 0.5 * math.pi - 1, places=12)
        self.assertAlmostEqual(constraint, -0.05, places=12)
        self.assertAlmostEqual(self.measure("gardner_2", 1, 0)[1][0], 0.95, places=12)

    def test_a_network_needs_the_memory_of_its_weights_and_of_its_batch(self):
        _, (missing,) = self.measure("memory", 8, 1024, 16, 1e-3, 1, 1)
        self.assertAlmostEqual(missing, 3 + 4 / 64 - 24, places=12)
        self.assertGreater(self.measure("memory", 1024, 4096, 32, 1e-3, 0, 0)[1][0], 0)

    def test_each_problem_has_as_many_values_as_objectives(self):
        import sampler_problems

        for name, entry in sampler_problems.catalogue().items():
            if entry.group in ("objectives", "constrained") or name == "speed_2_objectives":
                problem = entry.make(0)
                values, constraints = problem.measure({parameter.name: parameter.low or 0 for parameter in problem.parameters})
                self.assertEqual(len(values), problem.objectives(), name)
                self.assertEqual(bool(constraints), entry.group == "constrained", name)
                self.assertTrue(all(type(number) in (int, float) for number in (*values, *constraints)), name)


if __name__ == "__main__":
    unittest.main()
