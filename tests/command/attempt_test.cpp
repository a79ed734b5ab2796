// SPDX-License-Identifier: MIT
#include "command/attempt.hpp"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "command/command_trainer.hpp"
#include "hpo/base/error.hpp"
#include "hpo/base/process_identity.hpp"
#include "hpo/core/value.hpp"
#include "support/catch.hpp"
#include "support/eventually.hpp"
#include "support/files.hpp"
#include "support/processes.hpp"
#include "support/temporary_directory.hpp"

using Catch::Contains;
using hpo::FailureKind;
using hpo::OutcomeKind;
using hpo::tests::is_alive;
using hpo::tests::TemporaryDirectory;

namespace {

struct Listener : hpo::Progress {
    std::vector<hpo::Report> reports;
    std::vector<hpo::MemoryMark> marks;
    std::string text;
    std::optional<std::int64_t> stop_at;  ///< a report of this step is the last
    std::string stop_when_said;           ///< a line of the program's output that asks for the stop; empty: none
    bool stop = false;
    bool report(std::int64_t step, double value) override {
        reports.push_back({step, value});
        if (stop_at && step >= *stop_at) stop = true;
        return !stop;
    }
    [[nodiscard]] bool stop_requested() const override { return stop; }
    std::string file_at_bytes;  ///< is written once that much memory was seen
    std::int64_t bytes = 0;
    void memory(const hpo::MemoryMark& mark) override {
        marks.push_back(mark);
        if (!file_at_bytes.empty() && mark.reading.reserved > bytes) std::ofstream{file_at_bytes} << "seen";
    }
    hpo::Value suggest(const std::string& name, const std::string& distribution) override {
        text += "asked for " + name + ": " + distribution + "\n";
        if (name == "wrong") throw hpo::Error{hpo::Errc::bad_value, "parameter 'wrong': no"};
        return std::string{"a \"b\""};
    }
    void log(std::string_view line) override {
        text += std::string{line} + "\n";
        if (!stop_when_said.empty() && line == stop_when_said) stop = true;
    }
};

/// A job of the trainer `command` that runs these words.
hpo::TrainerJob job_of(const std::vector<std::string>& words, hpo::Values params = {}) {
    std::string list;
    for (const std::string& word : words) list += (list.empty() ? "" : ", ") + hpo::json_quote(word);
    hpo::TrainerJob job;
    job.study = "s";
    job.metric = "loss";
    job.params = std::move(params);
    job.options = {{"arguments", "[" + list + "]"}, {"grace_ms", std::int64_t{300}}};
    return job;
}

hpo::AttemptOutcome run(const hpo::TrainerJob& job, Listener& listener) { return hpo::command::CommandTrainer{}.run(job, listener); }

hpo::TrainerJob shell(const std::string& script, hpo::Values params = {}) { return job_of({"sh", "-c", script, "sh"}, std::move(params)); }

/// The number in a file that a program writes.
pid_t pid_in(const std::string& file) {
    pid_t pid = 0;
    std::ifstream{file} >> pid;
    REQUIRE(pid > 1);
    return pid;
}

}  // namespace

TEST_CASE("a program reports on its descriptor and on standard output, and its last value counts") {
    Listener listener;
    auto job = shell(R"(echo '{"step": 1, "value": 0.5}' >&$HPO_REPORT_FD
        echo 'plain line'; echo '@hpo {"step": 2, "value": 0.25}'; echo complaint >&2
        echo '{"memory": {"allocated": 100, "reserved": 300}}' >&$HPO_REPORT_FD
        echo '{"attr": {"who": "'$HPO_STUDY' '$HPO_TRIAL' '$HPO_DEVICE'"}}' >&$HPO_REPORT_FD
        echo '@hpo {"value": 7}'; echo '{"value": 0.125}' >&$HPO_REPORT_FD)");
    job.trial = 12;
    const auto outcome = run(job, listener);
    REQUIRE(outcome.kind == OutcomeKind::complete);
    CHECK(outcome.values.size() == 1);
    REQUIRE(listener.reports.size() == 2);
    CHECK(outcome.attributes.at("who") == "\"s 12 cpu\"");
    CHECK(std::ranges::count_if(listener.marks, [](const hpo::MemoryMark& mark) { return mark.reading.allocated == 100; }) == 1);
    CHECK(outcome.peak_allocated == 100);
    CHECK(outcome.peak_reserved == 300);
    CHECK_THAT(listener.text, Contains("plain line\n") && Contains("complaint\n") && !Contains("@hpo"));
}

