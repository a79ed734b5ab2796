# SPDX-License-Identifier: MIT
"""Programs whose study is in a storage that hpo-tune cannot use itself: a journal, or another storage of Optuna's."""

import subprocess
import unittest

from fronted import FrontTest
from studies import environment

JOURNAL = """
import json, sys, warnings, optuna
warnings.simplefilter("ignore")
optuna.logging.set_verbosity(optuna.logging.ERROR)
from optuna.storages import JournalStorage
from optuna.trial import TrialState
try:
    from optuna.storages.journal import JournalFileBackend
except ImportError:  # Optuna before 4
    from optuna.storages import JournalFileStorage as JournalFileBackend
def journal(path="journal.log"):
    return JournalStorage(JournalFileBackend(path))
def stored(study):
    return optuna.load_study(study_name=study.study_name, storage=journal())
def shown(trials):
    return [
        [
            trial.state.name, trial.values, trial.params, repr(trial.distributions), trial.intermediate_values, trial.user_attrs,
            {key: value for key, value in trial.system_attrs.items() if not key.startswith("hpo:")},
            str(trial.datetime_start), str(trial.datetime_complete),
        ]
        for trial in trials
    ]
"""

# Copies a study there and back, and stops at each call that writes to one of the two storages: before the call and after it. The storages
# are in memory, and outlive the one who uses them.
KILLS = JOURNAL + """
import itertools
from hpo.optuna import _storages, _study

class Killed(BaseException):
    pass

class Calls:
    def __init__(self, last):
        self.left = last
    def count(self):
        self.left -= 1
        if self.left == 0:
            raise Killed

class Watched:
    def __init__(self, storage, calls):
        self.storage, self.calls = storage, calls
    def __getattr__(self, name):
        original = getattr(self.storage, name)
        if not name.startswith(("create_", "set_")):
            return original
        def call(*arguments, **more):
            self.calls.count()
            result = original(*arguments, **more)
            self.calls.count()
            return result
        return call

def run_waiting_and_one_more(program, store, calls):
    study = optuna.load_study(study_name="s", storage=program)
    study._storage = Watched(program, calls)
    ours = _storages.ProgramStudy(study)
    study = optuna.load_study(study_name="s", storage=store)
    ours.join(Watched(store, calls), study._study_id, "/dev/null", "s", _study._as_stored)
    while len([trial for trial in study.trials if trial.user_attrs.get("by") == "hpo"]) < 2:
        trial = study.ask()  # by hpo-tune, so it is none of the calls
        trial.set_user_attr("by", "hpo")
        trial.report(0.5, 1)
        study.tell(trial, trial.suggest_float("x", 0, 1))
        ours.write_back(study.trials[trial.number])
    ours.write_back_all()

def study_of_program():
    study = optuna.create_study(study_name="s")
    space = {"x": optuna.distributions.FloatDistribution(0, 1)}
    study.add_trial(optuna.trial.create_trial(value=0.75, params={"x": 0.75}, distributions=space))
    study.add_trial(optuna.trial.create_trial(state=TrialState.FAIL, user_attrs={"lost": True}))
    study.enqueue_trial({"x": 0.25}, user_attrs={"asked": True})
    study.add_trial(optuna.trial.create_trial(state=TrialState.RUNNING))  # of another process
    study.add_trial(optuna.trial.create_trial(value=0.75, params={"x": 0.75}, distributions=space))  # as the first
    study.set_user_attr("about", "it")
    return study

for last in itertools.count(1):
    program, store, calls = study_of_program()._storage, optuna.create_study(study_name="s")._storage, Calls(last)
    try:
        run_waiting_and_one_more(program, store, calls)
    except Killed:
        pass
    killed = calls.left <= 0
    run_waiting_and_one_more(program, store, Calls(0))
    run_waiting_and_one_more(program, store, Calls(0))
    program, store = [optuna.load_study(study_name="s", storage=each).trials for each in (program, store)]
    at = f"killed at {last}: {[trial.state.name for trial in program]} {[trial.state.name for trial in store]}"
    assert [trial.state.name for trial in program] == ["COMPLETE", "FAIL", "COMPLETE", "RUNNING", "COMPLETE", "COMPLETE"], at
    assert [trial.state.name for trial in store] == ["COMPLETE", "FAIL", "COMPLETE", "COMPLETE", "COMPLETE"], at
    assert program[2].params == {"x": 0.25} and program[2].user_attrs == {"asked": True, "by": "hpo"}, (at, program[2])
    assert program[2].intermediate_values == {1: 0.5} and program[2].value == 0.25
    assert shown(program[5:]) == shown(store[4:]), at
    assert [trial.user_attrs for trial in program[:2] + store[:2]] == [{}, {"lost": True}, {}, {}]  # hpo runs no trial of others again
    if not killed:
        break
print("calls", last)
"""


