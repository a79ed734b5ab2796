// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <string>

#include "hpo/core/peak_prediction.hpp"
#include "hpo/trainer/trainer.hpp"

namespace hpo {

/// Size and time of files and folders, as text that changes when they do; empty for what is not there. A file is looked at each time, a
/// folder, which may hold many, once a second.
class FileStamps {
public:
    [[nodiscard]] const std::string& of(const std::string& path);
    [[nodiscard]] static std::string stamp(const std::filesystem::path& path);

private:
    struct Stamp {
        std::string text;
        std::chrono::steady_clock::time_point looked_at{};
    };
    std::map<std::string, Stamp> stamps_;
};

/// Who predicts: what its predictions hang on beside the job.
struct Predictor {
    std::string build;      ///< the stamp of the plugin's file
    std::string processor;  ///< what a CPU's library chooses its ways by (worker/processor.hpp)
    int threads = 1;        ///< that a worker has where the job names none
};

/// Everything that determines what a job's attempt takes of its device, as text: two jobs with one key have one prediction. Parameters
/// count as far as the trainer says (TrainerParameter::memory), files that texts name by their stamp; on the CPU, whose library may arrange
/// numbers in other ways, the processor and its threads, too.
[[nodiscard]] std::string prediction_key(const TrainerInfo& info, const Predictor& predictor, const TrainerJob& job, PeakSource source,
                                         FileStamps& files);

}  // namespace hpo

#ifndef HPO_COMPILED
#include "hpo/trainer/impl/prediction_key_inl.hpp"
#endif