TEST_CASE("colours hide nothing of what a program says at its end") {
    Listener listener;
    const auto outcome = run(shell(R"(printf 'Traceback (most recent call last):\n  File \033[35m"t.py"\033[0m, line \033[35m1\033[0m\n' >&2
        printf '\033[1;35mModuleNotFoundError\033[0m: \033[35mNo module named '"'nosuchmod'"'\033[0m\n' >&2; exit 1)"),
                             listener);
    REQUIRE(outcome.failure);
    CHECK(outcome.failure->kind == FailureKind::environment);
    CHECK_THAT(outcome.failure->message, Contains("No module named 'nosuchmod'") && !Contains("\x1b"));
    CHECK_THAT(listener.text, Contains("\x1b[1;35mModuleNotFoundError"));  // the log is as the program wrote it
}

TEST_CASE("a program asks for parameters while it runs") {
    Listener listener;
    const auto outcome = run(job_of({"python3", "-c", R"(import json, os
reports, answers = os.fdopen(int(os.environ["HPO_REPORT_FD"]), "w", buffering=1), os.fdopen(int(os.environ["HPO_ANSWER_FD"]))
def ask(name):
    print(json.dumps({"suggest": {"name": name, "distribution": {"name": "CategoricalDistribution"}}}), file=reports)
    return json.loads(answers.readline())
assert ask("who") == {"value": 'a "b"'}
assert ask("wrong") == {"error": "parameter 'wrong': no"}
print(json.dumps({"value": 1}), file=reports))"}),
                             listener);
    INFO(listener.text);
    CHECK(outcome.kind == OutcomeKind::complete);
    CHECK_THAT(listener.text, Contains(R"(asked for who: {"name":"CategoricalDistribution"})"));
}

TEST_CASE("a program that nobody stopped may prune its trial itself") {
    Listener listener;
    const auto pruned = run(shell(R"(echo '@hpo {"step": 1, "value": 3}'; echo '@hpo {"pruned": true}')"), listener);
    CHECK(pruned.kind == OutcomeKind::stopped);
    CHECK(pruned.prunes_itself);
    CHECK_FALSE(pruned.heard_verdict);
    CHECK(pruned.prune_reason.empty());
    CHECK(run(shell(R"(echo '@hpo {"pruned": true, "reason": "too slow"}')"), listener).prune_reason == "too slow");
    const auto failed = run(shell(R"(echo '@hpo {"pruned": true}'; exit 3)"), listener);
    CHECK(failed.kind == OutcomeKind::failed);
}

TEST_CASE("a program that prunes itself after the pruner's verdict says that it heard it") {
    struct Judging : Listener {
        bool report(std::int64_t, double value) override { return value < 2; }  // nobody stops the program
    } judging;
    const std::string ask = R"(echo '{"step": 1, "value": 3, "answer": true}' >&$HPO_REPORT_FD; read -r answer <&$HPO_ANSWER_FD)";
    const std::string pruned = R"(; echo '@hpo {"pruned": true}')";
    CHECK(run(shell(ask + pruned), judging).heard_verdict);
    const std::string better = R"(; echo '{"step": 2, "value": 1, "answer": true}' >&$HPO_REPORT_FD; read -r answer <&$HPO_ANSWER_FD)";
    const auto own_rule = run(shell(ask + better + pruned), judging);
    CHECK(own_rule.prunes_itself);
    CHECK_FALSE(own_rule.heard_verdict);
}

TEST_CASE("any parameter reaches a program as one argument, unchanged, and in HPO_PARAMS") {
    const std::vector<std::string> hostile{"a b",       "'",        "\"",  "$(id)", "`id`", "-x", "--", "",
                                           "new\nline", "\xc3\xbc", "{x}", "\\",    "*",    ";",  "%s"};
    for (const std::string& value : hostile) {
        INFO(value);
        const auto job = job_of({"python3", "-c", R"(import json, os, sys
assert json.loads(os.environ["HPO_PARAMS"]) == {"x": sys.argv[1], "n": 3}, sys.argv
assert sys.argv[2:] == ["n=3"], sys.argv
print("@hpo " + json.dumps({"value": 1, "attr": {"x": sys.argv[1]}})))",
                                 "{x}", "n={n}"},
                                {{"x", value}, {"n", std::int64_t{3}}});
        Listener listener;
        const auto outcome = run(job, listener);
        INFO(listener.text);
        REQUIRE(outcome.kind == OutcomeKind::complete);
        CHECK(outcome.attributes.at("x") == hpo::json_quote(value));
    }
}

