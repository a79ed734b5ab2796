// SPDX-License-Identifier: MIT
//
// The border between a study script and the program: whatever text a script is, loading it, asking its space, counting it
// and asking its rules ends in time with a value or an hpo::Error of one line. The process stays small, whatever scripts ask for.
#include <sys/resource.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <string>
#include <string_view>

#include "hpo/recovery/fail.hpp"
#include "hpo/script/recovery_rules.hpp"
#include "hpo/space/enumeration.hpp"

namespace {

constexpr hpo::script::LuaLimits limits{.memory_bytes = 8 << 20, .time = std::chrono::milliseconds{60}};
constexpr double slack_seconds = 2;

[[noreturn]] void wrong(const char* what) {
    std::cerr << "script_fuzz: " << what << '\n';
    std::abort();
}

template <class Action>
void bounded(const char* what, Action&& action) {
    const std::clock_t begin = std::clock();  // processor time, as the limit is
    try {
        action();
    } catch (const hpo::Error& error) {
        const std::string_view text = error.what();
        if (text.empty() || text.find('\n') != std::string_view::npos) wrong("an error is not one line");
        if (!text.starts_with("f.lua") && !text.starts_with("space: ")) wrong("an error without its place");
    } catch (const hpo::SpaceRejection&) {
    }
    const double taken_seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    if (taken_seconds > std::chrono::duration<double>(limits.time).count() + slack_seconds) wrong(what);
}

/// A script may have 8 MiB. Sanitizers keep freed memory, so with them nobody knows what the scripts took.
void stay_small() {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    constexpr long most_kib = 128L << 10U;
    rusage usage{};
    if (getrusage(RUSAGE_SELF, &usage) == 0 && usage.ru_maxrss > most_kib) wrong("the process has grown");
#endif
}

void ask_rules(const hpo::script::StudyScript& script) {
    hpo::Trial trial;
    trial.params.set("x", hpo::IntDistribution{1, 9}, 3);
    hpo::Attempt attempt;
    attempt.plan.effective_batch = 64;
    attempt.failure.emplace().kind = hpo::FailureKind::out_of_memory;
    trial.attempts.push_back(attempt);
    const hpo::History history{};
    const hpo::script::ScriptRecovery rules{script, hpo::recovery::Fail{}};
    bounded("a rule took too long", [&] { (void)rules.recover({trial, trial.attempts[0], *trial.attempts[0].failure, history}); });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text{reinterpret_cast<const char*>(data), size};
    bounded("loading took too long", [&] {
        const auto script = hpo::script::StudyScript::from_text(text, "f.lua", {.limits = limits});
        const auto space = script.space();
        for (const double share : {0.0, 0.4, 1.0}) {
            bounded("a space took too long", [&] {
                (void)hpo::walk(space, [&](std::size_t, const std::string&, const hpo::Axis& axis) { return axis.value_at(share); });
            });
        }
        ask_rules(script);
    });
    stay_small();
    return 0;
}
