# SPDX-License-Identifier: MIT
"""hpo.lightning, with a stand-in for Lightning's callbacks, and with the real Trainer if an environment in build/ has it."""

import pickle
import sys
import types
import unittest
from unittest import mock

from heard import HeardTest
from studies import StudyTest, python_with, run_python

import hpo
from hpo.lightning import HpoCallback


class Callback:
    """Lightning's base of callbacks; its hooks do nothing."""

    def on_train_start(self, trainer, pl_module):
        pass


def fit(callback, validations, global_zero=True):
    """Calls the hooks in Lightning's documented order. `validations`: (current_epoch, global_step, callback_metrics)."""
    trainer = types.SimpleNamespace(is_global_zero=global_zero, sanity_checking=True, current_epoch=0, global_step=0)
    trainer.callback_metrics = {"val_loss": 99.0}
    callback.on_fit_start(trainer, None)
    callback.on_validation_end(trainer, None)  # the sanity check
    trainer.sanity_checking = False
    trainer.callback_metrics.clear()
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


class RealTrainer(StudyTest):
    PROGRAM = """
        import sys, torch, hpo
        import pytorch_lightning as lightning
        from hpo.lightning import HpoCallback

        class Module(lightning.LightningModule):
            def __init__(self):
                super().__init__()
                self.linear = torch.nn.Linear(1, 1)
            def loss(self, batch):
                return ((self.linear(batch[0]) - batch[1]) ** 2).mean()
            def training_step(self, batch, index):
                return self.loss(batch)
            def validation_step(self, batch, index):
                self.log("val_loss", self.loss(batch))
            def configure_optimizers(self):
                return torch.optim.SGD(self.parameters(), 0.1 if hpo.trial().number == 0 else 1e-9)

        torch.manual_seed(0)
        x = torch.arange(16.0)[:, None] / 16
        data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, 2 * x), batch_size=4)
        trainer = lightning.Trainer(
            max_epochs=3, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False,
            default_root_dir=sys.argv[1], callbacks=[HpoCallback("val_loss")],
        )
        trainer.fit(Module(), data, data)
    """

    def test_a_study_of_trainings_reports_and_prunes(self):
        self.check_reports_and_prunes(self.PROGRAM, "torch", "pytorch_lightning")


if __name__ == "__main__":
    unittest.main()
