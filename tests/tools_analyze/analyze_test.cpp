// SPDX-License-Identifier: MIT
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "analyze.hpp"
#include "hpo/base/plain_text.hpp"
#include "hpo/failure/cause.hpp"
#include "hpo/failure/classify.hpp"
#include "hpo/store/sqlite.hpp"
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/command.hpp"

using namespace hpo::test;
using hpo::tests::mib;
using nlohmann::json;

namespace {

std::string without_line_ends(std::string text) {
    std::erase(text, '\n');
    return text;
}

}  // namespace

TEST_CASE("each command prints what was reviewed once") {
    const std::string sample = "--store " + data + "optuna-5.0.0.db ";
    const struct {
        const char* file;
        std::string arguments;
    } cases[] = {{"summary.txt", "summary " + sample},
                 {"summary.json", "summary --json --study oom " + sample},
                 {"trials.txt", "trials --study oom --last 20 " + sample},
                 {"trials.json", "trials --study oom --last 3 --json " + sample},
                 {"trial.txt", "trial 15 --study oom " + sample},
                 {"trial.json", "trial 42 --study oom --json " + sample},
                 {"best.txt", "best --study oom " + sample},
                 {"best.json", "best --study features-mo --json " + sample},
                 {"oom.txt", "oom --study oom " + sample},
                 {"oom_cases.txt", "oom --cases --study oom-returns-inf " + sample},
                 {"oom.json", "oom --json --study oom " + sample},
                 {"failures.txt", "failures --study oom " + sample},
                 {"failures.json", "failures --json --study features " + sample},
                 {"silent_trial.txt", "trial 79 --study oom " + sample},
                 {"oom_overview.txt", "oom " + sample},
                 {"failures_overview.txt", "failures " + sample},
                 {"oom_overview.json", "oom --json " + sample},
                 {"memory.txt", "memory --study oom --top 5 --limit 20GiB " + sample},
                 {"memory.json", "memory --study oom --top 2 --json " + sample},
                 {"compare.txt", "compare legacy empty oom oom-returns-inf " + sample},
                 {"compare.json", "compare oom oom-returns-inf --json " + sample}};
    for (const auto& entry : cases) {
        const CommandResult result = analyze(entry.arguments);
        CHECK(result.status == 0);
        CHECK(result.error.empty());
        check_expected(entry.file, result.out);
    }
}

TEST_CASE("the JSON of oom has every promised member, and null for what is not known") {
    const CommandResult result = analyze("oom --json --study oom --store sqlite:///" + data + "optuna-5.0.0.db");
    REQUIRE(result.status == 0);
    const json report = json::parse(result.out);
    for (const char* key : {"study", "capacity_bytes", "trials", "oom_trials", "oom_attempts", "recovered_trials", "wasted_seconds",
                            "causes", "regions", "cases", "prediction", "rule_lua"}) {
        CAPTURE(key);
        CHECK(report.contains(key));
    }
    CHECK(report["trials"] == 94);
    CHECK(report["oom_trials"] == 28);
    CHECK(report["causes"]["fragmentation"] == 7);
    CHECK(report["regions"][0].size() == 5);
    for (const json& entry : report["cases"]) {
        for (const char* key : {"trial", "attempt", "cause", "evidence", "where", "requested_bytes", "allocated_bytes", "reserved_bytes",
                                "free_bytes", "capacity_bytes", "predicted_bytes", "params", "plan", "fix"}) {
            CAPTURE(key);
            CHECK(entry.contains(key));
        }
        if (entry["trial"] == 53) {  // its message was not kept
            CHECK(entry["requested_bytes"].is_null());
            CHECK(entry["allocated_bytes"].is_null());
        }
    }
}

TEST_CASE("memory says the same in words and in JSON where the device has become smaller") {
    const hpo::tests::TemporaryDirectory folder;
    const std::string path = (folder.path() / "hpo.db").string();
    {
        hpo::store::Sqlite store{path};
        const hpo::Study study = store.open_study("shrunk", std::vector{hpo::Direction::minimize}, hpo::Store::Open::create);
        for (const std::int64_t capacity : {1000, 500, 500}) {
            hpo::Trial trial = store.begin_trial(study.id, std::nullopt);
            hpo::Attempt attempt;
            attempt.capacity_bytes = capacity << 20U;
            store.begin_attempt(trial, attempt);
            attempt.outcome = hpo::OutcomeKind::complete;
            attempt.peak_allocated = (capacity * 4 / 5) << 20U;
            trial.attempts = {attempt};
            store.end_attempt(trial, attempt);
            trial.state = hpo::TrialState::complete;
            trial.values = {1.0};
            store.finish(trial);
        }
    }
    const json report = json::parse(analyze("memory --json --study shrunk --store '" + path + "'").out);
    CHECK(report["capacity_bytes"] == 500 << 20);
    CHECK(report["highest_peak_bytes"] == 800 << 20);
    CHECK(report["other_capacities"] == json{1000 << 20});
    CHECK(report["highest_share"] == 0.8);
    CHECK(report["headroom_bytes"] == 200 << 20);
    for (const json& use : report["top"]) CHECK(use["share"] == 0.8);  // each of what it had
    const std::string text = analyze("memory --study shrunk --store '" + path + "'").out;
    CHECK_THAT(text, Catch::Contains("800.00 MiB in trial 0, 80 % of its device; 200.00 MiB") &&
                         Catch::Contains("capacity  500.00 MiB; in other runs 1000.00 MiB") && !Catch::Contains("160 %"));
}

