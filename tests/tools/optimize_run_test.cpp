// SPDX-License-Identifier: MIT
#include <SQLiteCpp/Database.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "hpo/store/snapshot.hpp"
#include "support/catch.hpp"
#include "support/command.hpp"
#include "support/eventually.hpp"
#include "support/processes.hpp"
#include "support/wording.hpp"

using namespace hpo::test;
using namespace hpo::tests;
using Catch::Contains;

namespace {

constexpr const char* objectives = R"(import math, os, subprocess, sys, time

def objective(trial):
    kind = trial.suggest_categorical("kind", ["line", "bowl"])
    x = trial.suggest_float("x", -5, 5)
    if kind == "line":
        return abs(x)
    trial.set_user_attr("arguments", sys.argv[1:])
    return x * x + trial.suggest_int("n", 1, 3)

def two(trial):
    x = trial.suggest_float("x", -5, 5)
    return x * x, -x

class Pruned(Exception):
    pass
Pruned.__name__ = "TrialPruned"

def pruned(trial):
    trial.report(trial.suggest_float("x", 1, 2), 0)
    raise Pruned

def judged(trial, asks):
    worse = trial.suggest_int("worse", 0, 0) + trial.number  # each trial is worse than all before it
    for step in range(3):
        trial.report(worse if step != 1 else 0, step)
        if asks(step) and trial.should_prune():
            raise Pruned
    return worse

def asks_never(trial):
    return judged(trial, lambda step: False)

def asks_at_the_better_step(trial):
    return judged(trial, lambda step: step == 1)

def own_rule(trial):
    trial.report(trial.suggest_int("worse", 0, 0) + trial.number, 0)
    if trial.number >= 2:
        raise Pruned
    return trial.number

def asks_always(trial):
    return judged(trial, lambda step: True)

class Squared:
    def __call__(self, trial):
        return trial.suggest_float("x", -5, 5) ** 2

def hungry(trial):
    size = trial.suggest_categorical("megabytes", [20, 60, 600])
    held = bytearray(size << 20)
    for i in range(0, len(held), 4096):
        held[i] = 1
    time.sleep(0.3)
    return size

def split(trial):
    import hpo
    batch = trial.suggest_categorical("batch", [8, 64])
    micro = hpo.plan().micro_batch or batch
    if micro > 16:
        raise RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.69 GiB of which 1.02 GiB is free.")
    return micro

def unsplit(trial):
    return trial.suggest_float("batch", 1, 2)

def mistaken(trial):
    trial.suggest_float("x", 0, 1)
    return nothing_of_this_name

def changing(trial):
    trial.suggest_categorical("c", ["a", "b"] if trial.number == 0 else ["a", "c"])
    return 1

def slow(trial):
    x = trial.suggest_float("x", 0, 1)
    open(f"began-{trial.number}-{os.getpid()}", "w").close()
    time.sleep(600 if trial.number >= 3 else 0)
    return x

def orphaned(trial):
    x = trial.suggest_float("x", 0, 1)
    if not os.path.exists("daemon"):
        daemon = subprocess.Popen(["sleep", "600"], start_new_session=True)
        with open("daemon", "w") as file:
            file.write(str(daemon.pid))
        time.sleep(3)  # hpo looks every 50 ms or so at what a trial has started
        os.kill(os.getppid(), 9)
        time.sleep(600)
    return x
)";

/// Runs `hpo-tune run train.py:NAME` in a folder that has the objectives.
struct Objectives : Workshop {
    Objectives() { write("train.py", objectives); }
    [[nodiscard]] CommandResult run(const std::string& name, std::vector<std::string> words = {}) const {
        words.insert(words.begin(), {tool("hpo-tune"), "run", "train.py:" + name, "--progress", "none"});
        return run_command(*this, words);
    }
    [[nodiscard]] std::vector<hpo::Trial> trials(const std::string& name) const { return trials_of_study("train:" + name); }
    [[nodiscard]] std::vector<hpo::Trial> trials_of_study(const std::string& study) const {
        hpo::store::Snapshot snapshot{file("hpo.db")};
        return snapshot.trials(snapshot.study(study));
    }
};

std::string kind_of(const hpo::Trial& trial) { return hpo::display_text(*trial.params.value("kind")); }

}  // namespace

