// SPDX-License-Identifier: MIT
#include "hpo/analysis/failure_cases/told_failure.hpp"
#include "hpo/analysis/failure_cases/own_neighbours.hpp"
#include "hpo/analysis/failure_cases/peak_attribute.hpp"

#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "hpo/analysis/oom.hpp"
#include "support/catch.hpp"

using namespace hpo::analysis;
using hpo::FailureKind;

namespace {

hpo::Trial failed_with(const std::string& name, const std::string& value, hpo::TrialState state = hpo::TrialState::fail) {
    hpo::Trial trial;
    trial.number = 7;
    trial.state = state;
    trial.user_attributes[name] = value;
    return trial;
}

std::vector<std::pair<std::string, std::string>> texts_of(std::string_view text) {
    std::vector<std::pair<std::string, std::string>> found;
    each_json_text(text, [&](const std::string& path, const std::string& part) { found.emplace_back(path, part); });
    return found;
}

const std::string torch_oom =
    "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.56 GiB of which 1.00 GiB "
    "is free. Process 1 has 22.56 GiB memory in use.";

}  // namespace

TEST_CASE("every text of a JSON value is visited with its path") {
    using Texts = std::vector<std::pair<std::string, std::string>>;
    CHECK(texts_of(R"-("plain")-") == Texts{{"", "plain"}});
    CHECK(texts_of(R"-({"a": 1, "error": {"message": "m\n", "frames": ["x", {"y": "z"}, 3, null]}, "b": true})-") ==
          Texts{{"error.message", "m\n"}, {"error.frames[0]", "x"}, {"error.frames[1].y", "z"}});
    CHECK(texts_of(R"-({"a, \"b": "c: {\"d\": \"e\"}"})-") == Texts{{"a, \"b", "c: {\"d\": \"e\"}"}});
    CHECK(texts_of(R"-([NaN, Infinity, "after"])-") == Texts{{"[2]", "after"}});
    CHECK(texts_of(R"-({"a": "kept", "b": "open)-") == Texts{{"a", "kept"}});
    CHECK(texts_of("]").empty());
    CHECK(texts_of("12").empty());
    CHECK(texts_of("").empty());
    const std::string deep = std::string(100000, '[') + "\"x\"" + std::string(100000, ']');
    CHECK(texts_of(deep).size() == 1);
}

TEST_CASE("the lines of a traceback that are kept as a list are one text") {
    using Texts = std::vector<std::pair<std::string, std::string>>;
    CHECK(
        texts_of(
            R"-({"a": ["before", "Traceback (most recent call last):\n", "  File \"t.py\", line 8, in obj\n" , "KeyError: 'lr'\n"], "b": "c"})-") ==
        Texts{{"a[0]", "before"},
              {"a[1]", "Traceback (most recent call last):\n  File \"t.py\", line 8, in obj\nKeyError: 'lr'\n"},
              {"b", "c"}});
    CHECK(texts_of(R"-(["Traceback (most recent call last):", "  x", 3, "y"])-") ==
          Texts{{"[0]", "Traceback (most recent call last):\n  x"}, {"[3]", "y"}});
    const std::string head =
        R"-(["Traceback (most recent call last):\n", "  File \"oom.py\", line 8, in objective\n    out_of_memory()\n", )-";
    const auto told = told_in_attributes(failed_with("traceback", head + R"-("ValueError: bad shape (3, 4)\n"])-"));
    REQUIRE(told);
    CHECK(told->failure.kind == FailureKind::trainer_error);
    CHECK(told->failure.message == "bad shape (3, 4)");
    const auto oom = told_in_attributes(failed_with("traceback", head + hpo::json_quote("torch.OutOfMemoryError: " + torch_oom) + "]"));
    REQUIRE(oom);
    CHECK(oom->failure.requested_bytes == std::int64_t{2} << 30);
}