TEST_CASE("a program finds its plan, and its own process group") {
    auto job = job_of({"python3", "-c", R"(import json, os
plan = json.loads(os.environ["HPO_PLAN"])
assert (plan["micro_batch"], plan["accumulation_steps"], plan["effective_batch"], plan["device"]) == (24, 3, 64, "cpu"), plan
assert os.getpgrp() == os.getsid(0) == os.getpid()
assert open("/dev/stdin").read() == ""
assert {int(n) for n in os.listdir("/proc/self/fd") if os.path.exists("/proc/self/fd/" + n)} <= {
    0, 1, 2, int(os.environ["HPO_REPORT_FD"]), int(os.environ["HPO_ANSWER_FD"])}
print("@hpo {\"values\": [1, 2]}"))"});
    job.plan.effective_batch = 64;
    job.plan.micro_batch = 24;
    job.objectives = {"a", "b"};
    Listener listener;
    const auto outcome = run(job, listener);
    INFO(listener.text);
    REQUIRE(outcome.kind == OutcomeKind::complete);
    CHECK(outcome.values == std::vector<double>{1, 2});
}

TEST_CASE("how a program fails is told from its words, its status and its signal") {
    struct Case {
        const char* script;
        FailureKind kind;
        const char* message;
    };
    const std::vector<Case> cases{
        {"exit 3", FailureKind::trainer_error, "the process ended with status 3"},
        {"echo 'hpo: no data' >&2; exit 1", FailureKind::trainer_error, "status 1"},
        {"kill -SEGV $$", FailureKind::crash, "SIGSEGV"},
        {"true", FailureKind::trainer_error, "told no value"},
        {"echo '@hpo {\"step\": 4, \"value\": 1}'", FailureKind::trainer_error, "its last report was of step 4"},
        {"echo '@hpo {\"valu\": 1}'", FailureKind::trainer_error, "1 line cannot be read, the first: got the member 'valu'"},
        {"echo '@hpo {\"value\": 1}'; exit 1", FailureKind::trainer_error, "status 1"},
        {"echo '@hpo {\"values\": [1, 2, 3]}'", FailureKind::trainer_error, "told 3 values; the study has 1 objective"},
        {"echo 'torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 23.69 GiB total capacity; 21.00 GiB "
         "already allocated; 1.02 GiB free; 21.50 GiB reserved in total by PyTorch)' >&2; exit 1",
         FailureKind::out_of_memory, "CUDA out of memory"},
    };
    for (const Case& each : cases) {
        INFO(each.script);
        Listener listener;
        const auto outcome = run(shell(each.script), listener);
        REQUIRE(outcome.kind == OutcomeKind::failed);
        REQUIRE(outcome.failure);
        CHECK(outcome.failure->kind == each.kind);
        CHECK_THAT(outcome.failure->message, Contains(each.message));
    }
    Listener listener;
    const auto raised = run(job_of({"python3", "-c", "raise MemoryError"}), listener);
    REQUIRE(raised.failure);
    CHECK(raised.failure->kind == FailureKind::host_out_of_memory);
    CHECK_THAT(raised.failure->traceback, Contains("Traceback"));
    CHECK_THROWS_WITH(run(job_of({"no-such-program"}), listener),
                      Contains("the program 'no-such-program' cannot be started: No such file or directory; it was looked for in PATH"));
    CHECK_THROWS_WITH(run(job_of({"/etc/passwd"}), listener), Contains("'/etc/passwd' cannot be started: Permission denied"));
}

TEST_CASE("words of a program that goes on to report do not explain its end") {
    constexpr const char* goes_on =
        "echo 'CUDA out of memory. Trying half of the batch' >&2; sleep 0.3; echo '@hpo {\"step\": 1, \"value\": 1}'; sleep 0.3; ";
    Listener listener;
    const auto other = run(shell(std::string{goes_on} + "echo 'no such table' >&2; exit 3"), listener);
    REQUIRE(other.failure);
    CHECK(other.failure->kind == FailureKind::trainer_error);
    CHECK(other.failure->message == "the process ended with status 3");
    CHECK(other.failure->traceback == "no such table\n");
    const auto again = run(shell(std::string{goes_on} + "echo 'CUDA out of memory. Nothing is left to halve' >&2; exit 3"), listener);
    REQUIRE(again.failure);
    CHECK(again.failure->kind == FailureKind::out_of_memory);
    // What nothing followed explains the end, though the program cleans up and reports.
    const auto cleans_up = run(shell(std::string{goes_on} + "exit 3"), listener);
    REQUIRE(cleans_up.failure);
    CHECK(cleans_up.failure->kind == FailureKind::out_of_memory);
    // Nobody knows what was written first if both were there at once. So the words count.
    const auto at_once = run(shell("exec 2>&1; echo 'CUDA out of memory.'; echo '@hpo {\"step\": 1, \"value\": 1}'; exit 3"), listener);
    REQUIRE(at_once.failure);
    CHECK(at_once.failure->kind == FailureKind::out_of_memory);
}

TEST_CASE("a program that is to stop gets SIGTERM, then SIGKILL, and one that asks is told") {
    Listener polite;
    polite.stop_at = 2;
    const auto stopped =
        run(shell("trap 'echo bye; exit 0' TERM; echo '@hpo {\"step\": 1, \"value\": 1}'; echo '@hpo {\"step\": 2, \"value\": 1}'; "
                  "while :; do sleep 0.02; done"),
            polite);
    CHECK(stopped.kind == OutcomeKind::stopped);
    CHECK_THAT(polite.text, Contains("bye\n"));

    Listener deaf;
    deaf.stop_when_said = "ready";
    CHECK(run(shell("trap '' TERM; echo ready; while :; do sleep 0.02; done"), deaf).kind == OutcomeKind::stopped);

    Listener asking;
    asking.stop_at = 2;
    const auto told = run(job_of({"python3", "-c", R"(import json, os
out = os.fdopen(int(os.environ["HPO_REPORT_FD"]), "w", buffering=1)
answers = os.fdopen(int(os.environ["HPO_ANSWER_FD"]))
for step in range(1, 100):
    print(json.dumps({"step": step, "value": 1.0, "answer": True}), file=out)
    if json.loads(answers.readline())["prune"]:
        print("pruned at", step)
        break)"}),
                          asking);
    CHECK(told.kind == OutcomeKind::stopped);
    CHECK(asking.text == "pruned at 2\n");
    CHECK(asking.reports.size() == 2);
}

TEST_CASE("nothing that a program starts outlives it: children, daemons, and those that ignore SIGTERM") {
    const TemporaryDirectory folder;
    const std::string daemon = folder.file("daemon");
    const std::string child = folder.file("child");
    Listener listener;
    const auto outcome =
        run(shell("(setsid sh -c 'trap \"\" TERM; echo $$ > " + daemon + "; while :; do sleep 1; done' &) ; sh -c 'echo $$ > " + child +
                  "; while :; do sleep 1; done' & while [ ! -s " + daemon + " ] || [ ! -s " + child +
                  " ]; do sleep 0.01; done; echo '@hpo {\"value\": 1}'"),
            listener);
    CHECK(outcome.kind == OutcomeKind::complete);
    CHECK_FALSE(is_alive(pid_in(daemon)));
    CHECK_FALSE(is_alive(pid_in(child)));
}

TEST_CASE("if the process that runs a program is killed, or its keeper is, the program and its children end") {
    struct Killed {
        bool keeper;   // instead of the process that runs the program
        bool stopped;  // the keeper was stopped before
    };
    for (const auto [kill_keeper, stop_keeper] : {Killed{false, false}, Killed{true, false}, Killed{false, true}}) {
        INFO("keeper " << kill_keeper << stop_keeper);
        const TemporaryDirectory folder;
        const std::string program = folder.file("program"), daemon = folder.file("daemon");
        const std::string script = "(setsid sh -c 'echo $$ > " + daemon + "; while :; do sleep 1; done' &) ; while [ ! -s " + daemon +
                                   " ]; do sleep 0.01; done; echo $PPID > " + folder.file("keeper") + "; echo $$ > " + program +
                                   "; while :; do sleep 1; done";
        const pid_t runner = ::fork();
        REQUIRE(runner >= 0);
        if (runner == 0) {
            Listener listener;
            const auto outcome = run(shell(script), listener);
            ::_exit(outcome.failure && outcome.failure->kind == hpo::FailureKind::lost_worker ? 3 : 0);
        }
        REQUIRE(hpo::test::eventually([&] {
            pid_t pid = 0;
            std::ifstream{program} >> pid;
            return pid > 1;
        }));
        const pid_t keeper = pid_in(folder.file("keeper"));
        if (stop_keeper) ::kill(keeper, SIGSTOP);
        ::kill(kill_keeper ? keeper : runner, SIGKILL);
        CHECK(hpo::test::eventually([&] { return !is_alive(pid_in(program)) && !is_alive(pid_in(daemon)) && !is_alive(keeper); }));
        int status = 0;
        CHECK(::waitpid(runner, &status, 0) == runner);
        if (kill_keeper) CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 3));
    }
}

