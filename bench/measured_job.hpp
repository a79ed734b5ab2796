// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/trainer/trainer.hpp"

namespace bench {

/// Notes when each epoch was reported.
class EpochTimes final : public hpo::Progress {
public:
    bool report(std::int64_t, double) override {
        ends_.push_back(std::chrono::steady_clock::now());
        return true;
    }
    [[nodiscard]] bool stop_requested() const override { return false; }
    void memory(const hpo::MemoryMark&) override {}
    void log(std::string_view) override {}

    /// Of the last epoch.
    [[nodiscard]] double seconds() const {
        return std::chrono::duration<double>(ends_.at(ends_.size() - 1) - ends_.at(ends_.size() - 2)).count();
    }

private:
    std::vector<std::chrono::steady_clock::time_point> ends_;
};

/// What an attempt of two or more epochs cost.
struct Cost {
    double last_epoch_seconds = 0;
    double peak_bytes = 0;
};

/// Throws when the attempt does not end well.
[[nodiscard]] inline Cost cost_of(hpo::Trainer& trainer, const hpo::TrainerJob& job) {
    EpochTimes times;
    const hpo::AttemptOutcome outcome = trainer.run(job, times);
    if (outcome.kind != hpo::OutcomeKind::complete)
        throw std::runtime_error{outcome.failure ? outcome.failure->message : "an attempt did not complete"};
    return {times.seconds(), static_cast<double>(outcome.peak_reserved.value_or(0))};
}

/// How many words each of a made-up data set's texts has.
struct Words {
    int fewest;
    int most;
};

/// Writes `texts` texts of invented words, in four classes that a word of each text tells, as TSV.
inline void write_texts(const std::filesystem::path& file, int texts, Words words) {
    std::ofstream out{file};
    std::mt19937 random{1};
    out << "text\tlabel\n";
    for (int i = 0; i < texts; ++i) {
        const unsigned label = random() % 4;
        out << "sign" << label;
        const int count = words.fewest + static_cast<int>(random() % static_cast<unsigned>(words.most - words.fewest + 1));
        for (int word = 1; word < count; ++word) out << " word" << random() % 2000;
        out << "\tclass" << label << "\n";
    }
}

}  // namespace bench
