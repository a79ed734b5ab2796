// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "hpo/allocator/trace_law.hpp"
#include "hpo/trainer/trainer.hpp"
#include "kept_program.hpp"

namespace command {

/// Predicts what programs take of a CUDA device: it runs them on a virtual card with a few of the parameters that are asked for, and finds
/// the law of the others (hpo/allocator/trace_law.hpp). Whole numbers above 0 may be sizes. All other values are the name of a family of
/// programs, each with its own law; real numbers change no size.
///
/// Thread safety: one thread at a time.
class CardRecordings {
public:
    static constexpr std::size_t usual_recordings = 6;  ///< of a family; more only if these leave a law in doubt
    static constexpr std::size_t most_recordings = 12;

    /// `start` runs the program with the job's parameters. Throws hpo::Error with the reason if nothing can be said.
    [[nodiscard]] hpo::PeakPrediction predict(const hpo::TrainerJob& job, const ProgramStart& start, hpo::Progress& progress);

private:
    /// What the recordings of a family tell beside their traces.
    struct Beside {
        std::string torch;
        std::string conf;
        std::int64_t bytes = 0;  ///< the most that any recording took beside PyTorch's allocator
        std::vector<std::string> notes;
    };
    struct Family {
        hpo::allocator::TraceLaw law;
        Beside beside;
        int errors = 0;       ///< of the recorder
        std::string unknown;  ///< why the program cannot be predicted, whatever its sizes; empty: it can
    };

    void record(Family& family, const std::vector<double>& numbers, const ProgramStart& start, hpo::Progress& progress);
    /// The prediction for a configuration that was not recorded; nullopt if the recordings so far leave too much in doubt.
    [[nodiscard]] static std::optional<hpo::PeakPrediction> by_law(const Family& family, const std::vector<double>& numbers,
                                                                   const hpo::TrainerJob& job);
    [[nodiscard]] static hpo::PeakPrediction predicted(const Family& family, const std::vector<double>& numbers,
                                                       const hpo::TrainerJob& job);

    std::map<std::string, Family> families_;
};

}  // namespace command