class StoragesTest(FrontTest):
    def run_plain(self, program):
        """Runs a program without hpo, which can import its package."""
        self.write(program, "plain.py")
        run = subprocess.run(
            [self.python, "plain.py"], env=environment(), cwd=self.folder, capture_output=True, text=True, timeout=280, check=False
        )
        self.assertEqual(run.returncode, 0, run.stderr)
        return run.stdout


class Kills(StoragesTest):
    def test_no_trial_is_there_twice_or_lost_wherever_the_program_is_killed(self):
        words = self.run_plain(KILLS).split()
        self.assertEqual(words[0], "calls")
        self.assertGreater(int(words[1]), 20)  # kills were tried


    def test_what_runs_in_place_of_a_lost_trial_is_a_trial_of_its_own(self):
        told = self.run_plain(JOURNAL + """
from hpo.optuna import _storages, _study
program, store = optuna.create_study(study_name="s"), optuna.create_study(study_name="s")
program.enqueue_trial({"x": 0.25})
def joined():
    ours = _storages.ProgramStudy(program)
    ours.join(store._storage, store._study_id, "/dev/null", "s", _study._as_stored)
    return ours
joined()
lost = store.ask()
lost.set_user_attr("lost", True)
store.tell(lost, state=TrialState.FAIL)
joined()
# hpo-tune gives it the attributes of the lost one
attributes = {**store._storage.get_trial(lost._trial_id).system_attrs, "failed_trial": 0, "retry_history": [0]}
store.add_trial(optuna.trial.create_trial(state=TrialState.RUNNING, system_attrs=attributes))
ours = joined()
store.tell(1, 0.25)
ours.write_back(store.trials[1])
ours.write_back_all()
joined()
for study in (program, store):
    print([[trial.state.name, trial.value, trial.system_attrs.get("retry_history")] for trial in study.trials])
""")
        self.assertEqual(told, f"{[['FAIL', None, None], ['COMPLETE', 0.25, [0]]]}\n" * 2)


