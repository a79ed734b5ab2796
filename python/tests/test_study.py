# SPDX-License-Identifier: MIT
"""hpo.Study over the real hpo-tune serve, and over programs that stand in for a broken one."""

import math
import os
import signal
import subprocess
import sys
import textwrap
import threading
import unittest

from studies import TOOLS, StudyTest, environment, run_python

import hpo

X = {"x": hpo.FloatDistribution(-5, 5)}


class OfStudies(StudyTest):
    def setUp(self):
        super().setUp()
        self.store = str(self.folder / "s.db")

    def study(self, name="s", *arguments, **named):
        study = hpo.Study(name, *arguments, **{"tool": str(TOOLS / "hpo-tune"), "seed": 1, **named})
        self.addCleanup(study.close)
        return study


class Studies(OfStudies):
    def test_it_finds_the_minimum_of_a_parabola(self):
        study = self.study()
        study.optimize(lambda trial: trial.suggest_float("x", -5, 5) ** 2, n_trials=40)
        self.assertEqual([trial.number for trial in study.trials], list(range(40)))
        self.assertEqual({trial.state for trial in study.trials}, {"complete"})
        best = study.best_trial
        self.assertEqual(best.value, min(trial.value for trial in study.trials))
        self.assertEqual(best.value, best.params["x"] ** 2)
        self.assertLess(best.value, 1)

    def test_the_same_seed_gives_the_same_trials(self):
        drawn = []
        for seed in (1, 1, 2):
            study = self.study(seed=seed)
            drawn.append([study.ask(X).params["x"] for _ in range(5)])
        self.assertEqual(drawn[0], drawn[1])
        self.assertNotEqual(drawn[0], drawn[2])

    def test_suggested_values_are_in_their_ranges_and_have_their_types(self):
        choices = [1, True, 2.5, "1", "", None, 'a "b"\n$(id) ü \U0001f600']
        space = {"c": hpo.CategoricalDistribution(choices), "f": hpo.FloatDistribution(1, 4, step=1.5), "n": hpo.IntDistribution(2, 8, step=3)}
        study = self.study(sampler="random")
        seen = set()
        for i in range(60):
            if i % 2:
                trial = study.ask(space)
                params = trial.params
            else:
                trial = study.ask()
                self.assertEqual(trial.params, {})
                params = {
                    "c": trial.suggest_categorical("c", choices), "f": trial.suggest_float("f", 1, 4, step=1.5),
                    "n": trial.suggest_int("n", 2, 8, step=3),
                }
                self.assertEqual(trial.suggest_int("n", 2, 8, step=3), params["n"])
                self.assertEqual(trial.params, params)
            self.assertIs(type(params["f"]), float)
            self.assertIs(type(params["n"]), int)
            seen.update((name, type(value), value) for name, value in params.items())
            study.tell(trial, i)
        wanted = {("c", type(choice), choice) for choice in choices} | {("f", float, f) for f in (1.0, 2.5, 4.0)} | {("n", int, n) for n in (2, 5, 8)}
        self.assertEqual(seen, wanted)
        self.assertIn(True, [trial.params["c"] is True for trial in study.trials])

    def test_logarithmic_ranges_reach_the_sampler(self):
        study = self.study(sampler="random")
        drawn = [study.ask({"lr": hpo.FloatDistribution(1e-6, 1, log=True)}).params["lr"] for _ in range(50)]
        self.assertGreater(sum(value < 1e-3 for value in drawn), 10)  # evenly over the numbers it would be none

    def test_a_bad_trial_is_pruned(self):
        study = self.study(pruner="median:startup_trials=1")

        def objective(trial):
            for step in range(3):
                trial.report(trial.number + step, step)
                if trial.should_prune():
                    raise hpo.TrialPruned
            return trial.number

        study.optimize(objective, n_trials=3)
        self.assertEqual([trial.state for trial in study.trials], ["complete", "pruned", "pruned"])
        self.assertEqual([trial.reports for trial in study.trials], [{0: 0, 1: 1, 2: 2}, {0: 1}, {0: 2}])

    def test_odd_numbers_arrive(self):
        study = self.study(pruner="none")
        trial = study.ask()
        for step, value in enumerate([math.nan, math.inf, -math.inf, 0.1]):
            trial.report(value, step)
        study.tell(trial, math.inf)
        [record] = study.trials
        self.assertEqual(record.values, [math.inf])
        self.assertTrue(math.isnan(record.reports[0]))
        self.assertEqual([record.reports[step] for step in (1, 2, 3)], [math.inf, -math.inf, 0.1])

    def test_failures_are_kept_and_end_optimize_unless_they_are_caught(self):
        study = self.study(store=self.store)
        errors = {0: KeyError("x"), 1: RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB."), 2: OSError("no")}

        def objective(trial):
            if trial.number in errors:
                raise errors[trial.number]
            return {3: math.nan, 4: None, 5: [1, 2], 6: 7}[trial.number]

        study.optimize(objective, n_trials=2, catch=(KeyError, RuntimeError))
        with self.assertRaises(OSError):
            study.optimize(objective, n_trials=9)
        study.optimize(objective, n_trials=1)
        with self.assertRaisesRegex(TypeError, "the objective's value is None; it should be a number"):
            study.optimize(objective, n_trials=1)
        with self.assertRaisesRegex(ValueError, "returned 2 values; the study has 1 objectives"):
            study.optimize(objective, n_trials=1)
        study.optimize(objective, n_trials=1)
        self.assertEqual([trial.state for trial in study.trials], ["fail"] * 6 + ["complete"])
        study.close()
        kinds = [self.analyze("trial", self.store, str(number))["attempt_list"][0]["failure"]["kind"] for number in (0, 1)]
        self.assertEqual(kinds[1], "out_of_memory")
        self.assertNotEqual(kinds[0], "out_of_memory")

    def test_an_enqueued_trial_comes_first_and_unused_values_are_warned_of(self):
        study = self.study()
        self.assertEqual(study.enqueue({"x": 0.5, "y": 3}), 0)
        self.assertEqual(study.trials[0].state, "waiting")
        with self.assertWarnsRegex(UserWarning, "'y'") as warned:
            trial = study.ask(X)
        self.assertEqual(warned.filename, __file__)
        self.assertEqual([trial.number, trial.params], [0, {"x": 0.5}])

    def test_several_objectives_have_a_front(self):
        study = self.study(directions=["minimize", "maximize"])
        self.assertEqual(study.directions, ["minimize", "maximize"])
        results = [(1, 1), (2, 2), (2, 1)]
        study.optimize(lambda trial: results[trial.number], n_trials=3)
        self.assertEqual(sorted(trial.number for trial in study.best_trials), [0, 1])
        with self.assertRaisesRegex(hpo.HpoError, "2 objectives and no single best trial; see best_trials"):
            study.best_trial
        with self.assertRaisesRegex(hpo.HpoError, "trial 0 is complete and has 2 values"):
            study.trials[0].value

    def test_attributes_and_constraints_are_stored(self):
        study = self.study()
        trial = study.ask()
        trial.set_user_attr("note", {"a": [1, None, "ü"], "bad": math.nan})
        trial.set_constraint("memory", 0.5)
        self.assertEqual(trial.user_attrs, {"note": {"a": [1, None, "ü"], "bad": "NaN"}})
        for value, error in ((object(), TypeError), ("\udcff", ValueError)):
            with self.assertRaisesRegex(error, "attribute 'bad': "):
                trial.set_user_attr("bad", value)
        study.tell(trial, 1)
        [record] = study.trials
        self.assertEqual(record.user_attrs["note"], {"a": [1, None, "ü"], "bad": "NaN"})
        self.assertEqual(record.constraints, {"memory": 0.5})

    def test_optimize_stops_when_it_is_told_to(self):
        study = self.study()
        study.optimize(lambda trial: study.stop() or 1, n_trials=5)
        self.assertEqual(len(study.trials), 1)
        study.optimize(lambda trial: 1, timeout=0)
        self.assertEqual(len(study.trials), 1)
        with self.assertRaisesRegex(ValueError, "optimize needs n_trials or timeout"):
            study.optimize(lambda trial: 1)

    def test_threads_may_share_a_study(self):
        study = self.study(sampler="random")
        def work():
            for _ in range(25):
                trial = study.ask(X)
                trial.report(trial.params["x"], 0)
                study.tell(trial, trial.params["x"])
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual([trial.number for trial in study.trials], list(range(100)))
        for trial in study.trials:
            self.assertEqual([trial.value, trial.reports], [trial.params["x"], {0: trial.params["x"]}])

    def test_what_hpo_refuses_is_raised_and_the_study_goes_on(self):
        study = self.study()
        self.assertRaisesRegex(hpo.HpoError, "no complete trial", lambda: study.best_trial)
        self.assertRaisesRegex(hpo.HpoError, "parameter 'x': got low 2.0, high 1.0", lambda: study.ask({"x": hpo.FloatDistribution(2, 1)}))
        self.assertRaisesRegex(hpo.HpoError, "trial: got 99", lambda: study.tell(99, 1))
        self.assertRaisesRegex(hpo.HpoError, "NaN", lambda: study.tell(study.ask(), math.nan))
        self.assertRaisesRegex(TypeError, "'x': 3 should be a FloatDistribution", lambda: study.ask({"x": 3}))
        self.assertRaisesRegex(TypeError, r"the choice \[1\] should be a text", lambda: hpo.CategoricalDistribution([[1]]))
        self.assertRaisesRegex(hpo.HpoError, "did you mean 'tpe'", lambda: self.study(sampler="tpee"))
        study.tell(study.ask(X), 1)
        self.assertEqual(study.best_trial.value, 1)


class StudiesInAStore(OfStudies):
    def test_another_run_goes_on_and_the_tools_read_it(self):
        with self.study(store=self.store, directions="maximize") as study:
            study.optimize(lambda trial: trial.suggest_int("n", 1, 3), n_trials=3)
        again = self.study(store=self.store)
        self.assertEqual(again.directions, ["maximize"])
        again.optimize(lambda trial: trial.suggest_int("n", 1, 3), n_trials=2)
        self.assertEqual([trial.number for trial in again.trials], [0, 1, 2, 3, 4])
        again.close()
        listed = self.analyze("trials", self.store)["trials"]
        self.assertEqual([trial["state"] for trial in listed], ["COMPLETE"] * 5)

    def test_an_interrupted_trial_begins_again(self):
        program = """
            import hpo, sys
            study = hpo.Study("s", store=sys.argv[1], tool=sys.argv[2], seed=1)
            def objective(trial):
                x = trial.suggest_float("x", -5, 5)
                print(repr(x))
                if len(sys.argv) > 3: raise KeyboardInterrupt
                return x
            study.optimize(objective, n_trials=1)
        """
        command = [sys.executable, "-c", textwrap.dedent(program), self.store, str(TOOLS / "hpo-tune")]
        first = subprocess.run([*command, "interrupt"], env=environment(), capture_output=True, text=True, timeout=60, check=False)
        self.assertIn("KeyboardInterrupt", first.stderr)
        second = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(second.returncode, 0, second.stderr)
        self.assertEqual(second.stdout, first.stdout)
        self.assertEqual([trial.state for trial in self.study(store=self.store).trials], ["fail", "complete"])

    def test_ctrl_c_reaches_the_program_and_not_its_hpo_tune(self):
        program = """
            import hpo, sys, time
            study = hpo.Study("s", tool=sys.argv[1])
            trial = study.ask()
            try:
                print("ready", flush=True)
                time.sleep(60)
            except KeyboardInterrupt:
                time.sleep(0.2)  # hpo-tune would be gone by now
                study.tell(trial, 5)
                print(study.best_trial.value)
        """
        command = [sys.executable, "-c", textwrap.dedent(program), str(TOOLS / "hpo-tune")]
        with subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE, text=True, start_new_session=True) as run:
            self.assertEqual(run.stdout.readline(), "ready\n")
            os.killpg(run.pid, signal.SIGINT)  # as a terminal does
            self.assertEqual(run.stdout.read(), "5.0\n")
            self.assertEqual(run.wait(timeout=60), 0)

    def test_two_programs_work_on_one_study(self):
        program = """
            import hpo, sys
            study = hpo.Study("s", store=sys.argv[1], tool=sys.argv[2], sampler="random")
            study.optimize(lambda trial: trial.suggest_float("x", -5, 5), n_trials=15)
        """
        self.study(store=self.store).close()
        command = [sys.executable, "-c", textwrap.dedent(program), self.store, str(TOOLS / "hpo-tune")]
        both = [subprocess.Popen(command, env=environment()) for _ in range(2)]
        self.assertEqual([each.wait(timeout=120) for each in both], [0, 0])
        trials = self.study(store=self.store).trials
        self.assertEqual([trial.number for trial in trials], list(range(30)))
        self.assertEqual([trial.value for trial in trials], [trial.params["x"] for trial in trials])

    def test_a_study_is_of_its_process_and_of_its_time(self):
        study = self.study(store=self.store)
        child = os.fork()
        if child == 0:
            status = 1
            try:
                study.ask()
            except hpo.HpoError as error:
                status = 0 if "only by the process that made it" in str(error) else 2
            finally:
                os._exit(status)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        study.tell(study.ask(X), 1)
        study.close()
        study.close()
        self.assertRaisesRegex(hpo.HpoError, "ask: the study is closed", study.ask)