TEST_CASE("an objective in a Python file is a study, and its parameters are what it asked for") {
    const Objectives folder;
    const auto ran = folder.run("objective", {"--trials", "12", "--seed", "1", "--", "--epochs", "3"});
    INFO(ran.error);
    REQUIRE(ran.status == 0);
    CHECK(ran.error.empty());
    CHECK_THAT(ran.out, Contains("study train:objective: 12 complete") && Contains("hpo-tune run train.py:objective --progress none") &&
                            Contains("-- --epochs 3\n"));
    std::set<std::string> kinds;
    for (const hpo::Trial& trial : folder.trials("objective")) {
        REQUIRE(trial.state == hpo::TrialState::complete);
        const double x = *trial.params.number("x");
        kinds.insert(kind_of(trial));
        if (kind_of(trial) == "line") {
            CHECK(trial.params.size() == 2);
            CHECK(trial.values.at(0) == Approx(std::abs(x)));
        } else {
            CHECK(trial.params.size() == 3);
            CHECK(trial.values.at(0) == Approx(x * x + *trial.params.number("n")));
            CHECK(trial.user_attributes.at("arguments") == R"(["--epochs","3"])");
        }
    }
    CHECK(kinds.size() == 2);
    // It goes on, and says the same for the same seed, however many workers there are.
    const auto more = folder.run("objective", {"--trials", "20", "--workers", "3", "--", "--epochs", "3"});
    INFO(more.error);
    CHECK_THAT(more.out, Contains("study train:objective: 20 complete"));
}

TEST_CASE("an objective may return several values, be an object, and prune its trial") {
    const Objectives folder;
    const auto two = folder.run("two", {"--trials", "6", "--direction", "minimize,maximize"});
    INFO(two.error);
    REQUIRE(two.status == 0);
    CHECK_THAT(two.out, Contains("Pareto front"));
    for (const hpo::Trial& trial : folder.trials("two")) CHECK(trial.values.size() == 2);
    (void)folder.run("Squared", {"--trials", "1", "--direction", "minimize,maximize", "--study", "one"});
    CHECK_THAT(folder.trials_of_study("one").at(0).attempts.at(0).failure->message,
               Contains("the objective returned 1 value; the study has 2"));
    (void)folder.run("pruned", {"--trials", "1", "--direction", "minimize,maximize", "--study", "reports"});
    CHECK_THAT(folder.trials_of_study("reports").at(0).attempts.at(0).failure->message,
               Contains("a study with several objectives has no intermediate values"));
    const auto object = folder.run("Squared", {"--trials", "3", "--direction", "maximize", "--metric", "score"});
    INFO(object.error);
    CHECK_THAT(object.out, Contains("best: score "));
    (void)folder.run("pruned", {"--trials", "3"});
    for (const hpo::Trial& trial : folder.trials("pruned")) {
        CHECK(trial.state == hpo::TrialState::pruned);
        CHECK(trial.feasible());
        CHECK(trial.values == std::vector{*trial.params.number("x")});
    }
}

TEST_CASE("an objective is pruned only where it asks, after the step that it reported last") {
    const Objectives folder;
    const auto [name, reports] =
        GENERATE(std::pair{"asks_never", 3U}, std::pair{"asks_at_the_better_step", 3U}, std::pair{"asks_always", 1U});
    CAPTURE(name);
    const auto ran = folder.run(name, {"--trials", "6", "--workers", "1", "--pruner", "median:startup_trials=2"});
    INFO(ran.error);
    REQUIRE(ran.status == 0);
    for (const hpo::Trial& trial : folder.trials(name)) {
        const bool pruned = reports == 1 && trial.number >= 2;
        CHECK(trial.state == (pruned ? hpo::TrialState::pruned : hpo::TrialState::complete));
        CHECK(trial.intermediate.size() == (pruned ? 1U : 3U));
        CHECK(trial.user_attributes.contains("prune_reason") == pruned);
        if (pruned) CHECK_THAT(trial.user_attributes.at("prune_reason"), Contains("percentile 50"));
    }
}