TEST_CASE("a program that writes without end or ends its lines never costs little, and its end is kept") {
    Listener listener;
    const auto outcome =
        run(shell("head -c 30000000 /dev/zero | tr '\\0' 'x'; yes line | head -c 30000000; echo; echo the end; exit 2"), listener);
    CHECK(outcome.kind == OutcomeKind::failed);
    CHECK(listener.text.size() < 3'000'000);
    CHECK_THAT(listener.text, Contains(" bytes left out)\n") && Catch::EndsWith("the end\n"));
    CHECK_THAT(outcome.failure->traceback, Contains("the end"));
}

TEST_CASE("a pipe that a stranger holds open does not keep the attempt") {
    const TemporaryDirectory folder;
    struct Holder final : Listener {
        std::ofstream held;
        std::string go;
        void log(std::string_view line) override {
            Listener::log(line);
            if (!line.starts_with("pid ")) return;
            held.open("/proc/" + std::string{line.substr(4)} + "/fd/1");
            std::ofstream{go} << "go";
        }
    } holder;
    holder.go = folder.file("go");
    const auto outcome =
        run(shell("echo pid $$; while [ ! -e " + holder.go + " ]; do sleep 0.01; done; echo '@hpo {\"value\": 3}'"), holder);
    CHECK(holder.held.is_open());
    CHECK(outcome.values == std::vector<double>{3});
}