TEST_CASE("names and messages of a foreign study reach the terminal without control characters, a line for a line") {
    const hpo::tests::TemporaryDirectory folder;
    const std::string path = (folder.path() / "hpo.db").string();
    const std::string bad = "\x1b[2J\nnext\r\x9b";
    {
        hpo::store::Sqlite store{path};
        const std::vector<hpo::Direction> minimize{hpo::Direction::minimize};
        const hpo::Study study = store.open_study("plain", minimize, hpo::Store::Open::create);
        hpo::Trial trial = store.begin_trial(study.id, std::nullopt);
        hpo::Attempt attempt;
        store.begin_attempt(trial, attempt);
        attempt.outcome = hpo::OutcomeKind::failed;
        attempt.failure = hpo::Failure{.kind = hpo::FailureKind::trainer_error, .message = "why " + bad, .traceback = "line " + bad};
        trial.attempts = {attempt};
        store.end_attempt(trial, attempt);
        trial.user_attributes["note"] = hpo::json_quote("\x1b[2J\x7f");
        trial.state = hpo::TrialState::fail;
        store.finish(trial);
    }
    SQLite::Database{path, SQLite::OPEN_READWRITE}.exec("UPDATE studies SET study_name = 'red' || char(27) || '[31m' || char(10) || 'x'");
    for (const std::string command :
         {"summary", "trials", "trial 0", "best", "oom", "memory", "failures", "summary --json", "trial 0 --json"}) {
        CAPTURE(command);
        const auto result = analyze(command + " --store '" + path + "'");
        CHECK(result.status == 0);
        for (const std::string& text : {result.out, result.error}) CHECK(hpo::is_plain_text(without_line_ends(text)));
        if (command == "summary") CHECK_THAT(result.out, Catch::Contains("Study red\\u001b[31m\\nx ("));
        if (command == "summary --json") CHECK(json::parse(result.out)["study"] == "red\x1b[31m\nx");
    }
    const auto none = analyze("summary --study 'no\x1b[31m\nsuch' --store '" + path + "'");
    CHECK(none.status != 0);
    CHECK(std::count(none.error.begin(), none.error.end(), '\n') == 1);
    CHECK(hpo::is_plain_text(without_line_ends(none.error)));
}

TEST_CASE("memory holds predictions against measured peaks, and says null where there are none") {
    const hpo::tests::TemporaryDirectory folder;
    const std::string path = (folder.path() / "hpo.db").string();
    {
        hpo::store::Sqlite store{path};
        const std::vector<hpo::Direction> minimize{hpo::Direction::minimize};
        for (const bool predicted : {true, false}) {
            const hpo::Study study = store.open_study(predicted ? "predicted" : "plain", minimize, hpo::Store::Open::create);
            for (int i = 0; i < 10; ++i) {
                hpo::Trial trial = store.begin_trial(study.id, std::nullopt);
                trial.params.set("batch", hpo::IntDistribution{1, 100, false, 1}, i + 1);
                store.set_params(trial);
                hpo::Attempt attempt;
                attempt.capacity_bytes = 1000 << 20;
                attempt.device_name = "a card";
                if (predicted) {
                    attempt.estimate.emplace();
                    attempt.estimate->need = attempt.estimate->comfort = (i + 1) * (90 << 20);
                    attempt.estimate->source = "dry_run";
                    attempt.estimate->confidence = 0.99;
                }
                store.begin_attempt(trial, attempt);
                attempt.outcome = hpo::OutcomeKind::complete;
                attempt.peak_allocated = (i + 1) * (i == 9 ? 95 << 20 : 81 << 20);
                trial.attempts = {attempt};
                store.end_attempt(trial, attempt);
                trial.state = hpo::TrialState::complete;
                trial.values = {1.0};
                store.finish(trial);
            }
            if (predicted) store.reject(study.id, {.params = {}, .estimate = {}, .violation = 0.5, .reason = "too large"});
        }
    }
    const json report = json::parse(analyze("memory --json --limit 75% --study predicted --store '" + path + "'").out);
    REQUIRE(report["calibration"].size() == 1);
    const json& row = report["calibration"][0];
    CHECK(row["source"] == "dry_run");
    CHECK(row["claimed_confidence"] == 0.99);
    CHECK(row["attempts"] == 10);
    CHECK(row["underestimated"] == 1);
    CHECK(row["underestimate_rate"] == 0.1);
    CHECK(row["measured_over_predicted"]["median"].get<double>() == Approx(0.9));
    CHECK(report["devices"] == json::array({"a card"}));
    CHECK(report["refused_before_launch"] == 1);
    CHECK(report["above_limit"].size() == 1);
    CHECK(report["above_limit"][0]["trial"] == 9);
    CHECK(report["highest_share"] == 0.95);
    CHECK(report["headroom_bytes"] == 50 << 20);
    CHECK(report["safe_region"]["where"] == "batch <= 9");
    const std::string text = analyze("memory --study predicted --store '" + path + "'").out;
    CHECK_THAT(text, Catch::Contains("95 % of the device; 50.00 MiB") && Catch::Contains("1 proposal refused"));

    const json plain = json::parse(analyze("memory --json --study plain --store '" + path + "'").out);
    CHECK(plain["calibration"].is_null());
    CHECK(plain["predicted_attempts"].is_null());
    CHECK(plain["above_limit"].is_null());
    CHECK(plain["safe_region"]["where"].is_null());
    CHECK_THAT(analyze("memory --study plain --store '" + path + "'").out,
               Catch::Contains("This study holds no predictions.") && Catch::Contains("Everywhere none of 10 trials ran out of memory"));
    const json empty = json::parse(analyze("memory --json --study empty --store " + data + "optuna-5.0.0.db").out);
    for (const char* key : {"capacity_bytes", "highest_peak_bytes", "highest_share", "headroom_bytes", "safe_region", "calibration"}) {
        CAPTURE(key);
        CHECK(empty[key].is_null());
    }
    CHECK_THAT(analyze("memory --study empty --store " + data + "optuna-5.0.0.db").out,
               Catch::Contains("not known: no trial left its peak"));
}