TEST_CASE("a trial that its program pruned by its own rule says so, although the pruner would have ended it, too") {
    const Objectives folder;
    const auto ran = folder.run("own_rule", {"--trials", "6", "--workers", "1", "--pruner", "median:startup_trials=2"});
    INFO(ran.error);
    REQUIRE(ran.status == 0);
    std::size_t pruned = 0;
    for (const hpo::Trial& trial : folder.trials("own_rule")) {
        if (trial.state != hpo::TrialState::pruned) continue;
        ++pruned;
        CHECK(trial.user_attributes.at("prune_reason") == R"("the program pruned the trial itself")");
    }
    CHECK(pruned == 4);
}

namespace {

/// A program without Optuna that calls optimize, and whose attempts are further runs of it.
constexpr const char* caller = R"(import json, os, socket, sys
if "HPO_REPORT_FD" in os.environ:
    os.write(int(os.environ["HPO_REPORT_FD"]), b'{"value": 1}\n')
    sys.exit()
front = socket.socket(socket.AF_UNIX)
front.connect(os.environ["HPO_FRONT"])
heard = front.makefile()
def say(message):
    front.sendall(json.dumps(message).encode() + b"\n")
say({"op": "optimize", "call": 0, "program": "caller.py", "objective": "f", "study": None, "store": None, "directions": ["minimize"],
     "trials": 2, "seconds": None, "sampler": {"name": "random", "options": {}}, "pruner": {"name": "none", "options": {}}, "jobs": 1,
     "catch": [], "forks": False, "why_not": "it is a test", "fork_socket": None, "says_ready": True})
for line in heard:
    message = json.loads(line)
    if message["op"] == "opened":
        say({"op": "ready"})
    if message["op"] == "finished":
        say({"op": "seen"})
    if message["op"] in ("ended", "refused"):
        print(message["op"], message.get("message", ""))
        sys.exit(message["op"] == "refused")
)";

CommandResult run_caller(const Workshop& folder, const std::vector<std::string>& options = {}) {
    folder.write("caller.py", caller);
    std::vector<std::string> words{tool("hpo-tune"), "run", "--progress", "none"};
    words.insert(words.end(), options.begin(), options.end());
    words.insert(words.end(), {"--", "python3", "caller.py"});
    return run_command(folder, words);
}

}  // namespace

TEST_CASE("a policy that is not known is told with those that are, the program's own among them") {
    const Workshop folder;
    for (const auto& [word, known] : {std::pair{"sampler", "auto, random, tpe, gp, cmaes, qmc, grid, brute_force, optuna"},
                                      {"pruner", "none, median, percentile, successive_halving, patient, threshold, optuna"}}) {
        const auto refused = run_caller(folder, {std::string{"--"} + word, "bayes"});
        CHECK(refused.status != 0);
        CHECK_THAT(refused.error, Contains("unknown " + std::string{word} + " 'bayes'; known: " + known + "\n"));
    }
}

TEST_CASE("a store where no file can be made is refused before the program runs") {
    const Workshop folder;
    for (const char* place : {"/proc", "/sys"}) {
        const auto refused = run_caller(folder, {"--store", std::string{place} + "/x.db"});
        INFO(refused.error);
        CHECK(refused.status == 3);
        CHECK_THAT(refused.error, Contains("store '" + std::string{place} + "/x.db': ") && Contains("; --store PATH names another file"));
        CHECK(refused.error.find("disk is full") == std::string::npos);
        CHECK(refused.out.empty());
    }
}

TEST_CASE("the command that goes on with a program's study has no option that the program needs not") {
    const Workshop folder;
    const auto ran = run_caller(folder, {"--workers", "1"});
    INFO(ran.error << ran.out);
    REQUIRE(ran.status == 0);
    CHECK_THAT(ran.error, Contains("study caller: 2 complete") &&
                              Contains("more trials: hpo-tune run --progress none --store hpo.db --study caller --trials 4 --workers 1 -- "
                                       "python3 caller.py\n"));
}