TEST_CASE("a program that closes its descriptors, writes half a line, or floods its reports ends clearly") {
    Listener closed;
    CHECK(run(shell("exec 1>&- 2>&-; eval \"exec $HPO_REPORT_FD>&-\"; sleep 0.05"), closed).failure->message.find("told no value") !=
          std::string::npos);
    Listener half;
    CHECK(run(shell("printf '{\"value\": 0.5}' >&$HPO_REPORT_FD"), half).values == std::vector{0.5});  // the end of the stream ends it
    Listener broken;
    const auto cut = run(shell("printf '{\"value\": 0.' >&$HPO_REPORT_FD"), broken);
    CHECK(cut.kind == OutcomeKind::failed);
    Listener flood;
    const auto flooded = run(shell("yes garbage | head -n 100000 >&$HPO_REPORT_FD; echo '@hpo {\"value\": 1}'"), flood);
    CHECK(flooded.kind == OutcomeKind::complete);
    CHECK_THAT(flood.text, Contains("hpo: a report cannot be read: got 'garbage'") && Contains("hpo: further ones are only counted"));
    CHECK(flood.text.size() < 10'000);
}

TEST_CASE("1,000 children of a program are gone after it") {
    Listener listener;
    const TemporaryDirectory folder;
    const auto outcome = run(job_of({"python3", "-c", R"(import os, sys, time
with open(sys.argv[1], "w") as file:
    for _ in range(1000):
        pid = os.fork()
        if pid == 0:
            time.sleep(1000)
            os._exit(0)
        print(pid, file=file)
print("@hpo {\"value\": 1}"))",
                                     folder.file("pids")}),
                             listener);
    INFO(listener.text);
    CHECK(outcome.kind == OutcomeKind::complete);
    std::ifstream pids{folder.file("pids")};
    int count = 0;
    for (pid_t pid = 0; pids >> pid; ++count) CHECK_FALSE(is_alive(pid));
    CHECK(count == 1000);
}

