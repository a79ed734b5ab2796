# SPDX-License-Identifier: MIT
"""Programs that run as trials of a real study."""

import unittest

from studies import StudyTest, lua_text, run_python

HOSTILE = [
    "a b", "'", '"', "$(id)", "`id`", "-x", "--", "", "new\nline", "ü", "日本", "\U0001f600", "{x}", "{{x}}", "\\", "*", ";", "%s",
    "\u2028", "NaN", "null", "@hpo {}", "\x01", "a" * 5000,
]


class Programs(StudyTest):
    def test_a_program_finds_its_trial(self):
        program = """
            import dataclasses, hpo
            trial = hpo.trial()
            assert hpo.in_trial() and hpo.plan() == trial.plan
            hpo.attr("trial", dataclasses.asdict(trial))
            hpo.result(trial.params["x"])
        """
        trials = self.run_study(
            program, "--trials", "2", "--seed", "3",
            space='trial:float("x", 0, 1); trial:int("batch", 8, 8); trial:float("whole", 2, 2)', members="plan = { precision = \"fp32\" },",
        )
        self.assertEqual([trial["state"] for trial in trials], ["COMPLETE", "COMPLETE"])
        seeds = set()
        for number, trial in enumerate(trials):
            seen = trial["user_attributes"]["trial"]
            self.assertEqual(trial["values"], [seen["params"]["x"]])
            self.assertEqual(seen["params"], trial["params"])
            self.assertEqual([repr(seen["params"]["batch"]), repr(seen["params"]["whole"])], ["8", "2.0"])
            self.assertEqual([seen["number"], seen["attempt"], seen["study"], seen["metric"]], [number, 0, "s", "loss"])
            self.assertEqual([seen["device"], seen["checkpoint_folder"], seen["resume_step"]], ["cpu", None, None])
            self.assertEqual(seen["plan"]["accumulation_steps"], 1)
            self.assertEqual([seen["plan"]["device"], seen["plan"]["precision"]], ["cpu", "fp32"])
            seeds.add(seen["seed"])
        self.assertEqual(len(seeds), 2)

    def test_hostile_texts_arrive_unchanged_and_go_back_unchanged(self):
        space = "\n".join(f'trial:categorical("p{i}", {{ {lua_text(text)} }})' for i, text in enumerate(HOSTILE))
        program = """
            import hpo
            params = hpo.trial().params
            hpo.attr("all", [params[f"p{i}"] for i in range(len(params))])
            for text in params.values():
                hpo.attr(text, text)
            hpo.result(0)
        """
        for locale in ({}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}):
            with self.subTest(locale=locale):
                (self.folder / "s.db").unlink(missing_ok=True)
                [trial] = self.run_study(program, "--trials", "1", space=space, **locale)
                self.assertEqual(trial["state"], "COMPLETE", trial)
                self.assertEqual([trial["params"][f"p{i}"] for i in range(len(HOSTILE))], HOSTILE)
                self.assertEqual(trial["user_attributes"]["all"], HOSTILE)
                for text in HOSTILE:
                    self.assertEqual(trial["user_attributes"][text], text)

    def test_reports_arrive_and_a_result_that_is_no_number_fails_the_trial(self):
        program = """
            import hpo
            hpo.report(float("nan"), 0)
            hpo.report(float("-inf"), 1)
            hpo.report(0.25, step=2)
            hpo.attr("odd", [float("nan"), {"a": float("-inf")}, (1.5, float("inf"))])
            hpo.result(float("nan"))
        """
        [trial] = self.run_study(program, "--trials", "1", status=1)
        self.assertEqual([[each["step"], each["value"]] for each in trial["intermediate"]], [[0, "NaN"], [1, "-Infinity"], [2, 0.25]])
        self.assertEqual(trial["user_attributes"]["odd"], ["NaN", {"a": "-Infinity"}, [1.5, "Infinity"]])
        self.assertEqual(trial["state"], "FAIL")
        self.assertEqual(trial["attempt_list"][0]["failure"]["kind"], "non_finite")

    def test_the_last_result_counts_and_two_objectives_have_two(self):
        program = """
            import hpo
            hpo.result(3)
            hpo.result([1, 2.5])
        """
        two = 'objectives = { { metric = "a", direction = "minimize" }, { metric = "b", direction = "maximize" } }, pruner = "none"'
        [trial] = self.run_study(program, "--trials", "1", objective=two)
        self.assertEqual(trial["values"], [1, 2.5])

    def test_a_program_that_asks_is_pruned_and_can_clean_up(self):
        program = """
            import hpo, pathlib, sys
            number = hpo.trial().number
            assert hpo.should_prune() is False  # from now on hpo waits for its question
            try:
                for step in range(5):
                    hpo.report(10 * number, step)
                    if hpo.should_prune():
                        raise hpo.TrialPruned
                hpo.result(number)
            finally:
                pathlib.Path(sys.argv[1], str(number)).write_text(str(step))
        """
        trials = self.run_study(
            program, "--trials", "3", members='pruner = "median:startup_trials=1,warmup_steps=2",', arguments=[str(self.folder)]
        )
        self.assertEqual([trial["state"] for trial in trials], ["COMPLETE", "PRUNED", "PRUNED"])
        self.assertEqual([len(trial["intermediate"]) for trial in trials], [5, 3, 3])
        self.assertEqual([(self.folder / str(number)).read_text() for number in range(3)], ["4", "2", "2"])

    def test_a_program_that_never_asks_is_ended(self):
        program = """
            import hpo, time
            number = hpo.trial().number
            hpo.report(number, 0)
            while number > 0:
                time.sleep(0.01)
            hpo.result(number)
        """
        trials = self.run_study(program, "--trials", "2", members='pruner = "median:startup_trials=1",')
        self.assertEqual([trial["state"] for trial in trials], ["COMPLETE", "PRUNED"])

    def test_two_programs_at_once_keep_their_reports_apart(self):
        program = """
            import hpo, pathlib, sys, time
            number = hpo.trial().number
            folder = pathlib.Path(sys.argv[1])
            (folder / f"here{number}").touch()
            while not (folder / f"here{1 - number}").exists():  # each waits for the other
                time.sleep(0.01)
            for step in range(200):
                hpo.report(1000 * number + step, step)
                assert hpo.should_prune() is False
            hpo.result(number)
        """
        trials = self.run_study(program, "--trials", "2", workers=2, members='pruner = "none",', arguments=[str(self.folder)])
        for number, trial in enumerate(trials):
            self.assertEqual(trial["values"], [number])
            self.assertEqual([each["value"] for each in trial["intermediate"]], [1000 * number + step for step in range(200)])

    def test_threads_and_forked_children_speak_in_whole_lines(self):
        program = """
            import hpo, os, threading
            text = "x" * 20000  # more than a pipe takes at once
            def speak(who):
                for i in range(20):
                    hpo.attr(f"{who}-{i}", text)
                    hpo.should_prune()
            threads = [threading.Thread(target=speak, args=(f"t{i}",)) for i in range(4)]
            for thread in threads: thread.start()
            for thread in threads: thread.join()
            child = os.fork()
            if child == 0:
                speak("child")
                os._exit(0)
            assert os.waitpid(child, 0)[1] == 0
            hpo.result(1)
        """
        [trial] = self.run_study(program, "--trials", "1")
        told = [name for name, value in trial["user_attributes"].items() if value == "x" * 20000]
        self.assertEqual(len(told), 100)

    def test_a_child_without_the_descriptors_prints_its_reports_and_never_writes_into_another_file(self):
        program = """
            import os, subprocess, sys
            child = "import hpo; hpo.report(0.5, 3); assert not hpo.should_prune(); hpo.result(7)"
            print("no end of line", end="", flush=True)
            subprocess.run([sys.executable, "-c", child], check=True)
            for other in ("os.open('other', os.O_CREAT | os.O_WRONLY)", "os.open('other', os.O_CREAT | os.O_RDWR)", "os.pipe()[0]"):
                child = f"import os; os.dup2({other}, 3); os.dup2(os.pipe()[0], 4); import hpo; hpo.attr({other!r}, 1); assert not hpo.should_prune()"
                subprocess.run([sys.executable, "-c", child], check=True)
            assert os.path.getsize("other") == 0
        """
        [trial] = self.run_study(program, "--trials", "1")
        self.assertEqual(trial["values"], [7])
        self.assertEqual([[each["step"], each["value"]] for each in trial["intermediate"]], [[3, 0.5]])
        self.assertEqual([value for name, value in trial["user_attributes"].items() if name.startswith("os.")], [1, 1, 1])

    def test_a_file_that_takes_the_number_of_a_closed_descriptor_stays_as_it_is(self):
        program = """
            import os, hpo
            hpo.report(0.5, 1)
            report = int(os.environ["HPO_REPORT_FD"])
            os.close(report)
            assert os.open("precious", os.O_CREAT | os.O_RDWR) == report
            hpo.report(0.25, 2)
            assert hpo.should_prune() is False
            hpo.result(7)
            assert os.path.getsize("precious") == 0
        """
        [trial] = self.run_study(program, "--trials", "1")
        self.assertEqual([trial["state"], trial["values"]], ["COMPLETE", [7]])
        self.assertEqual([[each["step"], each["value"]] for each in trial["intermediate"]], [[1, 0.5], [2, 0.25]])

    def test_memory_is_told_and_the_highest_counts(self):
        program = """
            import hpo
            hpo.memory(allocated=1 << 20, reserved=4 << 20)
            hpo.memory(allocated=2 << 20, reserved=3 << 20, peak_allocated=5 << 20)
            hpo.result(1)
        """
        [trial] = self.run_study(program, "--trials", "1")
        [attempt] = trial["attempt_list"]
        self.assertEqual([attempt["peak_allocated_bytes"], attempt["peak_reserved_bytes"]], [5 << 20, 4 << 20])
        marks = [(mark["reading"]["allocated_bytes"], mark["reading"]["reserved_bytes"]) for mark in attempt["memory"]]
        told = [mark for mark in marks if mark[0] is not None]  # what is measured from outside has no allocated bytes
        self.assertEqual(told, [(1 << 20, 4 << 20), (2 << 20, 3 << 20)])

    def test_constraints_are_told_and_the_last_call_counts(self):
        program = """
            import hpo
            hpo.constraint("size", 1.0)
            hpo.constraint("size", -0.5)
            hpo.constraint("latency", -0.25)
            hpo.result(1)
        """
        [trial] = self.run_study(program, "--trials", "1")
        self.assertEqual([trial["constraints"]["size"], trial["constraints"]["latency"]], [-0.5, -0.25])