TEST_CASE("wrong use is one line with what is known, and the documented status") {
    const struct {
        std::string arguments;
        int status;
        const char* says;
    } cases[] = {{"oom --store no_such.db", 3, "store 'no_such.db': does not exist"},
                 {"oom --store README.md", 3, "README.md"},
                 {"oom --store tests", 3, "is a directory"},
                 {"oom --store CMakeLists.txt", 3, "not"},
                 {"best --store " + data + "optuna-5.0.0.db", 2, "holds 6 studies, name one with --study; known: features"},
                 {"oom --study oomm --store " + data + "optuna-5.0.0.db", 2, "did you mean 'oom'?"},
                 {"oom --cases --store " + data + "optuna-5.0.0.db", 2, "holds 6 studies, name one with --study"},
                 {"failures --log LICENSE --store " + data + "optuna-5.0.0.db", 2, "--log 'LICENSE': mentions no trial in 21 lines"},
                 {"omo", 2, "unknown command 'omo'; did you mean 'oom'?; known: summary"},
                 {"trial 999 --study oom --store " + data + "optuna-5.0.0.db", 2, "no trial 999; known: 0 to 93"},
                 {"trials --state done --study oom --store " + data + "optuna-5.0.0.db", 2, "unknown state 'done'"},
                 {"trial '' --study oom --store " + data + "optuna-5.0.0.db", 2, "got ''; expected a whole number of at least 0"},
                 {"trial 99999999999999999999 --study oom --store " + data + "optuna-5.0.0.db", 2, "expected a whole number of at least 0"},
                 {"memory --limit 200% --study oom --store " + data + "optuna-5.0.0.db", 2, "--limit: got '200%'; expected a size"},
                 {"memory --limit much --study oom --store " + data + "optuna-5.0.0.db", 2, "--limit: got 'much'; expected a size"},
                 {"memory --limit 90 --study oom --store " + data + "optuna-5.0.0.db", 2,
                  "--limit: got '90', which is 90 bytes; expected a size such as 20GiB, or a share of the device such as 90%"},
                 {"memory --limit 0.9 --study oom --store " + data + "optuna-5.0.0.db", 2, "got '0.9', which is 1 bytes; expected a size"},
                 {"memory --limit '' --study oom --store " + data + "optuna-5.0.0.db", 2, "--limit: got ''; expected a size"},
                 {"memory --top 0", 2, "--top: got '0'; expected a whole number of at least 1; see"},
                 {"memory --top -1", 2, "--top: got '-1'; expected a whole number of at least 1; see"},
                 {"memory --top abc", 2, "--top: got 'abc'; expected a whole number of at least 1; see"},
                 {"best --top 2.5", 2, "--top: got '2.5'; expected a whole number of at least 1; see"},
                 {"memory --limit 90% --study empty --store " + data + "optuna-5.0.0.db", 2, "capacity is not in the store"},
                 {"compare oom oomm --store " + data + "optuna-5.0.0.db", 2, "did you mean 'oom'?"},
                 {"compare oom --store " + data + "optuna-5.0.0.db", 2, "got one study, 'oom'; expected two studies"},
                 {"compare oom oom --store " + data + "optuna-5.0.0.db", 2, "study 'oom' twice"},
                 {"failures --log no_such.log --study oom --store " + data + "optuna-5.0.0.db", 2, "--log 'no_such.log': does not exist"},
                 {"oom --log tests --study oom --store " + data + "optuna-5.0.0.db", 2, "--log 'tests': is a directory"},
                 {"summary --log " + data + "optuna-5.0.0.db --study oom --store " + data + "optuna-5.0.0.db", 2,
                  "is no text: line 1 holds a NUL byte"},
                 {"trial 1 --log LICENSE --study oom --store " + data + "optuna-5.0.0.db", 2,
                  "--log 'LICENSE': mentions no trial in 21 lines; expected Optuna's lines"},
                 {"compare --study oom --store " + data + "optuna-5.0.0.db", 2, "names of studies as words"},
                 {"compare oom empty --from -1 --store " + data + "optuna-5.0.0.db", 2, "--from"},
                 {"", 2, "subcommand"},
                 {"oom --store postgresql://host/db", 2, "postgresql"}};
    for (const auto& entry : cases) {
        CAPTURE(entry.arguments);
        const CommandResult result = analyze(entry.arguments);
        CHECK(result.status == entry.status);
        CHECK(result.out.empty());
        CHECK_THAT(result.error, Catch::StartsWith("hpo-analyze: error: ") && Catch::Contains(entry.says));
        CHECK(std::count(result.error.begin(), result.error.end(), '\n') == 1);
    }
}

TEST_CASE("a limit in bytes is taken with its unit, or where it is no small number") {
    const std::string arguments = " --json --study oom --store " + data + "optuna-5.0.0.db";
    CHECK(json::parse(analyze("memory --limit 90B" + arguments).out)["limit_bytes"] == 90);
    CHECK(json::parse(analyze("memory --limit 1048576" + arguments).out)["limit_bytes"] == 1 << 20);
}

TEST_CASE("help has examples, and a study without trials or out-of-memory is an answer") {
    CHECK_THAT(analyze("--help").out, Catch::Contains("Examples:") && Catch::Contains("summary") && Catch::Contains("oom"));
    CHECK(analyze("--help").status == 0);
    const CommandResult empty = analyze("oom --study empty --store " + data + "optuna-5.0.0.db");
    CHECK(empty.status == 0);
    CHECK(empty.out == "No out-of-memory in study empty: none in 0 trials\n");
    CHECK_THAT(analyze("best --study empty --store " + data + "optuna-5.0.0.db").out, Catch::StartsWith("no complete and feasible trial"));
    CHECK(analyze("trials --study empty --store " + data + "optuna-5.0.0.db").out == "no trial yet\n");
    CHECK(json::parse(analyze("oom --json --study empty --store " + data + "optuna-5.0.0.db").out)["rule_lua"].is_null());
}

TEST_CASE("where failures left no message nothing is said to be known") {
    const std::string features = " --study features --store " + data + "optuna-5.0.0.db";
    const std::string text = analyze("oom" + features).out;
    CHECK_THAT(text, Catch::StartsWith("No out-of-memory is recorded in study features, which does not mean"));
    CHECK_THAT(text, Catch::Contains("4 failed without a message"));
    CHECK_THAT(text, !Catch::Contains("lost_worker") && !Catch::Contains("the process is gone"));
    CHECK_THAT(analyze("summary" + features).out, Catch::Contains("no out-of-memory is recorded; of the trials 4 failed without a") &&
                                                      !Catch::Contains("no trial ran out of memory"));
    const json report = json::parse(analyze("oom --json" + features).out);
    CHECK(report["silent_failures"] == 4);
    CHECK(report["log"].is_null());
    CHECK(report["without_message"]["failures"].size() == 4);
    CHECK_THAT(analyze("trial 8" + features).out, Catch::Contains("no message was kept") && Catch::Contains("suspected"));
    CHECK_THAT(analyze("oom --study legacy --store " + data + "optuna-5.0.0.db").out,
               Catch::StartsWith("No out-of-memory in study legacy"));
}

