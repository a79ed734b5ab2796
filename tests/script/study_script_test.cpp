// SPDX-License-Identifier: MIT
#include "hpo/script/study_script.hpp"

#include <ctime>
#include <map>
#include <string>

#include "hpo/script/recovery_rules.hpp"
#include "hpo/script/study_reader.hpp"
#include "hpo/testing/sample_trial.hpp"
#include "support/catch.hpp"

using hpo::script::ScriptOptions;
using hpo::script::StudyScript;

namespace {

/// Gives a named value, else the lowest or first that the narrowing allows.
class Given : public hpo::ParamSource {
public:
    explicit Given(std::map<std::string, double> values) : values_{std::move(values)} {}
    double draw(const std::string& name, const hpo::Distribution& distribution, const hpo::Narrowing& within,
                const hpo::ParamSet&) override {
        last_within = within;
        if (const auto found = values_.find(name); found != values_.end()) return found->second;
        if (std::holds_alternative<hpo::CategoricalDistribution>(distribution)) {
            double index = 0;
            while (!within.admits(index)) ++index;
            return index;
        }
        const hpo::Distribution part = *narrowed(distribution, within);
        if (const auto* real = std::get_if<hpo::FloatDistribution>(&part)) return real->low;
        return static_cast<double>(std::get<hpo::IntDistribution>(part).low);
    }
    hpo::Narrowing last_within;

private:
    std::map<std::string, double> values_;
};

StudyScript load(const std::string& text, ScriptOptions options = {}) { return StudyScript::from_text(text, "s.lua", std::move(options)); }

/// A script whose study has this body beside what every study needs.
StudyScript with_space(const std::string& body, const std::string& more = "") {
    return load(
        "local hpo = require 'hpo'\nreturn hpo.study { name = 's', trainer = 't', objective = { metric = 'm', direction = 'minimize' }, " +
        more + "\nspace = function(trial)\n" + body + "\nend }");
}

hpo::ParamSet ask(const StudyScript& script, std::map<std::string, double> values = {}) {
    Given source{std::move(values)};
    hpo::SpaceTrial trial{source, 7};
    script.space()(trial);
    return trial.params();
}

std::string error_of(const std::function<void()>& action) {
    try {
        action();
    } catch (const hpo::Error& error) {
        return error.what();
    }
    return "no error";
}
std::string space_error(const std::string& body) {
    return error_of([&] { ask(with_space(body)); });
}
std::string study_error(const std::string& members) {
    return error_of([&] { load("local hpo = require 'hpo'\nreturn hpo.study { " + members + " }"); });
}

}  // namespace

TEST_CASE("a script describes its study") {
    const auto script = load(R"(
        local hpo = require "hpo"
        local epochs = hpo.option("epochs", 3, "passes over the data")
        return hpo.study {
            name = "images", trainer = { "image_classifier", data = "/data", epochs = epochs, augment = false, rate = 0.5 },
            objectives = { { metric = "accuracy", direction = "maximize" }, { metric = "loss", direction = "minimize" } },
            sampler = { name = "tpe", startup_trials = 20, multivariate = true }, pruner = "median:warmup_steps=1", guard = { "unlimited" },
            recovery = "shrink_micro_batch", trials = 40, time = "2h", device = "cpu", device_memory = "600MiB", workers = 2, seed = 7,
            store = "images.db", fix = { ["optim.lr"] = 0.1 }, threads = 3, target_share = 0.5, ledger = "all.ledger",
            plugin_timeout = "5s", compute_capability = "9.0",
            space = function(trial) end, on_oom = function() end,
        })");
    const auto& study = script.description();
    CHECK(study.name == "images");
    CHECK(study.trainer == "image_classifier");
    CHECK(study.trainer_options == std::map<std::string, hpo::Value, std::less<>>{
                                       {"augment", false}, {"data", std::string{"/data"}}, {"epochs", std::int64_t{3}}, {"rate", 0.5}});
    REQUIRE(study.objectives.size() == 2);
    CHECK(study.objectives[1].metric == "loss");
    CHECK(study.objectives[1].direction == hpo::Direction::minimize);
    CHECK(study.sampler == "tpe:multivariate=true,startup_trials=20");
    CHECK(study.pruner == "median:warmup_steps=1");
    CHECK(study.guard == "unlimited");
    CHECK(study.recovery == "shrink_micro_batch");
    CHECK(study.run_options == std::map<std::string, std::string, std::less<>>{{"compute-capability", "9.0"},
                                                                               {"device", "cpu"},
                                                                               {"device-memory", "600MiB"},
                                                                               {"ledger", "all.ledger"},
                                                                               {"plugin-timeout", "5s"},
                                                                               {"seed", "7"},
                                                                               {"store", "images.db"},
                                                                               {"target-share", "0.5"},
                                                                               {"threads", "3"},
                                                                               {"time", "2h"},
                                                                               {"trials", "40"},
                                                                               {"workers", "2"}});
    CHECK(std::get<double>(study.fixed_params.at("optim.lr")) == 0.1);
    CHECK(study.has_on_oom);
    CHECK_FALSE(study.has_on_failure);
    REQUIRE(study.options.size() == 1);
    CHECK(study.options[0].help == "passes over the data");
}

TEST_CASE("a space draws, narrows and refuses") {
    const auto script = with_space(R"(
        local model = trial:categorical("model", { "base", "large" })
        local heavy = model:find("large", 1, true)
        trial:int("length", 128, 512, { step = 32, max = heavy and 384 })
        trial:categorical("batch", { 8, 16, 32 }, { only = heavy and { 8, 16 } })
        trial:float("lr", 1e-6, 1e-3, { log = true })
        trial:float("dropout", 0, 0.5, { step = 0.1 })
        assert(trial.number == 7 and trial.params.model == model and trial.params["never drawn"] == nil)
        trial:require(not (heavy and trial.params.length > 320), "too slow"))");
    const auto base = ask(script, {{"length", 512}, {"batch", 2}});
    CHECK(base.value("length") == hpo::Value{std::int64_t{512}});
    CHECK(base.value("batch") == hpo::Value{std::int64_t{32}});
    const auto large = ask(script, {{"model", 1}, {"length", 256}});
    CHECK(large.value("model") == hpo::Value{std::string{"large"}});
    CHECK(std::get<hpo::IntDistribution>(*large.find("length")->distribution).high == 512);
    CHECK(std::get<hpo::FloatDistribution>(*large.find("lr")->distribution).log);

    try {
        ask(script, {{"model", 1}, {"length", 352}});
        FAIL("not refused");
    } catch (const hpo::SpaceRejection& refused) {
        CHECK(refused.reason == "s.lua:12: too slow");
    }
}

