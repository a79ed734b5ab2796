# SPDX-License-Identifier: MIT
"""hpo.lightning, with a stand-in for Lightning's callbacks."""

import pickle
import sys
import types
import unittest
from unittest import mock

from heard import HeardTest
from studies import run_python

import hpo
from hpo.lightning import HpoCallback


class Callback:
    """Lightning's base of callbacks; its hooks do nothing."""

    def on_train_start(self, trainer, pl_module):
        pass


def fit(callback, validations, global_zero=True):
    """Calls the hooks in Lightning's documented order. `validations`: (current_epoch, global_step, callback_metrics)."""
    trainer = types.SimpleNamespace(is_global_zero=global_zero, sanity_checking=True, current_epoch=0, global_step=0, callback_metrics={})
    callback.on_fit_start(trainer, None)
    callback.on_validation_end(trainer, None)  # the sanity check
    trainer.sanity_checking = False
    callback.on_train_start(trainer, None)
    for trainer.current_epoch, trainer.global_step, metrics in validations:
        trainer.callback_metrics.update(metrics)
        callback.on_validation_end(trainer, None)
    callback.on_fit_end(trainer, None)
    trainer.callback_metrics["val_loss"] = 9.0
    callback.on_validation_end(trainer, None)  # trainer.validate() afterwards


TWO = [(0, 10, {"val_loss": 0.5}), (1, 20, {"val_loss": 0.25})]


class HpoCallbackTest(HeardTest):
    def setUp(self):
        base = types.SimpleNamespace(Callback=Callback)
        patch = mock.patch.dict(sys.modules, {"lightning": types.SimpleNamespace(pytorch=base), "lightning.pytorch": base})
        patch.start()
        self.addCleanup(patch.stop)

    def test_it_is_a_callback_of_both(self):
        for callback in (HpoCallback("val_f1"), pickle.loads(pickle.dumps(HpoCallback("val_f1")))):
            self.assertIsInstance(callback, Callback)
            self.assertIsInstance(callback, HpoCallback)
            self.assertEqual(callback._followed.metric, "val_f1")

    def test_it_uses_the_package_that_the_program_uses(self):
        class Other:
            pass

        with mock.patch.dict(sys.modules, {"pytorch_lightning": types.SimpleNamespace(Callback=Other)}):
            self.assertIsInstance(HpoCallback(), Callback)
            del sys.modules["lightning.pytorch"]
            self.assertIsInstance(HpoCallback(), Other)

    def test_it_reports_epochs_and_tells_the_last_value(self):
        heard = self.hear()
        fit(HpoCallback(), TWO)
        self.assertEqual(heard.reports, [(1, 0.5), (2, 0.25)])
        self.assertEqual(heard.all_of("value"), [0.25])

    def test_it_reports_steps_and_leaves_the_result_to_the_program(self):
        heard = self.hear()
        fit(HpoCallback(step="step", result=False), TWO)
        self.assertEqual(heard.said, [{"step": 10, "value": 0.5}, {"step": 20, "value": 0.25}])

    def test_a_pruned_trial_ends_without_a_result(self):
        heard = self.hear(prune_at=2)
        with self.assertRaisesRegex(hpo.TrialPruned, "pruned at step 2"):
            fit(HpoCallback(), [*TWO, (2, 30, {"val_loss": 0.1})])
        self.assertEqual(heard.reports, [(1, 0.5), (2, 0.25)])
        self.assertEqual(heard.all_of("value"), [])

    def test_only_the_first_process_speaks(self):
        heard = self.hear()
        fit(HpoCallback(), TWO, global_zero=False)
        self.assertEqual([heard.said, heard.questions], [[], 0])

    def test_a_metric_that_does_not_come_is_named(self):
        self.hear()
        with self.assertRaisesRegex(hpo.HpoError, r"the metric 'val_f1' was not measured; there are: val_loss$"):
            fit(HpoCallback("val_f1"), TWO)


class WithoutLightning(unittest.TestCase):
    def test_the_module_can_be_imported_and_the_callback_says_what_is_missing(self):
        run = run_python("from hpo.lightning import HpoCallback; HpoCallback()", "-S")
        self.assertRegex(run.stderr.splitlines()[-1], "^ImportError: HpoCallback needs PyTorch Lightning: ")


if __name__ == "__main__":
    unittest.main()
