# SPDX-License-Identifier: MIT
"""hpo.torch, with a stand-in for the statistics of PyTorch's allocator, and with PyTorch on a virtual card if an environment in build/ has it."""

import json
import os
import sys
import threading
import types
import unittest
from unittest import mock

from heard import HeardTest
from studies import run_on_virtual_card, run_python

import hpo
import hpo._trial._memory_share as share


class FakeCuda:
    """As torch.cuda documents it. Each device has (allocated, reserved, peak allocated, peak reserved)."""

    def __init__(self, *devices, initialized=True):
        self.devices = list(devices)
        self.initialized = initialized

    def is_initialized(self):
        return self.initialized

    def device_count(self):
        return len(self.devices)

    def memory_stats(self, device):
        assert self.initialized, "memory_stats would initialise CUDA"
        keys = ["allocated_bytes.all.current", "reserved_bytes.all.current", "allocated_bytes.all.peak", "reserved_bytes.all.peak"]
        return dict(zip(keys, self.devices[device]), num_ooms=0)


def told(allocated, reserved, peak_allocated, peak_reserved):
    return {"allocated": allocated, "reserved": reserved, "peak_allocated": peak_allocated, "peak_reserved": peak_reserved}


class Watch(HeardTest):
    def setUp(self):
        patch = mock.patch.dict(os.environ, HPO_DEVICE="cuda:0")
        patch.start()
        self.addCleanup(patch.stop)
        self.heard = self.hear()

    def use(self, cuda):
        patch = mock.patch.dict(sys.modules, torch=types.SimpleNamespace(cuda=cuda))
        patch.start()
        self.addCleanup(patch.stop)
        return cuda

    def test_it_reports_at_the_end_and_only_what_is_new(self):
        cuda = self.use(FakeCuda((1, 2, 3, 4)))
        watch = hpo.torch.watch(interval=3600)
        self.assertTrue(watch.report())
        self.assertFalse(watch.report())
        cuda.devices[0] = (0, 2, 5, 6)
        watch.stop()
        watch.stop()
        self.assertEqual(self.heard.all_of("memory"), [told(1, 2, 3, 4), told(0, 2, 5, 6)])

    def test_it_reports_while_the_program_runs(self):
        cuda = self.use(FakeCuda((1, 2, 3, 4)))
        second = threading.Event()
        say = self.heard.say
        def hear(said):
            say(said)
            cuda.devices[0] = (9, 9, 9, 9)
            if len(self.heard.said) == 2:
                second.set()
        self.heard.say = hear
        with hpo.torch.watch(interval=0.001):
            self.assertTrue(second.wait(60))
        self.assertEqual(self.heard.all_of("memory"), [told(1, 2, 3, 4), told(9, 9, 9, 9)])

    def test_of_several_devices_it_reports_the_fullest_or_the_one_that_is_named(self):
        self.use(FakeCuda((1, 2, 3, 4), (5, 6, 7, 8), (0, 0, 0, 0)))
        with hpo.torch.watch(3600):
            pass
        for device in (0, "cuda:0"):
            with hpo.torch.watch(3600, device):
                pass
        self.assertEqual(self.heard.all_of("memory"), [told(5, 6, 7, 8), told(1, 2, 3, 4), told(1, 2, 3, 4)])

    def test_it_reports_nothing_where_nothing_is_known(self):
        for modules in ({}, {"torch": types.SimpleNamespace()}, {"torch": types.SimpleNamespace(cuda=FakeCuda((1, 2, 3, 4), initialized=False))}):
            with mock.patch.dict(sys.modules, modules), hpo.torch.watch(3600) as watch:
                self.assertFalse(watch.report())
        self.assertEqual(self.heard.said, [])

    def test_a_trial_on_the_cpu_has_no_memory_of_a_gpu(self):
        self.use(FakeCuda((1, 2, 3, 4)))
        with mock.patch.dict(os.environ, HPO_DEVICE="cpu"):
            with hpo.torch.watch(3600) as watch:
                self.assertFalse(watch.report())
            self.assertEqual(self.heard.said, [])
            with hpo.torch.watch(3600, device="cuda:0"):
                pass
        self.assertEqual(len(self.heard.said), 1)

    def test_an_error_in_the_with_block_is_not_replaced(self):
        cuda = self.use(FakeCuda((1, 2, 3, 4)))
        with self.assertRaisesRegex(KeyError, "mine"), hpo.torch.watch(3600):
            cuda.devices = []
            cuda.device_count = lambda: 1
            raise KeyError("mine")

    def test_wrong_arguments_are_named(self):
        for arguments, message in {(0,): "interval is 0;", (float("nan"),): "interval is nan;", (1, "cpu"): "device is 'cpu';", (1, "cuda"): "device is 'cuda';"}.items():
            with self.assertRaisesRegex(ValueError, message):
                hpo.torch.watch(*arguments)