class Journals(StoragesTest):
    def test_a_journal_goes_on_at_each_start_and_has_what_the_store_has(self):
        program = JOURNAL + """
class Constrained(optuna.samplers.RandomSampler):
    def after_trial(self, study, trial, state, values):
        study._storage.set_trial_system_attr(trial._trial_id, "constraints", [0.5])
def objective(trial):
    x = trial.suggest_float("x", 0, 1) + trial.suggest_categorical("c", [(1, 2), "a"].__len__() * [1])
    trial.report(float("inf") if trial.number % 5 == 0 else x, 3)
    trial.set_user_attr("number", trial.number)
    if trial.number % 5 == 1:
        raise optuna.TrialPruned
    if trial.number % 5 == 2:
        raise KeyError
    return x
def callback(study, trial):
    study.set_user_attr("last", trial.number)
    there = stored(study).trials
    seen.append([len(there), there[-1].user_attrs["number"] == trial.number])
seen = []
study = optuna.create_study(study_name="jj", storage=journal(), load_if_exists=True, sampler=Constrained())
study.set_user_attr("about", [1])
before = len(study.trials)
study.optimize(objective, n_trials=3, catch=(KeyError,), callbacks=[callback])
study.optimize(objective, n_trials=2, callbacks=[callback])
assert shown(stored(study).trials[before:]) == shown(study.trials[before:]), (shown(stored(study).trials), shown(study.trials))
assert seen == [[before + count, True] for count in range(1, 6)], seen
assert stored(study).user_attrs == {"about": [1], "last": before + 4}, stored(study).user_attrs
print(before, len(study.trials), study.study_name, [trial.state.name for trial in study.trials[before:]])
"""
        self.run_plain(program.replace("callbacks=[callback]", "callbacks=[lambda study, trial: study.set_user_attr('last', 4)]").replace("assert seen", "assert True or seen"))
        states = ["COMPLETE", "PRUNED", "FAIL", "COMPLETE", "COMPLETE"]
        for before in (5, 10):
            ran = self.run_program(program, "--store", "h.db")
            self.assertEqual(ran.output, f"{before} {before + 5} jj {states}\n")
            self.assertEqual([ran.openings[0]["store"], ran.openings[0]["study"]], [None, "jj"])
            self.assertEqual(ran.openings[0]["copy_of"], f"journal {self.folder.resolve()}/journal.log")
            self.assertEqual([ran.openings[1]["store"], ran.openings[1]["copy_of"]], [f"sqlite:///{self.folder.resolve()}/h.db", None])

    def test_trials_that_others_add_to_the_journal_come_at_the_next_start(self):
        program = JOURNAL + """
study = optuna.create_study(study_name="jj", storage=journal(), load_if_exists=True)
study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=2)
print(len(study.trials), len(stored(study).trials))
"""
        self.assertEqual(self.run_program(program, "--store", "h.db").output, "2 2\n")
        self.run_plain(program)
        self.assertEqual(self.run_program(program, "--store", "h.db").output, "6 6\n")
        self.assertEqual(self.run_program(program, "--store", "other.db").output, "8 8\n")  # a store of another run
        self.assertEqual(self.run_program(program, "--store", "h.db").output, "10 10\n")

    def test_an_enqueued_trial_runs_once(self):
        program = JOURNAL + """
study = optuna.create_study(study_name="jj", storage=journal(), load_if_exists=True)
study.enqueue_trial({"x": 0.25}, user_attrs={"asked": True}, skip_if_exists=True)
study.enqueue_trial({"x": 0.5}, skip_if_exists=True)
study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=1)
print([[trial.state.name, trial.params["x"] if trial.params else None] for trial in stored(study).trials], stored(study).trials[0].user_attrs)
"""
        ran = self.run_program(program, "--store", "h.db")
        self.assertEqual(ran.output, f"{[['COMPLETE', 0.25], ['WAITING', None]]} {{'asked': True}}\n")
        ran = self.run_program(program, "--store", "h.db")
        self.assertEqual(ran.output, f"{[['COMPLETE', 0.25], ['COMPLETE', 0.5]]} {{'asked': True}}\n")

    def test_a_study_of_the_same_name_is_not_mixed_with_it(self):
        program = JOURNAL + """
study = optuna.create_study(study_name="jj", storage=journal(sys.argv[1]), load_if_exists=True)
try:
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=2)
except Exception as error:
    print(type(error).__name__, error)
print(len(study.trials))
"""
        self.assertEqual(self.run_program(program, "--store", "h.db", arguments=["first.log"]).output, "2\n")
        for _ in range(2):
            ran = self.run_program(program, "--store", "h.db", arguments=["second.log"])
            self.assertEqual(
                ran.output,
                f"HpoError study 'jj' of store {self.folder.resolve()}/h.db is no copy of the one in the program's journal "
                f"{self.folder.resolve()}/second.log, so their trials are not mixed; choose another store with --store FILE, or another name "
                "in the store with --study NAME\n0\n",
            )
            self.assertEqual(ran.attempts, [])
        self.assertEqual(self.run_program(program, "--store", "h.db", arguments=["first.log"]).output, "4\n")

    def test_a_journal_that_cannot_be_written_is_told_and_caught_up_with(self):
        program = JOURNAL + """
def fail(*_, **__):
    raise OSError("no space left")
def callback(study, trial):
    if trial.number == 0:
        storage.create_new_trial = fail
    if trial.number == int(sys.argv[1]):
        del storage.create_new_trial
storage = journal()
study = optuna.create_study(study_name="jj", storage=storage, load_if_exists=True)
study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=4, callbacks=[callback])
print(len(study.trials), len(stored(study).trials))
"""
        ran = self.run_program(program, "--store", "h.db", arguments=["2"])
        self.assertEqual(ran.output, "4 4\n")
        self.assertEqual(ran.errors.count(f"hpo: trials cannot be written to the program's journal {self.folder.resolve()}/journal.log now"), 1)
        self.assertIn("(OSError: no space left)", ran.errors)
        ran = self.run_program(program.replace("trial.number == 0", "trial.number == 4"), "--store", "h.db", arguments=["99"])
        self.assertEqual(ran.output, "8 5\n")
        ran = self.run_program(program, "--store", "h.db", arguments=["99"])
        self.assertEqual(ran.output, "12 12\n")

    def test_an_exception_of_a_trial_is_in_the_journal_too(self):
        ran = self.run_program(JOURNAL + """
study = optuna.create_study(study_name="jj", storage=journal())
try:
    study.optimize(lambda trial: 1 / trial.number, n_trials=4)
except ZeroDivisionError:
    print([trial.state.name for trial in stored(study).trials])
try:
    study.optimize(lambda trial: 1 / trial.number, n_trials=4, callbacks=[lambda study, trial: 1 / 0])
except ZeroDivisionError:
    print([trial.state.name for trial in stored(study).trials])
""", "--store", "h.db")
        self.assertEqual(ran.output, f"{['FAIL']}\n{['FAIL', 'COMPLETE']}\n")

    def test_a_program_that_is_started_again_for_each_attempt_has_its_journal(self):
        ran = self.run_program(JOURNAL + """
study = optuna.create_study(study_name="jj", storage=journal(), load_if_exists=True)
study.enqueue_trial({"x": 0.25})
study.add_trial(optuna.trial.create_trial(value=1))
def objective(trial):
    seen = len(trial.study.trials)
    if trial.number == 2:
        trial.study.enqueue_trial({"x": 0.75})
    return trial.suggest_float("x", 0, 1) + seen
study.optimize(objective, n_trials=2)
study.optimize(objective, n_trials=2)
for shows in (study, stored(study)):
    print([int(trial.value) for trial in shows.trials], [trial.params.get("x") for trial in shows.trials if trial.number in (0, 3)])
""", "--store", "h.db", OPENBLAS_NUM_THREADS="2")
        self.assertFalse(ran.opening["forks"])
        self.assertEqual(ran.output, f"{[2, 1, 3, 4, 5]} {[0.25, 0.75]}\n" * 2)


