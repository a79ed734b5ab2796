// SPDX-License-Identifier: MIT
#pragma once

#include <time.h>

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

/// Seconds that this process has computed for, in all its threads: unlike those on the wall they say little of what else runs.
[[nodiscard]] inline double computing_seconds() {
    timespec time{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// Listens to nothing.
struct Silence final : hpo::Progress {
    bool report(std::int64_t, double) override { return true; }
    [[nodiscard]] bool stop_requested() const override { return false; }
    void memory(const hpo::MemoryMark&) override {}
    void log(std::string_view) override {}
};

/// Notes when each epoch was reported.
class EpochTimes final : public hpo::Progress {
public:
    bool report(std::int64_t, double) override {
        ends_.push_back(std::chrono::steady_clock::now());
        computed_.push_back(computing_seconds());
        return true;
    }
    [[nodiscard]] bool stop_requested() const override { return false; }
    void memory(const hpo::MemoryMark&) override {}
    void log(std::string_view) override {}

    /// Of the last epoch.
    [[nodiscard]] double seconds() const {
        return std::chrono::duration<double>(ends_.at(ends_.size() - 1) - ends_.at(ends_.size() - 2)).count();
    }
    [[nodiscard]] double seconds_computed() const { return computed_.at(computed_.size() - 1) - computed_.at(computed_.size() - 2); }

private:
    std::vector<std::chrono::steady_clock::time_point> ends_;
    std::vector<double> computed_;
};

/// What an attempt of two or more epochs cost.
struct Cost {
    double last_epoch_seconds = 0;
    double last_epoch_computed = 0;  ///< seconds that the process computed for
    double peak_bytes = 0;
};

/// Throws when the attempt does not end well.
[[nodiscard]] inline Cost cost_of(hpo::Trainer& trainer, const hpo::TrainerJob& job) {
    EpochTimes times;
    const hpo::AttemptOutcome outcome = trainer.run(job, times);
    if (outcome.kind != hpo::OutcomeKind::complete)
        throw std::runtime_error{outcome.failure ? outcome.failure->message : "an attempt did not complete"};
    return {times.seconds(), times.seconds_computed(), static_cast<double>(outcome.peak_reserved.value_or(0))};
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