TEST_CASE("a refusal cannot be caught by the script") {
    const auto script = with_space("pcall(function() trial:require(false, 'no') end) trial:int('x', 0, 1)");
    CHECK_THROWS_AS(ask(script), hpo::SpaceRejection);
}

TEST_CASE("a wrong question about a parameter is an error with its place") {
    CHECK(space_error("trial:float('lr', '0.1', 1)") == "s.lua:4: trial:float(\"lr\"): got a string for low; expected a number");
    CHECK(space_error("trial:float('lr', 0)") == "s.lua:4: trial:float(\"lr\"): got nothing for high; expected a number");
    CHECK(space_error("trial:int('n', 1, 2.5)") == "s.lua:4: trial:int(\"n\"): got 2.5 for high; expected a whole number");
    CHECK(space_error("trial:float('x', 0, 1, { max = 0/0 })") ==
          "s.lua:4: trial:float(\"x\"): got not-a-number for max; expected a number");
    CHECK(space_error("trial:float(1, 2, 3)") == "s.lua:4: trial:float: got a number for the name; expected a string");
    CHECK(space_error("trial:float('x', 0, 1, true)") ==
          "s.lua:4: trial:float(\"x\"): got a boolean for the options; expected a table such as { name = value }");
    CHECK(space_error("trial:float('x', 0, 1, { logg = true })") ==
          "s.lua:4: trial:float(\"x\"): unknown option 'logg'; did you mean 'log'?; known: log, step, min, max");
    CHECK(space_error("trial:float('x', 0, 1, { 'log' })") ==
          "s.lua:4: trial:float(\"x\"): unknown option '[1]'; known: log, step, min, max");
    CHECK(space_error("trial:float('x', 0, 1, { log = 1 })") ==
          "s.lua:4: trial:float(\"x\"): got a number for log; expected true or false");
    CHECK(space_error("trial:float('x', 0, 1, { log = true })") ==
          "s.lua:4: parameter 'x': got low 0.0, high 1.0 on a log scale; expected low > 0");
    CHECK_THAT(space_error("trial:categorical('c', 'a', 'b')"),
               Catch::StartsWith("s.lua:4: trial:categorical(\"c\"): got a string for the choices; expected a list"));
    CHECK_THAT(space_error("trial:categorical('c', {})"),
               Catch::Contains("got an empty list for the choices; expected at least one value"));
    CHECK_THAT(space_error("trial:categorical('c', { a = 1 })"), Catch::Contains("a table with names or gaps"));
    CHECK_THAT(space_error("trial:categorical('c', { 1, {} })"), Catch::Contains("got a table for entry 2 of the choices"));
    CHECK_THAT(space_error("trial:categorical('c', { 1, 2 }, { only = { 3 } })"),
               Catch::StartsWith("s.lua:4: parameter 'c': got 3 in its narrowing"));
    CHECK_THAT(space_error("trial:int('n', 0, 9, { min = 20 })"),
               Catch::StartsWith("s.lua:4: parameter 'n': got a narrowing that leaves no value"));
    CHECK_THAT(space_error("trial:int('n', 0, 9) trial:int('n', 0, 8)"), Catch::Contains("two distributions in one trial"));
    CHECK_THAT(space_error("trial:flaot('x', 0, 1)"), Catch::StartsWith("s.lua:4: trial: unknown member 'flaot'; did you mean 'float'?"));
    CHECK_THAT(space_error("trial.float('x', 0, 1)"),
               Catch::StartsWith("s.lua:4: trial.float: got a string for the trial; expected a colon"));
    CHECK_THAT(space_error("trial:int(('n'):rep(1000), 0, 1)"), Catch::Contains("got a name of 1000 bytes"));
    CHECK_THAT(space_error("local s, t = ('x'):rep(60000), {} for i = 1, 9000 do t[i] = s end trial:categorical('c', t)"),
               Catch::Contains("more than 1 MiB of text for the choices"));
    CHECK_THAT(space_error("local t = {} for i = 1, 10000 do t[i] = i end for i = 1, 900 do trial:categorical('c' .. i, t) end"),
               Catch::Contains("the choices of one trial take more than 8 MiB"));
    CHECK_THAT(space_error("trial:categorical('c', { ('x'):rep(1 << 20) })"),
               Catch::Contains("got a string of 1.00 MiB for entry 1 of the choices"));
    CHECK_THAT(space_error("for i = 1, 2000 do trial:int('n' .. i, 0, 1) end"), Catch::Contains("more than 1000 parameters"));
    CHECK_THAT(space_error("if kept then kept:int('x', 0, 1) end kept = trial"), Catch::StartsWith("s.lua:4: unknown name 'kept'"));
}

TEST_CASE("a name with control characters or without UTF-8 is refused with its place") {
    CHECK_THAT(space_error("trial:float('a\\0b', 0, 1)"), Catch::Contains("s.lua:4: parameter: got the name 'a\\x00b'; expected a name"));
    CHECK_THAT(space_error("trial:int('a\\nb', 'x', 1)"), Catch::Contains("s.lua:4: parameter: got the name 'a\\x0ab'"));
    CHECK_THAT(space_error("trial:categorical('\\xff', {1})"), Catch::Contains("s.lua:4: parameter: got the name '\\xff'"));
    CHECK(ask(with_space("trial:float('l\xc3\xa4nge', 0, 1)")).size() == 1);
    CHECK(space_error("trial:categorical('mode', {'ok', '\\255\\254'})") ==
          "s.lua:4: parameter 'mode': got the choice '\\xff\\xfe'; expected UTF-8");
}