TEST_CASE("the memory of a program and its children is seen from outside, also a short peak of one process") {
    constexpr std::int64_t mib = std::int64_t{1} << 20;
    const TemporaryDirectory folder;
    Listener tree;
    tree.file_at_bytes = folder.file("seen");
    tree.bytes = 270 * mib;
    const auto both = run(job_of({"python3", "-c", R"(import os, sys, time
def hold(mib):
    b = bytearray(mib << 20)
    for i in range(0, len(b), 4096): b[i] = 1
    return b
ready, told = os.pipe()
if os.fork() == 0:
    b = hold(120)
    os.write(told, b"x")
    time.sleep(1000)
b = hold(150)
os.read(ready, 1)
while not os.path.exists(sys.argv[1]): time.sleep(0.01)
print("@hpo {\"value\": 1}"))",
                                  tree.file_at_bytes}),
                          tree);
    INFO(tree.text);
    REQUIRE(both.kind == OutcomeKind::complete);
    REQUIRE(both.peak_reserved);
    CHECK(*both.peak_reserved > 270 * mib);
    // The kernel's peak of a program begins with what this process was when it began the program: with a sanitizer, that is more.
    rusage own{};
    REQUIRE(getrusage(RUSAGE_SELF, &own) == 0);
    CHECK(*both.peak_reserved <= std::max(400 * mib, std::int64_t{own.ru_maxrss} * 1024));
    CHECK_FALSE(both.peak_allocated);
    CHECK(std::ranges::any_of(tree.marks, [](const hpo::MemoryMark& mark) { return mark.reading.reserved > 270 * mib; }));
    Listener brief;
    const auto flash = run(job_of({"python3", "-c", "b = b'x' * (200 << 20); del b; print('@hpo {\"value\": 1}')"}), brief);
    CHECK(flash.peak_reserved > 200 * mib);
}

TEST_CASE("a program that is seen to take more than its cap is ended, and the failure says both figures") {
    auto job = job_of({"python3", "-c", R"(import time
b = bytearray(300 << 20)
for i in range(0, len(b), 4096): b[i] = 1
time.sleep(1000))"});
    job.plan.cap_bytes = std::int64_t{200} << 20;
    Listener capped;
    const auto outcome = run(job, capped);
    REQUIRE(outcome.failure);
    CHECK(outcome.failure->kind == FailureKind::out_of_memory);
    CHECK_THAT(outcome.failure->message, Contains("more than the 200.00 MiB that it may take, so hpo ended it"));
    CHECK(outcome.failure->memory.limit == job.plan.cap_bytes);
    CHECK(outcome.failure->memory.reserved > *job.plan.cap_bytes);
}

TEST_CASE("a program with a hard limit is in a control group, and the failure says its share whoever ends it") {
    auto job = job_of({"sh", "-c", R"(until grep -q hpo- /proc/self/cgroup; do sleep 0.01; done; exec "$@")", "sh", "python3", "-c",
                       "b = b'x' * (400 << 20); print('@hpo {\"value\": 1}')"});
    job.options["hard_limit"] = true;
    job.plan.cap_bytes = std::int64_t{100} << 20;
    if (!hpo::command::CommandTrainer{}.check(job).empty()) {
        WARN("skipped: this user may not limit a process by a control group");
        return;
    }
    Listener listener;
    const auto outcome = run(job, listener);
    REQUIRE(outcome.failure);
    CHECK(outcome.failure->kind == FailureKind::out_of_memory);
    CHECK_THAT(outcome.failure->message, Contains("that it may take, so "));
    CHECK(outcome.failure->memory.limit == job.plan.cap_bytes);
    CHECK(outcome.failure->memory.reserved >= *job.plan.cap_bytes);
    job.plan.cap_bytes = std::int64_t{2000} << 20;
    const auto enough = run(job, listener);
    CHECK(enough.kind == OutcomeKind::complete);
    CHECK(enough.peak_reserved > std::int64_t{400} << 20);
}

TEST_CASE("a program takes its memory from the account of its device, and is ended if the device has too little") {
    const TemporaryDirectory folder;
    constexpr std::int64_t mib = std::int64_t{1} << 20;
    auto device = hpo::device::MeteredDevice::create(folder.file("account"), 250 * mib);
    const auto holding = [&](int amount) {
        auto job = job_of({"python3", "-c", R"(import os, sys, time
b = bytearray(int(sys.argv[1]) << 20)
for i in range(0, len(b), 4096): b[i] = 1
while not os.path.exists(sys.argv[2]): time.sleep(0.01)
print("@hpo {\"value\": 1}"))",
                           std::to_string(amount), folder.file("seen")});
        job.metered_device = folder.file("account");
        return job;
    };
    Listener small;
    small.file_at_bytes = folder.file("seen");
    small.bytes = 100 * mib;
    CHECK(run(holding(100), small).kind == OutcomeKind::complete);
    CHECK(device.occupancy().used_bytes == 0);  // it is given back
    std::filesystem::remove(folder.file("seen"));

    REQUIRE(device.charge(60 * mib));
    Listener large;
    const auto outcome = run(holding(240), large);
    REQUIRE(outcome.failure);
    CHECK(outcome.failure->kind == FailureKind::out_of_memory);
    CHECK_THAT(outcome.failure->message,
               Contains("of its device, which has 250.00 MiB. Beside it, others hold 60.00 MiB, so hpo ended it"));
    CHECK(outcome.failure->memory.capacity == 250 * mib);
    CHECK(device.occupancy().used_bytes == 60 * mib);

    // One that takes more than its share is refused for that, though the device is full as well.
    device.set_cap(hpo::this_process(), 60 * mib + 100 * mib);
    const auto above = run(holding(240), large);
    REQUIRE(above.failure);
    CHECK_THAT(above.failure->message, Contains("more than the 160.00 MiB that it may take"));
    CHECK(above.failure->memory.limit == 160 * mib);
}