TEST_CASE("a log without a store is read by itself, also if it is packed") {
    const Workshop folder;
    const std::string log = folder.file("ray.log");
    std::ofstream{log}
        << "2026-02-04 15:12:00,835 ERROR tune.py:1331 -- Trial task failed for trial fn_0003\n"
           "ray.exceptions.RayTaskError(OutOfMemoryError): ray::train() (pid=77211)\n  File \"t.py\", line 98, in f\n"
           "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.50 GiB. GPU 0 has a total capacity of 11.76 GiB of "
           "which 512.00 MiB is free. Process 4242 has 11.24 GiB memory in use. Of the allocated memory 10.66 GiB is allocated "
           "by PyTorch, and 170.00 MiB is reserved by PyTorch but unallocated.\n[W 2026-02-04 15:12:01,000] Trial 7 failed with "
           "parameters: {} because of the following error: ValueError('bad label').\n";
    const auto here = [&](const std::string& arguments) {
        return run_command(folder, {"/bin/sh", "-c", "exec '" + tool("hpo-analyze") + "' " + arguments});
    };
    CHECK(run_command(folder, {"/bin/sh", "-c", "gzip -k ray.log"}).status == 0);
    for (const char* name : {"ray.log", "ray.log.gz"}) {
        CAPTURE(name);
        const json report = json::parse(here("oom --json --log " + std::string{name}).out);
        REQUIRE(report["messages"].size() == 1);
        CHECK(report["messages"][0]["cause"] == "capacity");
        CHECK(report["messages"][0]["place"] == std::string{name} + ", line 4");
        CHECK(report["trial_lines"] == 1);
        const CommandResult failures = here("failures --log " + std::string{name});
        CHECK(failures.status == 0);
        CHECK_THAT(failures.out, Catch::Contains("trial 7") && Catch::Contains("bad label") && Catch::Contains("No store was read"));
    }
    CHECK(here("oom --store none.db --log ray.log").status == 3);
    CHECK(here("oom --study s --log ray.log").status == 3);
    folder.write("short.log",
                 "RuntimeError: CUDA error: out of memory\nstep\nRuntimeError: CUDA error: out of memory\nstep\nRuntimeError: CUDA error: "
                 "out of memory\n");
    CHECK(json::parse(here("oom --json --log short.log").out)["messages"].size() == 3);
    folder.write("quiet.log", "nothing of note\n");
    CHECK(json::parse(here("oom --json --log quiet.log --log short.log").out)["messages"].size() == 3);
    folder.write("line.log", "run.sh: line 12: 20412 Killed   python train.py\n");  // fewer bytes than are looked at for UTF-16
    const json of_a_line = json::parse(here("failures --json --log line.log").out);
    CHECK(of_a_line["lines"] == 1);
    CHECK(of_a_line["messages"].size() == 1);
    std::ofstream{folder.file("cut.gz"), std::ios::binary} << read_file(log + ".gz").substr(0, 60);
    CHECK_THAT(here("oom --log cut.gz").error, Catch::Contains("its compressed data has no end"));
    std::ofstream{folder.file("log.xz"), std::ios::binary} << "\xfd"
                                                              "7zXZ and more";
    CHECK_THAT(here("oom --log log.xz").error, Catch::Contains("is packed by xz; unpack it first: xz -dk log.xz"));
}

TEST_CASE("a log alone shows killed processes and refused trials beside the out-of-memories, and counts neither") {
    const Workshop folder;
    const auto here = [&](const std::string& arguments) {
        return run_command(folder, {"/bin/sh", "-c", "exec '" + tool("hpo-analyze") + "' " + arguments});
    };
    folder.write("run.log",
                 "RuntimeError: DataLoader worker (pid 12845) is killed by signal: Killed. \n"
                 "WARNING: skipping: out of memory predicted (11.2 GiB needed, 10.75 GiB there)\n");
    const CommandResult page = here("oom --log run.log");
    CHECK(page.status == 0);
    CHECK_THAT(page.out, Catch::StartsWith("No message of an out-of-memory in run.log") && Catch::Contains("run.log, line 1: crash") &&
                             Catch::Contains("killed perhaps by") && Catch::Contains("run.log, line 2: prevented"));
    const json report = json::parse(here("oom --json --log run.log").out);
    CHECK(report["messages"].empty());
    CHECK(report["beside_memory"].size() == 2);
    CHECK(json::parse(here("failures --json --log run.log").out)["messages"].size() == 2);
}

TEST_CASE("NUL bytes that a crash or a cut left in a log do not hide its lines, and a binary file is refused") {
    const Workshop folder;
    const auto oom = [&](const std::string& content) {
        std::ofstream{folder.file("run.log"), std::ios::binary} << content;
        return run_command(folder, {"/bin/sh", "-c", "exec '" + tool("hpo-analyze") + "' oom --json --log run.log"});
    };
    const std::string message = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB\n";
    const std::string one(1, '\0');
    const std::string many(std::size_t{2} << 20U, '\0');  // more than a line is read of
    for (const std::string& content : {message + "half a line" + one + "\n", message + "half a li" + one + message, many + message,
                                       "step 1\n" + many + message, one + message, message.substr(0, message.size() - 1) + one}) {
        const CommandResult result = oom(content);
        CHECK(result.status == 0);
        const json messages = json::parse(result.out)["messages"];
        REQUIRE_FALSE(messages.empty());
        for (const json& each : messages) CHECK(each["evidence"] == "asked for 2.00 GiB; the message gives no other figure");
    }
    CHECK(json::parse(oom(message + "half a li" + one + message).out)["messages"].size() == 2);
    std::string bytes;
    for (int i = 0; i < 4096; ++i) bytes += static_cast<char>(i * 37 % 256);
    std::string numbers;
    for (char i = 1; i < 100; ++i) numbers += std::string(3, '\0') + i;
    for (const std::string& content : {bytes, numbers, message + bytes, read_file(HPO_SOURCE_DIR "/" + data + "optuna-5.0.0.db")}) {
        const CommandResult result = oom(content);
        CHECK(result.status == 2);
        CHECK_THAT(result.error, Catch::Contains("is no text: line") && Catch::Contains("holds a NUL byte"));
    }
}

TEST_CASE("one log of several studies is read for each of them") {
    const hpo::tests::TemporaryDirectory folder;
    const std::string log = (folder.path() / "run.log").string();
    // Trial 8 of the study features became FAIL at 09:37:11.531 UTC.
    std::ofstream{log}
        << "[W 2026-11-21 11:37:11,540] Trial 8 failed because of the following error: RuntimeError('CUDA out of memory. Tried to "
           "allocate 2.00 GiB').\n[W 2026-11-21 11:37:12,720] Trial 28 failed because of the following error: KeyError('b').\n";
    const std::string arguments = " --log '" + log + "' --store " + data + "optuna-5.0.0.db";
    const json with = json::parse(analyze("oom --json" + arguments).out),
               without = json::parse(analyze("oom --json --store " + data + "optuna-5.0.0.db").out);
    const auto count = [](const json& report) {
        for (const json& study : report["studies"]) {
            if (study["study"] == "features") return study["oom_attempts"].get<int>();
        }
        return -1;
    };
    CHECK(count(without) == 0);
    CHECK(count(with) == 1);
    CHECK_THAT(analyze("failures" + arguments).out, Catch::Contains("2 of 2 lines about the end of a trial belong to these studies"));
    // A pipe can be read once, and a log that says nothing takes no answer from another.
    const std::string quiet = (folder.path() / "quiet.log").string();
    std::ofstream{quiet} << "nothing of note\n";
    CHECK_THAT(analyze("failures --log '" + quiet + "'" + arguments).out, Catch::Contains("2 of 2 lines about the end of a trial"));
    CHECK_THAT(analyze("summary --store " + data + "optuna-5.0.0.db --log /dev/stdin < '" + log + "'").out,
               Catch::Contains("2 of 2 lines about the end of a trial belong to these studies"));
}