class Others(StoragesTest):
    def test_a_storage_of_the_program_s_own_class_gets_each_trial(self):
        ran = self.run_program(JOURNAL + """
class Counting(optuna.storages.InMemoryStorage.__base__):
    def __init__(self, below):
        self.below = below
for name in [each for each in dir(Counting) if getattr(getattr(Counting, each), "__isabstractmethod__", False)] + ["get_trial_id_from_study_id_trial_number"]:
    setattr(Counting, name, lambda self, *words, _name=name, **more: getattr(self.below, _name)(*words, **more))
Counting.__abstractmethods__ = frozenset()
storage = Counting(optuna.storages.InMemoryStorage())
study = optuna.create_study(study_name="mine", storage=storage)
study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=3)
again = optuna.load_study(study_name="mine", storage=storage)
print(shown(again.trials) == shown(study.trials), len(again.trials))
""")
        self.assertEqual(ran.output, "True 3\n")
        self.assertEqual([ran.opening["study"], ran.opening["copy_of"]], ["mine", "Counting"])

    def test_an_sqlite_database_in_memory_is_as_a_study_in_memory(self):
        for url in ("sqlite://", "sqlite:///:memory:", "sqlite:///file:a?mode=memory&cache=shared&uri=true"):
            with self.subTest(url):
                ran = self.run_program(f"""
                    import optuna
                    study = optuna.create_study(storage="{url}")
                    study.enqueue_trial({{"x": 0.25}})
                    study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=2)
                    print(len(study.trials), study.trials[0].params)
                """)
                self.assertEqual(ran.output, "2 {'x': 0.25}\n")
                self.assertEqual([ran.opening[name] for name in ("study", "store", "copy_of")], [None, None, None])

    def test_a_file_that_a_uri_names_stays_where_it_is(self):
        ran = self.run_program("""
            import optuna
            study = optuna.create_study(storage="sqlite:///file:own.db?uri=true", study_name="s")
            study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=2)
            print(len(study.trials), len(optuna.load_study(study_name="s", storage="sqlite:///own.db").trials))
        """)
        self.assertEqual(ran.output, "2 2\n")
        self.assertEqual([ran.opening["store"], ran.opening["copy_of"]], [f"sqlite:///{self.folder.resolve()}/own.db", None])

    def test_no_password_is_told(self):
        told = self.run_plain("""
            from hpo.optuna._storages import _described
            import optuna
            class Database(optuna.storages.RDBStorage):
                def __init__(self, url):
                    self.url = url
            for url in ("postgresql://me:secret@host/db", "mysql+pymysql://me@host/db?password=secret"):
                print(_described(Database(url)))
        """)
        self.assertEqual(told.splitlines(), ["database postgresql://me:***@host/db", "database mysql+pymysql://me@host/db"])

    def test_a_study_that_hpo_puts_elsewhere_is_the_one_that_the_program_sees(self):
        ran = self.run_program("""
            import optuna
            study = optuna.create_study(storage="sqlite:///own.db", study_name="s")
            study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=2)
            print(len(study.trials), study.study_name, optuna.load_study(study_name="s", storage="sqlite:///own.db").trials)
        """, "--study", "other")
        self.assertEqual(ran.output, "2 other []\n")


if __name__ == "__main__":
    unittest.main()