class WithoutAServer(StudyTest):
    def stand_in(self, program):
        """A program that is started in place of hpo-tune."""
        tool = self.folder / "hpo-tune"
        tool.write_text(f"#!{sys.executable}\n" + textwrap.dedent(program), encoding="utf-8")
        tool.chmod(0o755)
        return str(tool)

    def test_a_missing_tool_is_named(self):
        with self.assertRaisesRegex(hpo.HpoError, "'/no/hpo-tune' is no program that can be started. Put the folder"):
            hpo.Study("s", tool="/no/hpo-tune")
        run = run_python("import hpo; hpo.Study('s')", PATH="/no")
        self.assertRegex(run.stderr.splitlines()[-1], "HpoError: hpo-tune is neither beside this package nor in PATH. Put the folder of hpo's tools in PATH")

    def test_a_tool_that_ends_is_an_error_and_no_hang(self):
        with self.assertRaisesRegex(hpo.HpoError, "create_study: hpo-tune serve has ended with status 3"):
            hpo.Study("s", tool=self.stand_in("raise SystemExit(3)"))

    def test_an_older_answer_is_not_taken_for_this_one(self):
        study = hpo.Study("s", tool=self.stand_in("""
            import json, sys
            for line in sys.stdin:
                id = json.loads(line).get("id", 0)
                for number, trial in ((id - 1, -1), (id, id)):
                    print(json.dumps({"ok": True, "id": number, "directions": ["minimize"], "trial": trial, "params": {}}), flush=True)
        """))
        self.assertEqual([study.ask().number, study.ask().number], [2, 3])
        study.close()


if __name__ == "__main__":
    unittest.main()
