#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Lets a release of Optuna and `hpo-tune serve` answer the same questions, and go on with each other's studies.

    serve.py HPO_TUNE EXPECTED_OPTUNA SCENARIO
"""
import json
import os
import subprocess
import sys
import tempfile
import warnings

import optuna
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution, distribution_to_json
from optuna.trial import TrialState

optuna.logging.set_verbosity(optuna.logging.ERROR)
warnings.simplefilter("ignore")
MAJOR = int(optuna.__version__.split(".")[0])


class Session:
    def __init__(self):
        self.server = subprocess.Popen([sys.argv[1], "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __call__(self, op, **request):
        print(json.dumps({"op": op, **request}), file=self.server.stdin, flush=True)
        return json.loads(self.server.stdout.readline())

    def quit(self):
        assert self("quit") == {"ok": True}
        assert self.server.wait() == 0


def as_json(distribution):
    return json.loads(distribution_to_json(distribution))


def storage(path):
    if MAJOR < 4:  # Optuna before 3.2 knows no newer revision, although the tables are the same
        return optuna.storages.RDBStorage("sqlite:///" + path, skip_compatibility_check=True)
    return optuna.storages.RDBStorage("sqlite:///" + path)


SPACE = {
    "x": FloatDistribution(1e-5, 1, log=True),
    "y": FloatDistribution(0, 1, step=0.25),
    "n": IntDistribution(1, 9, step=2),
    "c": CategoricalDistribution(["a", 1, None, True, 2.5]),
}


def optuna_reads_what_serve_wrote(path):
    session = Session()
    assert session("create_study", study="s", store=path, directions=["maximize"], sampler={"name": "random", "seed": 2})["ok"]
    space = {name: as_json(distribution) for name, distribution in SPACE.items()}
    asked = [session("ask", space=space) for _ in range(6)]
    for answer in asked[:3]:
        for step in range(3):
            session("report", trial=answer["trial"], step=step, value=step / 2)
        assert session("tell", trial=answer["trial"], state="complete", values=[answer["trial"]], attrs={"note": [1, {"a": "b"}]})["ok"]
    session("report", trial=3, step=4, value=0.125)
    assert session("tell", trial=3, state="pruned")["ok"]
    assert session("tell", trial=4, state="fail", error="it went wrong")["ok"]
    session("enqueue", params={"x": 0.5})
    session.quit()  # trial 5 is lost

    study = optuna.load_study(study_name="s", storage=storage(path))
    trials = study.get_trials()
    expected = [TrialState.COMPLETE] * 3 + [TrialState.PRUNED, TrialState.FAIL, TrialState.FAIL, TrialState.WAITING]
    assert [trial.state for trial in trials] == expected, trials
    for trial, answer in zip(trials, asked):
        assert trial.params == answer["params"], (trial.params, answer)
        assert trial.distributions == SPACE, trial.distributions
    assert study.best_trial.number == 2 and study.best_value == 2
    assert trials[0].intermediate_values == {0: 0.0, 1: 0.5, 2: 1.0}
    assert trials[0].user_attrs["note"] == [1, {"a": "b"}]
    assert trials[3].value == 0.125
    assert trials[4].user_attrs["error_message"] == "it went wrong"
    assert trials[5].user_attrs["lost"] is True


def each_goes_on_with_the_study_of_the_other(path):
    study = optuna.create_study(study_name="s", storage=storage(path), direction="minimize")
    for _ in range(3):
        trial = study.ask(SPACE)
        study.tell(trial, trial.params["x"])
    study.enqueue_trial({"x": 0.5, "n": 3})

    session = Session()
    created = session("create_study", study="s", store=path, sampler={"name": "tpe", "options": {"startup_trials": 2}})
    assert created["ok"] and not created["is_new"] and created["trials"] == 4, created
    theirs = session("trials")["trials"]
    assert [trial["params"] for trial in theirs[:3]] == [trial.params for trial in study.trials[:3]]
    space = {name: as_json(distribution) for name, distribution in SPACE.items()}
    asked = session("ask", space=space)
    assert asked["trial"] == 3 and asked["params"]["x"] == 0.5 and asked["params"]["n"] == 3, asked
    trial = study.ask(SPACE)  # at the same time
    assert trial.number == 4
    asked_too = session("ask", space=space)
    assert asked_too["trial"] == 5
    assert session("tell", trial=3, state="complete", values=[-1])["ok"]
    refused = session("tell", trial=4, state="complete", values=[-1])
    assert not refused["ok"] and "another process" in refused["error"], refused
    study.tell(trial, -2)
    assert session("tell", trial=5, state="complete", values=[3])["ok"]
    assert session("best")["best"][0]["trial"] == 4
    session.quit()
    assert study.best_value == -2 and [trial.state for trial in study.get_trials()] == [TrialState.COMPLETE] * 6


def changed_distributions_are_taken_and_refused_alike(_):
    variants = [
        FloatDistribution(0, 1), FloatDistribution(5, 6), FloatDistribution(1e-3, 1, log=True), FloatDistribution(0, 1, step=0.5),
        IntDistribution(0, 3), IntDistribution(7, 9), IntDistribution(1, 8, log=True), IntDistribution(0, 8, step=4),
        CategoricalDistribution(["a", "b"]), CategoricalDistribution(["b", "a"]), CategoricalDistribution(["a"]), CategoricalDistribution([0, 1]),
    ]
    session = Session()
    seen = set()
    for i, first in enumerate(variants):
        for j, second in enumerate(variants):
            for same_trial in (True, False):
                name = f"{i} {j} {same_trial}"
                study = optuna.create_study(study_name=name)
                assert session("create_study", study=name)["ok"]
                trial = study.ask()
                mine = session("ask", study=name)["trial"]
                ours = [session("suggest", study=name, trial=mine, name="p", distribution=as_json(first))]
                theirs = [trial._suggest("p", first)]
                if not same_trial:
                    trial = study.ask()
                    mine = session("ask", study=name)["trial"]
                ours.append(session("suggest", study=name, trial=mine, name="p", distribution=as_json(second)))
                try:
                    theirs.append(trial._suggest("p", second))
                    assert ours[1]["ok"], (first, second, same_trial, ours[1])
                    if same_trial:  # the value of the first call stays
                        assert theirs[0] == theirs[1] and ours[0] == ours[1], (first, second, theirs, ours)
                    else:
                        assert second._contains(second.to_internal_repr(ours[1]["value"])), (second, ours)
                    seen.add("taken")
                except ValueError:
                    assert not ours[1]["ok"], (first, second, same_trial, ours[1])
                    assert "parameter 'p'" in ours[1]["error"], ours[1]
                    seen.add("refused")
    assert seen == {"taken", "refused"}
    session.quit()


assert optuna.__version__.startswith(sys.argv[2]), f"Optuna {optuna.__version__}, expected {sys.argv[2]}"
with tempfile.TemporaryDirectory() as folder:
    globals()[sys.argv[3]](os.path.join(folder, "hpo.db"))