TEST_CASE("wrong options are told before a program starts") {
    const Workshop folder;
    struct Case {
        std::vector<std::string> options;
        std::string problem;
        int status = 2;
    };
    const auto wrong =
        GENERATE(Case{{"--sampler", "nonsense"}, "--sampler: unknown sampler 'nonsense'"},
                 Case{{"--sampler", "tpe:seeds=1"}, "--sampler: unknown option of tpe 'seeds'"},
                 Case{{"--sampler", "optuna:seed=1"},
                      "--sampler: got 'optuna:seed=1'; expected optuna without options; the program's sampler has its own"},
                 Case{{"--recovery", "ladder:rungs=nope"}, "--recovery: ladder"}, Case{{"--guard", "auto:x=1"}, "--guard: got 'auto:x=1'"},
                 Case{{"--device-memory", "0.5"}, "--device-memory: got '0.5'"}, Case{{"--device", "gpu"}, "--device: got 'gpu'"},
                 Case{{"--device", "cuda:77"}, "--device: ", 4}, Case{{"--workers", "none"}, "--workers: got 'none'"},
                 Case{{"--threads", "0"}, "--threads: got '0'"}, Case{{"--time", "long"}, "--time: got 'long'"},
                 Case{{"--trials", "0"}, "--trials: got '0'"}, Case{{"--breaker=-1"}, "--breaker: got '-1'"},
                 Case{{"--fix", "x"}, "--fix: got 'x'"}, Case{{"--trainer-option", "epochs=1"}, "epochs"},
                 Case{{"--set", "a=1"}, "unknown option 'a'"}, Case{{"--store", "nowhere/x.db"}, "store 'nowhere/x.db'", 3},
                 Case{{"--log", "run.log", "--log-size", "1KiB"}, "--log-size: got '1KiB'; expected at least 4KiB"},
                 Case{{"--log", "/nonexistent/run.log"}, "--log: '/nonexistent/run.log' cannot be opened"},
                 Case{{"--log", "hpo.db"}, "--log: got 'hpo.db', which the run reads or writes itself"});
    std::vector<std::string> words{tool("hpo-tune"), "run"};
    words.insert(words.end(), wrong.options.begin(), wrong.options.end());
    words.insert(words.end(), {"--", "touch", "it-was-started"});
    const auto ran = run_command(folder, words);
    INFO(ran.error);
    CHECK(ran.status == wrong.status);
    CHECK_THAT(ran.error, Contains("hpo-tune: error: ") && Contains(wrong.problem));
    CHECK(std::count(ran.error.begin(), ran.error.end(), '\n') == 1);
    CHECK_FALSE(std::filesystem::exists(folder.path("it-was-started")));
}

TEST_CASE("a run that waits for a device starts its program meanwhile") {
    const Workshop folder;
    const auto ran =
        run_command(folder, {tool("hpo-tune"), "run", "--device", "cuda:77", "--device-wait", "10min", "--", "touch", "it-was-started"});
    CHECK(ran.status == 0);
    CHECK(std::filesystem::exists(folder.path("it-was-started")));
}

TEST_CASE("the help shows how a program is started") {
    const Workshop folder;
    CHECK_THAT(run_command(folder, {tool("hpo-tune"), "run", "--help"}).out,
               Contains("Usage: ") && Contains(" run [OPTIONS] SCRIPT\n") && Contains(" run [OPTIONS] FILE.py:NAME [-- ARGUMENTS]\n") &&
                   Contains(" run [OPTIONS] -- python train.py [ARGUMENTS]\n"));
    CHECK_THAT(run_command(folder, {tool("hpo-tune"), "--help"}).out, Contains("  hpo-tune run -- python train.py\n"));
}