TEST_CASE("a log hides no cause that an attribute tells") {
    const auto both = [](const std::string& name, const std::string& value, const char* line) {
        const std::vector trials{failed_with(name, value)};
        const ToldFailures log{{7, {.failure = hpo::classify_python(line), .place = "run.log, line 3"}}};
        const auto cases = failure_cases(trials, log);
        REQUIRE(cases.size() == 1);
        return cases[0];
    };
    const auto vague = "ValueError: training failed";
    CHECK(both("oom", "true", vague).is_oom());
    CHECK(both("cuda_error_msg", R"-("CUDA error: device-side assert triggered")-", vague).failure.kind == FailureKind::cuda_sticky);
    CHECK(both("error_message", R"-("CUDA out of memory")-", vague).told_in == "attribute error_message");
    CHECK(both("error_message", R"-("went wrong")-", vague).told_in == "run.log, line 3");
    CHECK(both("epochs", "3", vague).told_in == "run.log, line 3");
    CHECK(both("error_message", R"-("went wrong")-", "RuntimeError: CUDA out of memory").is_oom());
}

TEST_CASE("a message in any attribute is found, and the place is told") {
    const struct {
        std::string name, value;
        FailureKind kind;
        std::string place;
    } cases[] = {
        {"err", hpo::json_quote(torch_oom), FailureKind::out_of_memory, "attribute err"},
        {"exc", R"-("RuntimeError('CUDA error: out of memory')")-", FailureKind::out_of_memory, "attribute exc"},
        {"traceback", R"-("Traceback (most recent call last):\n  File \"t.py\", line 1\nMemoryError\n")-", FailureKind::host_out_of_memory,
         "attribute traceback"},
        {"msg", R"-("RESOURCE_EXHAUSTED: Out of memory while trying to allocate 2147483648 bytes.")-", FailureKind::out_of_memory,
         "attribute msg"},
        {"info", "{\"epoch\": 3, \"error\": {\"type\": \"RuntimeError\", \"message\": " + hpo::json_quote(torch_oom) + "}}",
         FailureKind::out_of_memory, "attribute info, in error.message"},
        {"events", "[\"started\", " + hpo::json_quote(torch_oom) + "]", FailureKind::out_of_memory, "attribute events, in [1]"},
        {"result", hpo::json_quote("torch.OutOfMemoryError: " + torch_oom), FailureKind::out_of_memory, "attribute result"},
        {"lastError", R"-("no such file")-", FailureKind::trainer_error, "attribute lastError"},
        {"status", R"-("oom")-", FailureKind::out_of_memory, "attribute status"},
        {"last_error", R"-("no such file")-", FailureKind::trainer_error, "attribute last_error"},
        {"error_type", R"-("KeyError")-", FailureKind::trainer_error, "attribute error_type"},
        {"error", R"-("'lr'")-", FailureKind::trainer_error, "attribute error"},
        {"error", R"-("ModuleNotFoundError: No module named 'fast'")-", FailureKind::environment, "attribute error"},
        {"reason", R"-("run.sh: line 3:   712 Killed    python t.py")-", FailureKind::crash, "attribute reason"},
        {"log", R"-("[8.1] Out of memory: Killed process 77 (t) total-vm:9kB, anon-rss:8kB")-", FailureKind::host_out_of_memory,
         "attribute log"},
        {"stop_reason", R"-("oom")-", FailureKind::out_of_memory, "attribute stop_reason"},
        {"fail_reason", R"-("because of the following error: ValueError('x')")-", FailureKind::trainer_error, "attribute fail_reason"},
    };
    for (const auto& entry : cases) {
        CAPTURE(entry.name, entry.value);
        const auto told = told_in_attributes(failed_with(entry.name, entry.value));
        REQUIRE(told);
        CHECK(told->failure.kind == entry.kind);
        CHECK(told->place == entry.place);
    }
    hpo::Trial old_optuna = failed_with("fold", "1");
    old_optuna.system_attributes["fail_reason"] =
        R"-("Setting status of trial#7 as TrialState.FAIL because of the following error: RuntimeError('CUDA out of memory. Tried to allocate 20.00 MiB')")-";
    const auto told = told_in_attributes(old_optuna);
    REQUIRE(told);
    CHECK(told->place == "system attribute fail_reason");
    CHECK(told->failure.requested_bytes == 20 << 20);
}