TEST_CASE("the check of a command names a missing program and unknown placeholders, and starts nothing") {
    hpo::command::CommandTrainer trainer;
    CHECK(trainer.check(job_of({"python3", "{x}"}, {{"x", 1.0}})).empty());
    CHECK(trainer.check(job_of({"sh", "-c", "touch /nowhere/at-all"})).empty());
    const auto named = trainer.check(job_of({"python3", "--lr={lr}"}, {{"optim.lr", 1.0}}));
    REQUIRE(named.size() == 1);
    CHECK_THAT(named[0].what, Contains("unknown placeholder 'lr'"));
    const auto missing = trainer.check(job_of({"no-such-program"}));
    REQUIRE(missing.size() == 1);
    CHECK_THAT(missing[0].what, Contains("the program 'no-such-program' is not there"));
    CHECK_FALSE(trainer.check(job_of({"/etc/passwd"})).empty());
    hpo::TrainerJob none;
    CHECK(trainer.check(none).size() == 1);
    // A parameter of the study may have an option's name.
    CHECK(trainer.check(job_of({"python3", "{arguments}"}, {{"arguments", "not a list"}})).empty());
}

TEST_CASE("the plan's split of the batch reaches the parameters that the options name") {
    auto job = job_of({"python3", "-c", R"(import json, os, sys
assert sys.argv[1:] == ["64", "24", "3"], sys.argv
assert json.loads(os.environ["HPO_PARAMS"]) == {"batch": 64, "mb": 24, "steps": 3}
print("@hpo {\"value\": 1}"))",
                       "{batch}", "{mb}", "{steps}"},
                      {{"batch", std::int64_t{64}}});
    job.options.insert({{"batch", "batch"}, {"micro_batch", "mb"}, {"accumulate", "steps"}});
    job.plan.effective_batch = 64;
    job.plan.micro_batch = 24;
    Listener listener;
    const auto outcome = run(job, listener);
    INFO(listener.text);
    CHECK(outcome.kind == OutcomeKind::complete);
    hpo::command::CommandTrainer trainer;
    CHECK(trainer.check(job).empty());
    job.options["batch"] = "train.batch";
    REQUIRE(trainer.check(job).size() == 1);
    CHECK_THAT(trainer.check(job)[0].what, Contains("got 'train.batch', which the space does not ask for"));
    for (const hpo::Value& odd : {hpo::Value{0.5}, hpo::Value{std::string{"large"}}, hpo::Value{true}}) {
        job.params.insert_or_assign("train.batch", odd);
        REQUIRE(trainer.check(job).size() == 1);
        CHECK(trainer.check(job)[0].what == "got 'train.batch', whose value is " + hpo::json_text(odd) +
                                                "; expected an int parameter, or a categorical one of whole numbers");
    }
    job.options["batch"] = "";
    CHECK(trainer.check(job).size() == 2);
}