TEST_CASE("the look for a name that the store does not have waits as --store-wait says") {
    const Workshop folder;
    REQUIRE(run_caller(folder).status == 0);
    SQLite::Database holder{folder.file("hpo.db"), SQLite::OPEN_READWRITE, 10'000};
    holder.exec("PRAGMA locking_mode = EXCLUSIVE");
    holder.exec("BEGIN EXCLUSIVE");
    holder.exec("UPDATE studies SET study_name = study_name");
    const auto ran = run_caller(folder, {"--store-wait", "300ms"});
    INFO(ran.error << ran.out);
    CHECK(ran.status == 1);
    CHECK_THAT(ran.error, Contains("store 'hpo.db': locked for more than 300 ms"));
    holder.exec("ROLLBACK");
}

TEST_CASE("what cannot be run says which objective it is, and what would be right") {
    const Objectives folder;
    folder.write("broken.py", "import nothing_of_this_name\n");
    const auto refused = [&](const std::vector<std::string>& words, const std::string& message) {
        std::vector<std::string> all{tool("hpo-tune"), "run"};
        all.insert(all.end(), words.begin(), words.end());
        const auto ran = run_command(folder, all);
        INFO(ran.error);
        CHECK(ran.status == 2);
        CHECK_THAT(ran.error, Contains(message));
    };
    refused({"train.py:nothing"}, "'nothing' is not there; what can be called in this file: ");
    refused({"broken.py:objective"}, "No module named 'nothing_of_this_name'");
    refused({"absent.py:objective"}, "error: absent.py: cannot be read; expected a Python file that has the objective 'objective'");
    refused({"train.py"}, "a program goes behind --: hpo-tune run -- python train.py; for an objective in it: hpo-tune run train.py:NAME");
    refused({"train.py:two", "--direction", "up"}, "--direction: got 'up'; expected minimize or maximize");
    refused({"train.py:two", "--direction", "minimize,"}, "--direction: got ''; expected minimize or maximize");
    refused({"train.py:two", "--direction", ""}, "--direction: got ''; expected minimize or maximize");
    refused({"train.py:"}, "'train.py:' names no objective; expected FILE.py:NAME");
    refused({"train.py:two", "--python", "no-such-python"}, "no-such-python");
    for (const std::string word : {"sampler", "pruner"}) {
        refused({"train.py:two", "--" + word, "optuna"}, "--" + word + ": got 'optuna'; expected a " + word +
                                                             " of hpo's; an objective by name has no study with a " + word + " of its own");
    }
    refused({}, "expected SCRIPT, FILE.py:NAME, or -- PROGRAM ARGUMENTS");
    refused({"--", "no-such-program"}, "no-such-program");
    refused({"train.py:two", "--plugin-timeout", "9s"}, has_no_effect("--plugin-timeout") + "it is for trainers that are plugins");
    refused({"--plugin-timeout", "9s", "--", "no-such-program"}, has_no_effect("--plugin-timeout") + "it is for trainers that are plugins");
    refused({"train.py:two", "--micro-batch-parameter", "m"},
            has_no_effect("--micro-batch-parameter") + "the program asks for its parameters");
    refused({"a\x01.py:objective"},
            "error: a\\u0001.py:objective: got a study named 'a\\x01:objective'; expected a name of UTF-8 characters without control "
            "characters; or another one by --study NAME");
    refused({"train.py:" + std::string(600, 'x')}, ": got a study name of 606 bytes; expected 1 to 512; or another one by --study NAME");
    refused({"--accumulate-parameter", "a", "--", "no-such-program"}, has_no_effect("--accumulate-parameter") + "the program asks for");
    refused({"s.lua", "--metric", "loss"}, "--metric: it is for FILE.py:NAME");
    CHECK_FALSE(std::filesystem::exists(folder.path("hpo.db")));
}

TEST_CASE("the errors of an objective are its trials' failures") {
    const Objectives folder;
    const auto ran = folder.run("mistaken", {"--trials", "4", "--breaker", "0"});
    CHECK(ran.status == 1);
    const auto trials = folder.trials("mistaken");
    REQUIRE(trials.size() == 4);
    for (const hpo::Trial& trial : trials) {
        CHECK(trial.state == hpo::TrialState::fail);
        CHECK(trial.params.size() == 1);
        CHECK_THAT(trial.attempts.back().failure->message, Contains("name 'nothing_of_this_name' is not defined"));
        CHECK_THAT(trial.attempts.back().failure->traceback, Contains("train.py"));
    }
    (void)folder.run("changing", {"--trials", "3", "--workers", "1", "--breaker", "0"});
    const auto changing = folder.trials("changing");
    CHECK(changing.at(0).state == hpo::TrialState::complete);
    CHECK_THAT(changing.at(1).attempts.back().failure->message,
               Contains("parameter 'c': got one of a, c, where other trials have one of a, b"));
}

TEST_CASE("objectives that are too large for the device end alone, and the study learns what fits") {
    const Objectives folder;
    const auto ran = folder.run("hungry", {"--trials", "14", "--device-memory", "300MiB", "--workers", "2", "--seed", "4"});
    INFO(ran.error);
    std::size_t too_large = 0;
    for (const hpo::Trial& trial : folder.trials("hungry")) {
        const double size = *trial.params.number("megabytes");
        if (size > 300) {
            ++too_large;
            CHECK_FALSE(trial.feasible());
        } else {
            CHECK(trial.state == hpo::TrialState::complete);
            CHECK(*trial.attempts.back().peak_reserved > static_cast<std::int64_t>(size) << 20);
        }
    }
    CHECK(too_large > 0);  // the first trial is: nothing is known of it
}

TEST_CASE("what an objective has started in a session of its own ends with a keeper that is killed") {
    const Objectives folder;
    const auto ran = folder.run("orphaned", {"--trials", "2", "--workers", "1"});
    INFO(ran.error);
    CHECK(ran.status == 0);
    const auto trials = folder.trials("orphaned");
    REQUIRE(trials.size() >= 2);
    REQUIRE(trials[0].attempts.at(0).failure);
    CHECK(trials[0].attempts[0].failure->kind == hpo::FailureKind::lost_worker);
    pid_t daemon = 0;
    REQUIRE(std::ifstream{folder.file("daemon")} >> daemon);
    CHECK(eventually([&] { return !is_alive(daemon); }));  // a process that was told to end is there until it runs
}

TEST_CASE("the batch of an objective is split, from its first trial on, and one that is no whole number is told once") {
    const Objectives folder;
    const auto ran = folder.run("split", {"--batch-parameter", "batch", "--trials", "5", "--workers", "1", "--seed", "0"});
    INFO(ran.error);
    REQUIRE(ran.status == 0);
    std::set<std::size_t> attempts;
    for (const hpo::Trial& trial : folder.trials("split")) {
        CHECK(trial.state == hpo::TrialState::complete);
        const bool is_large = *trial.params.number("batch") == 64;
        CHECK(trial.values.at(0) == (is_large ? 16 : 8));
        CHECK(trial.attempts.size() == (is_large ? 3U : 1U));
        attempts.insert(trial.attempts.size());
    }
    CHECK(attempts.size() == 2);
    const auto unsplit = folder.run("unsplit", {"--batch-parameter", "batch", "--trials", "3"});
    CHECK(unsplit.status == 0);
    CHECK(unsplit.error ==
          "hpo-tune: note: the batch 'batch' has no effect: the program asks for float [1, 2]; expected an int parameter, or a "
          "categorical one of whole numbers\n");
}

TEST_CASE("a Lua script names an objective, with a pruner, a recovery and its own options") {
    const Objectives folder;
    folder.write("s.lua", R"(local hpo = require "hpo"
return hpo.study { name = "s", trainer = hpo.python { "train.py", "objective", "--epochs", "3" }, sampler = "random", trials = 5,
                   objective = { metric = "loss", direction = "minimize" } })");
    const auto ran = run_command(folder, {tool("hpo-tune"), "run", "s.lua", "--progress", "none"});
    INFO(ran.error);
    REQUIRE(ran.status == 0);
    CHECK_THAT(ran.out, Contains("study s: 5 complete") && Contains("best: loss "));
    folder.write("bad.lua", R"(local hpo = require "hpo"
return hpo.study { name = "s", trainer = hpo.python { "train.py", "objective" }, space = function(trial) end,
                   objective = { metric = "loss", direction = "minimize" } })");
    const auto bad = run_command(folder, {tool("hpo-tune"), "run", "bad.lua"});
    CHECK(bad.status == 2);
    CHECK_THAT(bad.error, Contains("bad.lua:2: hpo.study: got a space; the program asks for its parameters itself, so leave it out"));
}

TEST_CASE("whatever is killed, no trial is lost and no process is left") {
    const Objectives folder;
    const std::string who = GENERATE("hpo-tune", "the program", "a keeper", "a trial");
    CAPTURE(who);
    const pid_t running =
        start_command(folder, {tool("hpo-tune"), "run", "train.py:slow", "--trials", "5", "--workers", "2", "--progress", "none"});
    std::vector<pid_t> trials;
    for (int i = 0; i < 2000 && trials.size() < 2; ++i) {
        trials.clear();
        for (const auto& entry : std::filesystem::directory_iterator{folder.path(".")}) {
            const std::string name = entry.path().filename().string();
            if (name.starts_with("began-3-") || name.starts_with("began-4-")) trials.push_back(std::stoi(name.substr(8)));
        }
        std::this_thread::sleep_for(std::chrono::milliseconds{20});
    }
    REQUIRE(trials.size() == 2);
    const auto family = family_of(running);
    const pid_t keeper = parent_of(trials[0]);
    const pid_t program = parent_of(keeper);
    ::kill(who == "hpo-tune" ? running : who == "the program" ? program : who == "a keeper" ? keeper : trials[0], SIGKILL);
    if (who == "a keeper" || who == "a trial") {
        std::this_thread::sleep_for(std::chrono::milliseconds{500});
        ::kill(running, SIGINT);
    }
    (void)finish_command(folder, running);
    for (const pid_t each : family) CHECK(eventually([&] { return !is_alive(each); }));
    std::size_t complete = 0;
    for (const hpo::Trial& trial : folder.trials("slow")) {
        complete += trial.state == hpo::TrialState::complete ? 1 : 0;
        for (const hpo::Attempt& attempt : trial.attempts) {
            // A copy whose program was killed is ended by its keeper. Only the trial that the test killed was ended from outside.
            if (attempt.failure && who != "a trial") CHECK_THAT(attempt.failure->message, !Contains("SIGKILL"));
        }
        const bool is_known = who == "the program" && !trial.attempts.empty() && trial.attempts.back().failure;
        if (is_known) CHECK(trial.attempts.back().failure->message == "the program that calls optimize has ended, so hpo ended its copy");
    }
    CHECK(complete == 3);
    // The study goes on: what was running is run again.
    folder.write("train.py", std::string{objectives} + "\ntime.sleep = lambda seconds: None\n");
    const auto ran = folder.run("slow", {"--trials", "5"});
    INFO(ran.error);
    CHECK(ran.status == 0);
    CHECK_THAT(ran.out, Contains(who == "a trial" || who == "a keeper" ? "study train:slow: " : "study train:slow: 5 complete"));
}

TEST_CASE("a program that never answers is ended soon after its run was interrupted") {
    const Workshop folder;
    folder.write("deaf.py", R"(import json, os, signal, socket, time
signal.signal(signal.SIGINT, signal.SIG_IGN)
front = socket.socket(socket.AF_UNIX)
front.connect(os.environ["HPO_FRONT"])
front.sendall(json.dumps({"op": "optimize", "call": 0, "program": "deaf.py", "objective": "f", "study": None, "store": None,
    "directions": ["minimize"], "trials": 1, "seconds": None,
    "sampler": {"name": "random", "options": {}}, "pruner": {"name": "none", "options": {}}, "jobs": 1, "catch": [],
    "forks": False, "why_not": "it is a test", "fork_socket": None, "says_ready": True}).encode() + b"\n")
front.recv(4096)
open("is-deaf", "w").close()
time.sleep(600)
)");
    const pid_t running = start_command(folder, {tool("hpo-tune"), "run", "--progress", "none", "--", "python3", "deaf.py"});
    for (int i = 0; i < 2000 && !std::filesystem::exists(folder.path("is-deaf")); ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds{20});
    REQUIRE(std::filesystem::exists(folder.path("is-deaf")));
    const auto family = family_of(running);
    ::kill(running, SIGTERM);
    const auto ended = finish_command(folder, running);
    INFO(ended.error);
    CHECK(ended.status != 0);
    CHECK_THAT(ended.error, Contains("the program closed its connection"));
    for (const pid_t each : family) CHECK(eventually([&] { return !is_alive(each); }));
}

TEST_CASE("the study of a program gets no made-up values") {
    const Workshop folder;
    folder.write("never.py", "open('ran', 'w').close()\n");
    const auto ran = run_command(folder, {tool("hpo-tune"), "run", "--rehearse", "--", "python3", "never.py"});
    CHECK(ran.status == 2);
    CHECK_THAT(ran.error, Contains("--rehearse: needs a card that is not there: --card NAME"));
    CHECK_FALSE(std::filesystem::exists(folder.path("ran")));
}