TEST_CASE("a trial that a script keeps for later is refused") {
    const auto script = with_space("if rawget(_G, 'kept') then kept:int('x', 0, 1) end\nkept = trial");
    CHECK_NOTHROW(ask(script));
    CHECK(error_of([&] { ask(script); }) == "s.lua:4: trial:int: this trial is over; use it only inside the call that received it");
}

TEST_CASE("what is wrong with a study is an error with its place") {
    const std::string rest = ", trainer = 't', objective = { metric = 'm', direction = 'minimize' }, space = function() end";
    CHECK_THAT(study_error("nam = 'x'" + rest),
               Catch::StartsWith("s.lua:2: hpo.study: unknown option 'nam'; did you mean 'name'?; known: name, "));
    CHECK(study_error("name = 'a\\255z'" + rest) ==
          "s.lua:2: hpo.study: got a name 'a\\xffz'; expected UTF-8 characters without control characters");
    CHECK(study_error("name = 3" + rest) == "s.lua:2: hpo.study: got a number for name; expected a string");
    CHECK(study_error("trainer = 't'") == "s.lua:2: hpo.study: got no name; expected name = \"...\"");
    CHECK_THAT(study_error("name = 'x'"), Catch::StartsWith("s.lua:2: hpo.study: got no trainer"));
    CHECK_THAT(study_error("name = 'x', trainer = 't'"), Catch::StartsWith("s.lua:2: hpo.study: got no objective"));
    CHECK_THAT(study_error("name = 'x', trainer = 't', objective = { metric = 'm', direction = 'up' }"),
               Catch::Contains("objective: got direction 'up'; expected minimize or maximize"));
    CHECK_THAT(study_error("name = 'x', trainer = 't', objective = { metric = 'm', direction = 'minimize' }"),
               Catch::Contains("got no space"));
    CHECK_THAT(study_error("name = 'x', trials = 0" + rest), Catch::Contains("got 0 for trials; expected a whole number of at least 1"));
    CHECK_THAT(study_error("name = 'x', seed = -1" + rest), Catch::Contains("got -1 for seed; expected a whole number of at least 0"));
    CHECK_THAT(study_error("name = 'x', plan = { cap_bytes = 5 }" + rest),
               Catch::Contains("plan: got cap_bytes 5; expected at least 1048576"));
    CHECK_THAT(study_error("name = 'x', trials = '9'" + rest), Catch::Contains("got a string for trials; expected a whole number"));
    CHECK_THAT(study_error("name = 'x', device_memory = 'much'" + rest), Catch::Contains("device_memory: got 'much'; expected a size"));
    CHECK_THAT(study_error("name = 'x', workers = 0" + rest), Catch::Contains("workers: got '0'"));
    CHECK_THAT(study_error("name = 'x', sampler = { startup_trials = 3 }" + rest), Catch::Contains("got no name in sampler"));
    CHECK_THAT(study_error("name = 'x', sampler = { 'tpe', options = {} }" + rest), Catch::Contains("got a table for sampler.options"));
    CHECK_THAT(study_error("name = 'x', on_oom = 3" + rest), Catch::Contains("got a number for on_oom; expected a function"));
    CHECK(error_of([] { load("return 3"); }) == "s.lua: the script returned a number; expected return hpo.study { ... }");
    CHECK_THAT(error_of([] { load("local hpo = require 'hpoo'"); }),
               Catch::StartsWith("s.lua:1: require: unknown module 'hpoo'; did you mean 'hpo'?; known: hpo"));
    CHECK_THAT(error_of([] { load("require('hpo').studdy {}"); }),
               Catch::StartsWith("s.lua:1: hpo: unknown function 'studdy'; did you mean 'study'?"));
    CHECK_THAT(error_of([] {
                   load("local hpo = require 'hpo'\nlocal s = { name = 'x' " +
                        std::string{", trainer = 't', objective = { metric = 'm', direction = 'minimize' }, space = function() end }"} +
                        " hpo.study(s) return hpo.study(s)");
               }),
               Catch::Contains("this is a second one"));
    CHECK_THAT(error_of([] { (void)StudyScript::load("/nowhere/s.lua"); }), Catch::StartsWith("/nowhere/s.lua: cannot be read"));
}

TEST_CASE("options keep their type and refuse what is not declared") {
    const std::string text =
        "local hpo = require 'hpo'\nlocal n = hpo.option('epochs', 3, 'passes')\nlocal r, b, t = hpo.option('rate', 0.5), "
        "hpo.option('big', false), hpo.option('text', 'a')\n"
        "return hpo.study { name = 'n' .. n .. ' ' .. r .. ' ' .. tostring(b) .. ' ' .. t, trainer = 't', objective = { metric = 'm', "
        "direction = 'minimize' }, space = function() end }";
    CHECK(load(text).description().name == "n3 0.5 false a");
    CHECK(load(text, {.set = {{"epochs", "5"}, {"rate", "2"}, {"big", "true"}, {"text", "b c"}}}).description().name == "n5 2.0 true b c");
    CHECK(error_of([&] {
              load(text, {.set = {{"epoch", "5"}}});
          }) == "s.lua: unknown option 'epoch'; did you mean 'epochs'?; known: epochs, rate, big, text");
    CHECK(error_of([&] {
              load(text, {.set = {{"epochs", "many"}}});
          }) == "s.lua:2: hpo.option(\"epochs\"): --set epochs: got 'many'; expected a whole number");
}