TEST_CASE("a log tells why trials failed, and what of it belongs to another study is said") {
    const hpo::tests::TemporaryDirectory folder;
    const std::string log = (folder.path() / "run.log").string();
    // Trial 8 of the study features became FAIL at 09:37:11.531 UTC.
    std::ofstream{log} << "Trial 8 failed miserably\n[W 2026-11-21 11:37:11,540] Trial 8 failed because of the following error: "
                          "RuntimeError('CUDA out of memory. Tried to allocate 2.00 GiB').\n[W 2026-11-21 11:37:12,720] Trial 28 failed "
                          "because of the following error: KeyError('b').\n[W 2026-11-21 11:59:11,540] Trial 18 failed "
                          "because of the following error: KeyError('a').\n";
    const std::string arguments = " --log '" + log + "' --study features --store " + data + "optuna-5.0.0.db";
    const json report = json::parse(analyze("oom --json" + arguments).out);
    REQUIRE(report["cases"].size() == 1);
    CHECK(report["cases"][0]["trial"] == 8);
    CHECK(report["cases"][0]["requested_bytes"] == std::int64_t{2} << 30);
    CHECK(report["cases"][0]["told_in"] == log + ", line 2");
    CHECK(report["silent_failures"] == 2);
    CHECK(report["other_failures"]["trainer_error"] == 1);
    CHECK(report["log"]["matched_lines"] == 2);
    CHECK(report["log"]["clock_ahead_seconds"] == 7200.0);
    REQUIRE(report["log"]["not_used"].size() == 1);
    CHECK_THAT(analyze("failures" + arguments).out,
               Catch::Contains("2 of 3 lines about the end of a trial") && Catch::Contains("of another study or run"));
    for (const std::string command : {"oom", "summary", "trial 8"}) {
        CAPTURE(command);
        CHECK_THAT(without_line_ends(analyze(command + arguments).out),
                   Catch::Contains("2 of 3 lines about the end of a trial") && Catch::Contains("Not used: "));
        CHECK(json::parse(analyze(command + " --json" + arguments).out)["log"] == report["log"]);
    }
}

TEST_CASE("reading leaves a database and its folder as they are, byte for byte, even where nothing may be written") {
    const hpo::tests::TemporaryDirectory folder;
    for (const char* name : {"optuna-5.0.0.db", "optuna-3.6.2.db", "optuna-3.1.0.db", "rustuna-0.2.0.db"}) {
        const std::string copy = (folder.path() / "study.db").string();
        std::filesystem::copy_file(source + "/" + data + name, copy, std::filesystem::copy_options::overwrite_existing);
        const std::string before = read_file(copy);
        chmod(copy.c_str(), 0444);
        CHECK(analyze("summary --store '" + copy + "'").status == 0);
        CHECK(read_file(copy) == before);
        CHECK(std::distance(std::filesystem::directory_iterator{folder.path()}, std::filesystem::directory_iterator{}) == 1);
        std::filesystem::remove(copy);
    }
}

TEST_CASE("a study of ours is explained from its file") {
    const hpo::tests::TemporaryDirectory folder;
    const std::string path = (folder.path() / "hpo.db").string();
    {
        hpo::store::Sqlite store{path};
        const std::vector<hpo::Direction> directions{hpo::Direction::minimize};
        const hpo::Study study = store.open_study("ours", directions, hpo::Store::Open::create);
        for (int i = 0; i < 12; ++i) {
            hpo::Trial trial = store.begin_trial(study.id, std::nullopt);
            const std::int64_t batch = 32 * (i % 4 + 1);
            trial.params.set("batch_size", hpo::IntDistribution{32, 128, false, 32}, static_cast<double>(batch));
            store.set_params(trial);
            for (int index = 0; index < (batch >= 96 ? 2 : 1); ++index) {
                hpo::Attempt attempt;
                attempt.index = index;
                attempt.plan.effective_batch = batch;
                attempt.plan.micro_batch = index == 0 ? batch : batch / 2;
                attempt.estimate = hpo::Estimate{.need = 300 * mib, .comfort = {}, .source = "formula", .cap_bytes = {}};
                trial.attempts.push_back(attempt);
                store.begin_attempt(trial, trial.attempts.back());
                hpo::Attempt& ended = trial.attempts.back();
                ended.seconds = 1.5;
                if (index == 0 && batch >= 96) {
                    hpo::Failure failure =
                        hpo::classify_text({.type = "c10::OutOfMemoryError", .message = "CPU out of memory. Tried to allocate 64.00 MiB."});
                    failure.where = "forward";
                    failure.memory.allocated = 580 * mib;
                    failure.memory.free = 20 * mib;
                    failure.memory.capacity = 600 * mib;
                    hpo::explain_oom(failure);
                    ended.failure = failure;
                    ended.outcome = hpo::OutcomeKind::failed;
                    ended.decision = "micro-batch halved";
                } else {
                    ended.outcome = hpo::OutcomeKind::complete;
                    ended.peak_allocated = 250 * mib;
                }
                store.end_attempt(trial, ended);
            }
            trial.state = hpo::TrialState::complete;
            trial.values = {1.0 / (i + 1)};
            trial.completed = hpo::now();
            store.finish(trial);
        }
    }
    const CommandResult result = analyze("oom --json --store '" + path + "'");
    REQUIRE(result.status == 0);
    const json report = json::parse(result.out);
    CHECK(report["study"] == "ours");
    CHECK(report["oom_trials"] == 6);
    CHECK(report["recovered_trials"] == 6);
    CHECK(report["capacity_bytes"] == 600 * mib);
    CHECK(report["wasted_seconds"] == 9.0);
    CHECK(report["causes"] == json{{"capacity", 6}});
    CHECK(report["regions"][0]["where"] == "batch_size >= 96");
    CHECK(report["cases"][0]["fix"] == "micro-batch 48 instead of 96");
    CHECK(report["cases"][0]["fix_basis"] == "attempt");
    CHECK(report["cases"][0]["where"] == "forward");
    CHECK(report["cases"][0]["predicted_bytes"] == 300 * mib);
    CHECK(report["cases"][0]["plan"]["micro_batch"] == 96);
    CHECK(report["cases"][0]["reserved_bytes"].is_null());
    CHECK(report["prediction"]["attempts"] == 12);
    CHECK_THAT(analyze("trial 2 --store '" + path + "'").out,
               Catch::Contains("attempt 1: cpu, micro-batch 96") && Catch::Contains("micro-batch halved"));
    CHECK_THAT(analyze("best --store '" + path + "'").out, Catch::Contains("Trial 11 of study ours"));
}

