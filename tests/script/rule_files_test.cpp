// SPDX-License-Identifier: MIT
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "hpo/script/recovery_rules.hpp"
#include "hpo/script/study_script.hpp"
#include "support/catch.hpp"
#include "support/temporary_directory.hpp"

using Catch::Contains;
using Catch::EndsWith;
using hpo::FailureKind;
using hpo::OomCause;
using hpo::Recovery;
using hpo::script::StudyScript;

namespace {

/// A folder with a study script, beside which other Lua files stand.
struct Folder {
    hpo::tests::TemporaryDirectory directory;

    void write(const std::string& name, const std::string& text) const { std::ofstream{directory.file(name)} << text; }
    [[nodiscard]] StudyScript load(const std::string& head, const std::string& members = "") const {
        write("s.lua",
              "local hpo = require 'hpo'\n" + head + "\nreturn hpo.study { name = 's', trainer = 't', " + members +
                  " objective = { metric = 'm', direction = 'minimize' }, space = function(trial) trial:int('lora.rank', 1, 64) end }");
        return StudyScript::load(directory.file("s.lua"),
                                 {.module_folders = {std::filesystem::path{HPO_SOURCE_DIR} / "scripts/lua/rules"}});
    }
    [[nodiscard]] std::string error_of(const std::string& head) const {
        try {
            (void)load(head);
        } catch (const hpo::Error& error) {
            return error.what();
        }
        return "no error";
    }
};

/// What a list of the shipped rules answers to a failure. Nullopt: nothing.
std::optional<Recovery> answer(const std::string& rules, const hpo::Failure& failure, int attempts = 1,
                               std::optional<std::int64_t> micro = 1, std::size_t others = 1) {
    const Folder folder;
    const StudyScript script = folder.load("local rules = require 'recovery_rules'", "on_failure = rules.first { " + rules + " },");
    hpo::Trial trial;
    trial.params.set("lora.rank", hpo::IntDistribution{1, 64}, 16);
    trial.params.set("lora.alpha", hpo::IntDistribution{1, 64}, 32);
    trial.params.set("loader.workers", hpo::IntDistribution{0, 8}, 5);
    for (int i = 0; i < attempts; ++i) {
        hpo::Attempt& attempt = trial.attempts.emplace_back();
        attempt.index = i;
        attempt.plan.effective_batch = 64;
        attempt.plan.micro_batch = micro;
        attempt.failure = failure;
    }
    const hpo::History history{};
    return script.answer({trial, trial.attempts.back(), *trial.attempts.back().failure, history, nullptr, others});
}

hpo::Failure failure_of(FailureKind kind, std::optional<OomCause> cause = std::nullopt) {
    hpo::Failure failure{.kind = kind, .message = "m"};
    failure.cause = cause;
    return failure;
}

const hpo::Failure too_large = failure_of(FailureKind::out_of_memory, OomCause::capacity);

}  // namespace

TEST_CASE("a script requires Lua files beside it, each is run once, and errors name the file and the line") {
    const Folder folder;
    folder.write("mine.lua",
                 "count = (rawget(_G, 'count') or 0) + 1\nreturn { count = count, again = function() return require 'mine' end }");
    (void)folder.load("local mine = require 'mine'\nassert(mine.count == 1 and require 'mine' == mine and mine.again() == mine)");
    folder.write("wrong.lua", "local x = 1\nreturn x + nothing");
    CHECK_THAT(folder.error_of("require 'wrong'"), Contains("wrong.lua:2: unknown name 'nothing'"));
    folder.write("broken.lua", "local x =\n");
    CHECK_THAT(folder.error_of("require 'broken'"), Contains("broken.lua:") && Contains("unexpected symbol"));
    folder.write("number.lua", "return 7");
    CHECK_THAT(folder.error_of("require 'number'"),
               Contains("number.lua returned a number; expected a table of functions, or a function") || Contains("number.lua returned 7"));
    (void)folder.load(
        "assert(not pcall(require, 'wrong')) local ok, why = pcall(require, 'wrong') assert(why:find('unknown name', 1, true))");
    folder.write("one.lua", "return require 'two'");
    folder.write("two.lua", "return require 'one'");
    CHECK_THAT(folder.error_of("require 'one'"), Contains("'one' requires itself, or a file that requires it"));
}

