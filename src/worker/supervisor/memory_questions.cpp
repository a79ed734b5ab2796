// SPDX-License-Identifier: MIT
#include "hpo/worker/supervisor/memory_questions.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "hpo/base/bytes.hpp"
#include "worker/processor.hpp"

namespace hpo::worker {

MemoryQuestions::MemoryQuestions(const PoolConfig& config)
    : config_{config},
      predictor_{.build = {},
                 .processor = processor_text(config.environment),
                 .threads = config.threads,
                 .card = config.virtual_card ? config.virtual_card->figures : std::string{}},
      known_{config.recall, config.keep} {}

std::span<const PeakSource> MemoryQuestions::sources_of(Evidence wanted) {
    const std::span<const PeakSource> all{peak_sources};
    const auto from = [&](PeakSource first) { return all.subspan(static_cast<std::size_t>(first)); };
    if (wanted == Evidence::virtual_card) return from(PeakSource::virtual_card);
    if (wanted == Evidence::dry_run) return from(PeakSource::dry_run);
    if (wanted == Evidence::probe) return from(PeakSource::probe);
    return {};
}

std::optional<PeakSource> MemoryQuestions::next_after(PeakSource source) const {
    for (const PeakSource next : peak_sources) {
        if (next > source && has(next)) return next;
    }
    return std::nullopt;
}

std::string MemoryQuestions::instead_of(PeakSource missing) const {
    constexpr std::array<std::string_view, peak_sources.size()> nouns{"training on a virtual card", "a dry run", "a probe"};
    constexpr std::array<std::string_view, peak_sources.size()> done{"trained on a virtual card", "run dry", "probed with real steps"};
    const auto next = next_after(missing);
    const std::string asked = next ? std::string{done.at(static_cast<std::size_t>(*next))} : "the model's shape is asked";
    return asked + " instead of " + std::string{nouns.at(static_cast<std::size_t>(missing))};
}

std::string MemoryQuestions::note_of(PeakSource source, const std::string& why, Told::Kind kind, bool given_up) const {
    if (kind == Told::Kind::cannot_run) return "this configuration cannot run on " + config_.device + ": " + why;
    if (info_.open_ended) {
        return "its memory is learned from its trials, because a virtual card does not tell it (" + why + ")" +
               (given_up ? "; it is not asked any more" : "");
    }
    return (next_after(source) ? "this configuration is " : "") + instead_of(source) +
           without({.prediction = {}, .why_not = why, .kind = given_up ? Told::Kind::mishap : kind}) +
           (given_up ? "; it is not asked any more" : "");
}

void MemoryQuestions::note_reason(PeakSource source, const Told& told) {
    Rung& rung = rung_of(source);
    std::string kind = told.why_not;
    std::erase_if(kind, [](char c) { return c >= '0' && c <= '9'; });
    if (rung.given_up() || rung.told.insert(std::move(kind)).second) note(note_of(source, told.why_not, told.kind, rung.given_up()));
}

std::string MemoryQuestions::problem_in(const Answered& answer) const {
    if (answer.no_memory) {
        const std::int64_t most = config_.question_memory_bytes;
        return "more host memory was asked for than " +
               (most > 0 ? "the " + format_bytes(most) + " that a prediction may take" : "there is");
    }
    if (answer.error) return *answer.error;
    return answer.peak ? nonsense_in(*answer.peak) : "an empty answer";
}

}  // namespace hpo::worker