TEST_CASE("attempts that were killed leave open whether memory ran out, in every command") {
    const hpo::tests::TemporaryDirectory folder;
    const std::string path = (folder.path() / "hpo.db").string();
    {
        hpo::store::Sqlite store{path};
        const std::vector<hpo::Direction> directions{hpo::Direction::minimize};
        const hpo::Study study = store.open_study("ours", directions, hpo::Store::Open::create);
        for (int i = 0; i < 3; ++i) {
            hpo::Trial trial = store.begin_trial(study.id, std::nullopt);
            hpo::Attempt attempt;
            trial.attempts.push_back(attempt);
            store.begin_attempt(trial, trial.attempts.back());
            hpo::Attempt& ended = trial.attempts.back();
            ended.outcome = i == 0 ? hpo::OutcomeKind::complete : hpo::OutcomeKind::failed;
            if (i == 1) ended.failure = hpo::classify_exit({.exit_status = {}, .signal = 9, .last_words = ""});
            if (i == 2) ended.failure = hpo::classify_exit({.exit_status = {}, .signal = {}, .last_words = ""});
            store.end_attempt(trial, ended);
            trial.state = i == 0 ? hpo::TrialState::complete : hpo::TrialState::fail;
            if (i == 0) trial.values = {1.0};
            trial.completed = hpo::now();
            store.finish(trial);
        }
    }
    const std::string words = "1 attempt was ended by SIGKILL";
    CHECK_THAT(analyze("oom --store '" + path + "'").out,
               Catch::StartsWith("No out-of-memory is recorded in study ours") && Catch::Contains(words));
    CHECK_THAT(analyze("summary --store '" + path + "'").out,
               Catch::Contains("no out-of-memory is recorded") && Catch::Contains(words) && !Catch::Contains("no trial ran out of memory"));
    CHECK(json::parse(analyze("summary --json --store '" + path + "'").out)["uncertain"] == true);
}

TEST_CASE("the time of a trial whose run was killed is not known, and no command says 0 s") {
    const hpo::tests::TemporaryDirectory folder;
    const std::string path = (folder.path() / "hpo.db").string();
    {
        hpo::store::Sqlite store{path};
        const std::vector<hpo::Direction> directions{hpo::Direction::minimize};
        const hpo::Study study = store.open_study("killed", directions, hpo::Store::Open::create);
        const hpo::Run gone =
            store.begin_run(study.id, {.id = -1, .host = "another-host", .pid = 1, .started_ticks = "1", .configuration = "{}"});
        hpo::Trial trial = store.begin_trial(study.id, gone.id);
        hpo::Attempt attempt;
        attempt.memory = {{"sample", 1.8, {}, {.allocated = 5 * mib}}};
        trial.attempts.push_back(attempt);
        store.begin_attempt(trial, trial.attempts.back());
        REQUIRE(store.settle_lost_trials(study.id, -1) == 1);
        (void)store.open_study("idle", directions, hpo::Store::Open::create);
    }
    const std::string compared = analyze("compare killed idle --json --store '" + path + "'").out;
    CHECK(json::parse(compared)["studies"][0]["lost_seconds"].is_null());
    CHECK(json::parse(compared)["studies"][0]["attempt_seconds"].is_null());
    CHECK(json::parse(compared)["studies"][1]["lost_seconds"] == 0.0);
    const std::string arguments = " --study killed --store '" + path + "'";
    const json failures = json::parse(analyze("failures --json" + arguments).out);
    CHECK(failures["failures"][0]["failure"] == "lost_worker");
    CHECK(failures["failures"][0]["seconds"].is_null());
    CHECK_THAT(analyze("failures" + arguments).out, Catch::Matches("(.|\n)*1 +- +0 +unknown +lost_worker(.|\n)*"));
    CHECK(json::parse(analyze("trials --json" + arguments).out)["trials"][0]["seconds"].is_null());
    CHECK(json::parse(analyze("trial 0 --json" + arguments).out)["seconds"].is_null());
    for (const std::string command : {"failures", "trials", "trial 0", "summary"}) {
        CAPTURE(command);
        CHECK_THAT(analyze(command + arguments).out, !Catch::Contains(" 0 s") && !Catch::Contains("0.00"));
    }
}

TEST_CASE("a wrong prediction is explained by what the next attempt had of the device") {
    const hpo::tests::TemporaryDirectory folder;
    const std::string path = (folder.path() / "hpo.db").string();
    {
        hpo::store::Sqlite store{path};
        const std::vector<hpo::Direction> directions{hpo::Direction::minimize};
        const hpo::Study study = store.open_study("shared", directions, hpo::Store::Open::create);
        for (const std::optional<std::int64_t> second : {std::optional{54 * mib}, std::optional<std::int64_t>{}}) {
            hpo::Trial trial = store.begin_trial(study.id, std::nullopt);
            trial.params.set("batch_size", hpo::IntDistribution{32, 128, false, 32}, 64);
            store.set_params(trial);
            for (int index = 0; index < 2; ++index) {
                hpo::Attempt attempt;
                attempt.index = index;
                attempt.plan.effective_batch = 64;
                trial.attempts.push_back(attempt);
                store.begin_attempt(trial, trial.attempts.back());
                hpo::Attempt& ended = trial.attempts.back();
                hpo::MemoryReading reading;
                reading.capacity = 120 * mib;
                reading.limit = index == 0 ? std::optional{36 * mib} : second;
                ended.memory.push_back({.name = "trial_start", .step = {}, .reading = reading});
                ended.outcome = index == 0 ? hpo::OutcomeKind::failed : hpo::OutcomeKind::complete;
                if (index == 0) {
                    hpo::Failure failure =
                        hpo::classify_text({.type = "c10::OutOfMemoryError", .message = "CPU out of memory. Tried to allocate 6.00 MiB."});
                    failure.memory = reading;
                    failure.memory.allocated = failure.memory.reserved = 34 * mib;
                    hpo::explain_oom(failure);
                    ended.failure = failure;
                }
                store.end_attempt(trial, ended);
            }
            trial.state = hpo::TrialState::complete;
            trial.values = {0.5};
            trial.completed = hpo::now();
            store.finish(trial);
        }
    }
    const std::string store = " --store '" + path + "'";
    CHECK_THAT(analyze("oom" + store).out, Catch::Contains("limit  2/2  a larger share of the device: 54.00 MiB to all of it (a later") &&
                                               Catch::Contains("None is needed: each of them came back with a larger share") &&
                                               !Catch::Contains("on_oom"));
    const json report = json::parse(analyze("oom --json" + store).out);
    CHECK(report["cases"][0]["fix"] == "a larger share of the device (54.00 MiB instead of 36.00 MiB)");
    CHECK(report["cases"][0]["fix_basis"] == "attempt");
    CHECK(report["cases"][1]["fix"] == "a larger share of the device (all of it instead of 36.00 MiB)");
    CHECK(report["rule_lua"].is_null());
    CHECK_THAT(analyze("trial 0" + store).out, Catch::Contains("would fit  a larger share of the device (54.00 MiB instead of 36.00 MiB)"));
}