TEST_CASE("what a script requires is found beside it or among the shipped files, and nowhere else") {
    const Folder folder;
    std::filesystem::create_directory(folder.directory.path("below"));
    folder.write("below/secret.lua", "return {}");
    for (const char* name : {"below/secret", "../s", "/etc/passwd", "below.secret", "", "missing"}) {
        CAPTURE(name);
        CHECK_THAT(folder.error_of("require '" + std::string{name} + "'"),
                   Contains("s.lua:2: require: unknown module '" + std::string{name} + "'") &&
                       EndsWith("a file of this name has to stand beside the script: " + std::string{name} + ".lua"));
    }
    folder.write("recovery_rules.lua", "return { own = true }");  // one's own goes before the shipped one
    (void)folder.load("assert(require('recovery_rules').own)");
}

TEST_CASE("what a required file computes counts against the limits of the script") {
    const Folder folder;
    folder.write("endless.lua", "while true do end");
    CHECK_THAT(folder.error_of("require 'endless'"), Contains("endless.lua:1: ran longer than"));
    folder.write("reaches.lua", "return os.execute");
    CHECK_THAT(folder.error_of("require 'reaches'"), Contains("reaches.lua:1: 'os' is not available in a study script"));
}

TEST_CASE("the shipped rules answer what they are for, and nothing else") {
    const auto shrunk = answer("rules.shrink_micro_batch {}", too_large, 1, 16);
    REQUIRE(shrunk);
    CHECK(shrunk->plan.micro_batch == 8);
    CHECK_FALSE(answer("rules.shrink_micro_batch {}", too_large, 1, 1));
    CHECK_FALSE(answer("rules.shrink_micro_batch {}", failure_of(FailureKind::trainer_error), 1, 16));
    CHECK_FALSE(answer("rules.shrink_micro_batch {}", failure_of(FailureKind::out_of_memory, OomCause::host), 1, 16));

    const auto waits = answer("rules.wait_for_others { timeout = '30min' }", failure_of(FailureKind::out_of_memory, OomCause::neighbour));
    REQUIRE(waits);
    CHECK(waits->wait_seconds == 1800);
    CHECK_FALSE(answer("rules.wait_for_others {}", failure_of(FailureKind::out_of_memory, OomCause::neighbour), 4));
    hpo::Failure away = failure_of(FailureKind::environment);
    away.message = "OSError: [Errno 116] Stale file handle";
    CHECK(answer("rules.backoff {}", away)->pause_seconds == 5);
    CHECK(answer("rules.backoff { interval = 3 }", away, 3)->pause_seconds == 12);
    CHECK(answer("rules.backoff { timeout = '30s', interval = '10s' }", away, 2)->pause_seconds == 20);
    CHECK_FALSE(answer("rules.backoff { timeout = '30s', interval = '10s' }", away, 3));
    CHECK(answer("rules.backoff {}", away, 7)->pause_seconds == 285);
    CHECK_FALSE(answer("rules.backoff {}", away, 8));
    away.message = "ModuleNotFoundError: No module named 'x'";
    CHECK_FALSE(answer("rules.backoff {}", away));
    CHECK(answer("rules.alone()", failure_of(FailureKind::out_of_memory, OomCause::neighbour))->alone);
    CHECK(answer("rules.fresh_worker()", failure_of(FailureKind::out_of_memory, OomCause::leak))->fresh_worker);
    CHECK_FALSE(answer("rules.fresh_worker()", too_large));
    CHECK(answer("rules.other_device {}", failure_of(FailureKind::hardware))->other_device);
    CHECK_FALSE(answer("rules.other_device {}", failure_of(FailureKind::hardware), 1, 1, 0));
    CHECK_FALSE(answer("rules.other_device { times = 1 }", failure_of(FailureKind::hardware), 2));
    CHECK(answer("rules.retry(2)", failure_of(FailureKind::lost_worker), 2)->fresh_worker);
    CHECK_FALSE(answer("rules.retry(2)", failure_of(FailureKind::lost_worker), 3));
    CHECK_FALSE(answer("rules.retry(2)", failure_of(FailureKind::non_finite)));
    CHECK(answer("rules.retry(2)", failure_of(FailureKind::trainer_error))->fresh_worker);
    CHECK_FALSE(answer("rules.at_most(1, rules.shrink_micro_batch {})", too_large, 2, 16));
    const auto ended = answer("rules.shrink_micro_batch {}, rules.prune 'too large'", too_large);
    REQUIRE(ended);
    CHECK(ended->action == Recovery::Action::prune);
    CHECK(ended->reason == "too large");
}