TEST_CASE("a command is a trainer with its arguments") {
    const auto script = load(
        "local hpo = require 'hpo' return hpo.study { name = 'c', trainer = hpo.command { 'python3', 'train.py', '--lr', '{optim.lr}' }, "
        "objective = { metric = 'value', direction = 'minimize' }, space = function() end }");
    CHECK(script.description().trainer == "command");
    CHECK(script.description().trainer_options.at("arguments") ==
          hpo::Value{std::string{R"(["python3", "train.py", "--lr", "{optim.lr}"])"}});
    const auto command = [](const std::string& table) {
        return load("local hpo = require 'hpo' return hpo.study { name = 'c', trainer = hpo.command " + table +
                    ", objective = { metric = 'value', direction = 'minimize' }, space = function() end }");
    };
    const auto with_option = command("{ 'sh', grace_ms = 100, 1 }");
    CHECK(with_option.description().trainer_options.at("arguments") == hpo::Value{std::string{R"(["sh", "1"])"}});
    CHECK(with_option.description().trainer_options.at("grace_ms") == hpo::Value{std::int64_t{100}});
    const std::vector<std::pair<const char*, const char*>> refused{
        {"{}", "got an empty list for the command line"},
        {"{ grace_ms = 1 }", "got an empty list for the command line"},
        {"{ 'sh', [3] = 'x' }", "got a table with names or gaps for the command line"},
        {"{ 'sh', name = 'x' }", "got the option 'name'; expected the words"},
        {"{ 'sh', {} }", "entry 2 of the command line"},
        {"(7)", "the command line"},
    };
    for (const auto& [table, message] : refused) {
        CAPTURE(table);
        CHECK_THAT(error_of([&] { command(table); }), Catch::Contains(message));
    }
}

TEST_CASE("an endless space is ended within two seconds of work, with its place") {
    for (const char* body : {"while true do end", "local x = ('a'):rep(30000):find(('.-'):rep(12) .. 'b')",
                             "repeat pcall(trial.int, trial, 'x', 0, 1) until false"}) {
        CAPTURE(body);
        const auto script = with_space(body);
        const std::clock_t begin = std::clock();  // processor time: the script may wait for a processor, but not work on
        CHECK_THAT(error_of([&] { ask(script); }), Catch::StartsWith("s.lua:4: ran longer than the 1500 ms"));
        CHECK(std::clock() - begin < 2 * CLOCKS_PER_SEC);
    }
}

namespace {

/// A failed attempt with everything that it refers to.
struct Case {
    hpo::Trial trial;
    hpo::History history{};
    Case() {
        trial.number = 12;
        trial.params.set("length", hpo::IntDistribution{128, 512, false, 32}, 384);
        hpo::Attempt attempt;
        attempt.plan.effective_batch = 64;
        attempt.plan.micro_batch = 16;
        attempt.failure.emplace();
        attempt.failure->kind = hpo::FailureKind::out_of_memory;
        attempt.failure->message = "CUDA out of memory";
        attempt.failure->where = "backward";
        attempt.failure->requested_bytes = 377487360;
        attempt.failure->memory.allocated = 600;
        attempt.failure->memory.reserved = 1000;
        attempt.failure->memory.limit = 2000;
        attempt.failure->memory.peak_reserved = 1500;
        attempt.failure->memory.neighbours = {{.pid = 71, .bytes = 300, .program = "python"}, {.pid = 72, .bytes = 5}};
        attempt.failure->traceback = "in backward";
        trial.attempts.push_back(attempt);
    }
    std::vector<std::string> devices{};  ///< of the run
    [[nodiscard]] hpo::FailedAttempt failed() const {
        return {trial, trial.attempts.back(), *trial.attempts.back().failure, history, nullptr, 0, devices};
    }
};

hpo::Recovery recover(const std::string& hooks, const Case& from = {}) {
    return hpo::script::ScriptRecovery{with_space("", hooks + ","), hpo::recovery::Fail{}}.recover(from.failed());
}

}  // namespace

