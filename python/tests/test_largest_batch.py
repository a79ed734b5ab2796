# SPDX-License-Identifier: MIT
"""hpo.largest_batch, with functions whose need is known, in a trial on a CPU and with PyTorch on a virtual card."""

import math
import random
import subprocess
import sys
import types
import unittest
from unittest import mock

from studies import TOOLS, StudyTest, environment, python_with, run_on_virtual_card, run_python

import hpo


def step_that_needs(bytes_for_each, available, error=MemoryError):
    """A step, and the sizes that it was run with."""
    seen = []

    def run(size):
        seen.append(size)
        if size * bytes_for_each > available:
            raise error("refused")

    return run, seen


class Search(unittest.TestCase):
    def test_it_finds_the_largest_that_fits_and_tries_each_at_most_once(self):
        for count in (1, 2, 3, 7, 8, 100, 1024):
            sizes = range(3, 3 + count)
            for largest in {sizes[0], sizes[count // 2], sizes[-1]}:
                run, seen = step_that_needs(1, largest)
                self.assertEqual(hpo.largest_batch(run, sizes), largest)
                tried = [size for size in sizes if size in seen]
                self.assertLessEqual(len(tried), math.log2(count) + 2)
                self.assertEqual(seen[0], 3)
                for size in tried:
                    self.assertEqual(seen.count(size), 2 if size <= largest else 1)
                self.assertIn(largest, seen)

    def test_if_none_fits_the_error_of_the_smallest_is_raised(self):
        run, seen = step_that_needs(1, 3)
        with self.assertRaises(MemoryError):
            hpo.largest_batch(run, [4, 8, 16])
        self.assertEqual(seen, [4])

    def test_what_libraries_raise_where_memory_is_refused_means_that_it_does_not_fit(self):
        class OutOfMemoryError(RuntimeError):
            pass

        errors = [
            lambda _: OutOfMemoryError("anything"),
            lambda _: RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB"),
            lambda _: RuntimeError("[enforce fail at alloc_cpu.cpp:117] err == 0. DefaultCPUAllocator: can't allocate memory"),
            lambda _: RuntimeError("RESOURCE_EXHAUSTED: Out of memory allocating 1000 bytes"),
            lambda _: RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"),
        ]
        for error in errors:
            with self.subTest(error=error("")):
                self.assertEqual(hpo.largest_batch(step_that_needs(1, 5, error)[0], range(1, 11)), 5)

    def test_any_other_error_is_raised_at_once(self):
        for error in (RuntimeError("shapes do not match"), KeyboardInterrupt(), SystemExit(3)):
            seen = []

            def run(size):
                seen.append(size)
                raise error

            with self.assertRaises(type(error)):
                hpo.largest_batch(run, [1, 2, 4])
            self.assertEqual(seen, [1])

    def test_wrong_sizes_are_told_before_anything_runs(self):
        run, seen = step_that_needs(1, 3)
        for sizes, kind in [([], ValueError), ([0, 1], ValueError), ([4, 2], ValueError), ([2, 2], ValueError), ([1.5], TypeError),
                            (16, TypeError), (["8"], TypeError)]:
            with self.subTest(sizes=sizes), self.assertRaisesRegex(kind, "sizes is .*; it should be "):
                hpo.largest_batch(run, sizes)
        self.assertEqual(seen, [])

    def test_random_numbers_go_on_as_if_nothing_had_run(self):
        random.seed(5)
        expected = random.random()
        random.seed(5)
        hpo.largest_batch(lambda size: random.random(), [1, 2, 4])
        self.assertEqual(random.random(), expected)

    def test_the_step_that_failed_holds_no_memory_any_more(self):
        class Tensor:
            alive = 0

            def __init__(self):
                Tensor.alive += 1

            def __del__(self):
                Tensor.alive -= 1

        held = []

        def run(size):
            held.append(Tensor.alive)
            tensor = Tensor()
            if size > 1:
                raise MemoryError(tensor and "refused")

        self.assertEqual(hpo.largest_batch(run, [1, 2, 3, 4]), 1)
        self.assertEqual(held, [0] * len(held))

    def test_what_did_not_fit_is_no_peak_of_the_trial_and_no_refusal(self):
        calls = []
        cuda = types.SimpleNamespace(is_initialized=lambda: True)
        for name in ("synchronize", "empty_cache", "reset_peak_memory_stats", "reset_accumulated_memory_stats"):
            setattr(cuda, name, lambda name=name: calls.append(name))
        with mock.patch.dict(sys.modules, torch=types.SimpleNamespace(cuda=cuda)):
            hpo.largest_batch(step_that_needs(1, 1)[0], [1, 2])
        self.assertEqual(
            calls, ["synchronize", "empty_cache", "empty_cache", "reset_peak_memory_stats", "reset_accumulated_memory_stats"]
        )


ALLOCATES = """
    import hpo
    def step(size):
        return len(b"x" * (size << 20))
"""


class InTrials(StudyTest):
    def test_on_a_cpu_it_is_what_the_trial_may_take(self):
        # A step of n holds n MiB.
        program = ALLOCATES + """
    hpo.result(hpo.largest_batch(step, range(1, 2000)))
        """
        [trial] = self.run_study(program, "--device-memory", "600MiB", "--trials", "1")
        self.assertEqual(trial["state"], "COMPLETE", trial)
        self.assertEqual(trial["attempts"], 1)
        [largest] = trial["values"]
        self.assertLess(largest, 600)
        self.assertGreater(largest, 600 * 15 / 16 - 60)  # without what Python itself holds

    def test_if_none_fits_into_what_the_trial_may_take_the_trial_is_infeasible(self):
        program = ALLOCATES + """
    hpo.largest_batch(step, [4096, 8192])
        """
        [trial] = self.run_study(program, "--device-memory", "600MiB", "--trials", "1", status=1)
        self.assertEqual([trial["state"], trial["attempts"]], ["PRUNED", 1], trial["failures"])
        [failure] = trial["failures"]
        self.assertEqual(failure["kind"], "out_of_memory", failure)
        self.assertIn("a batch of 4096, the smallest, does not fit into the", failure["message"])

    def test_a_copy_of_an_optuna_program_asks_as_well(self):
        python = python_with("optuna")
        (self.folder / "program.py").write_text(
            """
import hpo, optuna
def step(size):
    return len(b"x" * (size << 20))
def objective(trial):
    trial.suggest_float("x", 0, 1)
    return hpo.largest_batch(step, [1, 64, 100000])
optuna.logging.set_verbosity(optuna.logging.WARNING)
study = optuna.create_study()
study.optimize(objective, n_trials=2)
print([trial.value for trial in study.trials])
"""
        )
        run = subprocess.run(
            [TOOLS / "hpo-tune", "run", "--device", "cpu", "--device-memory", "1GiB", "--workers", "1", "--", python, "program.py"],
            env=environment(), capture_output=True, text=True, timeout=120, check=False, cwd=self.folder,
        )
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        self.assertIn("[64.0, 64.0]", run.stdout, run.stderr)


class OnACard(unittest.TestCase):
    PROGRAM = """
        import hpo, torch
        net = torch.nn.Sequential(*[torch.nn.Linear(2048, 2048) for _ in range(4)]).cuda()
        optimizer = torch.optim.Adam(net.parameters())
        def step(size):
            optimizer.zero_grad()
            net(torch.randn(size, 2048, device="cuda")).pow(2).mean().backward()
            optimizer.step()
        torch.manual_seed(1)
        expected = torch.rand(1).item()
        torch.manual_seed(1)
        largest = hpo.largest_batch(step, range(1024, 1 << 20, 1024))
        assert torch.rand(1).item() == expected
        stats = torch.cuda.memory_stats()
        assert stats["num_ooms"] == 0 and stats["reserved_bytes.all.peak"] == stats["reserved_bytes.all.current"], stats
        for _ in range(5):
            step(largest)
        try:
            torch.cuda.empty_cache()
            step(largest + 1024), step(largest + 1024)
        except torch.OutOfMemoryError:
            print("largest", largest)
    """

    def test_it_can_be_trained_with_and_the_next_cannot(self):
        run = run_on_virtual_card(self.PROGRAM, memory=2 << 30)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertRegex(run.stdout, r"^largest \d+\n$", run.stderr)


class Alone(unittest.TestCase):
    def test_outside_of_hpo_it_is_what_the_machine_has(self):
        run = run_python(ALLOCATES + """
    import resource
    before = resource.getrlimit(resource.RLIMIT_DATA)
    print(hpo.largest_batch(step, [1, 8, 1 << 40]))
    assert resource.getrlimit(resource.RLIMIT_DATA) == before
        """)
        self.assertEqual(run.stdout, "8\n", run.stderr)


if __name__ == "__main__":
    unittest.main()
