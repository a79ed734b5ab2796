# SPDX-License-Identifier: MIT
"""hpo.transformers, with a stand-in for the callbacks of transformers, and with the real Trainer if an environment in build/ has it."""

import pickle
import sys
import types
import unittest
from unittest import mock

from heard import HeardTest
from studies import StudyTest, python_with, run_python

import hpo
from hpo.transformers import HpoCallback


class TrainerCallback:
    """Every event does nothing. The Trainer calls all of them."""

    def __init__(self):
        self.made = True

    def on_step_end(self, args, state, control, **more):
        pass


def train(callback, evaluations, process_zero=True):
    """Calls the events as the Trainer documents them. `evaluations`: (global_step, epoch, metrics)."""
    state = types.SimpleNamespace(is_world_process_zero=process_zero, global_step=0, epoch=0.0)
    args, control = types.SimpleNamespace(), types.SimpleNamespace(should_training_stop=False)
    callback.on_train_begin(args, state, control, model=None)
    for state.global_step, state.epoch, metrics in evaluations:
        callback.on_step_end(args, state, control, model=None)
        callback.on_evaluate(args, state, control, metrics=metrics, model=None)
    callback.on_train_end(args, state, control, model=None)
    callback.on_evaluate(args, state, control, metrics={"test_loss": 9.0}, model=None)  # trainer.evaluate(metric_key_prefix="test")


TWO = [(10, 0.5, {"eval_loss": 0.5, "epoch": 0.5}), (20, 1.0, {"eval_loss": 0.25, "epoch": 1.0})]


class Callback(HeardTest):
    def setUp(self):
        patch = mock.patch.dict(sys.modules, transformers=types.SimpleNamespace(TrainerCallback=TrainerCallback))
        patch.start()
        self.addCleanup(patch.stop)

    def test_it_is_a_callback_of_both(self):
        callback = HpoCallback("eval_f1", step="epoch", result=False)
        self.assertIsInstance(callback, TrainerCallback)
        self.assertIsInstance(callback, HpoCallback)
        self.assertTrue(callback.made)
        again = pickle.loads(pickle.dumps(callback))
        self.assertIsInstance(again, TrainerCallback)
        self.assertEqual([again._followed.metric, again._followed.step, again._followed.result], ["eval_f1", "epoch", False])

    def test_it_can_be_a_base(self):
        class Mine(HpoCallback):
            pass

        self.assertIsInstance(Mine("eval_loss"), (TrainerCallback, Mine))

    def test_it_reports_and_tells_the_last_value(self):
        heard = self.hear()
        train(HpoCallback(), TWO)
        self.assertEqual(heard.reports, [(10, 0.5), (20, 0.25)])
        self.assertEqual(heard.all_of("value"), [0.25])

    def test_steps_may_be_epochs_and_the_result_is_left_to_the_program(self):
        heard = self.hear()
        train(HpoCallback(step="epoch", result=False), [*TWO, (25, 1.25, {"eval_loss": 1})])
        self.assertEqual(heard.reports, [(1, 0.5), (1, 0.25), (2, 1)])
        self.assertEqual(heard.all_of("value"), [])

    def test_a_pruned_trial_ends_without_a_result(self):
        heard = self.hear(prune_at=10)
        with self.assertRaisesRegex(hpo.TrialPruned, "pruned at step 10"):
            train(HpoCallback(), TWO)
        self.assertEqual(heard.said, [{"step": 10, "value": 0.5}])

    def test_it_asks_before_the_first_report(self):
        heard = self.hear(prune_at=10)
        callback = HpoCallback()
        callback.on_train_begin(None, types.SimpleNamespace(is_world_process_zero=True), None)
        self.assertEqual([heard.questions, heard.said], [1, []])

    def test_only_the_first_process_speaks(self):
        heard = self.hear()
        train(HpoCallback(), TWO, process_zero=False)
        self.assertEqual([heard.said, heard.questions], [[], 0])

    def test_several_data_sets_may_come_one_after_another(self):
        heard = self.hear()
        train(HpoCallback("eval_b_loss"), [(1, 1, {"eval_a_loss": 3}), (1, 1, {"eval_b_loss": 2}), (2, 2, {"eval_a_loss": 3}), (2, 2, {"eval_b_loss": 1})])
        self.assertEqual(heard.reports, [(1, 2), (2, 1)])

    def test_a_metric_that_does_not_come_is_named_at_the_second_evaluation(self):
        heard = self.hear()
        with self.assertRaisesRegex(hpo.HpoError, r"the metric 'eval_f1' was not measured; there are: epoch, eval_loss$"):
            train(HpoCallback("eval_f1"), [*TWO, (30, 2, None)])
        self.assertEqual(heard.all_of("value"), [])
        with self.assertRaisesRegex(hpo.HpoError, r"'eval_f1' was not measured; there are: epoch, eval_loss$"):
            train(HpoCallback("eval_f1"), TWO[:1])
        with self.assertRaisesRegex(hpo.HpoError, "nothing was evaluated while training"):
            train(HpoCallback(), [])

    def test_a_wrong_step_is_named(self):
        with self.assertRaisesRegex(ValueError, "step is 'batch'; it should be 'step' or 'epoch'"):
            HpoCallback(step="batch")


class WithoutTransformers(unittest.TestCase):
    def test_the_module_can_be_imported_and_the_callback_says_what_is_missing(self):
        run = run_python("from hpo.transformers import HpoCallback; HpoCallback()", "-S")
        self.assertEqual(run.stderr.splitlines()[-1], "ModuleNotFoundError: No module named 'transformers'")


class RealTrainer(StudyTest):
    PROGRAM = """
        import sys, torch, transformers, hpo
        from hpo.transformers import HpoCallback

        class Model(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.linear = torch.nn.Linear(1, 1)
            def forward(self, x, labels):
                y = self.linear(x)[:, 0]
                return {"loss": ((y - labels) ** 2).mean(), "logits": y}

        data = [{"x": torch.tensor([i / 16]), "labels": torch.tensor(i / 8)} for i in range(16)]
        torch.manual_seed(0)
        arguments = transformers.TrainingArguments(
            sys.argv[1], num_train_epochs=3, eval_strategy="epoch", save_strategy="no", report_to=[], use_cpu=True, disable_tqdm=True,
            learning_rate=0.1 if hpo.trial().number == 0 else 1e-9,
        )
        trainer = transformers.Trainer(
            Model(), arguments, train_dataset=data, eval_dataset=data, callbacks=[HpoCallback("eval_loss", step="epoch")]
        )
        trainer.train()
    """

    def test_a_study_of_trainings_reports_and_prunes(self):
        self.check_reports_and_prunes(self.PROGRAM, "torch", "transformers", "accelerate")


if __name__ == "__main__":
    unittest.main()