TEST_CASE("sizes that no run can have written are refused by their place, and the largest ones make no figures of their own") {
    const hpo::tests::TemporaryDirectory folder;
    const std::string path = (folder.path() / "hpo.db").string();
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
    const auto write = [&](const std::string& name, std::optional<std::int64_t> predicted, std::optional<std::int64_t> peak) {
        hpo::store::Sqlite store{path};
        const std::vector<hpo::Direction> directions{hpo::Direction::minimize};
        const hpo::Study study = store.open_study(name, directions, hpo::Store::Open::create);
        hpo::Trial trial = store.begin_trial(study.id, std::nullopt);
        trial.attempts.emplace_back().estimate = hpo::Estimate{.need = predicted, .comfort = {}, .source = "formula", .cap_bytes = {}};
        store.begin_attempt(trial, trial.attempts.back());
        trial.attempts.back().outcome = hpo::OutcomeKind::complete;
        trial.attempts.back().peak_reserved = peak;
        store.end_attempt(trial, trial.attempts.back());
        trial.state = hpo::TrialState::complete;
        trial.values = {0.5};
        trial.completed = hpo::now();
        store.finish(trial);
    };
    const auto refused = [&](const std::string& study, const std::string& says) {
        const CommandResult result = analyze("memory --study " + study + " --store '" + path + "'");
        CHECK(result.status == 3);
        CHECK_THAT(result.error, Catch::Contains("study '" + study + "': trial 0, attempt 1: " + says + "; expected a size of memory"));
    };
    write("negative", -5, 40 * mib);
    refused("negative", "predicted_bytes holds -5");
    write("peak", 40 * mib, most);
    refused("peak", "peak_reserved_bytes holds 9223372036854775807");

    write("absurd", most, 40 * mib);
    const json report = json::parse(analyze("memory --json --study absurd --store '" + path + "'").out);
    CHECK(report["calibration"][0]["underestimated"] == 0);
    CHECK(report["calibration"][0]["measured_over_predicted"]["median"].get<double>() < 1e-9);
    CHECK(json::parse(analyze("oom --json --study absurd --store '" + path + "'").out)["prediction"]["underestimated"] == 0);
}

TEST_CASE("a trial shows what its attempt held over time, and what it left behind") {
    const hpo::tests::TemporaryDirectory folder;
    const std::string path = (folder.path() / "hpo.db").string();
    {
        hpo::store::Sqlite store{path};
        const std::vector<hpo::Direction> directions{hpo::Direction::minimize};
        const hpo::Study study = store.open_study("ours", directions, hpo::Store::Open::create);
        hpo::Trial trial = store.begin_trial(study.id, std::nullopt);
        trial.attempts.emplace_back();
        hpo::Attempt& attempt = trial.attempts.back();
        store.begin_attempt(trial, attempt);
        const auto mark = [&](std::string name, double seconds, std::int64_t held, std::optional<std::int64_t> step = std::nullopt) {
            hpo::MemoryReading reading;
            reading.allocated = held * mib;
            reading.reserved = (held + 2) * mib;
            reading.free = (1000 - held) * mib;
            store.memory_mark(trial, 0, {std::move(name), seconds, step, reading});
        };
        mark("trial_start", 0, 0);
        mark("training_start", 1, 100);
        for (int second = 2; second < 60; ++second) mark("step", second, second < 30 ? 400 : 800, second);
        mark("training_end", 60, 100);
        mark("end", 60, 0);
        mark("leak", 60, 64);
        attempt.outcome = hpo::OutcomeKind::complete;
        attempt.seconds = 60;
        attempt.peak_allocated = 800 * mib;
        attempt.peak_reserved = 900 * mib;
        store.end_attempt(trial, attempt);
        std::string log;
        for (int line = 1; line <= 40; ++line) log += "epoch " + std::to_string(line) + "\n";
        store.keep_log(trial, 0, log + "the last \x1b[31mone");
        trial.state = hpo::TrialState::complete;
        trial.values = {1.0};
        store.finish(trial);
    }
    const CommandResult result = analyze("trial 0 --store '" + path + "'");
    REQUIRE(result.status == 0);
    INFO(result.out);
    CHECK_THAT(result.out,
               Catch::Contains("    log        the last 12 of 41 lines that are kept; --json has them all\n               epoch 30\n") &&
                   !Catch::Contains("epoch 29") && Catch::Contains("               the last \\u001b[31mone\n"));
    const auto times = [](const std::string& text, int count) {
        std::string all;
        for (int i = 0; i < count; ++i) all += text;
        return all;
    };
    CHECK_THAT(result.out, Catch::Contains("memory     ▁▂" + times("▅", 28) + times("█", 30) + "\n"));
    CHECK_THAT(result.out, Catch::Contains("allocated over 1 min 00 s, 58 samples; a full bar is 800.00 MiB"));
    CHECK_THAT(result.out, Catch::Contains("trial_start") && Catch::Contains("training_end") && Catch::Contains("peak") &&
                               Catch::Contains("900.00 MiB"));
    const json report = json::parse(analyze("trial 0 --json --store '" + path + "'").out);
    CHECK(report["attempt_list"][0]["memory"].size() == 63);
    CHECK_THAT(report["attempt_list"][0]["log"].get<std::string>(), Catch::StartsWith("epoch 1\nepoch 2\n"));
    CHECK(report["attempt_list"][0]["memory"][2]["name"] == "step");
    CHECK(report["attempt_list"][0]["memory"][2]["step"] == 2);
    CHECK(report["attempt_list"][0]["leaked_bytes"] == 64 * mib);
    CHECK_THAT(result.out, Catch::Contains("leak       64.00 MiB were still allocated after the attempt; its worker"));
    CHECK(json::parse(analyze("memory --json --store '" + path + "'").out)["leaks"] ==
          json::parse(R"([{"trial": 0, "attempt": 0, "bytes": 67108864}])"));
    CHECK_THAT(analyze("memory --store '" + path + "'").out, Catch::Contains("leaks     after 1 attempt the worker still held memory") &&
                                                                 Catch::Contains("most 64.00 MiB, after trial 0"));
}

