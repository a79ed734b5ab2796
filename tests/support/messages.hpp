// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "hpo/core/seed.hpp"
#include "hpo/worker/protocol.hpp"

namespace hpo::test {

inline TrainerJob sample_job() {
    TrainerJob job;
    job.study = "a \"study\"\nof two lines";
    job.trial = 3;
    job.params = {{"x", 0.25}, {"steps", std::int64_t{2}}};
    job.plan.micro_batch = 4;
    job.seed = 9;
    return job;
}
/// One of each kind.
inline std::vector<worker::Request> all_requests() {
    return {worker::Ask{{TrainerQuestion::run, sample_job()}},
            worker::Ask{{TrainerQuestion::predict, sample_job(), PeakSource::probe}, 1 << 20, 9},
            worker::Answer{{.goes_on = false, .suggestion = {.value = std::string{"a"}, .error = {}}, .text = "b"}, 4}, worker::Stop{},
            worker::Quit{}};
}
inline std::vector<worker::Event> all_events() {
    AttemptOutcome failed;
    failed.failure = Failure{.message = "no", .memory = {.allocated = 3}};
    return {worker::Ready{.info = {.name = "fault", .metrics = {{"value", Direction::minimize, ""}}}},
            worker::Refused{"why"},
            worker::Happened{AttemptStarted{}},
            worker::Happened{Report{1, 0.5}, 1},
            worker::Happened{Question{"lr", "{}"}, 2},
            worker::Happened{Recall{"recorded"}, 3},
            worker::Happened{Kept{"recorded", "a\nb"}},
            worker::Happened{Alive{}},
            worker::Happened{Phase{"forward"}},
            worker::Happened{LogLine{"a line"}},
            worker::Happened{MemoryMark{.name = "oom", .seconds = 1}},
            worker::Happened{Checkpoint{1}},
            worker::Happened{AttemptOutcome{.kind = OutcomeKind::complete, .values = {0.5}}},
            worker::Happened{.event = failed, .leaving = true},
            worker::Answered{.id = 7,
                             .profile = Profile{.parameters = 1},
                             .peak = PeakPrediction{.need = 3, .parts = {{"weights", 3}}},
                             .problems = {{"a", "b"}},
                             .remarks = {"c"},
                             .findings = {{DeviceFinding::Level::note, "copy", "slow", 0.5, 8}},
                             .error = "e",
                             .no_memory = true,
                             .held_bytes = 5}};
}

/// The line with a few bytes changed, doubled or lost, or cut short, or nothing but random bytes.
inline std::string mutated(std::string line, Rng& rng) {
    static constexpr std::string_view tokens[] = {"{",    "}",  "[",     "]",       "\"",   ",",   ":",
                                                  "null", "-1", "1e999", "\\u0000", "\xff", "0.5", "true"};
    if (rng.below(10) == 0) {
        line.resize(rng.below(200));
        for (char& c : line) c = static_cast<char>(rng.below(256));
        return line;
    }
    for (auto changes = 1 + rng.below(3); changes > 0 && !line.empty(); --changes) {
        const auto at = rng.below(line.size());
        switch (rng.below(5)) {
            case 0: line[at] = static_cast<char>(rng.below(256)); break;
            case 1: line.erase(at, 1 + rng.below(8)); break;
            case 2: line.insert(at, tokens[rng.below(std::size(tokens))]); break;
            case 3: line.insert(at, line.substr(at, rng.below(20))); break;
            default: line.resize(at); break;
        }
    }
    return line;
}

}  // namespace hpo::test