class WatchedPrograms(unittest.TestCase):
    PROGRAM = """
        import os, sys, types, hpo
        read, write = os.pipe()
        import hpo._trial._channel
        hpo._trial._channel.channel = hpo._trial._channel.Channel({"HPO_PARAMS": "{}", "HPO_REPORT_FD": str(write)})
        os.environ["HPO_DEVICE"] = "cuda:0"
        watch = hpo.torch.watch(3600)
        assert "torch" not in sys.modules
        import atexit
        stats = {"allocated_bytes.all.peak": 5}
        cuda = types.SimpleNamespace(is_initialized=lambda: True, device_count=lambda: 1, memory_stats=lambda device: stats)
        sys.modules["torch"] = types.SimpleNamespace(cuda=cuda)
        def show():
            os.close(write)
            print(os.read(read, 1000).decode(), end="")
        atexit._run_exitfuncs, later = atexit._run_exitfuncs, watch._end
        atexit.unregister(watch._end); atexit.register(show); atexit.register(later)  # the last registered runs first
        END
    """

    def test_a_program_that_ends_by_an_error_has_told_its_memory(self):
        run = run_python(self.PROGRAM.replace("END", "raise MemoryError('full')"))
        self.assertEqual(run.stdout, '{"memory": {"peak_allocated": 5}}\n')
        self.assertEqual(run.stderr.splitlines()[-1], "MemoryError: full")

    def test_trouble_at_the_end_does_not_hide_why_a_program_ended(self):
        run = run_python(self.PROGRAM.replace("END", "stats['allocated_bytes.all.peak'] = 'x'; raise MemoryError('full')"))
        self.assertEqual(run.stderr.splitlines()[-1], "MemoryError: full")


class Share(HeardTest):
    """PyTorch is limited to what hpo has reserved, once it initialises CUDA."""

    def limit_of(self, variables, call):
        limits, queued = [], []
        cuda = types.SimpleNamespace(
            _lazy_call=queued.append,
            get_device_properties=lambda device: types.SimpleNamespace(total_memory=1000),
            set_per_process_memory_fraction=lambda share, device: limits.append((share, device)),
            is_initialized=lambda: False,
        )
        trial = {"HPO_PLAN": "{}", "HPO_PARAMS": "{}", "HPO_TRIAL": "1", "HPO_ATTEMPT": "0", "HPO_STUDY": "s", "HPO_METRIC": "loss", "HPO_SEED": "1"}
        trial.update({"HPO_DEVICE": "cuda:0", "HPO_CHECKPOINT_FOLDER": "", "HPO_RESUME_STEP": "", **variables})
        with mock.patch.dict(os.environ, trial), mock.patch.dict(sys.modules, torch=types.SimpleNamespace(cuda=cuda)):
            self.hear()
            call()
            self.assertEqual(limits, [], "nothing initialises CUDA for the program")
            for each in queued:
                each()
        return limits

    def test_a_trial_and_a_watch_limit_it(self):
        for call in (hpo.trial, lambda: hpo.torch.watch(3600).stop()):
            limits = self.limit_of({"HPO_TORCH_BYTES": "250"}, call)
            self.assertEqual(limits, [(0.251, 0)], "a byte more, because PyTorch cuts the product down")
            self.assertEqual(int(limits[0][0] * 1000), 251)

    def test_what_was_refused_is_known_though_the_program_caught_it(self):
        cuda = types.SimpleNamespace(
            is_initialized=lambda: True,
            memory_stats=lambda device: {"num_ooms": self.refused},
            get_device_properties=lambda device: types.SimpleNamespace(total_memory=1000),
        )
        with mock.patch.dict(sys.modules, torch=types.SimpleNamespace(cuda=cuda)):
            for limit, self.refused, expected in (("250", 1, {"limit": 250, "capacity": 1000}), ("250", 0, None), ("", 1, None)):
                with mock.patch.dict(os.environ, HPO_TORCH_BYTES=limit):
                    self.assertEqual(share.refused(), expected)

    def test_without_a_reservation_it_is_not_limited(self):
        self.assertEqual(self.limit_of({}, hpo.trial), [])
        self.assertEqual(self.limit_of({"HPO_TORCH_BYTES": "5000"}, hpo.trial), [(1.0, 0)])


class RealTorch(unittest.TestCase):
    PROGRAM = """
        import hpo, torch
        watch = hpo.torch.watch(3600)
        assert not torch.cuda.is_initialized()
        assert watch.report() is False
        kept = torch.empty(1 << 20, device="cuda")
        gone = torch.empty(1 << 26, device="cuda")
        del gone
        torch.cuda.empty_cache()
        watch.stop()
        print("@expected", torch.cuda.memory_allocated(), torch.cuda.memory_reserved(), torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved())
    """

    def test_the_figures_are_those_of_pytorch(self):
        run = run_on_virtual_card(self.PROGRAM, HPO_PARAMS="{}", HPO_DEVICE="cuda:0")
        self.assertEqual(run.returncode, 0, run.stderr)
        lines = run.stdout.split("\n")
        [expected] = [line.split()[1:] for line in lines if line.startswith("@expected")]
        [said] = [json.loads(line[len("@hpo "):]) for line in lines if line.startswith("@hpo ")]
        self.assertEqual(said, {"memory": told(*map(int, expected))})
        self.assertEqual(said["memory"]["allocated"], 4 << 20)
        self.assertEqual(said["memory"]["peak_allocated"], (4 << 20) + (256 << 20))


if __name__ == "__main__":
    unittest.main()
