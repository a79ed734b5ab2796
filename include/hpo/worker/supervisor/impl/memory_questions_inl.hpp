// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "hpo/base/bytes.hpp"
#include "hpo/base/inline.hpp"
#include "hpo/worker/processor.hpp"
#include "hpo/worker/supervisor/memory_questions.hpp"

namespace hpo::worker::inline supervisor {

HPO_INLINE MemoryQuestions::MemoryQuestions(const PoolConfig& config)
    : config_{config},
      predictor_{.build = {}, .processor = processor_text(config.environment), .threads = config.threads},
      known_{config.recall, config.keep} {}

HPO_INLINE std::string MemoryQuestions::instead_of(PeakSource source, const std::string& why, Told::Kind kind, bool given_up) const {
    const bool probed = source == PeakSource::dry_run && has(PeakSource::probe);
    return std::string{probed ? "this configuration is probed with real steps" : "the model's shape is asked"} +
           (source == PeakSource::dry_run ? " instead of a dry run" : " instead of a probe") +
           without({.prediction = {}, .why_not = why, .kind = given_up ? Told::Kind::mishap : kind}) +
           (given_up ? "; it is not asked any more" : "");
}

HPO_INLINE MemoryQuestions::Told MemoryQuestions::refuse(PeakSource source, const std::string& why, Told::Kind what) {
    Rung& rung = rung_of(source);
    rung.latest = why;
    std::string kind = why;
    std::erase_if(kind, [](char c) { return c >= '0' && c <= '9'; });
    if (rung.given_up() || rung.told.insert(std::move(kind)).second) note(instead_of(source, why, what, rung.given_up()));
    return {std::nullopt, why, what};
}

HPO_INLINE std::string MemoryQuestions::problem_in(const Answered& answer) const {
    if (answer.no_memory) {
        const std::int64_t most = config_.prediction_memory_bytes;
        return "more host memory was asked for than " +
               (most > 0 ? "the " + format_bytes(most) + " that a prediction may take" : "there is");
    }
    if (answer.error) return *answer.error;
    return answer.peak ? nonsense_in(*answer.peak) : "an empty answer";
}

}  // namespace hpo::worker::supervisor