TEST_CASE("compare sets a study with failures beside one without, and says null for what a study of others does not know") {
    const hpo::tests::TemporaryDirectory folder;
    const std::string path = (folder.path() / "hpo.db").string();
    {
        hpo::store::Sqlite store{path};
        const std::vector<hpo::Direction> directions{hpo::Direction::maximize};
        for (const bool guarded : {false, true}) {
            const hpo::Study study = store.open_study(guarded ? "guarded" : "plain", directions, hpo::Store::Open::create);
            for (int i = 0; i < 8; ++i) {
                hpo::Trial trial = store.begin_trial(study.id, std::nullopt);
                const bool large = i % 4 == 3;
                const int launched = large && !guarded ? 2 : 1;
                for (int index = 0; index < launched; ++index) {
                    hpo::Attempt attempt;
                    attempt.index = index;
                    attempt.plan.effective_batch = 64;
                    attempt.plan.micro_batch = large && (guarded || index == 1) ? 32 : 64;
                    trial.attempts.push_back(attempt);
                    store.begin_attempt(trial, trial.attempts.back());
                    hpo::Attempt& ended = trial.attempts.back();
                    ended.seconds = 2.0;
                    if (index + 1 < launched) {
                        hpo::Failure failure = hpo::classify_text({.type = "c10::OutOfMemoryError", .message = "CPU out of memory."});
                        failure.cause = hpo::OomCause::capacity;
                        failure.memory.capacity = 100 * mib;
                        ended.failure = failure;
                        ended.outcome = hpo::OutcomeKind::failed;
                    } else {
                        ended.outcome = hpo::OutcomeKind::complete;
                        ended.peak_allocated = 50 * mib;
                    }
                    store.end_attempt(trial, ended);
                }
                trial.state = hpo::TrialState::complete;
                trial.values = {i + (guarded ? 0.5 : 0.0)};
                trial.completed = hpo::now();
                store.finish(trial);
            }
            if (guarded) store.reject(study.id, {.params = {}, .estimate = {}, .violation = 0.5, .reason = "too large"});
        }
    }
    const json report = json::parse(analyze("compare --json --store '" + path + "'").out);
    REQUIRE(report["studies"].size() == 2);
    const json& plain = report["studies"][0];
    const json& guarded = report["studies"][1];
    CHECK(plain["study"] == "plain");
    CHECK(plain["attempts"] == 10);
    CHECK(plain["oom_attempts"] == 2);
    CHECK(plain["oom_share"] == 0.2);
    CHECK(plain["recovered_trials"] == 2);
    CHECK(plain["causes"] == json{{"capacity", 2}});
    CHECK(plain["lost_seconds"] == 4.0);
    CHECK(plain["attempt_seconds"] == 20.0);
    CHECK(plain["in_micro_batches"] == 0);
    CHECK(plain["refused_before_launch"] == 0);
    CHECK(plain["best"] == json::array({{{"trial", 7}, {"values", {7.0}}}}));
    CHECK(plain["capacity_bytes"] == 100 * mib);
    CHECK(guarded["oom_share"] == 0.0);
    CHECK(guarded["in_micro_batches"] == 2);
    CHECK(guarded["refused_before_launch"] == 1);
    CHECK(guarded["best"][0]["values"][0] == 7.5);
    CHECK(guarded["highest_peak_bytes"] == 50 * mib);
    CHECK(guarded["capacity_bytes"].is_null());

    const json late = json::parse(analyze("compare guarded plain --from 4 --json --store '" + path + "'").out);
    CHECK(late["from_trial"] == 4);
    CHECK(late["studies"][0]["study"] == "guarded");
    CHECK(late["studies"][0]["trials"] == 4);
    CHECK(late["studies"][0]["refused_before_launch"].is_null());  // a refused proposal has no number
    CHECK(late["studies"][1]["attempts"] == 5);
    CHECK(late["studies"][1]["oom_attempts"] == 1);
    CHECK_THAT(analyze("compare --store '" + path + "'").out,
               Catch::Contains("2 (20 %)") && Catch::Contains("7.5 (trial 7)") && !Catch::Contains("different directions"));

    const json foreign = json::parse(analyze("compare oom empty --json --store " + data + "optuna-5.0.0.db").out);
    for (const char* key : {"attempts", "oom_share", "in_micro_batches", "attempt_seconds"}) {
        CAPTURE(key);
        CHECK(foreign["studies"][0][key].is_null());
        CHECK(foreign["studies"][1][key].is_null());
    }
    CHECK(foreign["studies"][0]["oom_attempts"] == 28);
    CHECK(foreign["studies"][0]["refused_before_launch"] == 4);
    CHECK(foreign["studies"][1]["wall_seconds"].is_null());
    CHECK(foreign["studies"][1]["highest_peak_bytes"].is_null());
}

TEST_CASE("the help of each command names the options that all of them take") {
    for (const char* command : {"summary", "trials", "trial", "best", "oom", "failures", "memory", "compare"}) {
        CAPTURE(command);
        const auto help = analyze(std::string{command} + " --help");
        CHECK(help.status == 0);
        for (const char* option : {"--store", "--study", "--json"}) CHECK_THAT(help.out, Catch::Contains(option));
    }
}

TEST_CASE("docs/post-mortem-guide.md shows what the commands print") {
    const std::string guide = read_file(source + "/docs/post-mortem-guide.md");
    for (const char* command : {"oom", "trial 42"}) {
        CAPTURE(command);
        touch_samples();
        const Workshop workshop;
        const std::string words = "cd '" + source + "' && COLUMNS=100 exec '" + tool("hpo-analyze") + "' " + command +
                                  " --study oom --store " + data + "optuna-5.0.0.db";
        const auto shown = run_command(workshop, {"/bin/sh", "-c", words});
        REQUIRE(shown.status == 0);
        CHECK(guide.find("```\n" + shown.out + "```\n") != std::string::npos);
    }
}
