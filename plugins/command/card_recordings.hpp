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
#include "kept_recording.hpp"

namespace hpo::command {

/// What the CUDA context of a program is taken to be: what the job tells of its device, or what is usual.
[[nodiscard]] std::int64_t context_bytes_of(const hpo::TrainerJob& job);

/// Predicts what programs take of a CUDA device: it runs them on a virtual card with a few of the parameters that are asked for, and finds
/// the law of the others (hpo/allocator/trace_law.hpp). Whole numbers above 0 may be sizes. All other values are the name of a family of
/// programs, each with its own law; real numbers change no size.
///
/// A number that changes how many blocks there are, such as how many layers, is found in the recordings, and is then part of the family's
/// name, too.
///
/// Recordings are kept (Progress::keep). The program may have changed since, so those of an earlier run count only if the first recording
/// of this run is as they tell.
///
/// Thread safety: one thread at a time.
class CardRecordings {
public:
    /// `start` runs the program with the job's parameters. Throws hpo::Error with the reason if nothing can be said.
    [[nodiscard]] hpo::PeakPrediction predict(const hpo::TrainerJob& job, const ProgramStart& start, hpo::Progress& progress);

private:
    /// Recordings that belong together, and what they tell beside their traces.
    struct Series {
        explicit Series(std::size_t numbers);
        void add(ProgramRecording recording);

        hpo::allocator::TraceLaw law;
        std::int64_t name = 0;  ///< ProgramRecording::series
        std::string torch;
        std::string conf;
        std::int64_t beside_bytes = 0;  ///< the most that any recording took beside PyTorch's allocator
        std::vector<std::string> notes;
        std::size_t earlier = 0;  ///< so many are of an earlier run
    };
    struct Family {
        std::string key;  ///< of what is kept
        Series series;
        std::optional<Series> earlier{};  ///< of an earlier run. Nothing of this run was recorded yet
        int errors = 0;                   ///< of the recorder
        std::string unknown{};            ///< why the program cannot be predicted, whatever its sizes; empty: it can
    };

    /// The whole numbers above 0 that may be sizes, and all other values as the name of a family.
    struct Sizes {
        std::vector<double> numbers;
        std::string family;
    };

    [[nodiscard]] static Sizes sizes_of(const hpo::TrainerJob& job);
    /// Moves a number to the family's name.
    static void fix(Sizes& sizes, std::size_t number);
    [[nodiscard]] Family& family_of(Sizes& sizes, const hpo::TrainerJob& job, hpo::Progress& progress);
    /// Gives each recording of a family to one in which the number is fixed.
    void separate(const std::string& name, std::size_t number, const hpo::TrainerJob& job, hpo::Progress& progress);
    [[nodiscard]] static std::optional<Series> recalled(const std::string& key, std::size_t numbers, hpo::Progress& progress);
    static void record(Family& family, const std::vector<double>& numbers, const ProgramStart& start, hpo::Progress& progress);
    static void take(Family& family, ProgramRecording recorded, hpo::Progress& progress);
    /// True if earlier recordings tell what this one took.
    [[nodiscard]] static bool agree(const Series& earlier, const ProgramRecording& recorded);
    /// The prediction for a configuration that was not recorded; nullopt if the recordings so far leave too much in doubt.
    [[nodiscard]] static std::optional<hpo::PeakPrediction> by_law(const Family& family, const std::vector<double>& numbers,
                                                                   const hpo::TrainerJob& job);
    [[nodiscard]] static hpo::PeakPrediction predicted(const Family& family, const std::vector<double>& numbers,
                                                       const hpo::TrainerJob& job);

    std::map<std::string, Family> families_;
    std::map<std::string, std::size_t> fixed_;  ///< by family, the number that is part of the name of others in its place
};

}  // namespace hpo::command