TEST_CASE("a stored reason of a time limit is read under every name") {
    for (const char* name :
         {"end_reason", "reason", "stop_reason", "status", "note", "message", "why", "exit_reason", "error", "exception", "fail_reason"}) {
        for (const char* text :
             {"exceeded 1800 s", "TimeoutError: objective did not finish within 3600 seconds", "timed out after 30 min"}) {
            CAPTURE(name, text);
            const auto told = told_in_attributes(failed_with(name, hpo::json_quote(text)));
            REQUIRE(told);
            CHECK(told->failure.kind == FailureKind::timeout);
            const std::vector trials{failed_with(name, hpo::json_quote(text))};
            CHECK(failure_cases(trials).at(0).failure.kind == FailureKind::timeout);
            CHECK_FALSE(told_in_attributes(failed_with(name, hpo::json_quote(text), hpo::TrialState::complete)));
        }
    }
    CHECK_FALSE(told_in_attributes(
        failed_with("note", "\"try a longer run: the last one exceeded 1800 s on the old machine, and nobody knows why it was so slow\"")));
    CHECK_FALSE(told_in_attributes(failed_with("note", "\"looks good\"")));
}

TEST_CASE("a peak is read with the unit of its name or of its text, and a bare small number is none") {
    const auto peak = [](const char* name, const char* stored) { return peak_attribute({{name, stored}}); };
    CHECK(peak("gpu_mem", "\"3072MiB\"") == std::int64_t{3} << 30U);
    CHECK(peak("gpu_memory_used", "\"3.0 GiB\"") == std::int64_t{3} << 30U);
    CHECK(peak("peak_gpu_memory", "\"2 GB\"") == 2'000'000'000);
    CHECK(peak("max_mem", "\"1048576 bytes\"") == 1 << 20);
    CHECK(peak("vram_peak_gb", "3") == 3'000'000'000);
    CHECK(peak("peak_memory_mb", "\"3.0 GiB\"") == std::int64_t{3} << 30U);
    for (const char* stored : {"3.0", "\"3.0\"", "\"93 %\"", "\"GiB\"", "\"3 GiB of 8 GiB\"", "\"\"", "null"})
        CHECK_FALSE(peak("vram_peak", stored));
    CHECK_FALSE(peak("mem_gb", "3.0"));  // of the host or of a device
    std::vector<hpo::Trial> trials(1);
    trials[0].user_attributes = {{"vram_peak", "3.0"}, {"mem_gb", "3.0"}, {"gpu_mem", "\"3 GiB\""}, {"memory", "3"}, {"max_depth", "3"}};
    CHECK(unread_peaks(trials) == std::set<std::string>{"mem_gb", "vram_peak"});
}

TEST_CASE("what is no report of a failure is not taken for one") {
    const std::pair<const char*, const char*> cases[] = {{"note", R"-("CUDA out of memory in an earlier trial")-"},
                                                         {"notes", R"-("torch.OutOfMemoryError: seen before")-"},
                                                         {"comment", R"-({"error": "RuntimeError('x')"})-"},
                                                         {"plan", R"-("uses less memory, so that no CUDA out of memory can happen")-"},
                                                         {"msg", R"-("epoch 3 done")-"},
                                                         {"validation_error", R"-("0.25")-"},
                                                         {"error", R"-("")-"},
                                                         {"err", R"-("None")-"},
                                                         {"terror", R"-("nothing of the kind")-"},
                                                         {"errors", "[0.1, 0.2]"},
                                                         {"error_metric", R"-("rmse")-"},
                                                         {"stop_reason", R"-("max_epochs")-"},
                                                         {"error_function", R"-("cross entropy")-"},
                                                         {"loss_error_type", R"-("mse")-"},
                                                         {"test_error", R"-("abc def")-"},
                                                         {"error_rate", R"-("0.25 percent")-"},
                                                         {"reason", R"-("best so far")-"},
                                                         {"status", R"-("killed")-"},
                                                         {"reason", R"-("aborted")-"},
                                                         {"failed", R"-("early-stopping")-"},
                                                         {"error", R"-("rmse")-"},
                                                         {"error_message", R"-("none.yet")-"},
                                                         {"loss", R"-("MeanSquaredError()")-"},
                                                         {"error", R"-("MeanSquaredError")-"},
                                                         {"metric", R"-("SomeError")-"},
                                                         {"config", R"-({"error": {"metric": "mean squared"}})-"},
                                                         {"error", "0.5"}};
    for (const auto& [name, value] : cases) {
        CAPTURE(name, value);
        CHECK_FALSE(told_in_attributes(failed_with(name, value)));
    }
    CHECK_FALSE(told_in_attributes(failed_with("err", R"-("ValueError('lr')")-", hpo::TrialState::pruned)));
    CHECK_FALSE(told_in_attributes(failed_with("msg", R"-("timed out waiting for a slot")-", hpo::TrialState::pruned)));
    CHECK(told_in_attributes(failed_with("err", R"-("RuntimeError('CUDA error: out of memory')")-", hpo::TrialState::pruned)));
}

TEST_CASE("settings by the name of an error leave failures without a message") {
    const auto study = [](const std::string& name, const std::string& value) {
        std::vector<hpo::Trial> trials;
        for (std::int64_t i = 0; i < 40; ++i) {
            trials.push_back(failed_with(name, value, i < 15 ? hpo::TrialState::fail : hpo::TrialState::complete));
            trials.back().number = i;
            if (i >= 15) trials.back().values = {1.0};
        }
        return trials;
    };
    for (const auto& [name, value] : {std::pair{"error_metric", R"-("rmse")-"}, std::pair{"stop_reason", R"-("max_epochs")-"},
                                      std::pair{"error", R"-("mean squared")-"}, std::pair{"error_message", R"-("not yet known")-"},
                                      std::pair{"oom_policy", R"-("CUDA out of memory is tried again")-"}}) {
        CAPTURE(name, value);
        const auto report = oom_report(study(name, value), {});
        CHECK(report.silent_failures == 15);
        CHECK(report.is_uncertain());
        CHECK(report.oom_attempts == 0);
        CHECK_FALSE(report.others.contains("trainer_error"));
    }
    // What a program printed is a message even if a trial that ran well has it, too.
    CHECK(oom_report(study("error", hpo::json_quote(torch_oom)), {}).oom_attempts == 15);
    auto told = study("error_metric", R"-("rmse")-");
    for (std::size_t i = 0; i < 15; ++i) told[i].user_attributes["error_message"] = R"-("the data set is empty")-";
    CHECK(oom_report(told, {}).others.at("trainer_error").count == 15);
}

TEST_CASE("an out-of-memory in one attribute is worth more than a vague error in another") {
    hpo::Trial trial = failed_with("error_message", R"-("training failed")-");
    trial.user_attributes["zz"] =
        "{\"tb\": " + hpo::json_quote("Traceback (most recent call last):\ntorch.OutOfMemoryError: " + torch_oom) + "}";
    const auto cases = failure_cases(std::vector{trial});
    REQUIRE(cases.size() == 1);
    CHECK(cases[0].is_oom());
    CHECK(cases[0].told_in == "attribute zz, in tb");
    CHECK(cases[0].failure.requested_bytes == std::int64_t{2} << 30);
    CHECK_FALSE(cases[0].silent());
}

TEST_CASE("failures without a message are counted apart, those that Optuna gave up among them, and leave open what happened") {
    std::vector<hpo::Trial> trials(4);
    for (std::size_t i = 0; i < trials.size(); ++i) trials[i].number = static_cast<std::int64_t>(i);
    trials[0].state = trials[1].state = hpo::TrialState::fail;
    trials[2].state = trials[3].state = hpo::TrialState::complete;
    trials[2].values = trials[3].values = {1.0};
    trials[3].system_attributes["failed_trial"] = "1";
    trials[3].system_attributes["retry_history"] = "[1]";
    const auto report = oom_report(trials, {});
    CHECK(report.oom_attempts == 0);
    CHECK(report.silent_failures == 2);
    CHECK(report.is_uncertain());
    CHECK(report.others.at("no_message").count == 1);
    CHECK(report.others.at("vanished").count == 1);
    CHECK_FALSE(report.others.contains("lost_worker"));
    CHECK_FALSE(oom_report(std::vector{trials[2]}, {}).is_uncertain());
}

TEST_CASE("no attribute crashes the search, whatever it holds") {
    std::mt19937_64 random{5};
    const std::string seed = "{\"error\": {\"m\": " + hpo::json_quote(torch_oom) + ", \"l\": [\"\\u00e9\", {\"a\\\"b\": 1}]}}";
    std::size_t found = 0;
    for (int round = 0; round < 5000; ++round) {
        std::string value = seed;
        for (auto edits = random() % 4; edits > 0 && !value.empty(); --edits) {
            const auto at = random() % value.size();
            if (random() % 3 == 0) value.resize(at);
            else value[at] = static_cast<char>(random() % 256);
        }
        found += told_in_attributes(failed_with("info", value)).has_value() ? 1 : 0;
    }
    CHECK(found > 2000);
}

TEST_CASE("the neighbours of a study of another program are found by the process that it kept, and else guessed") {
    const auto study = [](const std::string& attribute, const std::string& begin, bool number) {
        std::vector<hpo::Trial> trials;
        for (std::int64_t i = 0; i < 6; ++i) {  // worker i % 3; trial 5 runs out of memory
            hpo::Trial trial;
            trial.number = i;
            trial.state = i == 5 ? hpo::TrialState::fail : hpo::TrialState::complete;
            trial.started = hpo::Time{std::chrono::microseconds{(i < 3 ? 0 : 100) * 1'000'000 + i}};
            trial.completed = hpo::Time{std::chrono::microseconds{(i == 5 ? 110 : i < 3 ? 90 : 200) * 1'000'000 + i}};
            if (i < 5) trial.values = {0.5};
            const std::string process = begin + std::to_string(5000 + i % 3);
            if (!attribute.empty()) trial.user_attributes[attribute] = number ? process : hpo::json_quote(process);
            if (i == 5)
                trial.user_attributes["error"] = hpo::json_quote(
                    "CUDA out of memory. Tried to allocate 256.00 MiB. GPU 1 has a total capacity of 23.69 GiB of which 60.00 MiB is free. "
                    "Process 5000 has 9.10 GiB memory in use. Process 5001 has 8.20 GiB memory in use. Including non-PyTorch memory, this "
                    "process has 6.20 GiB memory in use. Of the allocated memory 5.50 GiB is allocated by PyTorch, and 130.00 MiB is "
                    "reserved by PyTorch but unallocated.");
            trials.push_back(std::move(trial));
        }
        return trials;
    };
    const auto of = [](const std::vector<hpo::Trial>& trials) { return OwnNeighbours{trials}.of(failure_cases(trials).back()); };
    const std::vector<std::int64_t> both{3, 4};  // the last of each process, not its first
    CHECK(of(study("pid", "", true)).numbers == both);
    CHECK_FALSE(of(study("pid", "", true)).guessed);
    CHECK(of(study("worker", "node1:", false)).numbers == both);
    CHECK(of(study("process_id", "", false)).numbers == both);
    CHECK(of(study("", "", false)).numbers == both);
    CHECK(of(study("", "", false)).guessed);
    CHECK(of(study("pid", "1", true)).numbers.empty());  // other processes: another program's
    auto hosts = study("worker", "node1:", false);
    hosts[5].user_attributes["worker"] = "\"node2:5002\"";
    CHECK(of(hosts).numbers.empty());
    auto alone = study("", "", false);
    alone[3].completed = alone[4].completed = hpo::Time{std::chrono::microseconds{105 * 1'000'000}};
    CHECK(of(alone).numbers.empty());
}

TEST_CASE("a flag for an out-of-memory is read in capitals, too") {
    for (const char* name : {"oom", "OOM", "Oom", "OOM_ERROR"}) {
        for (const char* set : {"true", "1", "\"yes\""}) {
            CAPTURE(name, set);
            const auto cases = failure_cases(std::vector{failed_with(name, set)});
            REQUIRE(cases.size() == 1);
            CHECK(cases[0].failure.kind == FailureKind::out_of_memory);
            CHECK(cases[0].told_in == "attribute " + std::string{name});
        }
        for (const char* unset : {"false", "0", "\"False\""})
            CHECK(failure_cases(std::vector{failed_with(name, unset)})[0].told_in.empty());
    }
}