class OutsideOfHpo(unittest.TestCase):
    def test_a_program_runs_as_if_hpo_were_not_there(self):
        run = run_python("""
            import hpo
            assert not hpo.in_trial() and hpo.should_prune() is False
            assert hpo.report(0.5, 1) is None and hpo.result([1, 2]) is None
            hpo.attr("a", {"b": 1}); hpo.memory(1, 2)
        """)
        self.assertEqual([run.returncode, run.stdout, run.stderr], [0, "", ""])

    def test_who_needs_the_trial_is_told_how_to_start(self):
        for function in ("trial", "plan"):
            run = run_python(f"import hpo; hpo.{function}()")
            self.assertEqual(run.returncode, 1)
            self.assertRegex(run.stderr.splitlines()[-1], rf"NotInTrial: hpo\.{function}\(\): .*hpo-tune run STUDY\.lua")

    def test_wrong_arguments_are_errors_also_outside(self):
        for call, error in {
            'hpo.report("0.5", 1)': "TypeError: the reported value is '0.5'; it should be a number",
            "hpo.report(None, 1)": "TypeError: the reported value is None; it should be a number",
            "hpo.report(1, 0.5)": "TypeError: step is 0.5; it should be a whole number",
            "hpo.report(1, -1)": "ValueError: step is -1; it should be a whole number from 0",
            "hpo.report(1, 1 << 63)": "ValueError: step is 9223372036854775808; ",
            'hpo.result("7")': "TypeError: the result is '7'; it should be a number",
            "hpo.result([])": "ValueError: the result is an empty list",
            "hpo.result([1, None])": "TypeError: the result is None",
            "hpo.attr(1, 2)": "TypeError: the name of an attribute is 1",
            'hpo.attr("a", object())': "TypeError: attribute 'a': a object cannot be written as JSON",
            'hpo.attr("a", "\\udcff")': "ValueError: attribute 'a': a text that is no valid Unicode",
            'hpo.attr("a", "x" * (1 << 20))': "ValueError: attribute 'a': ",
            "hpo.constraint(1, 2)": "TypeError: the name of a constraint is 1",
            'hpo.constraint("c", "2")': "TypeError: constraint 'c' is '2'; it should be a number",
            'hpo.constraint("c", float("nan"))': "ValueError: constraint 'c' is NaN",
            "hpo.memory()": "TypeError: hpo.memory() needs at least one figure",
            "hpo.memory(-1)": "ValueError: allocated is -1; it should be a number of bytes",
            "hpo.memory(reserved=1.5)": "TypeError: reserved is 1.5; it should be a whole number of bytes",
        }.items():
            with self.subTest(call):
                run = run_python(f"import hpo; {call}")
                self.assertEqual(run.returncode, 1)
                self.assertIn(error, run.stderr.splitlines()[-1])

    def test_a_broken_environment_is_named(self):
        run = run_python("import hpo; hpo.trial()", HPO_PARAMS="[1]")
        self.assertIn("HpoError: HPO_PARAMS is '[1]'; it should be a JSON object", run.stderr)
        run = run_python("import hpo; hpo.trial()", HPO_PARAMS="{}")
        self.assertIn("HpoError: HPO_TRIAL is not set", run.stderr)


if __name__ == "__main__":
    unittest.main()
