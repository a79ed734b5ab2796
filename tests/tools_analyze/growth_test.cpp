// SPDX-License-Identifier: MIT
#include <cstdint>
#include <string>

#include "analyze.hpp"
#include "hpo/core/memory_leak.hpp"
#include "hpo/failure/classify.hpp"
#include "hpo/store/sqlite.hpp"
#include "support/catch.hpp"

using namespace hpo::test;
using Catch::Contains;

TEST_CASE("what workers still held after attempts is told with the causes, with the command that lists it") {
    const Workshop workshop;
    const auto told = [&](const std::string& name, std::int64_t leaked) {
        const std::string path = workshop.file(name);
        {
            hpo::store::Sqlite store{path};
            const hpo::Study study = store.open_study("ours", std::vector{hpo::Direction::minimize}, hpo::Store::Open::create);
            hpo::Trial trial = store.begin_trial(study.id, std::nullopt);
            trial.attempts.emplace_back();
            hpo::Attempt& attempt = trial.attempts.back();
            store.begin_attempt(trial, attempt);
            attempt.outcome = hpo::OutcomeKind::failed;
            attempt.failure = hpo::classify_text({.type = "c10::OutOfMemoryError", .message = "CUDA out of memory."});
            if (leaked > 0) {
                hpo::MemoryMark mark{.name = std::string{hpo::leak_mark}, .seconds = 1, .step = std::nullopt, .reading = {}};
                mark.reading.allocated = leaked;
                store.memory_mark(trial, 0, mark);
            }
            store.end_attempt(trial, attempt);
            trial.state = hpo::TrialState::fail;
            store.finish(trial);
        }
        std::string text = analyze("oom --store '" + path + "'").out;
        for (auto at = text.find("\n  "); at != std::string::npos; at = text.find("\n  ", at)) text.replace(at, 3, " ");
        return text;
    };
    const std::string grown = told("grown.db", 24 << 20);
    CHECK_THAT(grown, Contains("After 1 attempt the worker still held memory of the device, the most 24.00 MiB after trial 0"));
    CHECK_THAT(grown, Contains("hpo-analyze memory --store ") && Contains("grown.db --study ours"));
    CHECK_THAT(told("honest.db", 0), !Contains("the worker still held"));
}