TEST_CASE("rules that change parameters say which in the trial") {
    const auto smaller = answer("rules.reduce_lora_rank { alpha = 'lora.alpha' }", too_large);
    REQUIRE(smaller);
    REQUIRE(smaller->params);
    CHECK(smaller->params->number("lora.rank") == 8);
    CHECK(smaller->params->number("lora.alpha") == 16);
    CHECK(smaller->params->number("loader.workers") == 5);
    CHECK(smaller->reason == "a smaller rank of LoRA");
    CHECK_FALSE(answer("rules.reduce_lora_rank {}", too_large, 1, 2));  // the micro-batch can shrink
    CHECK_FALSE(answer("rules.reduce_lora_rank { least = 16 }", too_large));
    CHECK_FALSE(answer("rules.reduce_lora_rank { parameter = 'adapter.rank' }", too_large));  // which this study lacks

    const auto fewer = answer("rules.fewer_loader_workers {}", failure_of(FailureKind::host_out_of_memory));
    REQUIRE(fewer);
    REQUIRE(fewer->params);
    CHECK(fewer->params->number("loader.workers") == 2);
    CHECK(fewer->params->number("lora.rank") == 16);
    CHECK_FALSE(answer("rules.fewer_loader_workers {}", too_large));
}

TEST_CASE("a rule with a wrong option, and a list with a wrong name, are refused when the script loads") {
    const Folder folder;
    const auto error_of = [&](const std::string& rules) {
        try {
            (void)folder.load("local rules = require 'recovery_rules'", "on_failure = " + rules + ",");
        } catch (const hpo::Error& error) {
            return std::string{error.what()};
        }
        return std::string{"no error"};
    };
    CHECK_THAT(error_of("rules.shrink_micro_batch { lest = 8 }"),
               Contains("rules.shrink_micro_batch: unknown option 'lest'; known: least"));
    CHECK_THAT(error_of("rules.reduce_lora_rank { rank = 8 }"), Contains("known: alpha, least, parameter"));
    CHECK_THAT(error_of("rules.first { rules.other_devise, rules.retry(3) }"), Contains("one of its rules is nil; is its name right?"));
    CHECK_THAT(error_of("rules.first { 7 }"), Contains("rules.first: got a number; expected rules"));
    CHECK_THAT(error_of("rules.retry()"), Contains("rules.retry: got nil times; expected a whole number of at least 1"));
    CHECK_THAT(error_of("rules.shrink_micro_batch { least = 1.5 }"),
               Contains("rules.shrink_micro_batch: least: got 1.5; expected a whole number of at least 1"));
    CHECK_THAT(error_of("rules.reduce_lora_rank { alpha = 7 }"), Contains("alpha: got 7; expected the name of a parameter"));
    CHECK_THAT(error_of("rules.fewer_loader_workers { least = 'no' }"),
               Contains("least: got \"no\"; expected a whole number of at least 0"));
    CHECK_THAT(error_of("rules.wait_for_others { timeout = 'soon' }"),
               Contains("rules.wait_for_others: timeout: got soon; expected a duration above 0"));
    CHECK_THAT(error_of("rules.wait_for_others { timeout = '10s', interval = '20s' }"), Contains("expected at most the timeout"));
    CHECK_THAT(error_of("rules.backoff { interval = 'soon' }"), Contains("rules.backoff: interval: got soon; expected a duration above 0"));
    CHECK_THAT(error_of("rules.backoff { timeout = '10s', interval = '20s' }"), Contains("expected at most the timeout"));
    CHECK_THAT(error_of("rules.backoff { timeout = 'soon' }"), !Contains("recovery_rules.lua:"));
    CHECK_THAT(error_of("rules.prune()"), Contains("rules.prune: got nil; expected a reason"));
    // The error is at the script's line, not the library's.
    CHECK_THAT(error_of("rules.shrink_micro_batch { least = 0 }"), !Contains("recovery_rules.lua:"));
    CHECK_THAT(error_of("rules.wait_for_others { timeout = 'soon' }"), !Contains("recovery_rules.lua:"));
    CHECK_THAT(error_of("rules.at_most(2, rules.shrink_micro_batch {})"), Contains("no error"));
}