TEST_CASE("on_oom sees the failure and the plan, and changes the plan") {
    const auto answer = recover(R"(on_oom = function(trial, failure, plan)
        assert(trial.number == 12 and trial.params.length == 384)
        assert(failure.kind == "out_of_memory" and failure.where == "backward" and failure.requested_bytes == 377487360)
        assert(failure.traceback == "in backward" and failure.limit_bytes == 2000)
        assert(failure.peak_reserved_bytes == 1500 and failure.peak_allocated_bytes == nil and #failure.neighbours == 2)
        assert(failure.neighbours[1].pid == 71 and failure.neighbours[1].bytes == 300 and failure.neighbours[1].program == "python")
        assert(failure.neighbours[2].program == nil)
        assert(failure.code == nil and failure.capacity_bytes == nil and failure.fragmentation == 0.4 and failure.attempt == 1)
        assert(failure.blame == "own" and failure.sticky == false and failure.signal == nil and failure.exit_status == nil)
        assert(failure.recurrence ~= nil and failure.signature:find("out_of_memory", 1, true) == 1)
        assert(plan.effective_batch == 64 and plan.accumulation_steps == 4 and plan.precision == "fp32" and plan.device == "cpu")
        if plan.micro_batch > 1 then
            return hpo.retry { micro_batch = plan.micro_batch // 2, precision = "bf16", fresh_worker = true, activation_checkpointing = true,
                               params = { length = 256 } }
        end
    end)");
    CHECK(answer.reason ==
          "out of memory at micro-batch 16: retry at 8 with 8 accumulation steps, with activation checkpointing, with precision bf16, with "
          "length 256, in a fresh worker (the script's rule)");
    CHECK(answer.action == hpo::Recovery::Action::retry);
    CHECK(answer.plan.micro_batch == 8);
    CHECK(answer.plan.effective_batch == 64);
    CHECK(answer.plan.precision == hpo::Precision::bf16);
    CHECK(answer.plan.activation_checkpointing);
    CHECK(answer.fresh_worker);
    REQUIRE(answer.params);
    CHECK(answer.params->value("length") == hpo::Value{std::int64_t{256}});
}

TEST_CASE("a rule may change parameters that the space does not ask for, again and again") {
    const std::string rule = R"(on_oom = function(trial, failure, plan)
        local workers = trial.params.loader_workers or 4
        return hpo.retry { params = { loader_workers = workers // 2, ["lora.rank"] = 4, kind = "small", quick = true } }
    end)";
    Case from;
    auto answer = recover(rule, from);
    REQUIRE(answer.params);
    CHECK(answer.params->value("loader_workers") == hpo::Value{std::int64_t{2}});
    CHECK(answer.params->value("kind") == hpo::Value{std::string{"small"}});
    CHECK(answer.params->value("quick") == hpo::Value{true});
    CHECK(answer.params->value("length") == from.trial.params.value("length"));
    from.trial.attempts[0].changed_params = answer.params;
    answer = recover(rule, from);
    REQUIRE(answer.params);
    CHECK(answer.params->value("loader_workers") == hpo::Value{std::int64_t{1}});
    CHECK(answer.params->size() == from.trial.params.size() + 4);
}

TEST_CASE("a rule sees every member of the plan, and may set every one that is no parameter") {
    Case from;
    from.trial.attempts[0].plan = hpo::testing::sample_attempt(0).plan;
    const auto answer = recover(R"(on_oom = function(trial, failure, plan)
        local seen = 0
        for _ in pairs(plan) do seen = seen + 1 end
        assert(seen == 9 and plan.cap_bytes == 600000000 and plan.allocator_settings == "max_split_size_mb:64")
        return hpo.retry { micro_batch = 3, activation_checkpointing = false, precision = "fp16", expandable_segments = false,
                           allocator_settings = "a:1", device = "cuda:7", cap_bytes = 5000000 }
    end)",
                                from);
    hpo::ExecutionPlan expected{.effective_batch = 128, .micro_batch = 3, .precision = hpo::Precision::fp16};
    expected.allocator_settings = "a:1";
    expected.device = "cuda:7";
    expected.cap_bytes = 5000000;
    CHECK_THAT(answer.reason,
               Catch::StartsWith("out of memory at micro-batch ") && Catch::Contains(": retry at 3 with 43 accumulation steps") &&
                   Catch::Contains(", without expandable segments, with allocator settings a:1, with device cuda:7, with cap "));
    CHECK(answer.plan == expected);
}

TEST_CASE("a rule's reason follows what it answers and changes") {
    CHECK(recover(
              "on_oom = function(trial, failure, plan) return hpo.retry { micro_batch = plan.micro_batch // 4, reason = 'a quarter' } end")
              .reason == "out of memory at micro-batch 16: retry at 4 with 16 accumulation steps (rule: a quarter)");
    CHECK(recover("on_oom = function(trial, failure, plan) return hpo.retry { micro_batch = plan.effective_batch } end").reason ==
          "out of memory at micro-batch 16: retry at 64 with 1 accumulation step (the script's rule)");
    Case crash;
    crash.trial.attempts[0].failure->kind = hpo::FailureKind::crash;
    CHECK(recover("on_failure = function() return hpo.retry { fresh_worker = true, reason = 'it died' } end", crash).reason ==
          "crash at micro-batch 16: retry in a fresh worker (rule: it died)");
}

TEST_CASE("an option of a policy may have commas in brackets, and no others") {
    const auto recovery_of = [](const std::string& rungs) {
        return load(
                   "local hpo = require 'hpo'\nreturn hpo.study { name = 's', trainer = 't', objective = { metric = 'm', direction = "
                   "'minimize' }, "
                   "space = function() end, recovery = { 'ladder', rungs = '" +
                   rungs + "' } }")
            .description()
            .recovery;
    };
    CHECK(recovery_of("wait(30min, 10s)+prune") == "ladder:rungs=wait(30min, 10s)+prune");
    CHECK_THAT(error_of([&] { (void)recovery_of("wait,prune"); }),
               Catch::Contains("got a comma in recovery.rungs; expected commas only in ( )"));
}

TEST_CASE("a rule's retry may wait until the device is free, and have it alone") {
    const auto waits = recover("on_oom = function() return hpo.retry { wait = true } end");
    CHECK(waits.wait_seconds == 600);
    CHECK_FALSE(waits.alone);
    CHECK(waits.note.empty());
    CHECK(waits.reason == "out of memory at micro-batch 16: retry when enough of the device is free (the script's rule)");
    CHECK(recover("on_oom = function() return hpo.retry { wait = true, timeout = '1h30min' } end").wait_seconds == 5400);
    CHECK(recover("on_oom = function() return hpo.retry { wait = true, timeout = 90 } end").wait_seconds == 90);
    CHECK(waits.wait_interval_seconds == 1);
    CHECK(recover("on_oom = function() return hpo.retry { wait = true, interval = '30s' } end").wait_interval_seconds == 30);
    const auto pauses = recover("on_oom = function() return hpo.retry { pause = '30s' } end");
    CHECK(pauses.pause_seconds == 30);
    CHECK_FALSE(pauses.wait_seconds);
    CHECK(pauses.reason == "out of memory at micro-batch 16: retry after 30 s (the script's rule)");
    CHECK(recover("on_oom = function() return hpo.retry { wait = true, pause = 1.5 } end").pause_seconds == 1.5);
    const auto alone = recover("on_oom = function() return hpo.retry { alone = true, wait = false } end");
    CHECK(alone.alone);
    CHECK_FALSE(alone.wait_seconds);
    CHECK(alone.reason == "out of memory at micro-batch 16: retry alone on the device (the script's rule)");
}

TEST_CASE("a retry that changes nothing is left to the policy, with a note of its place") {
    const std::string note =
        "s.lua:3: on_oom: hpo.retry changes nothing, so the recovery policy decides; expected another plan, other params, fresh_worker, "
        "other_device, "
        "wait, pause or alone";
    for (const char* retry : {"{}", "{ micro_batch = plan.micro_batch }", "{ params = { length = trial.params.length } }",
                              "{ wait = false, reason = 'once more' }"}) {
        CAPTURE(retry);
        const auto answer = recover("on_oom = function(trial, failure, plan)\nreturn hpo.retry " + std::string{retry} + " end");
        CHECK(answer.action == hpo::Recovery::Action::fail);
        CHECK(answer.reason == "out_of_memory");
        CHECK(answer.note == note);
    }
    CHECK(recover("on_oom = function() return hpo.retry { other_device = true } end").note ==
          "s.lua:2: on_oom: hpo.retry asks for another device, and the run has no other to use, so the recovery policy decides");
    for (const char* retry : {"{ micro_batch = 8 }", "{ params = { length = 128 } }", "{ fresh_worker = true }", "{ wait = true }",
                              "{ alone = true }", "{ pause = 1 }", "{ params = { new = 1 } }"}) {
        CAPTURE(retry);
        const auto answer = recover("on_oom = function(trial, failure, plan)\nreturn hpo.retry " + std::string{retry} + " end");
        CHECK(answer.action == hpo::Recovery::Action::retry);
        CHECK(answer.note.empty());
    }
}

TEST_CASE("a retry with a plan that ran out of memory in an earlier attempt of the trial is an error of the rule") {
    Case from;  // micro-batch 16 failed, then 8
    hpo::Attempt second = from.trial.attempts[0];
    second.index = 1;
    second.plan.micro_batch = 8;
    from.trial.attempts.push_back(second);
    const auto answer = [&](const std::string& retry) {
        return recover("on_oom = function(trial, failure, plan)\nreturn hpo.retry { " + retry + " } end", from);
    };
    const auto back = answer("micro_batch = plan.micro_batch * 2");
    CHECK(back.action == hpo::Recovery::Action::fail);
    CHECK(back.rule_error ==
          "s.lua:3: on_oom: hpo.retry returns to the plan of attempt 1 (micro-batch 16), which ran out of memory; expected a plan that was "
          "not tried, such as a smaller micro-batch");
    for (const char* other : {"micro_batch = 4", "micro_batch = 16, wait = true", "micro_batch = 16, alone = true",
                              "micro_batch = 16, pause = 1", "micro_batch = 16, fresh_worker = true",
                              "micro_batch = 16, activation_checkpointing = true", "micro_batch = 16, params = { length = 128 }"}) {
        CAPTURE(other);
        CHECK(answer(other).rule_error.empty());
    }
    from.trial.attempts[0].failure->cause = hpo::OomCause::neighbour;  // it was not the plan
    CHECK(answer("micro_batch = 16").rule_error.empty());
}

TEST_CASE("a retry on a device that the run does not have is left to the policy, with a note of its place and the run's devices") {
    const std::string rule = "on_failure = function(trial, failure, plan)\nreturn hpo.retry { device = 'cuda:7' } end";
    Case from;
    from.trial.attempts[0].plan.device = "cuda:0";
    from.devices = {"cuda:0", "cpu"};
    for (const hpo::FailureKind kind : {hpo::FailureKind::out_of_memory, hpo::FailureKind::crash}) {
        from.trial.attempts[0].failure->kind = kind;
        const auto answer = recover(rule, from);
        CHECK(answer.action == hpo::Recovery::Action::fail);
        CHECK(answer.note ==
              "s.lua:3: on_failure: hpo.retry asks for device 'cuda:7', which this run does not have, so the recovery policy decides; the "
              "run's devices: cuda:0, cpu");
    }
    const auto on_cpu = recover("on_failure = function() return hpo.retry { device = 'cpu' } end", from);
    CHECK(on_cpu.action == hpo::Recovery::Action::retry);
    CHECK(on_cpu.plan.device == "cpu");
    const auto with_more = recover("on_failure = function() return hpo.retry { device = 'cuda:7', micro_batch = 8 } end", from);
    CHECK(with_more.action == hpo::Recovery::Action::retry);
    CHECK(with_more.reason == "crash at micro-batch 16: retry at 8 with 8 accumulation steps (the script's rule)");
    from.devices.clear();  // not known
    CHECK(recover(rule, from).action == hpo::Recovery::Action::retry);
}

TEST_CASE("after a crash or with a checkpoint the same attempt again is a change") {
    Case crash;
    crash.trial.attempts[0].failure->kind = hpo::FailureKind::crash;
    Case checkpoint;
    checkpoint.trial.attempts[0].checkpoint_step = 3;
    for (const Case* from : {&crash, &checkpoint}) {
        const auto answer = recover("on_failure = function() return hpo.retry {} end", *from);
        CHECK(answer.action == hpo::Recovery::Action::retry);
        CHECK(answer.note.empty());
    }
}

TEST_CASE("a retry that only waits changes nothing for a trial that can never fit") {
    Case never;
    never.trial.attempts[0].failure->cause = hpo::OomCause::capacity;
    for (const char* retry : {"wait = true", "alone = true", "pause = 1"}) {
        const auto answer = recover("on_oom = function() return hpo.retry { " + std::string{retry} + " } end", never);
        CHECK(answer.action == hpo::Recovery::Action::fail);
        CHECK_THAT(answer.note, Catch::Contains("on_oom: hpo.retry changes nothing for a trial that cannot fit the empty device"));
    }
    CHECK(recover("on_oom = function() return hpo.retry { wait = true, micro_batch = 1 } end", never).action ==
          hpo::Recovery::Action::retry);
}

TEST_CASE("an error about a member of a table names the member's line") {
    const auto error_of = [](const std::string& members) {
        try {
            (void)hpo::script::StudyScript::from_text("local hpo = require 'hpo'\nreturn hpo.study {\n  name = 's',\n" + members +
                                                          "\n  space = function(trial) local name, trials = 1, 2 end }",
                                                      "s.lua");
        } catch (const hpo::Error& error) {
            return std::string{error.what()};
        }
        return std::string{"no error"};
    };
    const std::string rest = "trainer = 't',\nobjective = { metric = 'm', direction = 'minimize' },\n";
    const std::vector<std::pair<std::string, std::string>> cases{
        {rest + "-- trials = 3\nspace = function() local x = { trials = 1 } end,\ntrials = 'many',",
         "s.lua:8: hpo.study: got a string for trials"},
        {rest + "sampler = [[\n]],\nsamplre = 3,", "s.lua:8: hpo.study: unknown option 'samplre'"},
        {rest + "plan = {\n  micro_batch =\n 0 },", "s.lua:7: hpo.study: plan: got micro_batch 0"},
        {rest + "save_best =\n 3,", "s.lua:6: hpo.study: got a number for save_best; expected true, false or a folder"},
        {"trainer = 't',\nobjective = {\n metric = 'm',\n direction = 'up' },", "s.lua:7: hpo.study: objective: got direction 'up'"},
        {"trainer = {\n't',\nsteps = {} },", "s.lua:6: hpo.study: got a table for trainer.steps"},
        {rest + "fix =\n3,", "s.lua:6: hpo.study: got a number for fix"},
        {rest + "on_oom = 3,", "s.lua:6: hpo.study: got a number for on_oom"},
        {"", "s.lua:2: hpo.study: got no trainer"},
    };
    for (const auto& [members, error] : cases) {
        CAPTURE(members);
        CHECK_THAT(error_of(members), Catch::StartsWith(error));
    }
    CHECK_THAT(recover("on_oom = function() return hpo.retry {\n  fresh_worker = true,\n  micro_batch = 0 } end").rule_error,
               Catch::StartsWith("s.lua:4: hpo.retry: got micro_batch 0"));
    CHECK_THAT(space_error("trial:float('x', 1, 9, {\n  step = 'a' })"),
               Catch::StartsWith("s.lua:5: trial:float(\"x\"): got a string for step"));
}

TEST_CASE("words of Python and of Optuna get their Lua words") {
    CHECK_THAT(space_error("trial:float('x', 1, 9, { log = True })"), Catch::EndsWith("unknown name 'True'; did you mean 'true'?"));
    CHECK_THAT(space_error("trial:int('x', 1, 9, { step = None })"), Catch::EndsWith("unknown name 'None'; did you mean 'nil'?"));
    CHECK_THAT(space_error("trial:suggest_float('x', 1, 9)"),
               Catch::Contains("unknown member 'suggest_float'; did you mean 'float'?; known: "));
    CHECK_THAT(space_error("trial:suggest_categorical('x', { 1 })"), Catch::Contains("did you mean 'categorical'?"));
    CHECK_THAT(space_error("trial:categorical('x', { 8, 16, 8 })"),
               Catch::EndsWith("trial:categorical(\"x\"): got the choice 8 twice; expected each choice once"));
}

TEST_CASE("what is wrong with an answer for the failed trial is told with the line of the call that made it") {
    for (const auto& [code, error] : std::vector<std::pair<std::string, std::string>>{
             {"return hpo.retry { params = { length = 999 } }", "s.lua:3: hpo.retry: parameter 'length': got 999; expected int [128, 512]"},
             {"local answer =\nhpo.retry { params = { length = {} } }\nreturn answer",
              "s.lua:4: hpo.retry: parameter 'length': got a table"},
             {"return hpo.retry { params = { lenght = 256 } }",
              "s.lua:3: hpo.retry: parameter 'lenght': the trial has none of this name; did you mean 'length'?"},
             {"return hpo.retry {\n params = { 8 } }", "s.lua:3: hpo.retry: got a number for the name of a parameter"}}) {
        CAPTURE(code);
        const auto answer = recover("on_oom = function(trial, failure, plan)\n" + code + "\nend");
        CHECK_THAT(answer.rule_error, Catch::StartsWith(error));
    }
}

TEST_CASE("rules may prune, fail, or leave it to the policy") {
    CHECK(recover("on_oom = function() return hpo.prune 'does not fit' end").action == hpo::Recovery::Action::prune);
    CHECK(recover("on_oom = function() return hpo.prune 'does not fit' end").reason == "does not fit");
    CHECK(recover("on_failure = function() return hpo.fail 'give up' end").reason == "give up");
    CHECK(recover("on_oom = function() end").reason == "out_of_memory");  // the wrapped policy's words
    CHECK(recover("on_oom = function() end, on_failure = function() return hpo.prune 'second' end").reason == "second");
    Case crash;
    crash.trial.attempts[0].failure->kind = hpo::FailureKind::crash;
    CHECK(recover("on_oom = function() return hpo.prune 'x' end", crash).reason == "crash");
}

TEST_CASE("a rule that fails ends its trial with the script's error") {
    const std::vector<std::pair<std::string, std::string>> cases{
        {"return failure.nothing.x", "failure: unknown member 'nothing'"},
        {"return plan.micro_bach", "plan: unknown member 'micro_bach'; did you mean 'micro_batch'?"},
        {"return hpo.retry { micro = 3 }", "hpo.retry: unknown option 'micro'"},
        {"return hpo.retry { micro_batch = 0 }", "hpo.retry: got micro_batch 0; expected at least 1"},
        {"return hpo.retry { cap_bytes = 5 }", "hpo.retry: got cap_bytes 5; expected at least 1048576"},
        {"return hpo.retry { cap_bytes = 1.5 }", "hpo.retry: got 1.5 for cap_bytes; expected a whole number"},
        {"return hpo.retry { effective_batch = 8 }", "hpo.retry: unknown option 'effective_batch'"},
        {"return hpo.retry { precision = 'fp8' }", "hpo.retry: unknown precision 'fp8'; known: fp32, bf16, fp16"},
        {"return hpo.retry { params = { workers = {} } }", "parameter 'workers': got a table; expected a number, a text, true or false"},
        {"return hpo.retry { params = { 8 } }", "the name of a parameter"},
        {"return hpo.retry { timeout = '5min' }", "hpo.retry: timeout says how long wait = true waits; expected wait = true beside it"},
        {"return hpo.retry { wait = true, timeout = 'soon' }", "hpo.retry: timeout: got soon; expected a duration above 0, such as"},
        {"return hpo.retry { wait = true, timeout = '10s', interval = '20s' }",
         "hpo.retry: interval: got 20 s; expected at most the timeout, 10 s"},
        {"return hpo.retry { wait = true, timeout = 0 }", "hpo.retry: timeout: got 0; expected a duration above 0"},
        {"return hpo.retry { wait = true, timeout = {} }", "hpo.retry: timeout: got a table; expected a duration above 0"},
        {"return hpo.retry { pause = math.huge }", "hpo.retry: pause: got inf; expected at most a year"},
        {"return hpo.retry { pause = '-1s' }", "hpo.retry: pause: got -1s; expected a duration above 0"},
        {"return hpo.retry { wait = 1 }", "hpo.retry: got a number for wait; expected true or false"},
        {"return hpo.retry { params = { length = 999 } }", "parameter 'length': got 999; expected int [128, 512] step 32"},
        {"return { micro_batch = 3 }", "on_oom: got a table for the answer; expected hpo.retry"},
        {"return 'retry'", "on_oom: got a string for the answer"},
        {"return hpo.prune()", "hpo.prune: got nothing for the reason"},
        {"return trial:int('x', 0, 1)", "only 'space' draws parameters"},
        {"error 'on purpose'", "s.lua:2: on purpose"},
        {"return hpo.option('late', 1)", "options are declared while the script loads"},
    };
    for (const auto& [code, what] : cases) {
        CAPTURE(code);
        const auto answer = recover("on_oom = function(trial, failure, plan) " + code + " end");
        CHECK(answer.action == hpo::Recovery::Action::fail);
        CHECK_THAT(answer.reason, Catch::StartsWith("script_error: s.lua") && Catch::Contains(what));
        CHECK("script_error: " + answer.rule_error == answer.reason);
    }
}

TEST_CASE("an assignment to what a script is only shown is an error that says where the value goes") {
    CHECK(space_error("trial:int('x', 1, 9)\ntrial.params.x = 3") ==
          "s.lua:5: trial.params.x: cannot be set: it shows what has been drawn; expected trial:categorical(\"x\", { 3 }), or an option of "
          "the "
          "trainer: trainer = { \"...\", [\"x\"] = 3 }");
    CHECK_THAT(space_error("trial.params['optim.lr'] = 'a'"), Catch::Contains("trial.params.optim.lr: cannot be set: "));
    CHECK_THAT(space_error("local p = trial.params\np.x = {}"), Catch::StartsWith("s.lua:5: trial.params.x: cannot be set: "));
    CHECK_THAT(space_error("rawset(trial.params, 'x', 3)"),
               Catch::StartsWith("s.lua:4: bad argument #1 to 'rawset' (table expected, got "));
    CHECK_THAT(space_error("table.insert(trial.params, 3)"), Catch::StartsWith("s.lua:4: bad argument #1 to 'insert' (table expected"));
    CHECK_THAT(space_error("trial.lr = 0.1"),
               Catch::StartsWith("s.lua:4: trial.lr: cannot be set: ") && Catch::Contains("expected trial:float"));
    CHECK_THAT(space_error("hpo.trials = 3"),
               Catch::StartsWith("s.lua:4: hpo.trials: cannot be set: ") && Catch::Contains("in the table of hpo.study { ... }"));
    CHECK_THAT(space_error("hpo.study = nil"), Catch::StartsWith("s.lua:4: hpo.study: cannot be set: "));
    const auto rule = [](const std::string& code) {
        return recover("on_oom = function(trial, failure, plan) " + code + " end").rule_error;
    };
    CHECK(rule("plan.micro_batch = 8") ==
          "s.lua:2: plan.micro_batch: cannot be set: it says how the attempt ran; expected return hpo.retry { micro_batch = 8 }");
    CHECK_THAT(rule("plan.effective_batch = 8"), Catch::EndsWith("expected return hpo.retry { ... }"));
    CHECK_THAT(rule("failure.kind = 'crash'"), Catch::StartsWith("s.lua:2: failure.kind: cannot be set: it says what happened"));
    CHECK_THAT(rule("trial.params.length = 128"), Catch::EndsWith("expected return hpo.retry { params = { [\"length\"] = 128 } }"));
    CHECK_THAT(rule("local answer = hpo.retry {} answer.micro_batch = 8 return answer"),
               Catch::StartsWith("s.lua:2: answer.micro_batch: cannot be set: "));
    CHECK_THAT(rule("return hpo.retry({}).action"), Catch::StartsWith("s.lua:2: an answer has no members"));
}

TEST_CASE("what a script is shown can be walked through") {
    CHECK_NOTHROW(ask(with_space(R"(
        trial:int("a", 1, 9) trial:int("b", 2, 9)
        local seen = 0
        for name, value in pairs(trial.params) do seen = seen + value assert(trial.params[name] == value) end
        assert(seen == 3)
        local kinds = 0
        for _, member in pairs(hpo) do assert(type(member) == "function") kinds = kinds + 1 end
        assert(kinds == 8)
        local step, object = pairs(trial.params)
        assert(object == trial.params and not pcall(step, "text") and not pcall(step, hpo) and not pcall(step)))")));
    CHECK_THAT(error_of([] { load("return hpo.study {}"); }),
               Catch::StartsWith("s.lua:1: unknown name 'hpo'; write local hpo = require \"hpo\" first"));
    CHECK_THAT(error_of([] { load("require 'torch'"); }),
               Catch::StartsWith("s.lua:1: require: unknown module 'torch'") &&
                   Catch::EndsWith("a file of this name has to stand beside the script: torch.lua"));
}

TEST_CASE("a space prints once for each trial, and nothing for proposals that it refuses") {
    std::vector<std::string> lines;
    ScriptOptions options;
    options.print = [&](std::string_view line) { lines.emplace_back(line); };
    const auto script = load(R"(local hpo = require 'hpo'
print("loads")
return hpo.study { name = 's', trainer = 't', objective = { metric = 'm', direction = 'minimize' }, space = function(trial)
    local x = trial:int("x", 0, 9)
    print("x is", x)
    trial:require(x ~= 3, "three")
    if x == 4 then error("four") end
    if x == 5 then for i = 1, 100 do print(("5"):rep(1000)) end end
end })",
                             std::move(options));
    CHECK(lines == std::vector<std::string>{"loads"});
    ask(script, {{"x", 1}});
    for (int i = 0; i < 10'000; ++i) CHECK_THROWS_AS(ask(script, {{"x", 3}}), hpo::SpaceRejection);
    CHECK(lines == std::vector<std::string>{"loads", "x is\t1"});
    CHECK_THROWS_AS(ask(script, {{"x", 4}}), hpo::Error);  // what it printed helps to find the mistake
    CHECK(lines.back() == "x is\t4");
    ask(script, {{"x", 5}});
    CHECK_THAT(lines.back(), Catch::StartsWith("(the script printed more than 64 KiB"));
    const std::size_t told = lines.size();
    ask(script, {{"x", 5}});
    CHECK(lines.size() == told);
}
